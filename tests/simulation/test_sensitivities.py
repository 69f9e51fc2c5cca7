"""Two classes, annotators of given sensitivity and specificity."""

import numpy as np
from planted import assert_share

from manyhands.simulation import SCENARIOS, SensitivitySettings


def test_the_paper_s_annotators_are_the_default():
    crowd = SCENARIOS["sensitivities"]()
    assert (len(crowd.annotations), crowd.annotations.n_annotators) == (12_500, 5)
    assert set(crowd.annotations.labels_per_item) == {5}
    np.testing.assert_allclose(crowd.confusion[:, 1, 1], [0.6, 0.9, 0.5, 0.9, 0.9])
    np.testing.assert_allclose(crowd.confusion[:, 0, 0], [0.7, 0.8, 0.5, 0.2, 0.9])


def test_each_annotator_is_as_sensitive_and_specific_as_set():
    settings = SensitivitySettings(
        n_items=4000, n_annotators=3, labels_per_item=2,
        sensitivities=(0.95, 0.3, 0.6), specificities=(0.1, 0.8, 1.0),
    )  # fmt: skip
    crowd = SCENARIOS["sensitivities"](settings)
    ann = crowd.annotations
    for a in range(3):
        theirs = ann.annotator == a
        truth, label = crowd.truth[ann.item[theirs]], ann.label[theirs]
        assert_share(label[truth == 1] == 1, settings.sensitivities[a])
        assert_share(label[truth == 0] == 0, settings.specificities[a])


def test_annotators_in_another_order_are_the_same_annotators():
    order = [3, 0, 2, 1]
    first = SensitivitySettings(
        n_items=50, n_annotators=4, labels_per_item=2,
        sensitivities=(0.6, 0.9, 0.5, 0.7), specificities=(0.7, 0.8, 0.5, 0.2),
    )  # fmt: skip
    second = SensitivitySettings(
        n_items=50, n_annotators=4, labels_per_item=2,
        sensitivities=tuple(first.sensitivities[a] for a in order),
        specificities=tuple(first.specificities[a] for a in order),
    )  # fmt: skip
    one, two = SCENARIOS["sensitivities"](first), SCENARIOS["sensitivities"](second)
    np.testing.assert_array_equal(one.confusion[order], two.confusion)
    np.testing.assert_array_equal(one.truth, two.truth)
    np.testing.assert_array_equal(one.annotations.annotator, two.annotations.annotator)


def test_a_larger_crowd_takes_the_lists_in_turn():
    crowd = SCENARIOS["sensitivities"](SensitivitySettings(n_items=10, n_annotators=12))
    np.testing.assert_array_equal(crowd.confusion[5:10], crowd.confusion[:5])
    np.testing.assert_array_equal(crowd.confusion[10:], crowd.confusion[:2])
