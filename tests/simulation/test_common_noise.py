"""Mistakes that everybody makes, and mistakes of one's own."""

import numpy as np
import pytest
from planted import assert_follow, assert_share, label_counts

from manyhands.simulation import SCENARIOS, CommonNoiseSettings
from manyhands.simulation.common_noise import draw_partners, partner_confusions, shift_for


def crowd_of(**settings):
    small = {"n_items": 4000, "n_test": 0}
    return SCENARIOS["common-noise"](CommonNoiseSettings(**(small | settings)))


def test_the_paper_s_sizes_are_the_default():
    crowd = SCENARIOS["common-noise"]()
    ann = crowd.annotations
    assert (len(ann), ann.n_annotators, ann.n_classes) == (8000, 30, 6)
    assert set(ann.labels_per_item) == {3}
    assert len(crowd.test.truth) == 1000
    assert np.bincount(np.concatenate([crowd.truth, crowd.test.truth])).tolist() == [1500] * 6


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.7, 1.0])
def test_the_share_of_common_labels_is_the_one_set(share):
    crowd = crowd_of(common_share=share)
    assert crowd.omega_n.mean() == pytest.approx(share, abs=1e-9)
    assert_share(crowd.from_common_n, share)


def test_omega_foretells_the_source():
    crowd = crowd_of(contrast=2.0)
    bins = np.clip((crowd.omega_n * 10).astype(int), 0, 9)
    for each in range(10):
        inside = bins == each
        total = inside.sum()
        off = abs(crowd.from_common_n[inside].sum() - crowd.omega_n[inside].sum())
        assert off < 5 * np.sqrt(total / 4) + 1
    logit = np.log(crowd.omega_n) - np.log1p(-crowd.omega_n)
    assert logit.std() == pytest.approx(2.0)


def test_omega_is_one_number_without_contrast():
    crowd = crowd_of(contrast=0.0, common_share=0.3)
    np.testing.assert_allclose(crowd.omega_n, 0.3)


def test_omega_depends_on_the_annotator_and_on_the_item():
    crowd = crowd_of(labels_per_item=30, n_items=200, contrast=1.0)
    omega_ia = crowd.omega_n.reshape(200, 30)
    logit_ia = np.log(omega_ia) - np.log1p(-omega_ia)
    assert np.linalg.matrix_rank(logit_ia - logit_ia.mean()) <= 10 + 1  # features, and a constant
    assert logit_ia.std(axis=0).min() > 0.1
    assert logit_ia.std(axis=1).min() > 0.05


@pytest.mark.parametrize("pattern", ["asymmetric", "symmetric"])
def test_labels_follow_the_confusion_they_came_from(pattern):
    crowd = crowd_of(pattern=pattern, common_strength=0.6, individual_strength=0.2)
    ann, common = crowd.annotations, crowd.from_common_n
    truth_n = crowd.truth[ann.item]
    own = label_counts(
        crowd.individual_akl, ann.annotator[~common], truth_n[~common], ann.label[~common]
    )
    assert_follow(own, crowd.individual_akl)
    nobody = np.zeros(common.sum(), dtype=int)
    shared = label_counts(crowd.common_kl[None], nobody, truth_n[common], ann.label[common])
    assert_follow(shared, crowd.common_kl[None])


def test_the_paper_s_most_extreme_crowd_flips_42_of_100_labels():
    crowd = crowd_of(
        pattern="symmetric", common_share=0.7, common_strength=0.6, individual_strength=0.0
    )
    wrong = crowd.annotations.label != crowd.truth[crowd.annotations.item]
    assert_share(wrong, 0.42)


def test_asymmetric_confusions_take_each_class_for_one_other():
    confusion_akl = partner_confusions(
        draw_partners(200, 5, "asymmetric", np.random.default_rng(0)), 0.4
    )
    np.testing.assert_allclose(np.einsum("akk->ak", confusion_akl), 0.6)
    assert ((confusion_akl > 0).sum(axis=2) == 2).all()
    others = confusion_akl.mean(axis=0)[~np.eye(5, dtype=bool)] / 0.1
    assert np.abs(others - 1).max() < 0.4  # any other class alike


@pytest.mark.parametrize("n_classes", [2, 5, 6])
def test_symmetric_confusions_pair_the_classes(n_classes):
    partner_ak = draw_partners(100, n_classes, "symmetric", np.random.default_rng(0))
    np.testing.assert_array_equal(
        np.take_along_axis(partner_ak, partner_ak, axis=1), np.tile(np.arange(n_classes), (100, 1))
    )
    alone = (partner_ak == np.arange(n_classes)).sum(axis=1)
    assert set(alone) == {n_classes % 2}
    confusion_akl = partner_confusions(partner_ak, 0.7)
    np.testing.assert_array_equal(confusion_akl, confusion_akl.transpose(0, 2, 1))


def test_partners_can_be_given():
    crowd = crowd_of(n_classes=4, n_items=20, partners=(2, 3, 0, 1), pattern="symmetric")
    np.testing.assert_allclose(
        np.argsort(crowd.common_kl, axis=1)[:, -2:].min(axis=1), [0, 1, 0, 1]
    )
    assert crowd.common_kl[0, 2] == pytest.approx(0.4)


def test_annotators_have_confusions_of_their_own():
    crowd = crowd_of(n_items=10)
    assert len({matrix.tobytes() for matrix in crowd.individual_akl}) == 30


@pytest.mark.parametrize("mean", [1e-6, 0.2, 0.999])
def test_the_shift_gives_the_mean(mean):
    logit_n = np.random.default_rng(0).normal(scale=3.0, size=1000)
    shifted = logit_n + shift_for(logit_n, mean)
    assert (1 / (1 + np.exp(-shifted))).mean() == pytest.approx(mean)


def test_notes_tell_the_sources():
    crowd = crowd_of(n_items=300)
    notes = crowd.label_notes
    np.testing.assert_array_equal(notes["source"] == "common", crowd.from_common_n)
    mean = np.average(
        crowd.annotator_notes["common_share"], weights=crowd.annotations.labels_per_annotator
    )
    assert mean == pytest.approx(crowd.from_common_n.mean())
