"""Bayesian sequence combination: what only this aggregator does."""

from itertools import product

import numpy as np
import pytest
from scipy.special import psi

from manyhands.aggregation import BscSeq, DawidSkene, aggregate_tokens
from manyhands.aggregation.bsc_seq import SequencePass
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.token_chains import TokenChains, labels_before
from manyhands.annotations import Annotations, Sentences, is_valid_bio

BIO = ["O", "B-X", "I-X"]


def simulated(n_sentences=150, seed=0):
    """Tags of a Markov chain, and annotators who go on with what they said before."""
    rng = np.random.default_rng(seed)
    move = np.array([[0.75, 0.25, 0.0], [0.2, 0.1, 0.7], [0.5, 0.1, 0.4]])
    right = np.array([0.8, 0.65, 0.5, 0.35])
    item, annotator, label, truth = [], [], [], []
    for s in range(n_sentences):
        tags = [int(rng.choice(3, p=[0.7, 0.3, 0.0]))]
        for _ in range(rng.integers(2, 8)):
            tags.append(int(rng.choice(3, p=move[tags[-1]])))
        truth += tags
        for a in rng.permutation(4)[:3]:
            before = 0
            for t, tag in enumerate(tags):
                said = tag if rng.uniform() < right[a] else int(rng.choice(3, p=move[before]))
                item.append(f"{s}:{t}")
                annotator.append(int(a))
                label.append(BIO[said])
                before = said
    names = list(dict.fromkeys(item))
    return Annotations.from_arrays(item, annotator, label, items=names, classes=BIO), truth


def test_neighbours_are_told_by_names():
    names = np.array(["a:10", "a:9", "b:0", 7, "x:y", "a:12", "b:1", ":", "c:٣"], dtype=object)
    before = TokenChains.of(names).before.tolist()
    assert before == [1, -1, -1, -1, -1, -1, 2, -1, -1]


def test_the_label_before_is_that_of_the_same_annotator():
    ann = Annotations.from_arrays(
        ["s:0", "s:0", "s:1", "s:1", "s:2", "t:0"], ["u", "v", "u", "w", "v", "u"],
        [2, 1, 0, 2, 1, 1], classes=[0, 1, 2],
    )  # fmt: skip
    before = labels_before(ann, TokenChains.of(ann.items).before)
    found = dict(zip(zip(ann.items[ann.item], ann.annotators[ann.annotator], strict=True),
                     before.tolist(), strict=True))  # fmt: skip
    assert found == {("s:0", "u"): -1, ("s:0", "v"): -1, ("s:1", "u"): 2, ("s:1", "w"): -1,
                     ("s:2", "v"): -1, ("t:0", "u"): -1}  # fmt: skip


def test_a_step_is_that_of_all_sequences():
    """Posterior and bound of one E-step, by enumeration of the tags of every sentence."""
    ann, _ = simulated(6)
    model = BscSeq(max_iter=3, tol=0.0)
    parameters = model.fit(ann).parameters
    found = parameters.expected(SequencePass(gather_evidence(ann)))
    pairs = parameters.pairs_kj + parameters.pseudo_kj
    log_pairs = psi(pairs) - psi(pairs.sum(axis=0))
    counts = parameters.counts_alpk + parameters.pseudo_lk[:, None, :]
    log_confusion = psi(counts) - psi(counts.sum(axis=1, keepdims=True))
    said = {
        (int(i), int(a)): int(y) for i, a, y in zip(ann.item, ann.annotator, ann.label, strict=True)
    }
    posterior, bound = np.zeros((ann.n_items, 3)), 0.0
    sentence_of = [name.split(":")[0] for name in ann.items]
    for sentence in dict.fromkeys(sentence_of):
        rows = [i for i, each in enumerate(sentence_of) if each == sentence]
        sequences = list(product(range(3), repeat=len(rows)))
        score = np.zeros(len(sequences))
        for place, tags in enumerate(sequences):
            for t, (i, tag) in enumerate(zip(rows, tags, strict=True)):
                score[place] += log_pairs[tag, tags[t - 1] if t else 3]
                for a in range(4):
                    if (i, a) in said:
                        p = said.get((i - 1, a), 3) if t else 3
                        score[place] += log_confusion[a, said[i, a], p, tag]
        bound += np.logaddexp.reduce(score)
        share = np.exp(score - np.logaddexp.reduce(score))
        for place, tags in enumerate(sequences):
            posterior[rows, tags] += share[place]
    np.testing.assert_allclose(found.posterior_ik, posterior, atol=1e-8)
    assert found.log_likelihood == pytest.approx(bound)


def test_the_bound_never_falls_on_sentences():
    ann, _ = simulated(60)
    objective = BscSeq(tol=0.0, max_iter=40).fit(ann).objective
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[:-1])).all()


def test_sequences_are_found_better_than_by_tokens_alone():
    ann, truth = simulated()
    found = BscSeq().fit(ann)
    right = np.mean(found.labels == np.array(BIO, dtype=object)[truth])
    alone = np.mean(DawidSkene().fit(ann).labels == np.array(BIO, dtype=object)[truth])
    assert right > alone + 0.02
    order = np.argsort(-found.annotator_quality)
    assert found.annotations.annotators[order].tolist() == [0, 1, 2, 3]
    # Transitions are recovered: columns are earlier tags.
    pairs = found.parameters.pairs_kj[:, :3] / found.parameters.pairs_kj[:, :3].sum(axis=0)
    expected = np.array([[0.75, 0.25, 0.0], [0.2, 0.1, 0.7], [0.5, 0.1, 0.4]]).T
    np.testing.assert_allclose(pairs, expected, atol=0.12)


def test_no_invalid_tag_is_probable():
    ann, _ = simulated(40)
    sentences = Sentences.from_lists(
        [["w"] * sum(name.split(":")[0] == str(s) for name in ann.items) for s in range(40)]
    )
    found = aggregate_tokens(sentences, ann, "bsc-seq")
    for s in range(40):
        assert is_valid_bio([str(tag) for tag in found.tags[sentences.tokens_of(s)]])
    first = sentences.offsets[:-1]
    assert found.tokens.probabilities[first, 2].max() < 1e-6


def test_a_known_tag_tells_about_its_neighbour():
    ann = Annotations.from_arrays(
        ["s:0", "s:1", "s:0", "s:1"], [0, 0, 1, 1], ["B-X", "I-X", "O", "O"], classes=BIO
    )
    free = BscSeq().fit(ann).probabilities
    known = BscSeq().fit(ann, known={"s:0": "O"}).probabilities
    assert known[0].tolist() == [1.0, 0.0, 0.0]
    assert known[1, 2] < 1e-6 < free[1, 2]


def test_items_that_are_no_tokens_do_not_depend_on_each_other():
    ann, _ = simulated(20)
    plain = Annotations.from_arrays(
        ann.item, ann.annotator, ann.classes[ann.label], classes=["a", "b", "c", *BIO][3:]
    )
    order = np.random.default_rng(1).permutation(ann.n_items)
    moved = Annotations.from_arrays(
        order[ann.item], ann.annotator, ann.classes[ann.label], classes=BIO
    )
    before, after = BscSeq().fit(plain), BscSeq().fit(moved)
    row = after.annotations.item_vocabulary.codes(order[before.annotations.items])
    np.testing.assert_allclose(after.probabilities[row], before.probabilities, atol=1e-8)
