"""Papers' tables on tiny corpora of the same formats."""

import csv
import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import assert_refused, call, plain_json, start_changed

import manyhands as mh
from manyhands.experiments import (
    EXPERIMENTS,
    FILE,
    RecordStore,
    RunOptions,
    published_tables,
    run_missing,
)
from manyhands.experiments.data import CorpusSource


def reproduce(name, data, out, *more):
    return call("reproduce", name, "--data", data, "--out", out, "--runs", 1, "--jobs", 1,
                "--protocol", "ours", "--json", *more)  # fmt: skip


@pytest.mark.parametrize("name", list(published_tables()))
def test_every_table_is_whole_and_well_formed(name):
    table = published_tables()[name]
    keys = [column.key for column in table.columns]
    assert len(set(keys)) == len(keys)
    assert table.rows
    for row in table.rows:
        assert set(row.values) <= set(keys)
        assert not (row.ours and row.values)
    assert any(value.mean is not None for row in table.rows for value in row.values.values())
    assert table.selection
    assert EXPERIMENTS[name].name == name


def test_all_tables_and_figures_of_the_papers_are_there():
    assert set(EXPERIMENTS) == {
        "p0/table-1", "p0/table-2", "p0/table-3", "p1/table-1", "p1/table-2", "p2/table-3",
        "p2/table-4", "p3/table-1", "p3/table-2", "p3/table-3", "p4/table-2", "p4/table-3",
        "p4/table-4",
        "p0/figure-2", "p0/figure-3", "p0/figure-4", "p1/figure-4", "p1/figure-5", "p1/figure-6",
        "p2/figure-2", "p3/figure-1", "p3/figure-4", "p3/figure-5", "p3/figure-6", "p3/figure-7",
        "p3/figure-8", "p3/figure-9", "p3/figure-10", "p3/theorem-1", "p4/figure-1",
        "p4/figure-2", "p4/figure-3",
        "ours/selection-rules", "ours/every-method", "ours/method-selection", "ours/settings",
        "ours/fine-tuned-sentences", "ours/labelme-images", "ours/comparison",
        "ours/preferences",
    }  # fmt: skip


SIMULATED = {"p4/table-2", "p3/figure-6"}  # too large for a test as they are


TINY = sorted(set(published_tables()) - SIMULATED)


@pytest.mark.parametrize(
    ("name", "protocol"),
    [(name, "ours") for name in TINY]
    + [pytest.param(name, "published", marks=pytest.mark.slow) for name in TINY],
)
def test_every_table_runs_on_tiny_corpora(name, protocol, data, tmp_path, brief):
    options = RunOptions(data=data, n_runs=1, protocol=protocol)
    experiment, store = EXPERIMENTS[name], RecordStore(tmp_path / FILE)
    runs = experiment.runs(options)
    run_missing(runs, store, data)
    assert [store.get(run.key).get("error") for run in runs] == [None] * len(runs)
    written = experiment.write(store, options, tmp_path)
    assert {Path(each).suffix for each in written.files} == {".md", ".html", ".csv"}
    assert len(written.rows) == len(experiment.cells(options))
    by_protocol = {"ours": "ours", "published": "as_published"}[protocol]
    for row, cell in zip(written.rows, experiment.cells(options), strict=True):
        assert (row.get(by_protocol, "-") != "-") == (protocol in cell.runs_by)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SIMULATED))
def test_simulated_crowds_run_when_they_are_small(name, tmp_path, brief):
    whole = EXPERIMENTS[name]
    small = {"n_items": 60, "n_annotators": 10, "n_test": 20}
    columns = [
        replace(column, settings={**column.settings, **small}, training={"epochs": 2},
                axis={**column.axis, "ticks": column.axis.get("ticks", ())[:2]})
        for column in whole.table.columns
        if not column.items
    ][:2]  # fmt: skip
    experiment = type(whole)(replace(whole.table, columns=tuple(columns)))
    options = RunOptions(n_runs=2, protocol="ours")
    store = RecordStore(tmp_path / FILE)
    run_missing(experiment.runs(options), store, None)
    assert all(store.finished(run.key) for run in experiment.runs(options))
    written = experiment.write(store, options, tmp_path)
    suffixes = {Path(each).suffix for each in written.files}
    assert suffixes == {".md", ".csv", ".png", ".svg"} | ({".html"} if "table" in name else set())
    assert all(Path(each).stat().st_size > 500 for each in written.files)


def test_what_a_curve_shows_is_the_mean_of_its_runs(tmp_path):
    whole = EXPERIMENTS["p3/figure-6"]
    column = replace(
        whole.table.columns[0],
        settings={"n_items": 60, "n_annotators": 10, "n_test": 20},
        training={"epochs": 2},
        axis={"setting": "common_strength", "ticks": [0.1, 0.6], "name": "strength"},
    )
    rows = tuple(row for row in whole.table.rows if row.method == "two-stage-majority")
    experiment = type(whole)(replace(whole.table, columns=(column,), rows=rows))
    options, store = RunOptions(n_runs=3, protocol="ours"), RecordStore(tmp_path / FILE)
    run_missing(experiment.runs(options), store, None)
    points = experiment.write(store, options, tmp_path).rows
    assert [point["at"] for point in points] == [0.1, 0.6]
    for point, cell in zip(points, experiment.cells(options), strict=True):
        scores = [100 * store.get(run.key)["scores"]["accuracy"] for run in cell.runs_by["ours"]]
        assert point["mean"] == pytest.approx(np.mean(scores), abs=1e-3)
        assert point["deviation"] == pytest.approx(np.std(scores, ddof=1), abs=1e-3)


def test_hidden_annotators_give_every_label_an_annotator(data):
    known = CorpusSource("labelme").load(data, 0).trial.annotations
    anonymous = CorpusSource("labelme", anonymous=True).load(data, 0).trial.annotations
    assert anonymous.n_annotators == anonymous.n_annotations == known.n_annotations
    assert anonymous.item.tolist() == known.item.tolist()
    assert anonymous.label.tolist() == known.label.tolist()
    assert anonymous.classes.tolist() == known.classes.tolist()


def test_items_kept_for_testing_are_not_trained_on(data):
    whole = CorpusSource("labelme").load(data, 0)
    part = CorpusSource("labelme", tested_on="labelled").load(data, 0)
    trained = {tuple(row) for row in part.trial.features}
    tested = {tuple(row) for row in part.trial.test_features}
    assert not trained & tested
    assert trained | tested == {tuple(row) for row in whole.trial.features}
    assert part.label_shares.sum(axis=1) == pytest.approx(np.ones(len(part.label_shares)))
    both = CorpusSource("labelme", tested_on="valid+test").load(data, 0).trial
    assert len(both.test_truth) == len(whole.trial.test_truth) + len(whole.valid.truth)


def test_rules_of_selection_are_told_apart(data, tmp_path, brief):
    rules = replace(EXPERIMENTS["ours/selection-rules"], methods=("conal",), datasets=("labelme",))
    options, store = RunOptions(data=data, n_runs=2), RecordStore(tmp_path / FILE)
    run_missing(rules.runs(options), store, data)
    rows = rules.write(store, options, tmp_path).rows
    assert [row["settings"] for row in rows] == ["our defaults", "own start"]
    for run in rules.runs(options):
        record = store.get(run.key)
        assert record["scores"]["test"] == max(record["test_by_epoch"])
        assert record["scores"]["last"] == record["test_by_epoch"][-1]
        assert record["scores"]["clean"] <= record["scores"]["test"]


def test_an_epoch_chosen_on_the_test_items_is_never_worse(data, tmp_path, brief):
    rules = replace(EXPERIMENTS["ours/selection-rules"], methods=("speelfc",))
    options, store = RunOptions(data=data, n_runs=1), RecordStore(tmp_path / FILE)
    run_missing(rules.runs(options), store, data)
    for run in rules.runs(options):
        scores = store.get(run.key)["scores"]
        assert scores["test"] >= max(scores["last"], scores.get("clean", 0.0))


def test_published_figures_known_from_the_text():
    p3 = {row.published: row.values for row in EXPERIMENTS["p3/table-1"].table.rows}
    assert p3["CoNAL"]["labelme/accuracy"].mean == 87.12
    assert p3["CoNAL"]["music/accuracy"].mean == 84.06


def test_a_table_is_run_recorded_and_never_run_twice(data, tmp_path):
    outcome = reproduce("p3/table-3", data, tmp_path)
    assert outcome.code == 0, outcome
    cells = plain_json(outcome.out)["cells"]
    assert len(cells) == 12
    assert all(cell["runs"] == "1" for cell in cells)
    right = [cell for cell in cells if cell["measured"].endswith("accuracy")]
    assert all(float(cell["ours"].split()[0]) > 60 for cell in right)
    lines = (tmp_path / "records.jsonl").read_text().splitlines()
    assert len(lines) == 6
    assert {"scores", "seconds", "peak_mib", "versions", "seed"} <= json.loads(lines[0]).keys()
    again = reproduce("p3/table-3", data, tmp_path)
    assert plain_json(again.out)["cells"] == cells
    assert (tmp_path / "records.jsonl").read_text().splitlines() == lines
    page = (tmp_path / "p3-table-3.md").read_text()
    assert "CoNAL" in page
    assert "held-out crowd labels" in page
    assert (tmp_path / "p3-table-3.html").read_text().startswith("<!doctype html>")


def test_what_is_not_there_is_shown_as_missing(data, tmp_path, monkeypatch, brief):
    import manyhands.experiments.tables as module

    known = {name: each for name, each in mh.METHODS.items() if name != "em"}
    monkeypatch.setattr(module, "METHODS", known)
    cells = plain_json(reproduce("p0/table-1", data, tmp_path).out)["cells"]
    verdicts = {(cell["method"], cell["measured"]): cell["verdict"] for cell in cells}
    assert verdicts["two-stage-majority", "dogs-cats/accuracy"].startswith("missing")
    assert "the method em is not there yet" in verdicts["em", "labelme/accuracy"]
    assert not verdicts["truth", "labelme/accuracy"].startswith("missing")


def test_a_failed_run_is_shown_and_tried_again(data, tmp_path, monkeypatch, brief):
    from manyhands.experiments import runs

    def fail(*_, **__):
        raise ValueError("the sky fell")

    with monkeypatch.context() as broken:
        broken.setattr(runs, "fit_method", fail)
        cells = plain_json(reproduce("p3/table-3", data, tmp_path).out)["cells"]
    assert {cell["verdict"] for cell in cells} == {"ValueError: the sky fell"}
    cells = plain_json(reproduce("p3/table-3", data, tmp_path).out)["cells"]
    assert all("sky" not in cell["verdict"] for cell in cells)


DIES = """
import os
from manyhands.experiments.records import RecordStore
append = RecordStore.append
def append_or_die(self, record):
    if len(self) == 3:
        with self.path.open("ab") as stream:
            stream.write(b'{"key": "half a line')
        os.kill(os.getpid(), signal.SIGKILL)
    append(self, record)
RecordStore.append = append_or_die
"""


@pytest.mark.slow
def test_killed_in_the_middle_of_a_line_it_goes_on(data, tmp_path, brief):
    words = ("reproduce", "p3/table-3", "--data", data, "--out", tmp_path, "--runs", 1, "--jobs", 1,
             "--protocol", "ours")  # fmt: skip
    assert start_changed(DIES, *words).code == -signal.SIGKILL
    records = tmp_path / "records.jsonl"
    *before, half = records.read_text().splitlines()
    assert len(before) == 3
    assert half == '{"key": "half a line'
    assert call(*words).code == 0
    lines = records.read_text().splitlines()
    assert lines[:3] == before  # nothing was run twice
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 6


def test_a_run_finds_what_the_list_counts_in_any_file_of_records(data, tmp_path):
    store = RecordStore(tmp_path / "p3-table-3.jsonl")
    for run in EXPERIMENTS["p3/table-3"].runs(RunOptions(data=data, n_runs=1, protocol="ours")):
        store.append({"key": run.key, "scores": {"accuracy": 0.125}})
    words = ("reproduce", "--list", "--data", data, "--out", tmp_path, "--runs", 1, "--json")
    rows = {row["experiment"]: row for row in plain_json(call(*words).out)["experiments"]}
    assert rows["p3/table-3"]["ours"] == {"done": 6, "runs": 6}
    result = reproduce("p3/table-3", data, tmp_path)
    assert "runs to make" not in result.err
    cells = plain_json(result.out)["cells"]
    assert {cell["ours"] for cell in cells if cell["ours"] != "-"} == {"12.50"}
    assert not (tmp_path / FILE).exists() or not (tmp_path / FILE).read_text()


def test_the_list_says_what_can_be_run_and_how_long(data, tmp_path):
    store = RecordStore(tmp_path / FILE)
    made = EXPERIMENTS["p3/table-3"].runs(RunOptions(data=data, n_runs=3, protocol="ours"))[:2]
    for run in made:
        store.append({"key": run.key, "scores": {"accuracy": 0.5}})
    words = ("reproduce", "--list", "--data", data, "--out", tmp_path)
    told = plain_json(call(*words, "--json", "--runs", 3).out)
    rows = {row["experiment"]: row for row in told["experiments"]}
    assert list(rows) == list(EXPERIMENTS)
    table = rows["p3/table-3"]
    assert table["ours"] == {"done": 2, "runs": 3 * 6}
    assert table["as published"] == {"done": 0, "runs": 2 * 3 * 6}  # with clean labels too
    assert table["missing"] == 0
    assert table["protocol"] == "complete"
    assert "augmented" in table["stands in"][0]
    assert rows["p1/figure-4"]["protocol"] == "nothing is trained"
    assert rows["ours/settings"]["protocol"] == "our own experiment"
    assert rows["p0/table-3"]["ours"]["runs"] == 3 * (9 + 8)  # published rows, and ours
    assert any("dogs" in part for part in rows["p0/table-1"]["missing parts"])
    assert all(row["minutes"] > 0 for row in rows.values() if row["runs"])
    parts = sum(row["minutes"] for row in rows.values())
    assert 0 < told["minutes"] <= parts + 1  # runs that several need are made once
    shown = call(*words).out
    assert "p3/table-3" in shown
    assert "missing: " in shown


def test_the_terminal_shows_the_grid_of_the_page(data, tmp_path, brief):
    outcome = call("reproduce", "p3/table-2", "--data", data, "--out", tmp_path, "--runs", 1,
                   "--jobs", 1, "--protocol", "ours")  # fmt: skip
    assert outcome.code == 0, outcome
    page = (tmp_path / "p3-table-2.html").read_text()
    for text in ("87.12 ± 0.55", "as published", "epoch by clean labels †", "LabelMe", "1e-5"):
        assert text in outcome.out
        assert text in page
    with (tmp_path / "p3-table-2.csv").open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    keys = {line["key"] for line in map(json.loads, (tmp_path / FILE).read_text().splitlines())}
    ours = [line for line in lines if line["protocol"] == "ours"]
    assert len(ours) == 8
    assert {key for line in ours for key in line["records"].split()} == keys
    assert all(line["result"] in outcome.out for line in ours)


def test_several_experiments_share_their_runs(data, tmp_path, brief):
    names = ["p3/table-3", "p1/figure-4"]
    told = plain_json(reproduce(names[0], data, tmp_path, names[1]).out)["experiments"]
    assert [each["experiment"] for each in told] == names
    files = [Path(place).name for each in told for place in each["files"]]
    assert files == ["p3-table-3.md", "p3-table-3.html", "p3-table-3.csv", "p1-figure-4.md",
                     "p1-figure-4.png", "p1-figure-4.svg"]  # fmt: skip


def test_wrong_requests_are_one_line(tmp_path):
    assert_refused(call("reproduce"))
    assert_refused(call("reproduce", "p9/table-1", "--out", tmp_path))
