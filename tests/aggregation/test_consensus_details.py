"""Edge cases of the consensus."""

import numpy as np
import pytest

from manyhands.aggregation import (
    AGGREGATORS,
    DawidSkene,
    Glad,
    Majority,
    Mean,
    validation_score,
)
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.simulation import SCENARIOS, CrowdSettings


def sure_items(flip):
    """Two classes, sixty labels per item, nearly unanimous: posteriors beyond double precision."""
    rng = np.random.default_rng(0)
    item, annotator = np.repeat(np.arange(20), 60), np.tile(np.arange(60), 20)
    label = np.where(rng.random(1200) < 0.9, item % 2, 1 - item % 2)
    return Annotations.from_arrays(item, annotator, 1 - label if flip else label, classes=[0, 1])


def test_two_classes_keep_their_small_probabilities_on_both_sides():
    plain, flipped = (DawidSkene().fit(sure_items(flip)) for flip in (False, True))
    np.testing.assert_allclose(flipped.probabilities[:, ::-1], plain.probabilities, rtol=1e-6)
    assert (plain.probabilities > 0).all()
    assert plain.probabilities.min() < 1e-17


def test_glad_treats_new_items_as_average_ones(crowd):
    consensus = Glad().fit(crowd.annotations[:200])
    for others in (crowd.annotations[200:], crowd.annotations[200:299]):
        predicted = consensus.predict(others)
        assert (predicted.item_traits["easiness"] == 1.0).all()
        assert predicted.update(crowd.annotations[:50]).annotations.n_items == len(others) + 50


def test_known_truths_are_not_used_for_scores_or_calibration(crowd):
    known = dict(list(crowd.truth_by_item.items())[:100])
    consensus = DawidSkene().fit(crowd.annotations, known=known)
    card = consensus.score(crowd.truth_by_item)
    assert card.n_items == 300
    assert card.accuracy < 1.0
    free, all_truths = (consensus.calibrated(t) for t in (
        {k: v for k, v in crowd.truth_by_item.items() if k not in known}, crowd.truth_by_item
    ))  # fmt: skip
    assert all_truths.temperature == pytest.approx(free.temperature)
    with pytest.raises(DataError, match="known beforehand"):
        consensus.score(known)
    with pytest.raises(DataError, match="known beforehand"):
        consensus.calibrated(known)


def test_calibration_skips_classes_nobody_said_and_survives_prediction(crowd):
    consensus = DawidSkene().fit(crowd.annotations[:300])
    truth = crowd.truth_by_item | {0: "zebra"}
    better = consensus.calibrated(truth)
    assert better.temperature != 1.0
    predicted = better.predict(crowd.annotations[300:])
    assert predicted.temperature == better.temperature
    loud = consensus.predict(crowd.annotations[300:])
    assert predicted.confidence.mean() != pytest.approx(loud.confidence.mean(), abs=1e-6)
    with pytest.raises(DataError, match="nobody said"):
        consensus.calibrated({0: "zebra"})


def test_a_repeated_label_does_not_confirm_itself():
    item, label = np.repeat(np.arange(5), 2), np.repeat([0, 1, 0, 1, 1], 2)
    alone = Annotations.from_arrays(item, ["u"] * 10, label)
    quality = Majority().fit(alone).quality
    assert quality.value[0] == pytest.approx(0.5)
    assert quality.high[0] - quality.low[0] > 0.9


def test_a_repeat_of_a_held_out_label_is_held_out_too():
    item = np.repeat(np.arange(40), 3)
    annotator = np.tile(["u", "u", "v"], 40)
    label = np.tile([0, 0, 1], 40)  # u says everything twice
    twice = Annotations.from_arrays(item, annotator, label, classes=[0, 1])
    assert validation_score(DawidSkene(), twice) < np.log(0.99)


def test_predicting_nothing_gives_nothing(crowd):
    for name in (name for name, method in AGGREGATORS.items() if method.kind == "classes"):
        empty = AGGREGATORS[name]().fit(crowd.annotations).predict(crowd.annotations[:0])
        assert empty.probabilities.shape == (0, 4)


def test_predicted_annotations_stay_sorted_and_frozen():
    consensus = DawidSkene().fit(Annotations.from_arrays([1, 1], ["z", "m"], [0, 1]))
    new = Annotations.from_arrays([5, 5, 5], ["a", "m", "z"], [0, 1, 0])
    predicted = consensus.predict(new).annotations
    assert (np.diff(predicted.annotator) >= 0).all()
    assert not predicted.annotator.flags.writeable
    names = predicted.annotators[predicted.annotator].tolist()
    said = dict(zip(names, predicted.label_names().tolist(), strict=True))
    assert said == {"a": 0, "m": 1, "z": 0}


def test_a_mean_keeps_its_annotator_traits_in_prediction():
    fitted = Mean().fit(Annotations.from_arrays([1, 1, 2], ["u", "v", "u"], [0.5, 1.5, 2.5]))
    frame = fitted.predict(Annotations.from_arrays([3], ["u"], [0.7])).annotators_frame()
    assert {"bias", "noise"} <= set(frame.columns)


@pytest.mark.parametrize(
    "settings",
    [{"prior_strength": float("inf")}, {"max_iter": 2.5}, {"prior_strength": -1.0}],
    ids=str,
)
def test_settings_without_meaning_are_refused(settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        DawidSkene(**settings)


def test_prior_confusions_need_strength():
    with pytest.raises(SettingError, match="prior_confusions"):
        DawidSkene(prior_strength=0.0, prior_confusions={0: [[1, 0], [0, 1]]})


def test_zero_tolerance_makes_all_steps(crowd):
    assert DawidSkene(max_iter=300, tol=0.0).fit(crowd.annotations).n_iterations == 300


def test_many_labels_per_item_are_assigned_quickly():
    crowd = SCENARIOS["symmetric"](CrowdSettings(n_items=50, n_annotators=300, labels_per_item=95))
    assert crowd.annotations.n_annotations == 50 * 95
