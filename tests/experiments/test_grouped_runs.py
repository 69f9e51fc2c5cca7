"""Runs that differ by their seed alone are made as one program, and recorded as ever."""

import pytest

from manyhands.core.errors import SettingError
from manyhands.experiments import FILE, RecordStore, run_missing, runs
from manyhands.experiments.data import CorpusSource, ScenarioSource
from manyhands.experiments.epoch_rules import EpochRulesRun
from manyhands.experiments.runs import MethodRun, groups_of

TOLERANCE = 1e-4  # of scores, which are recorded with six decimals
QUICK = {"training": {"epochs": 3, "device": "cpu"}}
LABELME = CorpusSource("labelme")


def method_runs(method="crowd-layer-mw", seeds=range(3), source=LABELME, settings=QUICK):
    return [MethodRun(source, method, seed, settings) for seed in seeds]


def by_key(records):
    return {record["key"]: record for record in records}


def made(folder, some, data, **how):
    store = RecordStore(folder / FILE)
    run_missing(some, store, data, **how)
    return by_key(store)


@pytest.mark.parametrize("method", ["crowd-layer-mw", "two-stage-majority"])
def test_grouped_runs_have_the_records_of_separate_ones(method, data, tmp_path):
    some = method_runs(method)
    together = made(tmp_path / "together", some, data, together=True)
    separate = made(tmp_path / "separate", some, data, together=False)
    assert together.keys() == separate.keys() == {run.key for run in some}
    for key, record in together.items():
        other = separate[key]
        assert record.keys() == other.keys()
        assert record["scores"] == pytest.approx(other["scores"], abs=TOLERANCE)
        same = record.keys() - {"scores", "seconds", "peak_mib"}
        assert {name: record[name] for name in same} == {name: other[name] for name in same}
    assert len({record["seconds"] for record in together.values()}) == 1  # shares of one time


def test_only_seeds_make_a_group(data):
    simulated = ScenarioSource("common-noise")
    followed = [EpochRulesRun(LABELME, "speelfc", seed, {}) for seed in range(2)]
    grouped, alone = method_runs(), method_runs("speelfc", seeds=[5])
    other = method_runs(settings={"training": {"epochs": 4, "device": "cpu"}})
    drawn = method_runs(source=simulated)
    assert groups_of([*grouped, *alone, *other, *drawn, *followed]) == [grouped, other]


def test_runs_are_grouped_where_there_is_a_gpu(data, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(runs, "execute_together", lambda some, data: asked.append(some) or [])
    some = method_runs("two-stage-majority", seeds=range(2))
    for there in (False, True):
        monkeypatch.setattr("torch.cuda.is_available", lambda there=there: there)
        made(tmp_path / str(there), some, data)
        assert asked == ([some] if there else [])


def test_a_group_goes_on_where_it_was_stopped(data, tmp_path, monkeypatch):
    some = method_runs(seeds=range(4))
    made(tmp_path, some[1:2], data)
    seeds = []
    outcomes = MethodRun.outcomes

    def seen(run, chosen, data):
        seeds.append(list(chosen))
        return outcomes(run, chosen, data)

    monkeypatch.setattr(MethodRun, "outcomes", seen)
    records = made(tmp_path, some, data, together=True)
    made(tmp_path, some, data, together=True)
    assert seeds == [[0, 2, 3]]
    assert records.keys() == {run.key for run in some}


def test_what_cannot_be_grouped_is_made_by_itself(data, tmp_path):
    some = method_runs("em", seeds=range(2))
    with pytest.raises(SettingError, match="EMModule"):
        some[0].outcomes([0, 1], data)
    records = made(tmp_path, some, data, together=True)
    assert all("scores" in record for record in records.values())


def test_the_error_of_a_run_is_its_own(data, tmp_path):
    broken = {"training": {"epochs": 2, "learning_rate": 1e30, "scale": "none", "device": "cpu"}}
    some = method_runs("speelfc", seeds=range(2), settings=broken)
    together = made(tmp_path / "together", some, data, together=True)
    separate = made(tmp_path / "separate", some, data)
    assert any("not finite" in record.get("error", "") for record in separate.values())
    for key, record in separate.items():
        assert together[key].get("error") == record.get("error")
