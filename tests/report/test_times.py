"""Speed and change over time: who is fast, who gets worse, and how often that is said wrongly."""

import json
from dataclasses import replace

import numpy as np
import pytest

import manyhands as mh
from manyhands.checks import flag_annotators
from manyhands.checks.pace import annotator_pace
from manyhands.report import page as pages
from manyhands.report import profile_annotators, render, report_content
from manyhands.report.trend import annotator_trend

N_ANNOTATORS = 20


def crowd(seed, *, n_items=400, n_worse=0, hard_later=False, n_classes=3):
    """Labels in the order of items; the first annotators get worse in the second half."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    item = np.repeat(np.arange(n_items), 5)
    who = np.concatenate([rng.choice(N_ANNOTATORS, 5, replace=False) for _ in range(n_items)])
    right = rng.uniform(0.65, 0.95, N_ANNOTATORS)[who]
    later = item >= n_items // 2
    if hard_later:
        right = right - 0.2 * later
    right = np.where(who < n_worse, np.where(later, 0.35, 0.95), right)
    wrong = (truth[item] + rng.integers(1, n_classes, len(item))) % n_classes
    label = np.where(rng.random(len(item)) < right, truth[item], wrong)
    pace = rng.normal(np.log(8), 0.3, N_ANNOTATORS)
    seconds = np.exp(rng.normal(pace[who], 0.6))
    time = 1.7e9 + 60.0 * item + rng.random(len(item))
    return mh.Annotations.from_arrays(item, who, label, seconds=seconds, time=time)


def faster(ann, annotators):
    seconds = np.where(np.isin(ann.annotator, annotators), 0.1, 1.0) * ann.times.seconds
    return replace(ann, times=mh.annotations.Times(seconds, ann.times.at))


def test_the_pace_is_the_median_with_its_interval():
    ann = crowd(0)
    pace = annotator_pace(ann)
    for a in range(N_ANNOTATORS):
        own = np.sort(ann.times.seconds[ann.annotator == a])
        assert pace.median_a[a] == pytest.approx(np.median(own))
        inside = ((own >= pace.low_a[a]) & (own <= pace.high_a[a])).sum()
        assert 2 * 0.98 * len(own) ** 0.5 <= inside <= 2 * 0.98 * len(own) ** 0.5 + 3
    assert not pace.is_fast_a.any()
    assert annotator_pace(mh.Annotations.from_dense([[0, 1]])) is None


def test_intervals_of_the_median_hold_the_median():
    """Of 400 annotators with 40 labels each about 95 % have the median in their interval."""
    rng = np.random.default_rng(3)
    item, who = np.tile(np.arange(40), 400), np.repeat(np.arange(400), 40)
    drawn = rng.exponential(1.0, len(item))
    pace = annotator_pace(mh.Annotations.from_arrays(item, who, item % 2, seconds=drawn))
    held = np.mean((pace.low_a <= np.log(2)) & (np.log(2) <= pace.high_a))
    assert 0.93 <= held <= 0.99


def test_gaps_between_labels_stand_for_seconds_and_batches_do_not():
    item = np.arange(30)
    at = np.cumsum(np.where(item % 10 == 0, 4000, 7))  # breaks do not move the median
    ann = mh.Annotations.from_arrays(item, item * 0, item % 2, time=1.7e9 + at)
    assert annotator_pace(ann).median_a[0] == pytest.approx(7)
    stored = mh.Annotations.from_arrays(item, item * 0, item % 2, time=np.full(30, 1.7e9))
    assert annotator_pace(stored) is None


def test_to_be_fast_is_evidence_and_never_a_flag():
    ann = faster(crowd(1), [3, 4])
    assert annotator_pace(ann).is_fast_a.nonzero()[0].tolist() == [3, 4]
    assert not [flag for flag in flag_annotators(ann) if flag.kind != "few-labels"]
    rng = np.random.default_rng(0)
    label = np.where(ann.annotator == 3, rng.integers(0, 3, len(ann.label)), ann.label)
    guessed = replace(ann, label=label.astype(np.int32))
    flag = next(flag for flag in flag_annotators(guessed) if flag.annotator == 3)
    slow = next(f for f in flag_annotators(replace(guessed, times=None)) if f.annotator == 3)
    assert flag.kind == "random"
    assert "unusually fast" in flag.evidence
    assert "unusually fast" not in slow.evidence
    assert flag.sure == slow.sure


def test_annotators_who_get_worse_are_found():
    trend = annotator_trend(mh.aggregate(crowd(2, n_items=1000, n_worse=2)))
    assert trend.is_significant_a.nonzero()[0].tolist() == [0, 1]
    assert (trend.high_a[:2] < 0).all()
    assert "less often in the last half" in trend.text(0)
    assert trend.text(5) == ""


def test_labels_without_an_order_in_time_have_no_trend():
    ann = crowd(0, n_worse=2)
    same = np.full(len(ann.label), np.datetime64("2024-01-01", "ms"))
    stored = replace(ann, times=mh.annotations.Times(None, same))
    assert np.isnan(annotator_trend(mh.aggregate(stored)).p_value_a).all()
    assert annotator_trend(mh.aggregate(replace(ann, times=None))) is None


def test_numbers_that_get_worse_are_found():
    rng = np.random.default_rng(5)
    truth, noise = rng.normal(0, 2, 200), np.full((200, 6), 0.3)
    noise[100:, 0] = 1.5
    values = truth[:, None] + noise * rng.normal(size=(200, 6))
    item, who = np.repeat(np.arange(200), 6), np.tile(np.arange(6), 200)
    ann = mh.Annotations.from_arrays(item, who, values.ravel(), time=1.7e9 + item)
    trend = annotator_trend(mh.aggregate(ann))
    assert trend.is_significant_a.nonzero()[0].tolist() == [0]
    assert trend.text(0).startswith("further off by ")


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"hard_later": True}])
def test_few_crowds_in_which_nobody_changes_are_reported_on(settings):
    trends = [annotator_trend(mh.aggregate(crowd(seed, **settings))) for seed in range(20)]
    reported = np.mean([trend.is_significant_a.any() for trend in trends])
    p_value = np.concatenate([trend.p_value_a for trend in trends])
    assert reported <= 0.15  # 5 % are expected: 20 crowds have at most 3 with probability 0.98
    assert np.mean(p_value < 0.05) <= 0.08


def test_profiles_and_the_page_have_times(monkeypatch):
    monkeypatch.setattr(pages, "chart_library", lambda: "")
    consensus = mh.aggregate(faster(crowd(2, n_items=1000, n_worse=2), [7]))
    columns = profile_annotators(consensus).columns()
    assert columns["fast"].nonzero()[0].tolist() == [7]
    assert columns["changed"].nonzero()[0].tolist() == [0, 1]
    content = report_content(consensus)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    acted = {row["names"][0]: row for row in content["actions"]["annotators"]["rows"]}
    assert acted["7"]["action"] == acted["0"]["action"] == "look at some labels"
    assert {acted["7"]["kind"], acted["0"]["kind"]} == {"fast", "got worse"}
    steps = " ".join(content["summary"]["next"])
    assert "Look at the later labels of 0 and 1" in steps
    assert "to be fast alone is no fault" in steps
    page = render(content)
    assert page.count('<span class="flag fast">') == 2
    assert page.count("got worse</span>") == 4
    plain = render(report_content(mh.aggregate(replace(consensus.annotations, times=None))))
    assert "Seconds" not in plain
