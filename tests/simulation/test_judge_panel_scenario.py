"""Panels of judges share errors as they were told to."""

import numpy as np
import pytest

from manyhands.simulation import SCENARIOS, JudgePanelSettings
from manyhands.simulation.judge_panels import label_correlation


def panel(**settings):
    return SCENARIOS["judge-panel"](JudgePanelSettings(**{"n_items": 20_000, **settings}))


def counted_correlation(crowd):
    """The correlation of labels given the truth, from the labels as 0/1 vectors."""
    labels_ia, n_classes = crowd.annotations.to_dense(), crowd.annotations.n_classes
    vectors_aik = np.eye(n_classes)[labels_ia.T]
    for k in range(n_classes):
        of_class = crowd.truth == k
        vectors_aik[:, of_class] -= vectors_aik[:, of_class].mean(axis=1, keepdims=True)
    products_ab = np.einsum("aik,bik->ab", vectors_aik, vectors_aik)
    scale_a = np.sqrt(np.diag(products_ab))
    return products_ab / np.outer(scale_a, scale_a)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("group_size", "sharing"), [(6, 0.9), (4, 0.6), (6, 0.0), (1, 0.9)])
def test_labels_correlate_as_planted(n_classes, group_size, sharing):
    crowd = panel(n_classes=n_classes, group_size=group_size, sharing=sharing, lowest=0.7)
    found = counted_correlation(crowd)
    np.testing.assert_allclose(found, crowd.correlation, atol=0.04)
    assert crowd.effective_judges == pytest.approx(36 / found.sum(), rel=0.04)


def test_copies_count_as_one_judge_and_independent_ones_as_many():
    same = {"lowest": 0.8, "highest": 0.8, "n_items": 50}
    assert panel(sharing=1.0, group_size=6, **same).effective_judges == pytest.approx(1.0)
    assert panel(sharing=0.0, **same).effective_judges == pytest.approx(6.0)
    assert panel(sharing=1.0, group_size=3, **same).effective_judges == pytest.approx(2.0)
    copies = panel(sharing=1.0, group_size=3, **same).annotations.to_dense()
    assert (copies[:, :3] == copies[:, :1]).all()
    assert (copies[:, 3:] == copies[:, 3:4]).all()


def test_the_correlation_is_the_square_of_sharing_for_equal_judges():
    accuracy_a, group_a = np.full(3, 0.7), np.array([0, 0, 1])
    for n_classes in (2, 5):
        found = label_correlation(accuracy_a, group_a, 0.5, n_classes)
        np.testing.assert_allclose(found, [[1, 0.25, 0], [0.25, 1, 0], [0, 0, 1]], atol=1e-12)
