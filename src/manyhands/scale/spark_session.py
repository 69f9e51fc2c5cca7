"""The session of Spark, and how it reads files."""

import os
import sys
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from typing import TYPE_CHECKING, Any

from manyhands.core.errors import SettingError
from manyhands.io.batches import BatchedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Types of columns of Spark that are numbers.
INTEGERS = frozenset({"byte", "short", "integer", "long"})
FLOATS = frozenset({"float", "double"})
_LOCAL_MEMORY = "3g"  # of the Java process, where parts are cached; what is more goes to disk


def spark_session(master: str | None) -> "SparkSession":
    """The session that exists, or a new one on this master."""
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is not None:
        return found
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("manyhands")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    # Errors are raised here; Spark would also print every one of them, with hundreds of lines.
    builder = builder.config("spark.log.level", "FATAL")
    if master is not None:
        builder = builder.master(master)
    if master is None or master.startswith("local["):
        builder = builder.config("spark.driver.memory", _LOCAL_MEMORY)
        builder = builder.config("spark.driver.host", "127.0.0.1")
    try:
        session: SparkSession = builder.getOrCreate()
    except spark_errors() as error:
        where = "on this machine" if master is None else f"on the master {master!r}"
        raise SettingError(
            f"Spark could not start {where}; it needs Java 17"
            + ("" if master is None else ", and a master that runs at this address")
        ) from error
    return session


def read_files(
    session: "SparkSession", tables: Sequence[BatchedTable], names: Sequence[str]
) -> "DataFrame":
    """Some columns of files as one table; the cells of CSV are text.

    Spark reads files together that have the same columns in the same order and of the same types.
    """
    alike: dict[Any, list[BatchedTable]] = {}
    for table in tables:
        alike.setdefault(_form_of(table, names), []).append(table)
    columns = [f"`{name.replace('`', '``')}`" for name in names]
    found = [_read_alike(session, each).select(*columns) for each in alike.values()]
    if len(found) == 1:
        return found[0]
    types = [
        {each.schema[place].dataType.typeName() for each in found} for place in range(len(names))
    ]
    cast = [
        each.select(
            *(each[column].cast(_common_type(kinds)).alias(name)
              for column, name, kinds in zip(columns, names, types, strict=True))
        )
        for each in found
    ]  # fmt: skip
    return reduce(lambda upper, lower: upper.unionAll(lower), cast)


def _form_of(table: BatchedTable, names: Sequence[str]) -> Any:
    if table.format == "parquet":
        return table.column_types(names)
    return tuple(table.columns), table.delimiter, table.encoding


def _common_type(kinds: AbstractSet[str]) -> str:
    """The type of a column that has these in several files: text, if they are not numbers."""
    if kinds <= INTEGERS:
        return "bigint"
    return "double" if kinds <= INTEGERS | FLOATS else "string"


def _read_alike(session: "SparkSession", tables: Sequence[BatchedTable]) -> "DataFrame":
    paths = [os.fspath(table.path.absolute()) for table in tables]
    first = tables[0]
    if first.format == "parquet":
        return session.read.parquet(*paths)
    return session.read.csv(
        paths, header=True, sep=first.delimiter, quote='"', escape='"', mode="FAILFAST",
        encoding=first.encoding, multiLine=True, enforceSchema=False,
    )  # fmt: skip


def spark_errors() -> tuple[type[Exception], ...]:
    """The errors of jobs of Spark."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return PySparkException, Py4JJavaError


def corrupt_files(
    session: "SparkSession", tables: Sequence[BatchedTable], names: Sequence[str]
) -> dict[str, str]:
    """The files that executors cannot read, each with a reason; every file is read."""
    found = {}
    for table in tables:
        try:
            rows = read_files(session, [table], names)
            rows.write.format("noop").mode("overwrite").save()
        except spark_errors():
            found[str(table.path)] = f"{table.path}: is damaged, Spark cannot read its rows"
    return found
