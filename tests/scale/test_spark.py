"""The engine spark gives what memory gives, on two worker processes, also if one of them dies."""

import json
import os
import signal
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import assert_refused, call
from part_tables import assert_same, class_table, in_memory, number_table, settings_of, write

import manyhands as mh
from manyhands.io import LabelFile
from manyhands.scale import spark as spark_parts
from manyhands.scale import spark_blocks, spark_session

LISTED = ["majority", "dawid-skene", "one-coin", "glad", "mixture"]
DEFAULT = mh.aggregation.DEFAULTS["classes"]


@pytest.fixture(scope="module")
def session():
    """Two workers of one core each, which are processes of their own."""
    pyspark = pytest.importorskip("pyspark")
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.sql.SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    yield made
    made.stop()
    del os.environ["SPARK_HOME"]


def on_spark(session, path, method, *, parts, settings=None, **reading):
    """The tables of items and annotators by the engine spark, and its consensus."""
    table = session.read.parquet(path)
    with mh.scale.aggregate(table, method, parts=parts, **reading, **(settings or {})) as found:
        items = found.to_frame().toArrow().to_pandas().sort_values("item", ignore_index=True)
        return items, pd.DataFrame(found.annotator_columns()), found


@pytest.mark.slow
@pytest.mark.parametrize("method", [*LISTED, DEFAULT])
def test_classes_on_two_workers(session, method, tmp_path):
    path = write(class_table(), tmp_path / "labels.parquet")
    settings = settings_of(method) | ({"max_iter": 3} if method != "majority" else {})
    settings |= {"n_starts": 1} if method == "annotator-types" else {}  # as few jobs as can be
    found = on_spark(session, path, method, parts=3, settings=settings)
    assert_same(found, in_memory(path, method, settings=settings))


@pytest.mark.slow
def test_agreement_on_two_workers(session, tmp_path):
    """Some labels are repeated, and then the last one counts, wherever it lies."""
    table = class_table()
    again = table.sample(frac=0.3, random_state=0)
    path = write(pd.concat([table, again]), tmp_path / "labels.parquet")
    annotations = mh.read(path)
    with mh.scale.aggregate(session.read.parquet(path), "majority", parts=3) as found:
        for name, value in found.agreement.items():
            expected = getattr(mh.agreement, name)(annotations, interval="none").value
            assert value == pytest.approx(expected, rel=1e-12), name
        for name in ("by_class", "by_annotator"):
            table = getattr(found, f"agreement_{name}")()
            expected = getattr(mh.agreement, name)(annotations)[list(table.columns)]
            pd.testing.assert_frame_equal(table, expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mean", "gaussian"])
def test_numbers_on_two_workers(session, method, tmp_path):
    path = write(number_table(), tmp_path / "labels.parquet")
    settings = {"max_iter": 2} if method == "gaussian" else {}
    found = on_spark(session, path, method, parts=2, settings=settings)
    assert_same(found, in_memory(path, method, settings=settings))


@pytest.mark.slow
def test_many_parts_are_added_by_a_tree(session, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_parts, "_FAN_IN", 3)
    table = class_table()
    table["item"] = table["item"].map("item {}".format)
    path = write(pd.concat([table, table[:50]]), tmp_path / "labels.parquet")
    known = {"item 5": "eel"}
    found = on_spark(session, path, "one-coin", parts=11, settings={"max_iter": 2}, known=known)
    assert_same(found, in_memory(path, "one-coin", settings={"max_iter": 2}, known=known))
    with pytest.raises(mh.ManyhandsError) as expected:
        mh.read(path, duplicates="refuse")
    with pytest.raises(mh.ManyhandsError) as refused:
        on_spark(session, path, "majority", parts=3, duplicates="refuse")
    assert str(refused.value) == str(expected.value)
    with pytest.raises(mh.ManyhandsError, match="'nobody', which nobody labelled"):
        on_spark(session, path, "majority", parts=3, known={"nobody": "cat"})
    with pytest.raises(mh.ManyhandsError, match="needs an order"):
        on_spark(session, path, "majority", parts=3, duplicates="first")


@pytest.mark.slow
def test_annotators_are_divided_too(session, tmp_path, monkeypatch):
    """Annotators of ten blocks, of whom one gave half of all labels; with repeats and truths."""
    monkeypatch.setattr(spark_blocks, "_BLOCK_BYTES", 8 * 9 * 2)
    table = class_table()
    path, known = write(pd.concat([table, table[:40]]), tmp_path / "labels.parquet"), {"5": "eel"}
    settings = {"max_iter": 3}
    found = on_spark(session, path, "dawid-skene", parts=4, settings=settings, known=known,
                     broadcast=0)  # fmt: skip
    assert_same(found, in_memory(path, "dawid-skene", settings=settings, known=known))
    assert len(found[2].spark_parts._row_passes[0]._ranges.edge) > 5
    with pytest.raises(mh.ManyhandsError, match="confusions of annotators are divided among"):
        _ = found[2].confusion


def _executors(driver):
    """The processes of executors that a driver started, by their command."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().split(b"\0")
            if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
                found += [int(each.name)] * any(str(driver).encode() in word for word in words)
        except OSError:  # it has just ended
            continue
    return found


@pytest.mark.slow
def test_a_lost_executor_does_not_change_the_result(session, tmp_path, monkeypatch):
    path, settings = write(class_table(), tmp_path / "labels.parquet"), {"max_iter": 4}
    total, steps = spark_parts.SparkParts.total, []
    port = session.conf.get("spark.driver.port")

    def lose(self, statistic, *arguments):
        steps.append(statistic)
        if len(steps) == 5:
            for executor in _executors(port)[:1]:
                os.kill(executor, signal.SIGKILL)
                steps.append("killed")
        return total(self, statistic, *arguments)

    monkeypatch.setattr(spark_parts.SparkParts, "total", lose)
    found = on_spark(session, path, "dawid-skene", parts=4, settings=settings)
    assert "killed" in steps
    assert_same(found, in_memory(path, "dawid-skene", settings=settings))


@pytest.mark.slow
def test_the_command_writes_parquet(session, tmp_path):
    path, out = write(class_table(), tmp_path / "labels.csv"), tmp_path / "out.parquet"
    (tmp_path / "bad.csv").write_bytes(b"")
    done = call(
        "aggregate", path, tmp_path / "bad.csv", "--engine", "spark", "--method", "majority",
        "--json", "--out", out,
    )  # fmt: skip
    summary = json.loads(done.out)["summary"]
    assert summary["engine"] == "spark"
    assert "bad.csv" in summary["warnings"][0]
    found = pd.read_parquet(out).sort_values("item", ignore_index=True)
    pd.testing.assert_frame_equal(found, in_memory(path, "majority")[0])


MIXED = {
    "parquet": lambda table: table.assign(item=table["item"].astype(str))[::-1],
    "csv": lambda table: table[["label", "annotator", "item"]],
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", MIXED)
def test_files_of_other_types_and_forms_are_one_table(session, suffix, tmp_path):
    """Names that are text in one of several files; columns in another order, other delimiters."""
    table = class_table()
    write(table[:200], tmp_path / f"1.{suffix}")
    write(MIXED[suffix](table[200:400]), tmp_path / f"2.{suffix}")
    last = table[400:].astype({"annotator": "int32"})
    if suffix == "csv":
        last.to_csv(tmp_path / "3.csv", sep=";", index=False)
    else:
        write(last, tmp_path / "3.parquet")
    with mh.scale.spark_files(LabelFile(str(tmp_path)), "majority") as found:
        items = found.to_frame().toArrow().to_pandas().sort_values("item", ignore_index=True)
    pd.testing.assert_frame_equal(items, in_memory(str(tmp_path), "majority")[0])


@pytest.mark.slow
def test_a_file_that_is_damaged_inside_is_named_and_the_rest_is_used(session, tmp_path):
    table, files = class_table(), []
    for place in range(3):
        files.append(write(table[place::3], tmp_path / f"{place}.parquet"))
    whole = Path(files[1]).read_bytes()
    bad = tmp_path / "pages.parquet"  # its footer is whole
    bad.write_bytes(whole[:8] + bytes(60) + whole[68:])
    with (
        pytest.warns(UserWarning, match=r"a file is left out: .*pages\.parquet: is damaged"),
        mh.scale.spark_files(LabelFile(str(tmp_path)), "majority") as found,
    ):
        items = found.to_frame().toArrow().to_pandas().sort_values("item", ignore_index=True)
    pd.testing.assert_frame_equal(items, in_memory(files, "majority")[0])
    with pytest.raises(mh.ManyhandsError, match=r"pages\.parquet: is damaged"):
        mh.scale.spark_files(LabelFile(str(tmp_path)), "majority", skip_corrupt=False)


def test_types_of_several_files_have_one_that_holds_all():
    assert spark_session._common_type({"integer", "long"}) == "bigint"
    assert spark_session._common_type({"long", "double"}) == "double"
    assert spark_session._common_type({"long", "string"}) == "string"


def test_a_folder_that_spark_would_not_write_is_refused_before_it_starts(tmp_path):
    path, out = write(class_table(), tmp_path / "labels.csv"), tmp_path / "out.parquet"
    out.mkdir()
    (tmp_path / "file.parquet").write_bytes(b"old")
    for target, told in (
        (out, "is there already; Spark writes a new folder"),
        (tmp_path / "file.parquet", "is there already; Spark writes a new folder"),
        (tmp_path / "nowhere" / "out.parquet", "no such folder"),
    ):
        done = call("aggregate", path, "--engine", "spark", "--out", target)
        assert_refused(done)
        assert told in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [([], "start on this machine; it needs Java 17"),
     (["--master", "spark://nobody:7077"], "start on the master 'spark://nobody:7077'; it needs")],
)  # fmt: skip
def test_a_start_of_spark_that_fails_is_one_line(words, told, tmp_path, monkeypatch):
    pyspark = pytest.importorskip("pyspark")

    def fail(builder):
        raise pyspark.errors.PySparkRuntimeError("JAVA_GATEWAY_EXITED")

    monkeypatch.setattr(pyspark.sql.SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(pyspark.sql.SparkSession.Builder, "getOrCreate", fail)
    path = write(class_table(), tmp_path / "labels.csv")
    done = call("aggregate", path, "--engine", "spark", *words, "--out", tmp_path / "out.parquet")
    assert_refused(done)
    assert told in done.err


def test_without_spark_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    path = write(class_table(), tmp_path / "labels.csv")
    done = call("aggregate", path, "--engine", "spark", "--out", tmp_path / "out.parquet")
    assert_refused(done)
    assert "pip install 'manyhands[spark]'; it needs Java 17" in done.err
    done = call("aggregate", path, "--engine", "spark")
    assert_refused(done)
    assert "give --out NAME.parquet" in done.err
    done = call("aggregate", path, "--engine", "stream", "--master", "yarn")
    assert_refused(done)
    assert "--master goes with --engine spark" in done.err
