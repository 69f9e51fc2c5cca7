"""CROWDLAB and ActiveLab against cleanlab, and what holds for them."""

import numpy as np
import pytest
from cleanlab import multiannotator

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.selection import active_lab, crowdlab


def crowd(seed, n_items=120, n_annotators=9, n_classes=3, missing=0.7):
    """A matrix of labels with NaN where there is none, and probabilities of a classifier."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    right = rng.random((n_items, n_annotators)) < rng.uniform(0.4, 0.95, n_annotators)
    labels = np.where(right, truth[:, None], rng.integers(n_classes, size=right.shape)).astype(
        float
    )
    labels[rng.random(right.shape) < missing] = np.nan
    labels[np.isnan(labels).all(axis=1), 0] = 1.0
    probabilities = rng.dirichlet(np.ones(n_classes), n_items)
    probabilities[np.arange(n_items), truth] += 0.7
    return labels, probabilities / probabilities.sum(axis=1, keepdims=True)


def annotations_of(labels):
    return Annotations.from_dense(np.where(np.isnan(labels), -1, labels).astype(int))


# Five items, three annotators, two classes.
EXAMPLE = (
    np.array([[0, 0, np.nan], [1, 1, 1], [0, np.nan, 1], [np.nan, 1, 1], [0, 1, 0.0]]),
    np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4], [0.2, 0.8], [0.55, 0.45]]),
)


@pytest.mark.parametrize("given", [EXAMPLE, *(crowd(seed) for seed in range(3))])
def test_crowdlab_is_that_of_cleanlab(given):
    labels, probabilities = given
    wanted = multiannotator.get_label_quality_multiannotator(
        labels, probabilities, verbose=False, return_weights=True
    )
    found, table = crowdlab(annotations_of(labels), probabilities), wanted["label_quality"]
    assert found.codes.tolist() == table["consensus_label"].tolist()
    assert found.quality == pytest.approx(table["consensus_quality_score"].to_numpy(), abs=1e-9)
    assert found.agreement == pytest.approx(table["annotator_agreement"].to_numpy(), abs=1e-9)
    assert found.annotator_weight == pytest.approx(wanted["annotator_weight"], abs=1e-9)
    assert found.model_weight == pytest.approx(wanted["model_weight"], abs=1e-9)
    quality_a = wanted["annotator_stats"].sort_index()["annotator_quality"].to_numpy()
    assert found.annotator_quality == pytest.approx(quality_a, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_active_lab_is_that_of_cleanlab_at_the_same_temperature(seed, monkeypatch):
    """cleanlab counts labels that are floats in the wrong classes where an item lacks a class.

    So its temperature is another one; everything else is compared at a given temperature.
    """
    labels, probabilities = crowd(seed)
    monkeypatch.setattr(multiannotator, "find_best_temp_scaler", lambda *_: 1.75)
    labelled, unlabelled = multiannotator.get_active_learning_scores(
        labels, probabilities, probabilities[:20]
    )
    bare = np.concatenate([labels, np.full((20, labels.shape[1]), np.nan)])
    both = np.concatenate([probabilities, probabilities[:20]])
    found = active_lab(annotations_of(bare), both, temperature=1.75)
    assert found == pytest.approx(np.concatenate([labelled, unlabelled]), abs=1e-9)


def test_active_lab_with_one_label_per_item_is_that_of_cleanlab():
    labels, probabilities = crowd(4, n_annotators=4)
    one = np.where(np.arange(4) == np.argmin(np.isnan(labels), axis=1)[:, None], labels, np.nan)
    wanted, _ = multiannotator.get_active_learning_scores(one, probabilities)
    assert active_lab(annotations_of(one), probabilities) == pytest.approx(wanted, abs=1e-9)


def test_the_temperature_makes_the_shares_of_labels_most_probable():
    labels, probabilities = crowd(5, n_items=200)
    ann = annotations_of(labels)
    sharp = probabilities**3 / (probabilities**3).sum(axis=1, keepdims=True)
    # Sharpening the classifier is undone by the temperature, up to the steps of the search.
    plain, sharpened = active_lab(ann, probabilities), active_lab(ann, sharp)
    assert np.abs(plain - sharpened).max() < 0.05
    assert np.abs(plain - active_lab(ann, sharp, temperature=1.0)).max() > 0.05


def test_probabilities_sum_to_one_and_permuting_classes_permutes_them():
    labels, probabilities = crowd(6)
    ann, order = annotations_of(labels), [2, 0, 1]
    names = np.array([2, 0, 1])  # class k is renamed to names[k]
    permuted = Annotations.from_arrays(
        ann.item, ann.annotator, names[ann.label], items=range(len(ann)), classes=range(3)
    )
    first = crowdlab(ann, probabilities)
    second = crowdlab(permuted, probabilities[:, np.argsort(order)])
    assert first.probabilities.sum(axis=1) == pytest.approx(1.0)
    assert second.probabilities[:, order] == pytest.approx(first.probabilities)
    assert second.quality == pytest.approx(first.quality)


def test_what_cannot_be_scored_is_refused():
    labels, probabilities = crowd(7)
    ann = annotations_of(labels)
    with pytest.raises(DataError, match=r"shape \(120, 3\)"):
        crowdlab(ann, probabilities[:, :2])
    with pytest.raises(DataError, match="sum to 1"):
        crowdlab(ann, probabilities / 2)
    with pytest.raises(DataError, match="more than one label"):
        crowdlab(Annotations.from_dense([[0, -1], [-1, 1]]), [[0.5, 0.5], [0.5, 0.5]])
