"""CRF-MA: the objective never falls, bad annotators are found."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from manyhands.aggregation.kernels.linear_chain import expect
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.methods.crf.crf_ma import (
    fit_crf_ma,
    improve_reliability,
    log_reliability_prior,
    log_reliable,
    majority_tags,
)
from manyhands.methods.crf.crowd_sequences import gather_sequences
from methods.crf_cases import fit_crf, likely_tags, log_probability, tagged_crowd
from random_tables import random_labels

OFFSETS = np.array([0, 3, 3, 4, 9, 12])


def random_tags(seed, n_annotations=50):
    """Labels of 12 tokens by 5 annotators; sentences are labelled completely, in part or not."""
    columns = random_labels(seed, n_annotations=n_annotations)
    return Annotations.from_arrays(
        *columns, items=range(12), annotators=range(5), classes=range(3), duplicates="last"
    )


def accuracy_of(weights, features, offsets, truth):
    return (likely_tags(weights, features, offsets) == truth).mean()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    pseudo=st.sampled_from([1e-3, 1.0, 20.0]),
    steps=st.sampled_from([1, 5]),
    n_annotations=st.sampled_from([1, 10, 50]),
)
def test_the_objective_never_falls(seed, pseudo, steps, n_annotations):
    annotations = random_tags(seed, n_annotations)
    x = np.random.default_rng(seed).normal(size=(12, 4))
    fit = fit_crf_ma(
        x, OFFSETS, annotations, pseudo_sentences=pseudo, steps=steps, tol=0.0, max_iter=15
    )
    for before, after in itertools.pairwise(fit.objective):
        assert after >= before - 1e-9 * max(1.0, abs(before))
    np.testing.assert_allclose(fit.reliability_a.sum(), 1.0)
    np.testing.assert_allclose(fit.tag_tk.sum(axis=1), 1.0)


def sentence_parts(fit, x, annotations):
    """(sentence, annotator): pi_a p(y^a | x) K^T_a and T_a, by their definition."""
    label_ta = annotations.to_dense(missing=-1)
    parts = {}
    for s, a in itertools.product(range(len(OFFSETS) - 1), range(annotations.n_annotators)):
        rows = slice(OFFSETS[s], OFFSETS[s + 1])
        given_tags = label_ta[rows, a].astype(np.int32)
        if (given_tags >= 0).any():
            score_tk = fit.weights.token_scores(x[rows])
            ends = np.array([0, len(given_tags)])
            log_p = log_probability(score_tk, ends, fit.weights.transitions, given_tags)[0]
            n_labels = (given_tags >= 0).sum()
            parts[s, a] = fit.reliability_a[a] * np.exp(log_p) * 3.0**n_labels, n_labels
    return parts


def test_the_objective_and_the_posterior_match_their_definition():
    annotations = random_tags(7)
    x = np.random.default_rng(7).normal(size=(12, 4))
    options = {"l2": 0.3, "pseudo_sentences": 0.7, "tol": 0.0}
    fit = fit_crf_ma(x, OFFSETS, annotations, max_iter=4, **options)
    parts = sentence_parts(fit, x, annotations)
    expected = 0.7 * np.log(fit.reliability_a).sum() - 0.15 * np.square(fit.weights.flat()).sum()
    for s in sorted({s for s, _ in parts}):
        here = {a: each for (other, a), each in parts.items() if other == s}
        whole = sum(part for part, _ in here.values())
        expected += np.log(whole / fit.reliability_a[list(here)].sum())
        expected -= sum(n_labels for _, n_labels in here.values()) * np.log(3)
        rows = fit.sentence_p == s
        assert fit.annotator_p[rows].tolist() == sorted(here)
        shares = [here[a][0] / whole for a in sorted(here)]
        np.testing.assert_allclose(fit.posterior_p[rows], shares, rtol=1e-9)
    next_step = fit_crf_ma(x, OFFSETS, annotations, max_iter=5, **options)
    assert next_step.objective[4] == pytest.approx(expected, rel=1e-12)


def reliability_problem(seed, pseudo):
    rows = gather_sequences(random_tags(seed), OFFSETS)
    rng = np.random.default_rng(seed)
    posterior_p = rng.random(len(rows.group_p))
    posterior_p /= np.add.reduceat(posterior_p, rows.begin_g)[rows.group_p]

    def value(reliability_a):
        return posterior_p @ log_reliable(rows, reliability_a) + log_reliability_prior(
            reliability_a, pseudo
        )

    return rows, posterior_p, rng.dirichlet(np.ones(5)), value


@pytest.mark.parametrize("pseudo", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_reliability_converges_to_its_maximum(seed, pseudo):
    rows, posterior_p, reliability_a, value = reliability_problem(seed, pseudo)
    for _ in range(30):
        improved_a = improve_reliability(rows, posterior_p, reliability_a, pseudo, steps=1)
        assert value(improved_a) >= value(reliability_a) - 1e-12
        reliability_a = improved_a
    reliability_a = improve_reliability(rows, posterior_p, reliability_a, pseudo, steps=3000)

    def loss(logit_a):
        part_a = np.exp(logit_a - logit_a.max())
        return -value(part_a / part_a.sum())

    best = minimize(loss, np.zeros(5), tol=1e-12)
    assert value(reliability_a) == pytest.approx(-best.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_bad_annotators_are_found_and_the_majority_is_beaten(seed):
    crowd = tagged_crowd(seed, n_sentences=150, n_annotators=9, n_bad=5)
    fit = fit_crf_ma(crowd.features, crowd.offsets, crowd.annotations)
    assert fit.converged
    assert fit.reliability_a[crowd.bad].max() < 0.3 * fit.reliability_a[~crowd.bad].min()
    majority_t = majority_tags(crowd.annotations)
    assert (fit.tag_tk.argmax(axis=1) == crowd.truth).mean() > (majority_t == crowd.truth).mean()
    plain = fit_crf(crowd.features, crowd.offsets, majority_t, 3)
    new = tagged_crowd(seed + 100, n_sentences=400)
    tested = new.features, new.offsets, new.truth
    assert accuracy_of(fit.weights, *tested) > accuracy_of(plain.weights, *tested)


def test_one_perfect_annotator_gives_the_plain_crf():
    crowd = tagged_crowd(1, n_sentences=40)
    tokens = np.arange(len(crowd.truth))
    alone = Annotations.from_arrays(
        tokens, np.zeros_like(tokens), crowd.truth, items=tokens, classes=range(3)
    )
    fit = fit_crf_ma(crowd.features, crowd.offsets, alone, tol=1e-12, max_iter=300)
    plain = fit_crf(crowd.features, crowd.offsets, crowd.truth, 3, tol=1e-15)
    np.testing.assert_allclose(fit.weights.flat(), plain.weights.flat(), atol=1e-3)
    np.testing.assert_allclose(fit.posterior_p, 1.0)
    np.testing.assert_array_equal(fit.tag_tk.argmax(axis=1), crowd.truth)


def test_the_order_of_sentences_and_annotators_changes_nothing():
    crowd = tagged_crowd(2, n_sentences=40)
    ann, options = crowd.annotations, {"tol": 0.0, "max_iter": 5}
    fit = fit_crf_ma(crowd.features, crowd.offsets, ann, **options)
    rng = np.random.default_rng(0)
    order, annotator = rng.permutation(40), rng.permutation(ann.n_annotators)
    pieces = np.split(np.arange(len(crowd.truth)), crowd.offsets[1:-1])
    token = np.concatenate([pieces[s] for s in order])  # old token of every new one
    offsets = np.concatenate(([0], np.cumsum(np.diff(crowd.offsets)[order])))
    shuffled = Annotations.from_arrays(
        np.argsort(token)[ann.item], annotator[ann.annotator], ann.label,
        items=range(len(token)), annotators=range(ann.n_annotators), classes=range(3),
    )  # fmt: skip
    other = fit_crf_ma(crowd.features[token], offsets, shuffled, **options)
    np.testing.assert_allclose(other.objective, fit.objective, rtol=1e-7)
    np.testing.assert_allclose(other.weights.flat(), fit.weights.flat(), atol=1e-4)
    np.testing.assert_allclose(other.reliability_a[annotator], fit.reliability_a, atol=1e-5)
    np.testing.assert_allclose(other.tag_tk, fit.tag_tk[token], atol=1e-4)


def test_equal_sequences_are_merged_and_missing_labels_are_unknown():
    annotations = Annotations.from_arrays(
        [0, 1, 0, 1, 0, 2, 0, 1],
        ["a", "a", "b", "b", "c", "c", "d", "d"],
        [1, 0, 1, 0, 1, 1, 0, 0],
        items=range(3),
        classes=range(2),
    )
    rows = gather_sequences(annotations, np.array([0, 2, 3]))
    assert rows.sentence_p.tolist() == [0, 0, 0, 0, 1]
    assert rows.annotator_p.tolist() == [0, 1, 2, 3, 2]
    assert rows.sequence_p.tolist() == [0, 0, 1, 2, 3]
    assert rows.n_labels_p.tolist() == [2, 2, 1, 2, 1]
    assert rows.distinct.tag_u.tolist() == [1, 0, 1, -1, 0, 0, 1]
    assert rows.distinct.token_u.tolist() == [0, 1, 0, 1, 0, 1, 2]


def test_a_sentence_without_labels_is_tagged_by_the_crf_alone():
    crowd = tagged_crowd(3, n_sentences=30)
    token = crowd.annotations.item >= crowd.offsets[3]
    part = crowd.annotations.only(token)
    fit = fit_crf_ma(crowd.features, crowd.offsets, part)
    assert fit.sentence_p.min() == 3
    score_tk = fit.weights.token_scores(crowd.features)
    alone_tk = expect(score_tk, crowd.offsets, fit.weights.transitions).marginal_tk
    unlabelled = slice(0, crowd.offsets[3])
    np.testing.assert_allclose(fit.tag_tk[unlabelled], alone_tk[unlabelled])
    kept = crowd.features[crowd.offsets[3] :]
    without = fit_crf_ma(kept, crowd.offsets[3:] - crowd.offsets[3], part[crowd.offsets[3] :])
    np.testing.assert_allclose(without.objective[0], fit.objective[0], rtol=1e-6)


def test_ties_of_the_majority_go_to_the_more_frequent_tag():
    annotations = Annotations.from_arrays(
        [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1], items=range(3), classes=range(2)
    )
    assert majority_tags(annotations).tolist() == [1, 1, -1]


def test_invalid_requests_raise():
    crowd = tagged_crowd(0, n_sentences=5)
    with pytest.raises(SettingError, match="pseudo_sentences must be above 0"):
        fit_crf_ma(crowd.features, crowd.offsets, crowd.annotations, pseudo_sentences=0.0)
    with pytest.raises(DataError, match="give one item per token"):
        fit_crf_ma(crowd.features, crowd.offsets, crowd.annotations[1:])
    with pytest.raises(DataError, match="not a single label"):
        fit_crf_ma(crowd.features, crowd.offsets, crowd.annotations.only(np.zeros(0, dtype=int)))
