"""The session of Spark, and how it reads files."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from manyhands.io.batches import BatchedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    builder = builder.config("spark.log.level", "ERROR")
    if master is not None:
        builder = builder.master(master)
    if master is None or master.startswith("local["):
        builder = builder.config("spark.driver.memory", _LOCAL_MEMORY)
        builder = builder.config("spark.driver.host", "127.0.0.1")
    session: SparkSession = builder.getOrCreate()
    return session


def read_files(session: "SparkSession", tables: Sequence[BatchedTable]) -> "DataFrame":
    """Files with the same columns as one table; the cells of CSV are text."""
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
            columns = [f"`{name}`" for name in names]
            rows = read_files(session, [table]).select(*columns)
            rows.write.format("noop").mode("overwrite").save()
        except spark_errors():
            found[str(table.path)] = f"{table.path}: is damaged, Spark cannot read its rows"
    return found
