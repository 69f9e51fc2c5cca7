"""Partition, marginals and pairs against an enumeration of all sequences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.aggregation.kernels.linear_chain import Transitions, expect, log_partition
from methods.crf_cases import every_sequence, log_probability, random_case, sentences

some_cases = st.builds(
    random_case,
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(0, 4), max_size=4),
    n_tags=st.integers(1, 4),
    spread=st.sampled_from([0.1, 2.0, 30.0, 1000.0]),
    transition_spread=st.sampled_from([0.1, 2.0, 40.0, 1000.0]),
)


@settings(max_examples=80)
@given(case=some_cases, seed=st.integers(0, 100))
def test_sums_match_an_enumeration_of_all_sequences(case, seed):
    weight_s = np.random.default_rng(seed).random(len(case.offsets) - 1)
    result = expect(case.score_tk, case.offsets, case.transitions, weight_s)
    n_tags = case.transitions.n_tags
    log_sum_s, pair_kk = [], np.zeros((n_tags, n_tags))
    marginal_tk = np.zeros_like(case.score_tk)
    for s, rows in enumerate(sentences(case)):
        tags, score = every_sequence(rows, case.transitions)
        log_sum_s.append(np.logaddexp.reduce(score))
        for each, p in zip(tags, np.exp(score - log_sum_s[-1]), strict=True):
            for t, tag in enumerate(each):
                marginal_tk[case.offsets[s] + t, tag] += p
                if t:
                    pair_kk[each[t - 1], tag] += weight_s[s] * p
    np.testing.assert_allclose(result.log_partition_s, log_sum_s, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(result.marginal_tk, marginal_tk, atol=1e-10)
    np.testing.assert_allclose(result.pair_kk, pair_kk, atol=1e-10)
    np.testing.assert_array_equal(
        log_partition(case.score_tk, case.offsets, case.transitions), result.log_partition_s
    )


@settings(max_examples=60)
@given(case=some_cases, seed=st.integers(0, 10**6), unknown=st.sampled_from([0.0, 0.4, 1.0]))
def test_probability_of_partly_known_tags(case, seed, unknown):
    rng = np.random.default_rng(seed)
    n_tokens = len(case.score_tk)
    tag_t = rng.integers(0, case.transitions.n_tags, n_tokens).astype(np.int32)
    tag_t[rng.random(n_tokens) < unknown] = -1
    got_s = log_probability(case.score_tk, case.offsets, case.transitions, tag_t)
    for s, rows in enumerate(sentences(case)):
        given_tags = tag_t[case.offsets[s] : case.offsets[s + 1]]
        tags, score = every_sequence(rows, case.transitions)
        agree = [all(b in (-1, a) for a, b in zip(each, given_tags, strict=True)) for each in tags]
        expected = np.logaddexp.reduce(score[agree]) - np.logaddexp.reduce(score)
        assert got_s[s] == pytest.approx(expected, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("ruled_out", [-199.0, -2000.0, -np.inf])
def test_no_precision_is_lost_if_beginning_and_end_disagree(ruled_out):
    """The first tag is far better at the beginning, the second even more so at the end."""
    transitions = Transitions(
        np.array([[0.0, ruled_out], [ruled_out, -1.0]]), np.zeros(2), np.zeros(2)
    )
    score_tk = np.array([[900.0, 0.0], [0.0, 0.0], [0.0, 750.0], [0.0, 151.0]])
    tags, score = every_sequence(score_tk, transitions)
    p = np.exp(score - np.logaddexp.reduce(score))
    result = expect(score_tk, np.array([0, 4]), transitions)
    assert result.log_partition_s[0] == pytest.approx(np.logaddexp.reduce(score), rel=1e-14)
    expected_tk = [[p[[each[t] == k for each in tags]].sum() for k in range(2)] for t in range(4)]
    np.testing.assert_allclose(result.marginal_tk, expected_tk, atol=1e-12)
    np.testing.assert_allclose(result.pair_kk.sum(), 3.0)


@pytest.mark.parametrize("start", [0.0, -np.inf])
def test_a_sentence_without_a_possible_sequence_has_no_probability(start):
    """Scores or transitions exclude all sequences; the other sentence is not affected."""
    transitions = Transitions(np.zeros((2, 2)), np.array([start, 0.0]), np.zeros(2))
    score_tk = np.array([[0.0, 0.0], [-np.inf, -np.inf], [0.0, 0.0]])
    result = expect(score_tk, np.array([0, 2, 3]), transitions)
    alone = 1.0 if start else 0.5
    assert result.log_partition_s.tolist() == [-np.inf, -np.log(alone)]
    assert result.marginal_tk.tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0 - alone, alone]]
    assert not result.pair_kk.any()


def test_no_sentences_and_long_ones():
    none = random_case(0, sizes=())
    result = expect(none.score_tk, none.offsets, none.transitions)
    assert result.log_partition_s.shape == (0,)
    assert not result.pair_kk.any()
    long = random_case(1, sizes=(5000, 1), spread=50.0)
    result = expect(long.score_tk, long.offsets, long.transitions)
    np.testing.assert_allclose(result.marginal_tk.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(result.pair_kk.sum(), 4999, atol=1e-6)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    case = random_case(2, sizes=np.random.default_rng(0).integers(0, 30, 300), n_tags=5)
    outcomes = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MANYHANDS_THREADS", threads)
        result = expect(case.score_tk, case.offsets, case.transitions)
        outcomes.append((result.log_partition_s, result.marginal_tk, result.pair_kk))
    for one, other in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def padded():
    """A batch of sentences for torch, and the same for us; tags to be scored."""
    torch = pytest.importorskip("torch")
    case = random_case(4, sizes=(6, 1, 9, 4), n_tags=5)
    sizes = np.diff(case.offsets)
    score = torch.zeros(len(sizes), max(sizes), 5, dtype=torch.float64)
    mask = torch.zeros(len(sizes), max(sizes), dtype=torch.bool)
    tags = torch.zeros(len(sizes), max(sizes), dtype=torch.long)
    tag_t = np.random.default_rng(0).integers(0, 5, len(case.score_tk)).astype(np.int32)
    for s, rows in enumerate(sentences(case)):
        score[s, : len(rows)], mask[s, : len(rows)] = torch.from_numpy(rows), True
        tags[s, : len(rows)] = torch.from_numpy(tag_t[case.offsets[s] :][: len(rows)])
    return torch, case, score, mask, tags, tag_t


def test_pytorch_crf_gives_the_same(padded):
    torch, case, score, mask, tags, tag_t = padded
    module = pytest.importorskip("torchcrf").CRF(5, batch_first=True).double()
    with torch.no_grad():
        module.transitions.copy_(torch.from_numpy(case.transitions.transition_kk))
        module.start_transitions.copy_(torch.from_numpy(case.transitions.start_k))
        module.end_transitions.copy_(torch.from_numpy(case.transitions.end_k))
    theirs = module(score, tags, mask, reduction="none").detach().numpy()
    ours = log_probability(case.score_tk, case.offsets, case.transitions, tag_t)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_gradients_of_pytorch_crf_are_our_expectations(padded):
    torch, case, score, mask, tags, _ = padded
    module = pytest.importorskip("torchcrf").CRF(5, batch_first=True).double()
    with torch.no_grad():
        module.transitions.copy_(torch.from_numpy(case.transitions.transition_kk))
        module.start_transitions.copy_(torch.from_numpy(case.transitions.start_k))
        module.end_transitions.copy_(torch.from_numpy(case.transitions.end_k))
    score.requires_grad_(True)
    module(score, tags, mask, reduction="sum").backward()
    one_hot = torch.nn.functional.one_hot(tags, 5).double()
    marginal = (one_hot - score.grad)[mask].numpy()
    result = expect(case.score_tk, case.offsets, case.transitions)
    np.testing.assert_allclose(result.marginal_tk, marginal, atol=1e-12)
    observed_kk = np.zeros((5, 5))
    both = mask[:, 1:]
    np.add.at(observed_kk, (tags[:, :-1][both].numpy(), tags[:, 1:][both].numpy()), 1.0)
    np.testing.assert_allclose(
        result.pair_kk, observed_kk - module.transitions.grad.numpy(), atol=1e-11
    )
