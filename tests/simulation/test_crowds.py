"""Every simulated crowd behaves as it was told to."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from planted import assert_follow, label_counts, same_bits, small_crowd, small_settings

from manyhands import read_annotations
from manyhands.annotations import Items
from manyhands.core.errors import DataError, SettingError, UnknownNameError
from manyhands.datasets import load_demo
from manyhands.io import read_features, read_truth
from manyhands.simulation import SCENARIOS, CrowdSettings, write_crowd
from manyhands.simulation import crowds as who
from manyhands.simulation.crowds import assign

NAMES = sorted({*SCENARIOS} - {"preferences"})  # whose labels are comparisons of two items
every_scenario = pytest.mark.parametrize("name", NAMES)


@every_scenario
def test_labels_follow_the_confusions(name):
    crowd = small_crowd(name)
    ann = crowd.annotations
    np.testing.assert_allclose(crowd.confusion.sum(axis=2), 1.0)
    counts = label_counts(crowd.confusion, ann.annotator, crowd.truth[ann.item], ann.label)
    assert_follow(counts, crowd.confusion)


@every_scenario
def test_the_same_seed_gives_the_same_crowd(name):
    first, again, other = (small_crowd(name, seed=seed) for seed in (1, 1, 2))
    assert same_bits(first, again)
    for kept in ("annotator", "label"):
        one, two = (getattr(crowd.annotations, kept) for crowd in (first, other))
        assert not np.array_equal(one, two)
    assert not np.array_equal(first.truth, other.truth)


@every_scenario
def test_a_crowd_is_of_the_size_that_was_set(name):
    settings = small_settings(name)
    crowd = SCENARIOS[name](settings)
    ann = crowd.annotations
    assert (len(ann), ann.n_annotators) == (settings.n_items, settings.n_annotators)
    assert ann.n_classes == settings.n_classes
    assert set(crowd.truth) <= set(range(settings.n_classes))
    assert crowd.truth.shape == (settings.n_items,)
    assert crowd.behaviour.shape == (settings.n_annotators,)
    assert ann.labels_per_item.min() >= 1
    assert ann.labels_per_item.mean() == pytest.approx(settings.labels_per_item, rel=0.05)
    assert len(set(zip(ann.item.tolist(), ann.annotator.tolist(), strict=True))) == len(ann.label)
    for table, n_rows in ((crowd.annotator_notes, ann.n_annotators), (crowd.label_notes, None)):
        for column in table.values():
            assert len(column) == (n_rows or ann.n_annotations)
    if crowd.features is not None:
        assert len(crowd.features) == settings.n_items
        assert len(crowd.test.features) == len(crowd.test.truth) == settings.n_test


@every_scenario
def test_one_item_and_one_annotator_are_enough(name):
    alone = {"share": 0.0, "n_sources": 1} if name == "copycats" else {}
    crowd = small_crowd(name, n_items=1, n_annotators=1, labels_per_item=1, **alone)
    assert crowd.annotations.n_annotations == 1


@every_scenario
def test_items_can_be_given(name):
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 50)
    items = Items(truth, rng.normal(size=(50, 2, 3)), Items([0, 1], np.zeros((2, 2, 3))))
    crowd = SCENARIOS[name](small_settings(name), items)
    np.testing.assert_array_equal(crowd.truth, truth)
    assert crowd.features is items.features
    assert crowd.test is items.test
    assert len(crowd.annotations) == 50
    with pytest.raises(SettingError, match=r"truth must be class codes in 0\.\."):
        SCENARIOS[name](small_settings(name), Items([0, 7], np.zeros((2, 1))))


@every_scenario
def test_memory_grows_with_labels_not_with_pairs(name):
    n_items, n_annotators = 4000, 10_000
    classes = {} if name == "sensitivities" else {"n_classes": 3}
    settings = small_settings(
        name, n_items=n_items, n_annotators=n_annotators, labels_per_item=2, **classes
    )
    SCENARIOS[name](small_settings(name))  # modules and kernels are loaded before
    tracemalloc.start()
    SCENARIOS[name](settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_items * n_annotators / 2  # half a byte for each pair


@every_scenario
def test_defaults_can_be_had_without_settings_and_others_settings_are_refused(name):
    scenario = SCENARIOS[name]
    assert scenario.make_settings({}) == scenario.settings()

    class Strange(CrowdSettings):
        pass

    if not issubclass(Strange, scenario.settings):
        with pytest.raises(SettingError, match=r"settings must be .* in this scenario; got Str"):
            scenario(Strange())


def test_a_scenario_without_settings_is_that_of_its_defaults():
    assert same_bits(SCENARIOS["spammers"](), SCENARIOS["spammers"](CrowdSettings()))


@pytest.mark.parametrize("name", ["common-noise", "perturbed-networks"])
def test_scenarios_that_need_features_say_so(name):
    with pytest.raises(SettingError, match="items must be items with features"):
        SCENARIOS[name](small_settings(name), Items([0, 1]))


def test_draws_for_one_purpose_do_not_shift_others():
    one = small_crowd("common-noise")
    two = small_crowd("common-noise", common_strength=0.8, n_hidden=5, pattern="symmetric")
    np.testing.assert_array_equal(one.features, two.features)
    np.testing.assert_array_equal(one.annotations.annotator, two.annotations.annotator)
    assert not np.array_equal(one.annotations.label, two.annotations.label)


@pytest.mark.parametrize("labels_per_item", [1, 3, 9, 10])
def test_nobody_labels_an_item_twice(labels_per_item):
    item, annotator = assign(500, 10, labels_per_item, np.random.default_rng(0))
    pairs = set(zip(item.tolist(), annotator.tolist(), strict=True))
    assert len(pairs) == 500 * labels_per_item
    assert np.bincount(annotator, minlength=10).min() > 20


def test_shuffles_in_parts_give_the_same_bits(monkeypatch):
    whole = assign(500, 30, 12, np.random.default_rng(0))
    monkeypatch.setattr(who, "CELLS_AT_ONCE", 70)
    np.testing.assert_array_equal(whole, assign(500, 30, 12, np.random.default_rng(0)))


def test_spammers_and_adversaries_are_what_they_say():
    spam = small_crowd("spammers")
    for a in np.flatnonzero(spam.behaviour == "constant"):
        said = spam.annotations.label[spam.annotations.annotator == a]
        assert len(set(said.tolist())) == 1
    bad = small_crowd("adversaries")
    right = bad.annotations.label == bad.truth[bad.annotations.item]
    for a in np.flatnonzero(bad.behaviour == "adversary"):
        assert right[bad.annotations.annotator == a].mean() < 1 / 3


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("symmetric", {"n_annotators": 3, "labels_per_item": 4}, "at most n_annotators"),
        ("symmetric", {"share": 1.5}, "share must be in"),
        ("symmetric", {"n_items": 1.5}, "n_items must be a whole number; got 1.5"),
        ("symmetric", {"n_items": True}, "n_items must be a whole number"),
        ("symmetric", {"lowest": "low"}, "lowest must be a number; got 'low'"),
        ("sensitivities", {"n_classes": 3}, "n_classes must be 2"),
        ("sensitivities", {"sensitivities": (0.5, 1.2)}, "sensitivities must be numbers in 0"),
        ("sensitivities", {"sensitivities": ()}, "sensitivities must be numbers in 0"),
        ("sensitivities", {"specificities": (0.5,)}, "as many as sensitivities"),
        ("common-noise", {"pattern": "odd"}, "pattern must be one of"),
        ("common-noise", {"n_classes": 1}, "n_classes must be >= 2"),
        ("common-noise", {"common_share": np.nan}, "common_share must be in"),
        ("common-noise", {"contrast": np.inf}, "contrast must be finite"),
        ("common-noise", {"partners": (1, 0)}, "partners must be 4 classes in 0..3"),
        ("common-noise", {"partners": (1, 2, 3, 0), "pattern": "symmetric"}, "must be pairs"),
        ("perturbed-networks", {"shares": (0.5, 0.2, 0.2)}, "shares must be numbers with sum 1"),
        ("perturbed-networks", {"shares": (0.5, 0.5)}, "groups must be as many as shares"),
        ("perturbed-networks", {"noises": (0.1, -1.0, 1.0)}, "noises must be finite"),
        ("perturbed-networks", {"labels_from": "hearsay"}, "labels_from must be one of"),
        ("perturbed-networks", {"labels_vary": 1}, "labels_vary must be true or false"),
        ("perturbed-networks", {"groups": (1, 2, 3)}, "groups must be a list, each a word"),
        ("copycats", {"copying": -0.1}, "copying must be in"),
        ("copycats", {"share": 1.0}, "share must be such that one annotator does not copy"),
        ("copycats", {"n_sources": 9}, "n_sources must be in 1..8"),
    ],
)
def test_wrong_settings_are_named(name, wrong, message):
    with pytest.raises(SettingError, match=message) as caught:
        small_settings(name, **wrong)
    assert "\n" not in str(caught.value)


def test_unknown_settings_are_named_with_the_known():
    message = r"no setting 'n_item'; did you mean n_items.*share"
    with pytest.raises(UnknownNameError, match=message):
        SCENARIOS["symmetric"].make_settings({"n_item": 3})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"truth": [0.5, 1.0]}, "truth must be class codes"),
        ({"truth": np.array([], dtype=int)}, "truth must be class codes"),
        ({"truth": [0, 1], "features": np.zeros((3, 1))}, "features must be one row per item"),
    ],
)
def test_wrong_items_are_named(wrong, message):
    with pytest.raises(SettingError, match=message):
        Items(**wrong)


@every_scenario
def test_a_crowd_is_written_and_read_back(name, tmp_path):
    settings = small_settings(name, n_items=60)
    crowd = SCENARIOS[name](settings)
    written = write_crowd(crowd, tmp_path / "c", name, settings)
    labels, truth, people, described = written[:4]
    read = read_annotations(labels)
    np.testing.assert_array_equal(read.label_names(), crowd.annotations.label)
    assert read_truth(truth) == crowd.truth_by_item
    content = json.loads(Path(described).read_text())
    assert SCENARIOS[content.pop("scenario")].make_settings(content) == settings
    assert people.endswith("annotators.csv")
    further = {Path(path).name: path for path in written[4:]}
    assert ("sources.csv" in further) == bool(crowd.label_notes)
    if crowd.features is not None:
        table = read_features(further["features.csv"])
        assert table.items.tolist() == crowd.annotations.items.tolist()
        np.testing.assert_array_equal(table.values, crowd.features)
        test = read_features(further["test_features.csv"])
        np.testing.assert_array_equal(test.values, crowd.test.features)
        known = read_truth(further["test_truth.csv"])
        assert list(known) == test.items.tolist()
        assert list(known.values()) == crowd.test.truth.tolist()
        assert not set(known) & set(table.items.tolist())


def test_images_are_written_in_a_line(tmp_path):
    settings = small_settings("spammers", n_items=3)
    crowd = SCENARIOS["spammers"](settings, Items([0, 1, 2], np.arange(12).reshape(3, 2, 2)))
    written = write_crowd(replace(crowd, test=Items([1])), tmp_path, "spammers", settings)
    assert [Path(path).name for path in written[4:]] == ["features.csv", "test_truth.csv"]
    assert read_features(tmp_path / "features.csv").values[2].tolist() == [8, 9, 10, 11]


def test_the_demo_crowd_is_mixed():
    demo = load_demo()
    assert set(demo.crowd.behaviour) == {"careful", "middling", "random", "constant"}
    assert demo.features.shape == (1797, 64)


@pytest.mark.parametrize("sizes", [{"n_items": 10**9}, {"n_classes": 10**6}])
def test_a_crowd_that_does_not_fit_in_memory_is_refused(sizes):
    with pytest.raises(DataError, match=r"the crowd needs about [\d,]+ GiB for .* simulate fewer"):
        CrowdSettings(**sizes)
    with pytest.raises(SettingError, match=r"n_items must be in 1..10\^12"):
        CrowdSettings(n_items=10**400)
