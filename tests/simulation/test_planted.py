"""A crowd in which every bad behaviour is planted."""

import numpy as np
import pytest
from planted import assert_share

from manyhands.core.errors import SettingError
from manyhands.simulation import SCENARIOS, PlantedSettings


def crowd_of(**settings):
    return SCENARIOS["planted"](PlantedSettings(seed=1, **settings))


def test_every_behaviour_has_its_share():
    crowd = crowd_of(n_annotators=60, share=0.4)
    names, counts = np.unique(crowd.behaviour.astype(str), return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        "adversary": 6, "constant": 6, "copycat": 6, "honest": 36, "random": 6,
    }  # fmt: skip


def test_a_copycat_labels_the_items_of_an_honest_source_and_mostly_agrees():
    crowd = crowd_of(n_annotators=40, copying=0.8, lowest=0.0, highest=0.0)
    ann, source_a = crowd.annotations, crowd.annotator_notes["copies"]
    said = {
        (item, who): label
        for item, who, label in zip(ann.item, ann.annotator, ann.label, strict=True)
    }
    same = []
    for copier in np.flatnonzero(source_a >= 0):
        source = source_a[copier]
        assert crowd.behaviour[source] == "honest"
        mine = {item for item, who in said if who == copier}
        assert mine == {item for item, who in said if who == source}
        same += [
            said[item, copier] == said[item, source] for item in mine if (item, source) in said
        ]
    # Nobody is ever right here, so that two independent labels agree with probability 1 / 3.
    assert_share(np.array(same), 0.8 + 0.2 / 3)


def test_classes_and_hard_items_are_as_set():
    crowd = crowd_of(imbalance=0.5, n_classes=2, hard_share=0.4, look_alike=1.0, share=0.0,
                     lowest=1.0, highest=1.0)  # fmt: skip
    assert_share(crowd.truth == 1, 1 / 3)
    ann = crowd.annotations
    wrong_n = ann.label != crowd.truth[ann.item]
    assert_share(wrong_n[np.r_[True, np.diff(ann.item) > 0]], 0.4)  # one label of each item
    by_item = np.bincount(ann.item, wrong_n) / ann.labels_per_item
    assert set(by_item.tolist()) == {0.0, 1.0}  # all err alike


@pytest.mark.parametrize(
    ("name", "value"),
    [("share", 0.9), ("imbalance", 0.0), ("copying", 2.0)],
)
def test_settings_are_checked(name, value):
    with pytest.raises(SettingError, match=name):
        PlantedSettings(**{name: value})
