"""Simulated crowds behave as they were told to."""

import json
from pathlib import Path

import numpy as np
import pytest

from manyhands import read_annotations
from manyhands.core.errors import SettingError
from manyhands.datasets import load_demo
from manyhands.io import read_truth
from manyhands.simulation import SCENARIOS, CrowdSettings, assign, write_crowd

SETTINGS = CrowdSettings(n_items=4000, n_annotators=12, n_classes=3, labels_per_item=6, seed=1)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_labels_follow_the_confusions(name):
    crowd = SCENARIOS[name](SETTINGS)
    ann = crowd.annotations
    np.testing.assert_allclose(crowd.confusion.sum(axis=2), 1.0)
    counts = np.zeros_like(crowd.confusion)
    np.add.at(counts, (ann.annotator, crowd.truth[ann.item], ann.label), 1.0)
    shares = counts / counts.sum(axis=2, keepdims=True)
    assert np.abs(shares - crowd.confusion).max() < 0.08


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_the_same_seed_gives_the_same_crowd(name):
    first, again = SCENARIOS[name](SETTINGS), SCENARIOS[name](SETTINGS)
    np.testing.assert_array_equal(first.annotations.label, again.annotations.label)
    other = SCENARIOS[name](CrowdSettings(**{**SETTINGS.__dict__, "seed": 2}))
    assert not np.array_equal(first.annotations.label, other.annotations.label)


@pytest.mark.parametrize("labels_per_item", [1, 3, 9, 10])
def test_nobody_labels_an_item_twice(labels_per_item):
    item, annotator = assign(500, 10, labels_per_item, np.random.default_rng(0))
    pairs = set(zip(item.tolist(), annotator.tolist(), strict=True))
    assert len(pairs) == 500 * labels_per_item
    assert np.bincount(annotator, minlength=10).min() > 20


def test_spammers_and_adversaries_are_what_they_say():
    spam = SCENARIOS["spammers"](SETTINGS)
    for a in np.flatnonzero(spam.behaviour == "constant"):
        said = spam.annotations.label[spam.annotations.annotator == a]
        assert len(set(said.tolist())) == 1
    bad = SCENARIOS["adversaries"](SETTINGS)
    right = bad.annotations.label == bad.truth[bad.annotations.item]
    for a in np.flatnonzero(bad.behaviour == "adversary"):
        assert right[bad.annotations.annotator == a].mean() < 1 / 3


def test_wrong_settings_are_named():
    with pytest.raises(SettingError, match="labels_per_item must be at most n_annotators"):
        CrowdSettings(n_annotators=3, labels_per_item=4)
    with pytest.raises(SettingError, match="share must be in"):
        CrowdSettings(share=1.5)


def test_a_crowd_is_written_and_read_back(tmp_path):
    crowd = SCENARIOS["confusions"](SETTINGS)
    labels, truth, people, described = write_crowd(crowd, tmp_path / "c", "confusions", SETTINGS)
    read = read_annotations(labels)
    np.testing.assert_array_equal(read.label, crowd.annotations.label)
    assert read_truth(truth) == crowd.truth_by_item
    assert json.loads(Path(described).read_text())["n_items"] == 4000
    assert people.endswith("annotators.csv")


def test_the_demo_crowd_is_mixed():
    demo = load_demo()
    assert set(demo.crowd.behaviour) == {"careful", "middling", "random", "constant"}
    assert demo.features.shape == (1797, 64)
