"""Times of labels: found by name, read from every form, and kept with their labels."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manyhands as mh

MOMENTS = ["2024-05-01T10:00:00Z", "2024-05-01T10:00:07.5Z", "2024-05-01T10:01:00Z", None]
EXPECTED = np.array(
    ["2024-05-01T10:00:00", "2024-05-01T10:00:07.5", "2024-05-01T10:01:00", "NaT"], "datetime64[ms]"
)


def table(**more):
    columns = {"item": list("aabb"), "worker": list("uvuv"), "label": list("xyxx")}
    return pd.DataFrame(columns | more)


def same(found, expected):
    return np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_times_come_back_from_every_table(tmp_path, suffix):
    ann = mh.Annotations.from_frame(table(lead_time=[1.5, 2, None, 4], created_at=MOMENTS))
    assert (ann.source.seconds, ann.source.time) == ("lead_time", "created_at")
    assert "seconds: lead_time, times: created_at" in str(ann.source)
    path = tmp_path / f"labels.{suffix}"
    mh.io.write_annotations(ann, path)
    back = mh.read_annotations(path)
    assert same(back.times.seconds, [1.5, 2, np.nan, 4])
    assert same(back.times.at, EXPECTED)
    assert back.source.as_dict()["time"] == "time"


def test_a_table_without_times_has_none_and_frames_have_them_on_request():
    plain = mh.Annotations.from_frame(table())
    assert plain.times is None
    assert list(plain.to_frame(times=True).columns) == ["item", "annotator", "label"]
    timed = mh.Annotations.from_frame(table(seconds=[1, 2, 3, 4]))
    assert list(timed.to_frame().columns) == ["item", "annotator", "label"]
    assert timed.to_frame(times=True)["seconds"].tolist() == [1, 2, 3, 4]
    assert "<th>seconds</th>" in timed._repr_html_()


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("created_at", ["2020-01-01", "2020-01-01", "2021-01-01", "2021-01-01"]),  # of a message
        ("duration", [3.5, 3.5, 9.0, 9.0]),  # of a clip
        ("duration", ["short", "long", "long", "short"]),
        ("time", [1.0, 2.0, 3.0, 4.0]),  # of what, and in which unit?
        ("date", ["01/02/2024", "02/02/2024", "03/02/2024", "04/02/2024"]),  # day or month first?
        ("timestamp", [None, None, None, None]),
    ],
)
def test_what_may_be_no_time_of_a_label_is_not_taken(name, cells):
    assert mh.Annotations.from_frame(table(**{name: cells})).times is None


def test_columns_that_are_named_are_taken_or_refused():
    frame = table(clock=["0:00:04", "0:01:30", "12", ""], when=[1.7e9, 1.7e9 + 1, 1.7e9 + 2, None])
    assert mh.Annotations.from_frame(frame).times is None
    ann = mh.Annotations.from_frame(frame, seconds="clock", time="when")
    assert same(ann.times.seconds, [4, 90, 12, np.nan])
    assert np.diff(ann.times.at[:3]).tolist() == [np.timedelta64(1, "s")] * 2
    with pytest.raises(mh.ManyhandsError, match="'worker' does not hold times"):
        mh.Annotations.from_frame(frame, time="worker")
    with pytest.raises(mh.ManyhandsError, match="did you mean clock"):
        mh.Annotations.from_frame(frame, seconds="clok")
    with pytest.raises(mh.ManyhandsError, match="one entry per label"):
        mh.Annotations.from_arrays([1, 2], [1, 1], [0, 1], seconds=[1])


def test_units_and_epochs():
    epochs = [1_700_000_000_123, 1_700_000_001_123, 1_700_000_002_123, None]
    ann = mh.Annotations.from_frame(table(duration_ms=[500, 1500, -1, 250], timestamp=epochs))
    assert same(ann.times.seconds, [0.5, 1.5, np.nan, 0.25])
    assert ann.times.at[0] == np.datetime64("2023-11-14T22:13:20.123")
    turk = ["Mon Mar 04 12:31:01 PST 2019", "Mon Mar 04 12:31:05 PST 2019", None, None]
    ann = mh.Annotations.from_frame(table(SubmitTime=turk))
    assert ann.times.at[1] == np.datetime64("2019-03-04T20:31:05")


def test_a_matrix_has_no_column_of_times(tmp_path):
    (tmp_path / "m.txt").write_text("0 1\n1 1\n")
    with pytest.raises(mh.ManyhandsError, match="long table or an export"):
        mh.read_annotations(tmp_path / "m.txt", seconds="lead_time")


labels = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30
)


@given(labels, st.data())
def test_every_label_keeps_its_times(rows, drawn):
    item, annotator, label = map(list, zip(*rows, strict=True))
    mark = list(range(len(rows)))  # the seconds of a label tell which row it is from
    at = np.array(mark).astype("datetime64[s]")
    ann = mh.Annotations.from_arrays(item, annotator, label, seconds=mark, time=at)
    ann = ann[drawn.draw(st.permutations(range(len(ann))))]
    kept = drawn.draw(st.sets(st.integers(0, ann.n_annotations - 1)))
    some = ann.only(np.array(sorted(kept), dtype=int)).extended(ann[:1])
    some = pickle.loads(pickle.dumps(some))
    columns = some.to_columns(times=True)
    for i, a, said, seconds, moment in zip(*(c.tolist() for c in columns.values()), strict=True):
        assert (i, a, said) == rows[int(seconds)]
        assert moment.timestamp() - at[int(seconds)].tolist().timestamp() == 0


@pytest.mark.parametrize("duplicates", ["first", "last"])
def test_of_repeated_labels_the_times_are_those_of_the_one_that_counts(duplicates):
    ann = mh.Annotations.from_arrays(
        ["b", "a", "a"], ["u", "u", "u"], [0, 0, 1], seconds=[1, 2, 3], duplicates=duplicates
    )
    assert ann.times.seconds.tolist() == ([2, 1] if duplicates == "first" else [3, 1])
    dropped = mh.Annotations.from_arrays([1, 2], ["u", "u"], [0, -1], missing=-1, seconds=[5, 6])
    assert dropped.times.seconds.tolist() == [5]


def test_a_saved_consensus_and_an_update_keep_times(tmp_path):
    ann = mh.Annotations.from_frame(table(lead_time=[1.5, 2, None, 4], created_at=MOMENTS))
    consensus = mh.aggregate(ann, "majority")
    consensus.save(tmp_path / "c")
    back = mh.load(tmp_path / "c")
    assert same(back.annotations.times.seconds, ann.times.seconds)
    assert same(back.annotations.times.at, ann.times.at)
    more = back.update(mh.Annotations.from_arrays(["c"], ["u"], ["x"]))
    assert same(more.annotations.times.seconds, [1.5, 2, np.nan, 4, np.nan])


def label_studio(n, who, seconds, minute):
    said = {"from_name": "mood", "to_name": "text", "type": "choices"}
    return {
        "id": 10 * n + who, "completed_by": who, "lead_time": seconds,
        "created_at": f"2024-05-01T10:{minute:02d}:00.123456Z",
        "result": [said | {"value": {"choices": ["good"]}}],
    }  # fmt: skip


def test_exports_of_tools_keep_their_times(tmp_path):
    tasks = [
        {"id": n, "data": {"text": "t"}, "annotations": [label_studio(n, 1, 2.5, n),
                                                         label_studio(n, 2, 4, 30 + n)]}
        for n in (1, 2)
    ]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    ann = mh.read_annotations(path)
    assert (ann.source.seconds, ann.source.time) == ("lead_time", "created_at")
    assert ann.times.seconds.tolist() == [2.5, 4, 2.5, 4]
    assert ann.times.at[1] == np.datetime64("2024-05-01T10:31:00.123")
    prodigy = [
        {"text": f"t{n}", "_input_hash": n, "_task_hash": n, "label": "A", "answer": "accept",
         "_annotator_id": who, "_timestamp": 1_700_000_000 + 10 * n + len(who)}
        for n in (1, 2) for who in ("x", "yy")
    ]  # fmt: skip
    path = tmp_path / "prodigy.jsonl"
    path.write_text("\n".join(map(json.dumps, prodigy)))
    ann = mh.read_annotations(path)
    assert ann.source.time == "time"
    assert ann.times.at[-1] == np.datetime64("2023-11-14T22:13:42")
    turk = "HITId,WorkerId,Answer.mood,WorkTimeInSeconds,SubmitTime\n" + "".join(
        f"h{n},{who},good,{n + len(who)},Mon Mar 04 12:3{n}:0{len(who)} PST 2019\n"
        for n in (1, 2)
        for who in ("x", "yy")
    )
    (tmp_path / "batch.csv").write_text(turk)
    ann = mh.read_annotations(tmp_path / "batch.csv")
    assert (ann.source.seconds, ann.source.time) == ("WorkTimeInSeconds", "SubmitTime")
    assert ann.times.seconds.tolist() == [2, 3, 3, 4]
