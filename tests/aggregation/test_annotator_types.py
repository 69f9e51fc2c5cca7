"""Annotator types: the bound, the types of simulated annotators, and crowds full of spammers."""

import numpy as np
import pytest
from scipy.special import gammaln, psi
from spam_crowd import spam_crowd

from manyhands.aggregation import AnnotatorTypes, DawidSkene, Majority
from manyhands.aggregation.kernels.type_pass import TypePriors, digamma_and_log_gamma, expect_types
from manyhands.annotations import Annotations


def log_beta(pseudo):
    return gammaln(pseudo).sum() - gammaln(pseudo.sum())


def test_digamma_and_log_gamma_are_those_of_scipy():
    for x in np.exp(np.linspace(-7, 9, 200)):
        np.testing.assert_allclose(digamma_and_log_gamma(x), (psi(x), gammaln(x)), 1e-9, 1e-9)


def test_the_evidence_of_types_is_that_of_plain_loops():
    rng = np.random.default_rng(1)
    priors = TypePriors(
        np.array([0.5, 0.3, 0.2]),
        np.array([[[0.8, 0.1, 0.3], [0.1, 0.7, 0.3], [0.1, 0.2, 0.4]]]),
        rng.uniform(0.5, 4.0, (3, 3)),
        np.array([0.4, 0.7, 1.1]),
    )
    counts_lk = np.zeros((3, 3))
    counts_lk[:2] = rng.dirichlet(np.ones(3), 2) * [[3.0], [2.0]]
    said_l, n = counts_lk.sum(axis=1), counts_lk.sum()
    evidence_t = np.array(
        [
            (counts_lk * np.log(priors.shared_mlk[0])).sum(),
            sum(
                log_beta(priors.own_lk[:, k] + counts_lk[:, k]) - log_beta(priors.own_lk[:, k])
                for k in range(3)
            ),
            log_beta(priors.spam_l + said_l) - log_beta(priors.spam_l),
        ]
    )
    joint_t = np.log(priors.share_t) + evidence_t
    member_t = np.exp(joint_t - np.logaddexp.reduce(joint_t))
    own_lk = psi(priors.own_lk + counts_lk) - psi((priors.own_lk + counts_lk).sum(axis=0))
    spam_l = psi(priors.spam_l + said_l) - psi(priors.spam_l.sum() + n)
    log_lk = member_t[0] * np.log(priors.shared_mlk[0])
    log_lk += member_t[1] * own_lk + member_t[2] * spam_l[:, None]

    types = expect_types(counts_lk[None], priors)

    np.testing.assert_allclose(types.member_at[0], member_t, atol=1e-9)
    np.testing.assert_allclose(types.log_confusion_alk[0], log_lk, atol=1e-8)
    expected = (counts_lk * log_lk).sum() - np.logaddexp.reduce(joint_t)
    assert types.divergence == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(types.statistics.shared_mlk[0], member_t[0] * counts_lk, atol=1e-9)


def test_types_of_simulated_annotators_are_recovered():
    annotations, _, kind_a = spam_crowd(per_annotator=40)
    traits = AnnotatorTypes().fit(annotations).annotator_traits
    spammer_a = traits["spammer"]
    assert spammer_a[kind_a == 2].mean() > 0.95
    assert spammer_a[kind_a != 2].mean() < 0.1
    np.testing.assert_allclose(sum(traits.values()), 1.0, atol=1e-9)


def group_crowd(seed):
    """Annotators with five labels each, of three groups that share a confusion."""
    rng = np.random.default_rng(seed)
    n_items, n_annotators = 3000, 3000
    swap_kl = np.array([[0.9, 0.05, 0.05], [0.05, 0.15, 0.8], [0.05, 0.8, 0.15]])
    good_kl = np.full((3, 3), 0.03) + 0.91 * np.eye(3)
    mild_kl = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    group_a = rng.choice(3, size=n_annotators, p=[0.2, 0.4, 0.4])
    truth_i = rng.integers(3, size=n_items)
    item = np.repeat(np.arange(n_items), 5)
    annotator = np.argsort(rng.random((n_items, n_annotators)), axis=1)[:, :5].ravel()
    row_nl = np.stack([swap_kl, good_kl, mild_kl])[group_a[annotator], truth_i[item]].cumsum(axis=1)
    label = (rng.random(len(item))[:, None] > row_nl[:, :-1]).sum(axis=1)
    return Annotations.from_arrays(item, annotator, label), truth_i, (swap_kl, good_kl, mild_kl)


def test_groups_with_a_shared_confusion_are_recovered_from_few_labels_each():
    annotations, truth_i, confusions = group_crowd(0)
    consensus = AnnotatorTypes().fit(annotations)
    found_mkl = consensus.parameters.shared_mlk.transpose(0, 2, 1)
    for confusion_kl in confusions[:2]:
        assert np.abs(found_mkl - confusion_kl).max(axis=(1, 2)).min() < 0.15
    plain = (DawidSkene().fit(annotations).labels == truth_i).mean()
    assert (consensus.labels == truth_i).mean() > plain + 0.01


def test_later_starts_never_lower_the_bound():
    for seed in range(3):
        annotations, _, _ = spam_crowd(n_annotators=80, per_annotator=6, seed=seed)
        bounds = [AnnotatorTypes(n_starts=n).fit(annotations).objective[-1] for n in (1, 2, 3)]
        assert bounds == sorted(bounds)


def test_people_who_press_one_button_do_not_decide():
    annotations, truth_i, _ = spam_crowd()
    accuracy = {
        model.name: (model.fit(annotations).labels == truth_i).mean()
        for model in (AnnotatorTypes(), Majority(), DawidSkene())
    }
    assert accuracy["annotator-types"] > accuracy["majority"] + 0.08
    assert accuracy["annotator-types"] > accuracy["dawid-skene"] + 0.2


def test_own_confusions_are_recovered_from_many_labels():
    rng = np.random.default_rng(3)
    truth_i = rng.integers(3, size=900)
    swap_kl = np.array([[0.9, 0.05, 0.05], [0.05, 0.15, 0.8], [0.05, 0.8, 0.15]])
    good_kl = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    confusion_akl = np.stack([swap_kl, *[good_kl] * 5])
    item, annotator = np.repeat(np.arange(900), 6), np.tile(np.arange(6), 900)
    row_nl = confusion_akl[annotator, truth_i[item]].cumsum(axis=1)
    label = (rng.random(len(item))[:, None] > row_nl[:, :-1]).sum(axis=1)
    consensus = AnnotatorTypes().fit(Annotations.from_arrays(item, annotator, label))
    np.testing.assert_allclose(consensus.confusion, confusion_akl, atol=0.06)
    assert consensus.annotator_traits["own_confusion"][0] > 0.99


def test_identical_annotators_share_a_profile_and_copies_of_items_change_no_label():
    annotations, _, _ = spam_crowd(n_annotators=60)
    first = annotations.annotator == 0
    twin = [annotations.item, annotations.annotator, annotations.label]
    joined = [np.concatenate([each, each[first]]) for each in twin]
    joined[1][-first.sum() :] = annotations.n_annotators
    consensus = AnnotatorTypes().fit(Annotations.from_arrays(*joined))
    np.testing.assert_allclose(consensus.confusion[0], consensus.confusion[-1], atol=1e-9)

    copies = np.concatenate([annotations.item, annotations.item + annotations.n_items])
    twice = Annotations.from_arrays(copies, np.tile(twin[1], 2), np.tile(twin[2], 2))
    labels = AnnotatorTypes().fit(twice).labels
    np.testing.assert_array_equal(labels[: annotations.n_items], labels[annotations.n_items :])


def test_a_class_that_nobody_uses_is_the_label_of_no_item():
    annotations, _, _ = spam_crowd(n_annotators=60)
    wider = Annotations.from_arrays(
        annotations.item, annotations.annotator, annotations.label, classes=[0, 1, 2, 3]
    )
    plain, wide = AnnotatorTypes().fit(annotations), AnnotatorTypes().fit(wider)
    np.testing.assert_array_equal(wide.labels, plain.labels)
    np.testing.assert_allclose(wide.probabilities[:, 3], 0.01 / 4, atol=1e-6)
    np.testing.assert_allclose(wide.raw_probabilities[:, :3], plain.raw_probabilities, atol=0.02)


@pytest.mark.slow
def test_many_annotators_with_one_label_each_finish():
    rng = np.random.default_rng(0)
    n = 100_000
    truth_i = rng.integers(2, size=n // 5)
    item = np.repeat(np.arange(n // 5), 5)
    label = np.where(rng.random(n) < 0.75, truth_i[item], 1 - truth_i[item])
    consensus = AnnotatorTypes().fit(Annotations.from_arrays(item, np.arange(n), label))
    assert (consensus.labels == truth_i).mean() > 0.88


def test_copies_of_one_person_are_not_certain():
    label = np.random.default_rng(0).integers(2, size=100)
    item, annotator = np.repeat(np.arange(100), 50), np.tile(np.arange(50), 100)
    copies = Annotations.from_arrays(item, annotator, np.repeat(label, 50))
    assert AnnotatorTypes().fit(copies).confidence.max() < 0.996


def test_the_confidence_counts_correlated_labels_as_fewer_and_changes_no_label():
    annotations, _, _ = spam_crowd(n_annotators=60)
    consensus, plain = (AnnotatorTypes(correlation=c).fit(annotations) for c in (0.2, 0.0))
    np.testing.assert_array_equal(consensus.labels, plain.labels)
    np.testing.assert_allclose(consensus.raw_probabilities, plain.probabilities, atol=1e-12)
    raw_ik, n_i = plain.probabilities, annotations.labels_per_item
    two = np.log(raw_ik[:, 0] / raw_ik[:, 1]) * (n_i / (1 + 0.2 * (n_i - 1))) / n_i
    mixed_ik = (consensus.probabilities - 0.01 / 3) / 0.99
    np.testing.assert_allclose(np.log(mixed_ik[:, 0] / mixed_ik[:, 1]), two, atol=1e-6)
    assert consensus.confidence.mean() < plain.confidence.mean()
    columns = consensus.item_columns()
    np.testing.assert_allclose(columns["raw_confidence"], raw_ik.max(axis=1), atol=1e-12)
