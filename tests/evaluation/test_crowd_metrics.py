"""Criteria on labels that a model has not seen, ranks over them, and paired differences."""

from dataclasses import replace

import numpy as np
import pytest

from manyhands.core.errors import UnknownNameError
from manyhands.evaluation import (
    CRITERIA,
    CROWD_METRICS,
    LabelPredictions,
    crossed_difference,
    crowd_metrics,
    paired_difference,
    rank_average,
)

ITEMS, N, K = 40, 90, 3


def log_rows(rng, n):
    return np.log(rng.dirichlet(np.ones(K), size=n))


@pytest.fixture(params=range(5))
def held(request):
    """Labels at random and a model that says anything; every item has a label."""
    rng = np.random.default_rng(request.param)
    row = np.concatenate([np.arange(ITEMS), rng.integers(0, ITEMS, N - ITEMS)])
    return LabelPredictions(
        item=rng.permutation(100)[:ITEMS],
        row=row,
        label=rng.integers(0, K, N),
        log_class_ik=log_rows(rng, ITEMS),
        log_label_nl=log_rows(rng, N),
    )


def same(one, other):
    assert one.keys() == other.keys() == set(CROWD_METRICS)
    np.testing.assert_allclose(list(one.values()), [other[name] for name in one], rtol=1e-12)


def test_the_order_of_labels_changes_nothing(held):
    order = np.random.default_rng(9).permutation(N)
    moved = replace(
        held,
        row=held.row[order],
        label=held.label[order],
        log_label_nl=held.log_label_nl[order],
    )
    same(crowd_metrics(held), crowd_metrics(moved))


def test_the_order_of_items_changes_nothing(held):
    order = np.random.default_rng(9).permutation(ITEMS)
    moved = replace(
        held,
        item=held.item[order],
        row=np.argsort(order)[held.row],
        log_class_ik=held.log_class_ik[order],
    )
    same(crowd_metrics(held), crowd_metrics(moved))


def test_the_names_of_classes_change_nothing(held):
    new = np.array([2, 0, 1])
    moved = replace(
        held,
        label=new[held.label],
        log_class_ik=held.log_class_ik[:, np.argsort(new)],
        log_label_nl=held.log_label_nl[:, np.argsort(new)],
    )
    same(crowd_metrics(held), crowd_metrics(moved))


def test_every_criterion_is_what_it_says_by_hand(held):
    """The same numbers with loops and no ties among the model's probabilities."""
    agreed, sure, odds = [], [], []
    for i in range(ITEMS):
        said = held.label[held.row == i].tolist()
        counts = [said.count(k) for k in range(K)]
        top = [k for k in range(K) if counts[k] == max(counts)]
        found = int(np.argmax(held.log_class_ik[i]))
        agreed.append((found in top) / len(top))
        sure.append((max(counts) + 1) / (len(said) + K))
        first, second = sorted(held.log_class_ik[i])[:0:-1][:2]
        odds.append(min(first - second, np.log(1000)))
    said = held.log_label_nl[np.arange(N), held.label]
    same(
        crowd_metrics(held),
        {
            "likelihood": said.mean(),
            "majority": np.mean(agreed),
            "confidence": np.dot(agreed, sure) / np.sum(sure),
            "log-odds": np.dot(agreed, odds) / np.sum(odds),
            "annotator": (held.log_label_nl.argmax(axis=1) == held.label).mean(),
        },
    )


def test_a_model_that_knows_everything_has_the_most(held):
    """Every item's labels agree, and the model foretells them."""
    label = (held.row % K).astype(np.int32)
    sure_ik = np.log(np.eye(K)[np.arange(ITEMS) % K] * 0.97 + 0.01)
    knowing = replace(held, label=label, log_class_ik=sure_ik, log_label_nl=sure_ik[label % K])
    scores = crowd_metrics(knowing)
    assert {scores[name] for name in CROWD_METRICS if name != "likelihood"} == {1.0}
    assert scores["likelihood"] == pytest.approx(np.log(0.98))
    guessing = crowd_metrics(replace(held, label=label))
    assert all(scores[name] > guessing[name] for name in CROWD_METRICS)


def test_a_model_that_knows_nothing_has_its_share(held):
    nothing = replace(
        held,
        log_class_ik=np.full((ITEMS, K), -np.log(K)),
        log_label_nl=np.full((N, K), -np.log(K)),
    )
    scores = crowd_metrics(nothing)
    assert scores.pop("likelihood") == pytest.approx(-np.log(K))
    assert list(scores.values()) == pytest.approx([1 / K] * 4)


def test_a_wild_certainty_weighs_no_more_than_a_firm_one(held):
    wild = held.log_class_ik.copy()
    wild[0] = [0.0, -300.0, -400.0]
    firm = held.log_class_ik.copy()
    firm[0] = np.log([0.9989, 0.0009, 0.0002])
    scores = [CROWD_METRICS["log-odds"](replace(held, log_class_ik=each)) for each in (wild, firm)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


# --- ranks ---


def table(seed, n=7):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 4, n).astype(float) for name in CROWD_METRICS}


@pytest.mark.parametrize("seed", range(10))
def test_ranks_of_candidates_move_with_them_and_sum_up(seed):
    scores = table(seed)
    found = rank_average(scores)
    assert found.mean() == pytest.approx((7 + 1) / 2)  # ties share their ranks
    order = np.random.default_rng(seed).permutation(7)
    moved = rank_average({name: each[order] for name, each in scores.items()})
    np.testing.assert_allclose(moved, found[order])
    stretched = rank_average({name: np.exp(3 * each) for name, each in scores.items()})
    np.testing.assert_allclose(stretched, found)


def test_who_is_best_by_every_criterion_is_best_by_ranks():
    scores = {name: each + np.array([0, 9, 0, 0, 0, 0, 0]) for name, each in table(0).items()}
    assert rank_average(scores)[1] == 1
    assert all(int(np.argmax(monitor(scores))) == 1 for monitor in CRITERIA.values())


def test_unknown_names_are_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match="no crowd metric 'liklihood'; did you mean likelih"):
        CROWD_METRICS["liklihood"]
    with pytest.raises(UnknownNameError, match="no criterion 'rank'; did you mean ranks"):
        CRITERIA["rank"]


# --- paired differences ---


def test_groups_of_one_have_the_usual_standard_error():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 50))
    found = paired_difference(first, second, np.arange(50))
    assert found.mean == pytest.approx((first - second).mean())
    assert found.error == pytest.approx((first - second).std(ddof=1) / 50**0.5)
    back = paired_difference(second, first, np.arange(50))
    assert (back.mean, back.error) == pytest.approx((-found.mean, found.error))


def test_labels_said_twice_are_not_taken_for_twice_as_many():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 50))
    once = paired_difference(first, second, np.arange(50))
    twice = paired_difference(np.tile(first, 2), np.tile(second, 2), np.tile(np.arange(50), 2))
    assert (twice.mean, twice.error) == pytest.approx((once.mean, once.error))


def test_what_is_equal_or_known_of_one_item_only_is_not_clear():
    equal = paired_difference(np.ones(9), np.ones(9), np.arange(9))
    assert (equal.mean, equal.error, equal.is_clear) == (0.0, 0.0, False)
    alone = paired_difference(np.ones(9), np.zeros(9), np.zeros(9))
    assert not alone.is_clear
    assert paired_difference(np.ones(9), np.zeros(9), np.arange(9)).is_clear
    assert not paired_difference(np.zeros(9), np.ones(9), np.arange(9)).is_clear


# --- differences over runs and items ---


def test_new_runs_and_new_items_both_add_to_the_error():
    rng = np.random.default_rng(2)
    one_run = rng.normal(size=(1, 40))
    same = np.repeat(one_run, 5, axis=0)
    found = crossed_difference(same, np.zeros_like(same))
    assert found.error == pytest.approx(one_run.std(ddof=1) / 40**0.5)  # runs do not differ
    alone = crossed_difference(one_run, np.zeros_like(one_run))
    assert (alone.mean, alone.error) == pytest.approx((found.mean, found.error))
    levels = np.repeat(rng.normal(size=(6, 1)), 40, axis=1)
    found = crossed_difference(levels, np.zeros_like(levels))
    assert found.error == pytest.approx(levels[:, 0].std(ddof=1) / 6**0.5)  # items do not differ


def test_the_interval_covers_the_difference_of_new_runs_and_items():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        run_r, item_i = 0.3 * rng.normal(size=(8, 1)), rng.normal(size=30)
        drawn = 0.2 + run_r + item_i + 0.5 * rng.normal(size=(8, 30))
        low, high = crossed_difference(drawn, np.zeros_like(drawn)).interval
        covered += low <= 0.2 <= high
    assert 0.92 <= covered / 400 <= 0.98


def test_one_item_says_nothing():
    assert crossed_difference(np.ones((3, 1)), np.zeros((3, 1))).error == float("inf")
