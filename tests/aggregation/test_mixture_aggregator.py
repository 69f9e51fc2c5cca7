"""The mixture needs no annotators, finds planted groups, and restarts can only help."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_em_laws import assert_never_falls, label_columns, log_likelihood

from manyhands.aggregation import Majority, Mixture
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.mixture_pass import LabelPatterns
from manyhands.aggregation.mixture import group_counts
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError
from manyhands.evaluation import accuracy_score
from manyhands.simulation import SCENARIOS
from manyhands.simulation.perturbed_networks import PerturbedNetworkSettings
from random_tables import random_labels


@pytest.fixture(scope="module")
def grouped():
    """Experts, inexperts and spammers; ten labels per item."""
    return SCENARIOS["perturbed-networks"](PerturbedNetworkSettings(labels_per_item=10, seed=1))


def nameless(annotations):
    """The same labels, each by another annotator."""
    return Annotations.from_arrays(
        annotations.items[annotations.item],
        np.arange(annotations.n_annotations),
        annotations.classes[annotations.label],
        items=annotations.items,
        classes=annotations.classes,
    )


def test_annotators_do_not_matter(crowd, grouped):
    for annotations in (crowd.annotations, grouped.annotations):
        named = Mixture().fit(annotations)
        without = Mixture().fit(nameless(annotations))
        np.testing.assert_array_equal(without.probabilities, named.probabilities)
        assert without.objective == named.objective
        for array in ("log_prior_k", "log_share_m", "log_confusion_mlk"):
            np.testing.assert_array_equal(
                getattr(without.parameters, array), getattr(named.parameters, array)
            )


def test_simulated_groups_are_recovered(grouped):
    annotations, truth = grouped.annotations, grouped.truth
    consensus = Mixture().fit(annotations)
    member = consensus.parameters.member_am.argmax(axis=1)  # most agreeing first, as planted
    assert (member == grouped.group_a).mean() > 0.9
    said_kl = np.zeros((3, 3))
    np.add.at(said_kl, truth[annotations.item], grouped.confusion[
        annotations.annotator, truth[annotations.item]
    ])  # fmt: skip
    said_kl /= said_kl.sum(axis=1, keepdims=True)
    found_kl = np.exp(consensus.parameters.log_crowd_lk()).T
    assert np.abs(found_kl - said_kl).mean() < 0.02
    off = np.abs(consensus.confusion - grouped.confusion).mean()
    assert off < 0.9 * np.abs(found_kl - grouped.confusion).mean()
    majority = Majority().fit(annotations)
    assert accuracy_score(truth, consensus.labels) > accuracy_score(truth, majority.labels) + 0.02


def test_memberships_sum_to_one(crowd):
    consensus = Mixture(n_groups=4).fit(crowd.annotations)
    frame = consensus.annotators_frame()
    columns = [f"group_{m}" for m in range(1, 5)]
    np.testing.assert_allclose(frame[columns].sum(axis=1), 1.0)
    parameters = consensus.parameters
    expected = np.log(np.einsum("ik,mlk->iml", consensus.probabilities,
                                np.exp(parameters.log_confusion_mlk)))  # fmt: skip
    score_am = np.tile(parameters.log_share_m, (crowd.annotations.n_annotators, 1))
    annotations = crowd.annotations
    for i, a, label in zip(annotations.item, annotations.annotator, annotations.label, strict=True):
        score_am[a] += expected[i, :, label]
    member_am = np.exp(score_am - score_am.max(axis=1, keepdims=True))
    member_am /= member_am.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(parameters.member_am, member_am, atol=1e-9)


def dense_step(annotations, prior_k, alpha_m, beta_mkl):
    """One EM step label by label, with q over (group, class) for each of them."""
    crowd_kl = np.einsum("m,mkl->kl", alpha_m, beta_mkl)
    q_ik = np.tile(prior_k, (annotations.n_items, 1))
    for i, label in zip(annotations.item, annotations.label, strict=True):
        q_ik[i] *= crowd_kl[:, label]
    q_ik /= q_ik.sum(axis=1, keepdims=True)
    counts_mkl = alpha_m[:, None, None] * beta_mkl / crowd_kl  # one pseudo-label per cell
    for i, label in zip(annotations.item, annotations.label, strict=True):
        q_mk = alpha_m[:, None] * beta_mkl[:, :, label] / crowd_kl[:, label] * q_ik[i]
        counts_mkl[:, :, label] += q_mk
    alpha_m = counts_mkl.sum(axis=(1, 2)) / counts_mkl.sum()
    prior_k = (q_ik.sum(axis=0) + 1.0) / (len(q_ik) + len(prior_k))
    return prior_k, alpha_m, counts_mkl / counts_mkl.sum(axis=2, keepdims=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_steps", [1, 5])
def test_the_mixture_equals_the_dense_one(seed, n_classes, n_steps):
    columns = random_labels(seed, n_classes=n_classes, n_annotations=60)
    annotations = Annotations.from_arrays(*columns, classes=range(n_classes))
    ours = Mixture(n_restarts=1, max_iter=n_steps, tol=0.0).fit(annotations)
    [counts_mlk] = group_counts(LabelPatterns.of(gather_evidence(annotations)), 3, 1, 0)
    counts_mkl = counts_mlk.transpose(0, 2, 1) + 1 / 3
    shares_ik = annotations.label_counts()
    shares_ik /= shares_ik.sum(axis=1, keepdims=True)
    prior_k = (shares_ik.sum(axis=0) + 1.0) / (len(shares_ik) + n_classes)
    state = (
        prior_k,
        counts_mkl.sum(axis=(1, 2)) / counts_mkl.sum(),
        counts_mkl / counts_mkl.sum(axis=2, keepdims=True),
    )
    for _ in range(n_steps):
        state = dense_step(annotations, *state)
    parameters = ours.parameters
    np.testing.assert_allclose(np.exp(parameters.log_prior_k), state[0], atol=1e-9)
    np.testing.assert_allclose(np.exp(parameters.log_share_m), state[1], atol=1e-9)
    confusion_mkl = np.exp(parameters.log_confusion_mlk).transpose(0, 2, 1)
    np.testing.assert_allclose(confusion_mkl, state[2], atol=1e-9)


def test_the_mixture_objective_is_what_its_docstring_says(crowd):
    annotations = crowd.annotations[:50]
    short = Mixture(n_restarts=1, max_iter=4, tol=0.0).fit(annotations)
    longer = Mixture(n_restarts=1, max_iter=5, tol=0.0).fit(annotations)
    prior_k = np.exp(short.parameters.log_prior_k)
    crowd_kl = np.exp(short.parameters.log_crowd_lk()).T
    confusion_akl = np.repeat(crowd_kl[None], annotations.n_annotators, axis=0)
    expected = log_likelihood(annotations, prior_k, confusion_akl)
    expected += np.log(crowd_kl).sum() + np.log(prior_k).sum()
    assert longer.objective[-1] == pytest.approx(expected, rel=1e-10)


FEW = settings(max_examples=30)


@FEW
@given(columns=label_columns(), n_groups=st.integers(1, 6), pseudo=st.sampled_from([1e-3, 5.0]))
def test_any_number_of_groups_never_lets_the_objective_fall(columns, n_groups, pseudo):
    annotations = Annotations.from_arrays(*columns, classes=range(4))
    method = Mixture(n_groups=n_groups, pseudo_count=pseudo, n_restarts=3, tol=0.0, max_iter=25)
    assert_never_falls(method.fit(annotations).objective)


@pytest.mark.slow
@FEW
@given(columns=label_columns(), seed=st.integers(0, 5))
def test_restarts_never_lower_the_likelihood(columns, seed):
    annotations = Annotations.from_arrays(*columns, classes=range(4))
    ends = [
        Mixture(n_restarts=n, seed=seed, max_iter=30).fit(annotations).objective[-1]
        for n in (1, 2, 5)
    ]
    assert ends == sorted(ends)


def test_the_seed_decides_the_restarts(grouped):
    first, second = (
        list(group_counts(LabelPatterns.of(gather_evidence(grouped.annotations)), 3, 5, seed))
        for seed in (0, 1)
    )
    again = list(group_counts(LabelPatterns.of(gather_evidence(grouped.annotations)), 3, 5, 0))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[0], second[0])
    assert not all(np.array_equal(a, b) for a, b in zip(first[1:], second[1:], strict=False))
    n_a = grouped.annotations.n_annotations
    assert all(counts.sum() == pytest.approx(n_a) for counts in first)


def test_groups_of_annotations_are_ordered_by_agreement(grouped):
    for counts_mlk in group_counts(
        LabelPatterns.of(gather_evidence(grouped.annotations)), 3, 10, 0
    ):
        seen = counts_mlk.sum(axis=(1, 2)) > 0
        right = np.einsum("mkk->m", counts_mlk)[seen] / counts_mlk[seen].sum(axis=(1, 2))
        assert (np.diff(right) < 0).all()


def test_known_truths_move_the_confusion():
    item, annotator = np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40)
    annotations = Annotations.from_arrays(item, annotator, np.tile([0, 0, 1], 40), classes=[0, 1])
    known = {i: i % 2 for i in range(30)}
    consensus = Mixture().fit(annotations, known=known)
    np.testing.assert_array_equal(consensus.labels[:30], np.arange(30) % 2)
    rest = consensus.probabilities[30:]
    np.testing.assert_allclose(rest, np.broadcast_to(rest[0], rest.shape))
    assert 0.3 < rest[0, 1] < 0.7, "these counts say nothing of the class, and truths show it"


@pytest.mark.parametrize("setting", [{"n_groups": 0}, {"n_restarts": 0}, {"pseudo_count": 0.0}])
def test_mixture_settings_are_checked(setting):
    with pytest.raises(SettingError, match=next(iter(setting))):
        Mixture(**setting)
