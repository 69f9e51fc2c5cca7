"""manyhands aggregate --engine."""

import json

import pytest
from command_line import SMALL, assert_refused, call

from manyhands.scale import engines


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(SMALL)
    return path


def test_stream_writes_what_memory_writes(labels, tmp_path):
    for engine in ("memory", "stream"):
        done = call(
            "aggregate", labels, "--engine", engine, "--out", tmp_path / f"{engine}.csv",
            "--annotators", tmp_path / f"{engine}-annotators.csv",
        )  # fmt: skip
        assert done.code == 0
        assert "annotator-types: 6 labels of 3 items by 3 annotators" in done.out
    for name in ("{}.csv", "{}-annotators.csv"):
        expected = (tmp_path / name.format("memory")).read_text()
        assert (tmp_path / name.format("stream")).read_text() == expected


def test_stream_to_standard_output_and_json(labels, tmp_path):
    assert call("aggregate", labels, "--engine", "stream").out == call("aggregate", labels).out
    done = call("aggregate", labels, "--engine", "stream", "--json", "--out", tmp_path / "c.csv")
    summary = json.loads(done.out)["summary"]
    assert (summary["engine"], summary["items"], summary["labels"]) == ("stream", 3, 6)


def test_auto_says_why(labels, tmp_path, monkeypatch):
    assert "engine: memory, because the files have 0 MiB" in call(
        "aggregate", labels, "--engine", "auto"
    ).err  # fmt: skip
    assert "engine" not in call("aggregate", labels).err
    monkeypatch.setattr(engines, "_SMALL", 0)
    monkeypatch.setattr(engines, "available_memory", lambda: 1.0)
    done = call("aggregate", labels, "--out", tmp_path / "c.csv")
    assert "engine: stream, because the labels take up to" in done.err
    truth = tmp_path / "truth.csv"
    truth.write_text("item,truth\na,x\n")
    done = call("aggregate", labels, "--truth", truth, "--out", tmp_path / "c.csv")
    assert done.code == 0  # in memory
    assert "engine" not in done.err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--engine", "stream", "--method", "ebcc"), "ebcc needs all labels in memory"),
        (("--engine", "stream", "--method", "auto"), "--method auto needs all labels in memory"),
        (("--engine", "stream", "--truth", "t.csv"), "--truth needs all labels in memory"),
        (("--engine", "stream", "--json"), "--json without --out needs all labels"),
        (("--engine", "stream", "--memory", "0"), "--memory must be > 0; got 0"),
        (("--engine", "stream", "--resume"), "give --spill"),
        (("--engine", "memory", "--spill", "x"), "--spill goes with --engine stream"),
        (("--engine", "stream", "--label", "lable"), "did you mean label?"),
    ],
)
def test_wrong_requests(labels, options, text):
    done = call("aggregate", labels, *options)
    assert_refused(done)
    assert text in done.err


def test_a_corrupt_file_is_named(labels, tmp_path):
    (tmp_path / "other.csv").write_bytes(b"item,annotator,label\na,u\xff\xfe,x\n")
    done = call("aggregate", labels, tmp_path / "other.csv", "--engine", "stream", "--out",
                tmp_path / "c.csv")  # fmt: skip
    assert done.code == 0
    assert "WARNING: a file is left out:" in done.out
    assert "other.csv" in done.out
    done = call("aggregate", labels, tmp_path / "other.csv", "--engine", "stream",
                "--corrupt-files", "refuse")  # fmt: skip
    assert_refused(done)
