"""What to label next: laws of the gains, batches, costs, simulated curves, the stopping rule."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError, UnknownNameError
from manyhands.selection import NEXT_METHODS, BudgetCurve, budget_curve, next_labels
from manyhands.selection.gains import accuracy_gain, information_gain, profile_gain
from manyhands.selection.next_labels import NextMethod
from manyhands.simulation import CrowdSettings

SIZES = CrowdSettings(
    n_items=120, n_annotators=15, n_classes=3, labels_per_item=3, lowest=0.4, highest=0.95, seed=1
)
CROWD = mh.SCENARIOS["symmetric"](SIZES)
ANN = CROWD.annotations
CONSENSUS = mh.aggregate(ANN, "dawid-skene")
RNG = np.random.default_rng(0)
BELIEFS = RNG.dirichlet(np.ones(3), 40)
CONFUSION = RNG.dirichlet(np.ones(3), 3)


def posterior(belief_k, confusion_kl, label):
    joint_k = belief_k * confusion_kl[:, label]
    return joint_k / joint_k.sum()


def entropy(p):
    return -(p * np.log2(p)).sum()


def test_information_is_the_expected_fall_of_the_entropy():
    for belief_k, gain in zip(BELIEFS, information_gain(BELIEFS, CONFUSION), strict=True):
        said_l = belief_k @ CONFUSION
        after = sum(
            said_l[label] * entropy(posterior(belief_k, CONFUSION, label)) for label in range(3)
        )
        assert gain == pytest.approx(entropy(belief_k) - after, abs=1e-12)


def test_accuracy_is_the_expected_rise_of_the_largest_probability():
    for belief_k, gain in zip(BELIEFS, accuracy_gain(BELIEFS, CONFUSION), strict=True):
        said_l = belief_k @ CONFUSION
        after = sum(
            said_l[label] * posterior(belief_k, CONFUSION, label).max() for label in range(3)
        )
        assert gain == pytest.approx(after - belief_k.max(), abs=1e-12)


def test_probing_is_the_information_about_a_dirichlet_row():
    """Against draws: H of the mean row minus the mean H of the rows."""
    counts = np.array([[3.0, 1.0, 2.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]])
    for k in range(3):
        rows = np.random.default_rng(k).dirichlet(counts[k], 100_000)
        mean = counts[k] / counts[k].sum()
        drawn = entropy(mean) + (rows * np.log2(np.maximum(rows, 1e-300))).sum(axis=1).mean()
        assert profile_gain(np.eye(3)[[k]], counts)[0] == pytest.approx(drawn, abs=0.003)
    assert profile_gain(np.full((1, 3), 1 / 3), counts)[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("method", NEXT_METHODS)
def test_a_batch_has_no_duplicates_and_keeps_the_budget(method):
    probabilities = mh.aggregate(ANN, "majority").probabilities * 0.9 + 0.1 / 3
    given = [probabilities] if NEXT_METHODS[method].needs_classifier else []
    found = next_labels(ANN, *given, consensus=CONSENSUS, method=method, budget=30)
    columns = ANN.to_columns()
    labelled = set(zip(columns["item"].tolist(), columns["annotator"].tolist(), strict=True))
    asked = list(zip(found.item.tolist(), found.annotator.tolist(), strict=True))
    assert len(asked) == len(set(found.item.tolist())) == 30
    assert labelled.isdisjoint(asked)
    assert max(found.annotator.tolist().count(name) for name in found.annotator.tolist()) <= 3
    assert (np.diff(found.gain) <= 1e-12).all()
    again = next_labels(ANN, *given, consensus=CONSENSUS, method=method, budget=30)
    assert again.item.tolist() == found.item.tolist()
    assert again.annotator.tolist() == found.annotator.tolist()


def test_renaming_changes_nothing():
    found = next_labels(ANN, budget=10)
    renamed = Annotations.from_arrays(
        [f"i{each}" for each in ANN.items[ANN.item]],
        [f"a{each}" for each in ANN.annotators[ANN.annotator]],
        ANN.label_names(),
        items=[f"i{each}" for each in ANN.items],
        annotators=[f"a{each}" for each in ANN.annotators],
    )
    other = next_labels(renamed, budget=10)
    assert other.item.tolist() == [f"i{each}" for each in found.item.tolist()]
    assert other.annotator.tolist() == [f"a{each}" for each in found.annotator.tolist()]
    assert other.gain == pytest.approx(found.gain)


def test_a_good_annotator_is_asked_about_an_uncertain_item():
    quality = CONSENSUS.quality.value
    found = next_labels(ANN, consensus=CONSENSUS, budget=5, per_annotator=5)
    codes = ANN.annotator_vocabulary.codes(found.annotator.tolist())
    assert quality[codes].mean() > np.quantile(quality, 0.8)
    assert found.confidence.mean() < np.quantile(CONSENSUS.confidence, 0.1)


def test_a_classifier_counts():
    """Where it is certain nothing is asked; items without labels are asked about."""
    bare = Annotations.from_arrays(
        ANN.item, ANN.annotator, ANN.label, items=range(130), classes=range(3)
    )
    sure, unsure = np.tile([0.998, 0.001, 0.001], (130, 1)), np.full((130, 3), 1 / 3)
    truth = np.append(CROWD.truth, np.zeros(10, dtype=int))
    sure = np.take_along_axis(sure, (np.arange(3) - truth[:, None]) % 3, axis=1)
    mixed = np.where((np.arange(130) >= 125)[:, None], unsure, sure)
    found = next_labels(bare, mixed, budget=5)
    assert sorted(found.item.tolist()) == [125, 126, 127, 128, 129]


def test_costs_decide_who_is_asked():
    names = ANN.annotators.tolist()
    known = {"consensus": CONSENSUS}
    found = next_labels(ANN, **known, budget=6, costs={names[0]: 1.0, names[1]: 2.0, "new": 0.5})
    assert set(found.annotator.tolist()) <= {names[0], names[1], "new"}
    assert found.cost.sum() <= 6
    assert found.cost.tolist() == [
        {names[0]: 1.0, names[1]: 2.0, "new": 0.5}[name] for name in found.annotator.tolist()
    ]
    assert (np.diff(found.gain / found.cost) <= 1e-12).all()
    only = next_labels(ANN, **known, budget=3, costs={"new": 1.0})
    assert set(only.annotator.tolist()) == {"new"}
    cheap = dict.fromkeys(names, 1.0) | {names[3]: 0.001}
    found = next_labels(ANN, **known, budget=0.002, costs=cheap, per_annotator=2)
    assert found.annotator.tolist() == [names[3]] * 2


def test_the_expected_accuracy_rises_by_the_gains():
    found = next_labels(ANN, consensus=CONSENSUS, method="accuracy", budget=20)
    rise = found.gain.sum() / ANN.n_items
    assert found.expected_after == pytest.approx(found.expected_accuracy + rise)
    assert found.gain == pytest.approx(found.accuracy_gain)
    assert list(found.to_frame().columns) == list(found.columns)
    assert "NextLabels(20 labels by accuracy)" in found._repr_html_()


def test_everything_labelled_by_everyone_gives_an_empty_table():
    full = Annotations.from_dense([[0, 1, 0], [1, 1, 1], [0, 0, 1]])
    found = next_labels(full)
    assert len(found) == 0
    assert found.expected_after == found.expected_accuracy


def test_wrong_requests_are_refused():
    with pytest.raises(UnknownNameError, match="information"):
        next_labels(ANN, method="inform")
    with pytest.raises(SettingError, match="needs the probabilities"):
        next_labels(ANN, method="active-lab")
    with pytest.raises(SettingError, match="budget must be above 0"):
        next_labels(ANN, budget=0)
    with pytest.raises(SettingError, match="cost of x must be above 0"):
        next_labels(ANN, costs={"x": -1.0})
    with pytest.raises(DataError, match="name nobody"):
        next_labels(ANN, costs={})
    with pytest.raises(DataError, match="numbers"):
        next_labels(Annotations.from_dense([[0.5, 0.1], [0.2, 0.7]], kind="numbers"))
    with pytest.raises(DataError, match="same items"):
        next_labels(ANN, consensus=mh.aggregate(ANN[:50], "majority"))
    with pytest.raises(SettingError, match="cannot be simulated"):
        budget_curve(ANN, method="crowdlab")


def test_the_curve_is_what_labels_of_known_annotators_bring():
    """One batch of one label per item: the simulated rise is the sum of the accuracy gains."""
    expected = next_labels(ANN, consensus=CONSENSUS, budget=12)
    curve = budget_curve(ANN, consensus=CONSENSUS, budget=12, batches=1, repeats=300)
    wanted = expected.expected_after - expected.expected_accuracy
    assert curve.gain[1] == pytest.approx(wanted, abs=4 * curve.gain_error[1])
    assert curve.accuracy[0] == pytest.approx(expected.expected_accuracy)
    assert curve.n_labels.tolist() == [0, 12]
    assert (curve.low <= curve.accuracy).all()
    assert (curve.accuracy <= curve.high).all()


def test_the_curve_rises_and_labelling_stops():
    curve = budget_curve(ANN, consensus=CONSENSUS, budget=60, batches=3, repeats=30)
    assert (np.diff(curve.accuracy) > 0).all()
    assert list(curve.to_frame().columns) == list(curve.columns)
    assert not curve.verdict().stop
    assert curve.verdict(target=0.5).stop
    assert "0.5" in curve.verdict(target=0.5).reason
    assert curve.verdict(min_gain=0.9).stop
    late = curve.verdict(target=float(curve.accuracy[2]) - 1e-6)
    assert not late.stop
    assert "at a cost of about 40" in late.reason
    assert "with more" in curve.verdict(target=1.0).reason
    clear = Annotations.from_dense(np.tile(np.arange(30)[:, None] % 2, (1, 9)))
    done = Annotations.from_arrays(
        clear.item, clear.annotator, clear.label, items=range(30), annotators=range(12)
    )
    assert budget_curve(done, budget=5, repeats=10).verdict().stop


def _gain_of(method):
    curve = budget_curve(ANN, consensus=CONSENSUS, method=method, budget=60, batches=2, repeats=30)
    return curve.gain[-1]


def test_random_labels_bring_less():
    by = {method: _gain_of(method) for method in ("information", "random")}
    assert by["information"] > 1.5 * by["random"]


def test_methods_have_one_signature():
    assert all(type(each) is NextMethod and each.about for each in NEXT_METHODS.values())


def test_nobody_left_to_ask_is_said_and_not_taken_for_a_small_gain():
    full = Annotations.from_dense(np.tile(np.arange(6)[:, None] % 2, (1, 3)))
    verdict = budget_curve(full, budget=5, repeats=3).verdict()
    assert verdict.stop
    assert "there is no label to ask for" in verdict.reason
    some = Annotations.from_dense([[0, 1, -1], [1, 1, -1], [0, -1, 0]])
    assert "no label to ask for" in budget_curve(some, budget=0.5, repeats=3).verdict().reason


def test_a_small_gain_tells_how_large_it_may_be():
    zero, one = np.zeros(2), np.array([0.0, 5.0])
    curve = BudgetCurve(one, one, zero + 0.9, zero, zero + 1, np.array([0.0, 1e-4]), zero + 0.01)
    verdict = curve.verdict(min_gain=0.002)
    assert not verdict.stop
    assert "0.0001 (up to 0.0201 by the error of the simulation)" in verdict.reason
