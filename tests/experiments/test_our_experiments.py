"""Our own experiments on tiny corpora: settings, and selection without truth."""

from dataclasses import replace

import pytest

from manyhands.experiments import EXPERIMENTS, FILE, RecordStore, RunOptions, run_missing
from manyhands.experiments.method_selection import picked
from manyhands.experiments.settings import Column, Section

QUICK = {"training": {"epochs": 2, "validation_fraction": 0.0}}


@pytest.fixture
def settings_experiment():
    columns = (Column("quick", "labelme", QUICK), Column("defaults", "labelme"))
    section = Section("Quick", "Two epochs.", ("two-stage-majority", "truth"), columns, lowest=True)
    whole = EXPERIMENTS["ours/settings"]
    return replace(whole, sections=(section,), datasets=("labelme",))


def test_settings_stand_beside_the_defaults(settings_experiment, data, tmp_path):
    options, store = RunOptions(data=data, n_runs=2), RecordStore(tmp_path / FILE)
    runs = settings_experiment.runs(options)
    assert [run.kind for run in runs].count("settings") == 2
    assert [run.kind for run in runs].count("classification") == 4
    run_missing(runs, store, data)
    rows = settings_experiment.write(store, options, tmp_path).rows
    assert len(rows) == 4
    assert all("lowest" in row["accuracy %"] for row in rows)
    page = (tmp_path / "ours-settings.md").read_text()
    assert "|  | quick | defaults |" in page


def test_a_summary_of_seeds_is_that_of_its_runs(settings_experiment, data, tmp_path):
    options, store = RunOptions(data=data, n_runs=2), RecordStore(tmp_path / FILE)
    experiment = replace(
        settings_experiment,
        sections=(replace(settings_experiment.sections[0], methods=("two-stage-majority",)),),
    )
    summary, *single = experiment.runs(options)
    same = [replace(run, settings=QUICK) for run in single]
    run_missing([summary, *same], store, data)
    accuracies = [store.get(run.key)["scores"]["accuracy"] for run in same]
    found = store.get(summary.key)["scores"]
    assert found["accuracy"] == pytest.approx(sum(accuracies) / 2, abs=1e-6)
    assert found["lowest"] == pytest.approx(min(accuracies), abs=1e-6)


def test_what_was_not_run_has_no_number(settings_experiment, data, tmp_path):
    store = RecordStore(tmp_path / FILE)
    rows = settings_experiment.write(store, RunOptions(data=data), tmp_path).rows
    assert {row["accuracy %"] for row in rows} == {"-"}
    assert settings_experiment.unavailable(RunOptions())[0].startswith("labelme: give --data")


def test_selection_is_recorded_and_compared(data, tmp_path):
    experiment = replace(
        EXPERIMENTS["ours/method-selection"],
        datasets=("labelme",),
        candidates=("two-stage-majority", "speelfc"),
    )
    options, store = RunOptions(data=data, n_runs=1), RecordStore(tmp_path / FILE)
    [run] = experiment.runs(options)
    run_missing([run], store, data)
    record = store.get(run.key)
    assert {row["method"] for row in record["methods"]} == set(experiment.candidates)
    best = max(record["methods"], key=lambda row: row["likelihood"])
    assert picked(record, "likelihood")["method"] == best["method"]
    rows = {row["picked by"]: row for row in experiment.write(store, options, tmp_path).rows}
    accuracies = [100 * row["accuracy"] for row in record["methods"]]
    assert rows["best possible"]["labelme"] == f"{max(accuracies):.1f}"
    assert rows["majority voting enough?"]["labelme"].endswith("of 1 times")
