"""Papers' tables on tiny corpora of the same formats."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import assert_refused, call, plain_json

import manyhands as mh
from manyhands.experiments import EXPERIMENTS, RecordStore, published_tables
from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest

TRAIN, TEST, K = 90, 30, 3


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a small LabelMe and a small music corpus in it."""
    home = tmp_path_factory.mktemp("corpora")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, K, TRAIN + TEST)
    truth[:K] = np.arange(K)
    values = (3 * np.eye(K)[truth] + rng.normal(size=(len(truth), K))).astype(np.float32)
    people = honest(np.full(6, 0.75), K)
    crowd = simulate_crowd(truth[:TRAIN], people, labels_per_item=3, seed=0).annotations
    (home / "labelme").mkdir()
    parts = {"train": slice(0, TRAIN), "valid": slice(TRAIN, None), "test": slice(TRAIN, None)}
    for part, rows in parts.items():
        np.save(home / "labelme" / f"LabelMe_VGG_avg_{part}.npy", values[rows])
        np.savetxt(home / "labelme" / f"LabelMe_Z_{part}.txt", truth[rows], fmt="%d")
    np.savetxt(home / "labelme" / "answers.txt", crowd.to_dense(), fmt="%d")
    write_music(home / "music", values, truth, crowd)
    return home


def write_music(home, values, truth, crowd):
    home.mkdir()
    columns = ",".join(f"feature{j}" for j in range(K))
    names = [f"song{i}" for i in range(len(truth))]
    cells = [",".join(f"{value:.4f}" for value in row) for row in values]
    songs = [f"{names[i]},{cells[i]},g{truth[i]}" for i in range(len(truth))]
    said = [
        f"{names[i]},{a},{cells[i]},g{label}"
        for i, a, label in zip(crowd.item, crowd.annotator, crowd.label, strict=True)
    ]
    head = f"id,{columns},class"
    (home / "music_genre_gold.csv").write_text("\n".join([head, *songs[:TRAIN]]) + "\n")
    (home / "music_genre_test.csv").write_text("\n".join([head, *songs[TRAIN:]]) + "\n")
    head = f"id,annotator,{columns},class"
    (home / "music_genre_mturk.csv").write_text("\n".join([head, *said]) + "\n")


def reproduce(name, data, out, *more):
    return call("reproduce", name, "--data", data, "--out", out, "--runs", 1, "--jobs", 1,
                "--json", *more)  # fmt: skip


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_table_is_whole_and_well_formed(name):
    table = EXPERIMENTS[name].table
    keys = [column.key for column in table.columns]
    assert len(set(keys)) == len(keys)
    assert table.rows
    for row in table.rows:
        assert set(row.values) <= set(keys)
    assert any(value.mean is not None for row in table.rows for value in row.values.values())
    assert table.selection
    assert name.startswith(("p0/", "p1/", "p2/", "p3/", "p4/"))


def test_all_tables_of_the_papers_are_there():
    assert set(published_tables()) == {
        "p0/table-1", "p0/table-2", "p0/table-3", "p1/table-1", "p1/table-2", "p2/table-3",
        "p3/table-1", "p3/table-2", "p3/table-3", "p4/table-2", "p4/table-3", "p4/table-4",
    }  # fmt: skip


def test_published_figures_known_from_the_text():
    p3 = {row.published: row.values for row in EXPERIMENTS["p3/table-1"].table.rows}
    assert p3["CoNAL"]["labelme/accuracy"].mean == 87.12
    assert p3["CoNAL"]["music/accuracy"].mean == 84.06


def test_a_table_is_run_recorded_and_never_run_twice(data, tmp_path):
    outcome = reproduce("p3/table-3", data, tmp_path)
    assert outcome.code == 0, outcome
    cells = plain_json(outcome.out)["cells"]
    assert len(cells) == 6
    assert all(cell["runs"] == "1" for cell in cells)
    assert all(float(cell["ours"].split()[0]) > 60 for cell in cells)
    lines = (tmp_path / "records.jsonl").read_text().splitlines()
    assert len(lines) == 6
    assert {"scores", "seconds", "peak_mib", "versions", "seed"} <= json.loads(lines[0]).keys()
    again = reproduce("p3/table-3", data, tmp_path)
    assert plain_json(again.out)["cells"] == cells
    assert (tmp_path / "records.jsonl").read_text().splitlines() == lines
    page = (tmp_path / "p3-table-3.md").read_text()
    assert "CoNAL" in page
    assert "held-out labels" in page
    assert (tmp_path / "p3-table-3.html").read_text().startswith("<!doctype html>")


def test_what_is_not_there_is_shown_as_missing(data, tmp_path):
    cells = plain_json(reproduce("p0/table-1", data, tmp_path).out)["cells"]
    verdicts = {(cell["method"], cell["measured"]): cell["verdict"] for cell in cells}
    assert verdicts["two-stage-majority", "dogs-cats/accuracy"].startswith("missing")
    absent = next(name for name in ("ma-slda-c", "em") if name not in mh.METHODS)
    assert f"the method {absent} is not there yet" in verdicts[absent, "labelme/accuracy"]
    assert not verdicts["truth", "labelme/accuracy"].startswith("missing")


def test_a_failed_run_is_shown_and_tried_again(data, tmp_path, monkeypatch):
    import manyhands.experiments.tasks as tasks

    def fail(*_):
        raise ValueError("the sky fell")

    with monkeypatch.context() as broken:
        broken.setattr(tasks, "fit_to_trial", fail)
        cells = plain_json(reproduce("p3/table-3", data, tmp_path).out)["cells"]
    assert {cell["verdict"] for cell in cells} == {"ValueError: the sky fell"}
    cells = plain_json(reproduce("p3/table-3", data, tmp_path).out)["cells"]
    assert all("sky" not in cell["verdict"] for cell in cells)


def test_killed_anywhere_it_goes_on(data, tmp_path):
    words = ["reproduce", "p3/table-1", "--data", data, "--out", tmp_path, "--runs", 3,
             "--jobs", 1]  # fmt: skip
    command = [sys.executable, "-m", "manyhands", *map(str, words)]
    records = tmp_path / "records.jsonl"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not (records.exists() and records.stat().st_size > 2000):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    before = set(RecordStore(tmp_path)._records)
    assert before
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
    keys = [json.loads(line)["key"] for line in records.read_text().splitlines()]
    assert before <= set(keys)
    assert len(keys) == len(set(keys))  # nothing was run twice


def test_the_list_says_what_can_be_run(data):
    rows = plain_json(call("reproduce", "--list", "--data", data, "--json").out)["experiments"]
    assert [row["experiment"] for row in rows] == list(EXPERIMENTS)
    ready = {row["experiment"]: row["cells"] for row in rows}
    assert ready["p3/table-3"] == "6 of 6"
    assert "p3/table-3" in call("reproduce", "--list").out


def test_wrong_requests_are_one_line(tmp_path):
    assert_refused(call("reproduce"))
    assert_refused(call("reproduce", "p9/table-1", "--out", tmp_path))
