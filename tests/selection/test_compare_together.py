"""Comparisons in which the seeds of a method are trained as one program."""

from dataclasses import replace

import numpy as np
import pytest

from featured_crowds import featured
from manyhands.selection import Trial, compare, compare_training

QUICK = {"epochs": 3, "device": "cpu"}
CROWD = featured(n_items=60, n_annotators=6, labels_per_item=4, spread=1.0)
TRIAL = Trial(CROWD.x, CROWD.annotations, CROWD.truth)
METHODS = ("speelfc", "em", "two-stage-majority", "dawid-skene")  # the second is not stacked


def compared(trial, together, runs=3):
    done = []
    table = compare_training(
        trial, METHODS, runs=runs, settings=QUICK, together=together, done=lambda: done.append(1)
    )
    assert len(done) == runs * len(METHODS)
    return table.columns


@pytest.mark.parametrize("trial", [TRIAL, replace(TRIAL, truth=None)], ids=["truth", "labels"])
def test_scores_are_those_of_separate_runs(trial, monkeypatch):
    stacked = []
    train = compare.train_seeds_on
    monkeypatch.setattr(
        compare, "train_seeds_on", lambda *given: stacked.append(given[1]) or train(*given)
    )
    separate = compared(trial, together=None)  # there is no GPU, or it is not asked for
    assert stacked == []
    together = compared(trial, together=True)
    assert stacked == ["speelfc", "em", "two-stage-majority"]
    assert together.keys() == separate.keys()
    assert together["method"].tolist() == separate["method"].tolist()
    for name in separate.keys() - {"method", "seconds"}:
        wanted = separate[name].astype(float)
        assert together[name].astype(float) == pytest.approx(wanted, abs=1e-4, nan_ok=True), name
    assert (np.asarray(together["runs"]) == 3).all()


def test_a_gpu_is_asked_for_by_the_settings(monkeypatch):
    asked = []
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr(compare, "train_seeds_on", lambda *given: asked.append(given))
    compare_training(TRIAL, ["two-stage-majority"], runs=2, settings=QUICK)
    assert asked == []  # device is the CPU
