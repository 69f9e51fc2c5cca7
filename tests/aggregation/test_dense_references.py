"""Agreement with independent implementations on dense arrays, written plainly."""

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import DawidSkene as PeerDawidSkene
from crowdkit.aggregation import MajorityVote as PeerMajority

from manyhands.aggregation import DawidSkene, Gaussian, Majority, OneCoin
from manyhands.annotations import Annotations
from random_tables import random_labels


def one_hot(annotations):
    """Labels as a dense 0/1 array (annotation, item, annotator, label), repeats included."""
    n = annotations.n_annotations
    shape = (n, annotations.n_items, annotations.n_annotators, annotations.n_classes)
    dense = np.zeros(shape)
    dense[np.arange(n), annotations.item, annotations.annotator, annotations.label] = 1.0
    return dense.sum(axis=0)


def dense_crowd(counts_akl, strength):
    """The mean over annotators of their confusion, weighted by n / (n + strength)."""
    n_ak = counts_akl.sum(axis=2)
    n_labels = counts_akl.shape[2]
    total = sum(counts_akl[a] / (n_ak[a] + strength)[:, None] for a in range(len(counts_akl)))
    total = total + 1.0 / (n_labels * (1.0 + strength))
    return total / total.sum(axis=1, keepdims=True)


def dense_m_step(y_ial, q_ik, pseudo_kl):
    counts_akl = np.einsum("ik,ial->akl", q_ik, y_ial)
    raised = counts_akl + pseudo_kl
    total = raised.sum(axis=2, keepdims=True)
    uniform = np.full_like(raised, 1.0 / raised.shape[2])
    confusion = np.divide(raised, total, out=uniform, where=total > 0)
    prior = q_ik.sum(axis=0) + 1.0
    return prior / prior.sum(), confusion, counts_akl


def dense_e_step(y_ial, prior, confusion):
    q_ik = np.ones((len(y_ial), len(prior))) * prior
    for i in range(len(y_ial)):
        for k in range(len(prior)):
            q_ik[i, k] *= np.prod(confusion[:, k, :] ** y_ial[i])
    return q_ik / q_ik.sum(axis=1, keepdims=True)


def dense_dawid_skene(annotations, strength, n_steps):
    y_ial = one_hot(annotations)
    q_ik = y_ial.sum(axis=1) / y_ial.sum(axis=(1, 2))[:, None]
    _, _, counts = dense_m_step(y_ial, q_ik, 0.0)
    weight = max(strength, 1.0)
    prior, confusion, _ = dense_m_step(y_ial, q_ik, strength * dense_crowd(counts, weight))
    q_ik = dense_e_step(y_ial, prior, confusion)
    _, _, counts = dense_m_step(y_ial, q_ik, 0.0)
    pseudo = strength * dense_crowd(counts, weight)
    for _ in range(n_steps + 1):
        prior, confusion, _ = dense_m_step(y_ial, q_ik, pseudo)
        q_ik = dense_e_step(y_ial, prior, confusion)
    return q_ik, confusion


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("strength", [0.0, 2.0, 5.0])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_dawid_skene_equals_the_dense_one(seed, strength, n_classes):
    item, annotator, label = random_labels(seed, n_classes=n_classes, n_annotations=60)
    annotations = Annotations.from_arrays(item, annotator, label)
    ours = DawidSkene(prior_strength=strength, max_iter=7, tol=0.0).fit(annotations)
    q_ik, confusion = dense_dawid_skene(annotations, strength, ours.n_iterations)
    np.testing.assert_allclose(ours.probabilities, q_ik, atol=1e-9)
    np.testing.assert_allclose(ours.confusion, confusion, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_majority_equals_counting(seed):
    item, annotator, label = random_labels(seed)
    annotations = Annotations.from_arrays(item, annotator, label)
    shares = pd.crosstab(item, label, normalize="index").to_numpy()
    np.testing.assert_allclose(Majority().fit(annotations).probabilities, shares, atol=1e-12)


PEER_WARNS = pytest.mark.filterwarnings("ignore:The (inplace|copy) keyword")


def as_peer_frame(crowd):
    frame = crowd.annotations.to_frame()
    return frame.rename(columns={"item": "task", "annotator": "worker"})


@PEER_WARNS
def test_majority_agrees_with_crowd_kit_where_there_is_no_tie(crowd):
    theirs = PeerMajority().fit_predict(as_peer_frame(crowd))
    ours = Majority().fit(crowd.annotations)
    clear = ~ours.tied
    np.testing.assert_array_equal(ours.labels[clear], theirs.sort_index().to_numpy()[clear])


@PEER_WARNS
@pytest.mark.slow
def test_plain_dawid_skene_agrees_with_crowd_kit(crowd):
    # Their loop runs E before M from majority and stops by an objective that may fall, so both
    # are run long enough to reach the fixed point that they share.
    peer = PeerDawidSkene(n_iter=300, tol=-1e9).fit(as_peer_frame(crowd))
    ours = DawidSkene(prior_strength=0.0, class_pseudo_count=0.0, max_iter=300, tol=0.0).fit(
        crowd.annotations
    )
    np.testing.assert_allclose(
        ours.probabilities, peer.probas_.sort_index().sort_index(axis=1).to_numpy(), atol=1e-3
    )


@pytest.mark.parametrize("seed", range(5))
def test_one_coin_posterior_is_bayes_rule(seed):
    item, annotator, label = random_labels(seed)
    annotations = Annotations.from_arrays(item, annotator, label)
    consensus = OneCoin(max_iter=5, tol=0.0).fit(annotations)
    y_ial = one_hot(annotations)
    q_ik = dense_e_step(y_ial, np.full(3, 1 / 3), consensus.confusion)
    np.testing.assert_allclose(consensus.probabilities, q_ik, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_gaussian_values_solve_the_normal_equations(seed):
    rng = np.random.default_rng(seed)
    item, annotator, _ = random_labels(seed)
    label = rng.normal(size=len(item))
    annotations = Annotations.from_arrays(item, annotator, label)
    fit = Gaussian(tol=0.0, max_iter=50).fit(annotations)
    precision, bias = fit.parameters.precision_a, fit.parameters.bias_a
    for i in range(annotations.n_items):
        rows = annotations.item == i
        who = annotations.annotator[rows]
        value = np.average(annotations.label[rows] - bias[who], weights=precision[who])
        assert fit.values[i] == pytest.approx(value, abs=1e-9)
        assert fit.spread[i] == pytest.approx(precision[who].sum() ** -0.5)
