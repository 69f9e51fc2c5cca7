"""The engine stream: files that cannot be read, wrong requests, memory, and stopped runs."""

import os
import signal
import subprocess
import sys

import pandas as pd
import pytest
from part_tables import (
    assert_same,
    class_table,
    in_memory,
    number_table,
    settings_of,
    streamed,
    write,
)

import manyhands as mh
from manyhands.io import LabelFile
from manyhands.scale import StreamSettings, choose_engine, engines, stream_files
from manyhands.scale.stream import StreamParts


def damaged(column, value, row=7):
    def damage(table):
        return table.astype({column: object}).set_axis(table.index).pipe(_put, row, column, value)

    return damage


def _put(table, row, column, value):
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("damage", "reading"),
    [
        (damaged("label", ""), {}),
        (damaged("item", " "), {}),
        (damaged("annotator", ""), {}),
        (damaged("label", "yak"), {"classes": ["cat", "dog", "eel"]}),
        (damaged("label", "3"), {}),
        (lambda table: table.assign(label=1.5).pipe(_put, 9, "label", 7.25), {"bounds": (0, 5)}),
        (lambda table: table.assign(label=1.5).pipe(_put, 9, "label", float("inf")), {}),
        (lambda table: number_table(), {"task": "classification"}),
        (lambda table: pd.concat([table, table[5:9]]), {"duplicates": "refuse"}),
    ],
)
@pytest.mark.parametrize("quoted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_cannot_be_used_is_told_as_in_memory(damage, reading, quoted, tmp_path):
    table = damage(class_table())
    if quoted:
        table = table.assign(remark='two "words"')
    path = write(table, tmp_path / "labels.csv")
    with pytest.raises(mh.ManyhandsError) as expected:
        in_memory(path, **reading)
    with pytest.raises(type(expected.value)) as found:
        streamed(path, parts=4, **reading)
    assert str(found.value) == str(expected.value)


def test_an_impossible_scale_and_a_known_truth_of_nothing(tmp_path):
    path = write(number_table().pipe(_put, 3, "label", 1e12), tmp_path / "labels.csv")
    with pytest.raises(mh.ManyhandsError) as expected:
        in_memory(path, "mean")
    with pytest.raises(mh.ManyhandsError) as found:
        streamed(path, "mean", parts=3)
    assert str(found.value) == str(expected.value)
    path = write(class_table(), tmp_path / "classes.csv")
    with pytest.raises(mh.ManyhandsError, match="'nobody', which nobody labelled"):
        streamed(path, "majority", known={"nobody": "cat"}, parts=3)


CORRUPTIONS = {
    "empty.parquet": lambda whole: b"",
    "cut.parquet": lambda whole: whole[: len(whole) // 2],
    "no.parquet": lambda whole: b"item,annotator,label\n1,2,cat\n",
    # pages of cells are damaged, and the footer is whole
    "pages.parquet": lambda whole: (
        whole[:8] + bytes(len(whole) // 3) + whole[8 + len(whole) // 3 :]
    ),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupt_file_is_named_and_the_rest_is_used(name, tmp_path):
    table = class_table()
    good = [write(table[place::3], tmp_path / f"{place}.parquet") for place in range(3)]
    whole = (tmp_path / "0.parquet").read_bytes()
    (tmp_path / name).write_bytes(CORRUPTIONS[name](whole))
    with pytest.warns(UserWarning, match=f"a file is left out: .*{name}"):
        found = streamed(str(tmp_path), "one-coin", parts=3)
    assert len(found[2].warnings) == 1
    assert name in found[2].warnings[0]
    expected = in_memory(good, "one-coin")
    for one, other in zip(found[:2], expected[:2], strict=True):
        pd.testing.assert_frame_equal(one, other, rtol=0, atol=1e-9)
    with pytest.raises(mh.ManyhandsError, match=name):
        streamed(str(tmp_path), "one-coin", stream={"corrupt_files": "refuse"})
    with pytest.raises(mh.ManyhandsError, match=name):
        streamed(str(tmp_path / name), "one-coin")


def test_a_ragged_line_among_many_files(tmp_path):
    write(class_table(), tmp_path / "1.csv")
    (tmp_path / "2.csv").write_text("item,annotator,label\n1,2,cat\n3,4\n")
    with pytest.warns(UserWarning, match=r"2\.csv, line 3: 2 cells"):
        found = streamed(str(tmp_path), "majority")
    assert found[2].n_annotations == len(class_table())


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["id", "annotator", "text", "label"], "several columns may be the item: 'id', 'text'"),
        (["item", "annotator", "label", "answer"], "several columns may be the label"),
        (["item", "who", "label"], "no column looks like the annotator"),
    ],
)
def test_columns_that_names_do_not_tell(columns, text, tmp_path):
    table = pd.DataFrame({name: ["1", "2"] for name in columns})
    path = write(table, tmp_path / "labels.csv")
    with pytest.raises(mh.ManyhandsError, match=text):
        streamed(path)


def test_requests_that_need_memory(tmp_path):
    path = write(class_table(), tmp_path / "labels.csv")
    for method, settings, text in (
        ("ebcc", {}, "ebcc needs all labels in memory"),
        ("dawid-skene", {"start": "spectral"}, "needs all labels in memory"),
        ("dawid-skene", {"max_iterr": 3}, "did you mean max_iter"),
    ):
        with pytest.raises(mh.ManyhandsError, match=text):
            streamed(path, method, settings=settings)
    (tmp_path / "labels.json").write_text('{"a": {"u": "cat"}}')
    with pytest.raises(mh.ManyhandsError, match="only long tables"):
        streamed(str(tmp_path / "labels.json"))
    for wrong in ({"memory": 0}, {"parts": 0}, {"corrupt_files": "eat"}, {"resume": True}):
        with pytest.raises(mh.ManyhandsError):
            StreamSettings(**wrong)


def test_parameters_of_too_many_annotators_are_refused(tmp_path, monkeypatch):
    path = write(class_table(), tmp_path / "labels.csv")
    monkeypatch.setenv("MANYHANDS_MAX_GIB", "0.000001")  # 15 annotators of 3 classes take more
    with pytest.raises(mh.ManyhandsError, match=r"15 x 3 x 3 \(annotators x classes"):
        streamed(path, "dawid-skene", parts=3)
    assert streamed(path, "one-coin", parts=3)[2].n_annotators == 15


def test_memory_decides_how_many_parts_there_are(tmp_path):
    path, spill = write(class_table(), tmp_path / "labels.csv"), tmp_path / "spill"
    stream = StreamSettings(memory=100 * 270 / 2**30, spill=spill)  # a hundred labels of 3 classes
    consensus = stream_files(LabelFile(path), "majority", stream=stream)
    n_parts = len(list(spill.glob("part-*")))
    assert n_parts == pytest.approx(len(class_table()) / 100, abs=1.5)
    consensus.close()
    assert not spill.exists()


class Stopped(BaseException):
    """What ends a process from outside."""


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("annotator-types", "gaussian")]


@pytest.mark.parametrize("method", ["dawid-skene", "glad", *SLOW])
def test_a_stopped_run_continues_between_steps(method, tmp_path, monkeypatch):
    table = number_table() if method == "gaussian" else class_table()
    path, settings = write(table, tmp_path / "labels.csv"), settings_of(method)
    expected = streamed(path, method, parts=3, settings=settings)
    kept, keep = [], StreamParts.keep

    def stop(self, run):
        keep(self, run)
        kept.append(len(run.objective))
        if len(kept) == 5:
            raise Stopped

    stream = {"spill": tmp_path / "spill"}
    monkeypatch.setattr(StreamParts, "keep", stop)
    with pytest.raises(Stopped):
        streamed(path, method, parts=3, settings=settings, stream=stream)
    with pytest.raises(mh.ManyhandsError, match="has the labels of an earlier run"):
        streamed(path, method, parts=3, settings=settings, stream=stream)
    again = streamed(path, method, parts=3, settings=settings, stream=stream | {"resume": True})
    assert_same(again, expected, within=0)
    assert kept[5:6] == [kept[4] + 1]  # none of the steps was made twice
    assert not (tmp_path / "spill").exists()


def test_a_table_that_was_not_written_can_be_written_again(tmp_path):
    path, spill = write(class_table(), tmp_path / "labels.csv"), tmp_path / "spill"
    stream = StreamSettings(spill=spill, parts=3)
    with (
        pytest.raises(mh.ManyhandsError, match="no such folder"),
        stream_files(LabelFile(path), "one-coin", stream=stream) as consensus,
    ):
        consensus.write(tmp_path / "nowhere" / "out.csv")
    again = streamed(path, "one-coin", parts=3, stream={"spill": spill, "resume": True})
    assert_same(again, in_memory(path, "one-coin"))
    assert not spill.exists()


def test_only_the_same_labels_are_continued(tmp_path, monkeypatch):
    path, spill = write(class_table(), tmp_path / "labels.csv"), tmp_path / "spill"
    monkeypatch.setattr(StreamParts, "keep", lambda self, run: (_ for _ in ()).throw(Stopped))
    with pytest.raises(Stopped):
        streamed(path, "one-coin", stream={"spill": spill})
    write(class_table(seed=1), tmp_path / "labels.csv")
    with pytest.raises(mh.ManyhandsError, match="parts of other labels"):
        streamed(path, "one-coin", stream={"spill": spill, "resume": True})
    assert list(spill.glob("part-*"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(mh.ManyhandsError, match="has other files"):
        streamed(path, "one-coin", stream={"spill": tmp_path / "mine"})
    assert (tmp_path / "mine" / "thesis.txt").exists()


KILLED = """
import os, signal, sys
from manyhands.io import LabelFile
from manyhands.scale import StreamSettings, stream_files
from manyhands.scale.stream import StreamParts
keep, n = StreamParts.keep, []
def kill(self, run):
    keep(self, run)
    n.append(1)
    if len(n) == 3: os.kill(os.getpid(), signal.SIGKILL)
StreamParts.keep = kill
stream = StreamSettings(parts=3, spill=sys.argv[2])
stream_files(LabelFile(sys.argv[1]), "dawid-skene", stream=stream)
"""


@pytest.mark.slow
def test_a_killed_process_is_continued_by_another(tmp_path):
    path, spill = write(class_table(), tmp_path / "labels.csv"), str(tmp_path / "spill")
    done = subprocess.run([sys.executable, "-c", KILLED, path, spill], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    again = streamed(path, "dawid-skene", parts=3, stream={"spill": spill, "resume": True})
    assert_same(again, in_memory(path, "dawid-skene"))


def test_auto_takes_the_engine_by_size(tmp_path, monkeypatch):
    file = LabelFile(write(class_table(), tmp_path / "labels.csv"))
    assert choose_engine(file).engine == "memory"
    assert choose_engine(file, master="local[2]").engine == "spark"
    monkeypatch.setattr(engines, "_SMALL", 0)
    monkeypatch.setattr(engines, "available_memory", lambda: 1e4)
    assert choose_engine(file).engine == "stream"
    file = LabelFile(write(class_table(), tmp_path / "labels.parquet"))
    monkeypatch.setattr(engines, "available_memory", lambda: 201.0 * len(class_table()))
    assert choose_engine(file).engine == "memory"
    monkeypatch.setattr(engines, "available_memory", lambda: 199.0 * len(class_table()))
    assert choose_engine(file).engine == "stream"
    (tmp_path / "labels.json").write_text('{"a": {"u": "cat"}}')
    assert choose_engine(LabelFile(str(tmp_path / "labels.json"))).engine == "memory"


def test_a_table_is_written_completely_or_not_at_all(tmp_path):
    path, out = write(class_table(), tmp_path / "labels.csv"), tmp_path / "out.parquet"
    with stream_files(LabelFile(path), "majority", stream=StreamSettings(parts=3)) as consensus:
        consensus.write(out)
        first = out.read_bytes()
        tables = consensus.item_tables()
        object.__setattr__(consensus, "each", lambda *_, **__: (next(tables), 1 / 0))
        with pytest.raises(ZeroDivisionError):
            consensus.write(out)
    assert out.read_bytes() == first
    assert sorted(each.name for each in tmp_path.iterdir()) == ["labels.csv", "out.parquet"]
