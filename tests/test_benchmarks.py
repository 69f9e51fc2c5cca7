"""The benchmark of aggregation on a tiny crowd: it measures both tools and writes a page."""

import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from benchmarks import aggregation, jobs, numbers, processes, reading, tools
from benchmarks import aggregation_page as page
from benchmarks.benchmark import AGGREGATION
from benchmarks.crowds import CrowdSize, simulate

pytest.importorskip("crowdkit")

ROOT = Path(__file__).resolve().parents[1]
TINY = CrowdSize(n_labels=500, n_classes=3, n_annotators=20)
TINY_BUDGET_S = 0.05
LIMIT_S = 600  # against a hang alone

# crowd-kit still uses calls that pandas is about to drop
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::PendingDeprecationWarning"
    ),
]


def measured(job, **request):
    row = {}
    for part in jobs.JOBS[job](**request):
        row |= part
    return row


@pytest.fixture(scope="module")
def cases():
    """A row per method and tool, as a run records them; the first from a fresh process."""
    rows = []
    for method in tools.METHODS:
        for tool in tools.TOOLS:
            row = {"kind": "case", "tool": tool, "method": method, **asdict(TINY)}
            request = {"tool": tool, "method": method, "size": asdict(TINY)}
            request["budget_s"] = TINY_BUDGET_S
            if not rows:
                found = processes.run_job("case", request, limit_s=LIMIT_S)
            else:
                found = {"status": processes.OK, "limit_s": LIMIT_S, **measured("case", **request)}
            rows.append(row | found)
    return rows


def test_simulated_crowd_is_what_it_says():
    crowd = simulate(CrowdSize(20_000, 4, 100))
    pairs = crowd.item.astype(np.int64) * 100 + crowd.annotator
    assert len(np.unique(pairs)) == 20_000
    assert np.all(np.diff(pairs) > 0)
    assert np.all(np.bincount(crowd.item) == 10)
    assert np.all(np.bincount(crowd.annotator) == 200)
    right = crowd.label == crowd.truth[crowd.item]
    assert 0.65 < right.mean() < 0.75
    wrong = (crowd.label - crowd.truth[crowd.item])[~right] % 4
    assert np.allclose(np.bincount(wrong, minlength=4)[1:] / len(wrong), 1 / 3, atol=0.02)


def test_every_case_has_time_memory_and_accuracy(cases):
    assert len(cases) == 8
    for row in cases:
        assert row["status"] == processes.OK, row
        assert row["peak_bytes"] >= row["baseline_bytes"] > 0
        assert row["seconds"] is not None
        assert row["accuracy"] > 0.8
        if row["method"] != "majority":
            assert (row["short"], row["long"]) in page.PLANS


@pytest.mark.parametrize("tool", tools.TOOLS.values(), ids=tools.TOOLS)
@pytest.mark.parametrize("method", [name for name in tools.METHODS if name != "majority"])
def test_as_many_iterations_as_asked(tool, method):
    table_of_tool = tool.take(simulate(TINY))
    assert tool.n_iterations(tool.fit(table_of_tool, method, 2)) == 2


def test_majority_labels_agree_where_there_is_no_tie():
    crowd = simulate(TINY)
    labels = [tool.labels(tool.fit(tool.take(crowd), "majority")) for tool in tools.TOOLS.values()]
    counts_ik = np.zeros((TINY.n_items, TINY.n_classes), dtype=int)
    np.add.at(counts_ik, (crowd.item, crowd.label), 1)
    most_ik = counts_ik == counts_ik.max(axis=1, keepdims=True)
    clear = most_ik.sum(axis=1) == 1
    assert clear.sum() > 40
    assert np.array_equal(labels[0][clear], labels[1][clear])
    assert np.array_equal(labels[1][clear], counts_ik.argmax(axis=1)[clear])


def test_page_has_a_row_for_every_case(cases):
    rows = [
        {"kind": "run", "command": "python -m benchmarks.aggregation"},
        {"kind": "machine", **aggregation.machine_facts()},
        *cases,
    ]
    text = page.make_page(rows)
    assert text.count("| 500 | 3 | 20 |") == 4
    for title in ("Majority", "Dawid-Skene", "One coin", "GLAD"):
        assert f"### {title}" in text
    assert "not resolved" not in text.split("### Dawid-Skene")[0]
    assert str(ROOT) not in text


def test_a_slow_job_is_stopped(tmp_path, monkeypatch):
    endless = tmp_path / "python"
    endless.write_text("#!/bin/sh\nexec sleep 100000\n")
    endless.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(endless))
    row = processes.run_job("case", {}, limit_s=0.05)
    assert row["status"] == processes.OVER
    assert numbers.time_cell(row) == "> 0.05 s"


def test_a_stopped_peer_is_not_tried_at_larger_sizes(monkeypatch):
    tried = []

    def run_job(job, request, *, limit_s):
        tried.append((request["tool"], request["size"]["n_labels"]))
        slow = request["tool"] == page.PEER and request["size"]["n_labels"] > 500
        return {"status": processes.OVER if slow else processes.OK, "limit_s": limit_s}

    monkeypatch.setattr(aggregation, "run_job", run_job)
    plan = aggregation.Plan(sizes=(500, 1000, 1500))
    rows = list(aggregation.compared("case", "majority", 2, 20, plan.sizes, plan))
    assert [size for tool, size in tried if tool == page.PEER] == [500, 1000]
    assert [size for tool, size in tried if tool == page.OURS] == [500, 1000, 1500]
    theirs = [numbers.time_cell(row) for row in rows if row["tool"] == page.PEER]
    assert theirs[1:] == ["> 2 min", "not run: over 2 min at a smaller size"]


def test_a_time_beyond_the_limit_makes_no_ratio():
    late = {"status": processes.OVER, "limit_s": 120.0, "seconds": 119.0}
    assert numbers.milliseconds(late) is None
    assert numbers.milliseconds(late | {"status": processes.OK}) == 119_000.0


def test_a_failing_job_says_why():
    row = processes.run_job("case", {"tool": "nobody"}, limit_s=LIMIT_S)
    assert row["status"] == processes.FAILED
    assert "TypeError" in row["why"]


def test_large_case_converges_and_is_flagged():
    found = measured("large", method="dawid-skene", size=asdict(CrowdSize(5000, 2, 100)))
    row = {"kind": "large", "status": processes.OK, **asdict(CrowdSize(5000, 2, 100)), **found}
    assert row["converged"]
    assert row["accuracy"] > 0.9
    rows = [{"kind": "run", "command": ""}, {"kind": "machine", **aggregation.machine_facts()}]
    assert "| yes |" in page.make_page([*rows, row])
    assert "| **no** |" in page.make_page([*rows, row | {"peak_bytes": 7 * 2**30}])


@pytest.mark.parametrize("ids", reading.IDS)
def test_reading_compares_the_same_file(tmp_path, ids):
    path = reading.write_table(tmp_path / "labels.csv", 500, ids)
    first = path.read_text().splitlines()[:2]
    assert first[0] == "item,annotator,label"
    assert first[1].startswith("item_0," if ids == "strings" else "0,")
    found = reading.compare_reading(tmp_path, 1000, ids, 1)
    assert found["pyarrow_s"] > 0
    assert found["file_bytes"] == (tmp_path / "labels.csv").stat().st_size


def test_records_keep_the_rows_and_replace_those_measured_again(tmp_path, cases):
    rows = [{"kind": "run", "command": "c"}, {"kind": "machine", **aggregation.machine_facts()}]
    kept = AGGREGATION.keep([*rows, *cases], tmp_path)
    assert AGGREGATION.read(tmp_path) == kept
    assert page.make_page(kept) == page.make_page([*rows, *cases])
    again = AGGREGATION.keep([cases[0] | {"accuracy": 0.5}], tmp_path, add=True)
    assert [row["key"] for row in again] == [row["key"] for row in kept]
    assert [row.get("accuracy") for row in again].count(0.5) == 1
    assert len(AGGREGATION.keep(rows, tmp_path)) == 2
    assert [path.name for path in AGGREGATION.path(tmp_path).parent.iterdir()] == [
        "benchmark-aggregation.jsonl"
    ]
