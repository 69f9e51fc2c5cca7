"""Methods under one protocol: which runs there are, and how the page ranks them."""

from dataclasses import replace

import pytest

from manyhands.experiments import (
    EXPERIMENTS,
    FILE,
    RecordStore,
    RunOptions,
    run_missing,
    runs,
)
from manyhands.methods import METHODS

SOME = (
    "two-stage-majority",
    "two-stage-dawid-skene",
    "raykar",
    "ma-slda-c",
    "crowd-layer-b",
    "truth",
)


@pytest.fixture
def some(monkeypatch):
    monkeypatch.setattr(runs, "METHODS", {name: METHODS[name] for name in SOME})
    return replace(EXPERIMENTS["ours/comparison"], datasets=("labelme", "music"))


def test_methods_for_numbers_are_left_out_and_topics_see_counts(some, data):
    made = some.runs(RunOptions(data=data, n_runs=2))
    found = {(run.source.dataset, run.method, run.source.features) for run in made}
    assert found == {
        ("labelme", "two-stage-majority", None),
        ("labelme", "two-stage-dawid-skene", None),
        ("labelme", "raykar", None),
        ("labelme", "ma-slda-c", "vgg-words"),
        ("labelme", "truth", None),
        ("music", "two-stage-majority", None),
        ("music", "two-stage-dawid-skene", None),
        ("music", "raykar", None),
        ("music", "truth", None),
    }
    assert len(made) == 2 * len(found)
    solved = [run for run in some.runs(RunOptions(data=data)) if run.method == "raykar"]
    assert len(solved) == 2 * 3  # they have no random numbers but the held-out labels


@pytest.mark.slow
def test_the_page_ranks_what_was_run_and_names_what_was_not(some, data, tmp_path, brief):
    options = RunOptions(data=data, n_runs=1)
    store = RecordStore(tmp_path / FILE)
    here = [run for run in some.runs(options) if run.source.dataset == "labelme"]
    run_missing(here, store, data)
    written = some.write(store, options, tmp_path)
    rows = [row for row in written.rows if row["data"] == "labelme"]
    shares = [float(row["accuracy %"].split(" ")[0]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert {row["runs"] for row in rows} == {"1"}
    solved = {row["method"]: row["epochs"] == "-" for row in rows}
    assert solved == {"`truth`": False, "`two-stage-majority`": False, "`raykar`": True,
                      "`two-stage-dawid-skene`": False, "`ma-slda-c`": True}  # fmt: skip
    others = [row for row in written.rows if row["data"] == "music"]
    assert {(row["accuracy %"], row["runs"]) for row in others} == {("-", "0")}
    page = (tmp_path / "ours-comparison.md").read_text()
    assert "| `ma-slda-c` |" in page
    assert "above two-stage-dawid-skene" in page
    missing = some.unavailable(RunOptions(data=str(tmp_path)))
    assert [line.split(":")[0] for line in missing] == ["labelme", "music"]
