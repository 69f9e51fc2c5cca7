"""Every method on every crowd: which runs there are, and how the page ranks them."""

from dataclasses import replace

import pytest

import manyhands.experiments.every_method as module
from manyhands.experiments import EXPERIMENTS, RecordStore, Request
from manyhands.experiments.runner import run_missing
from manyhands.training import METHODS

SOME = ("two-stage-majority", "raykar", "ma-slda-c", "crowd-layer-b", "truth")


@pytest.fixture
def some(monkeypatch):
    monkeypatch.setattr(module, "METHODS", {name: METHODS[name] for name in SOME})
    return replace(EXPERIMENTS["ours/every-method"], datasets=("labelme", "music"))


def test_methods_for_numbers_are_left_out_and_topics_see_counts(some, data):
    tasks = some.tasks(Request(data=data, runs=2))
    made = {(task.source.dataset, task.method, task.source.features) for task in tasks}
    assert made == {
        ("labelme", "two-stage-majority", None),
        ("labelme", "raykar", None),
        ("labelme", "ma-slda-c", "vgg-words"),
        ("labelme", "truth", None),
        ("music", "two-stage-majority", None),
        ("music", "raykar", None),
        ("music", "truth", None),
    }
    assert len(tasks) == 2 * len(made)


def test_the_page_ranks_what_was_run_and_names_what_was_not(some, data, tmp_path, brief):
    request = Request(data=data, runs=1)
    store = RecordStore(tmp_path)
    here = [task for task in some.tasks(request) if task.source.dataset == "labelme"]
    run_missing(here, store, data)
    written = some.write(store, request, tmp_path)
    rows = [row for row in written.rows if row["data"] == "labelme"]
    shares = [float(row["accuracy %"].split(" ")[0]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert {row["runs"] for row in rows} == {"1"}
    others = [row for row in written.rows if row["data"] == "music"]
    assert {(row["accuracy %"], row["runs"]) for row in others} == {("-", "0")}
    page = (tmp_path / "ours-every-method.md").read_text()
    assert "| `ma-slda-c` |" in page
    assert "run to convergence" in page
    missing = some.missing(Request(data=str(tmp_path)))
    assert [line.split(":")[0] for line in missing] == ["labelme", "music"]
