"""Which engine aggregates some files: memory, stream or Spark, and why."""

import os
from pathlib import Path
from typing import NamedTuple

from manyhands.core.errors import DataError
from manyhands.io import LabelFile
from manyhands.io.batches import BATCHED
from manyhands.io.joined import common_format
from manyhands.io.labels import LABEL_SUFFIXES
from manyhands.io.parquet import opened_parquet
from manyhands.scale.label_survey import IN_MEMORY

ENGINES = ("memory", "stream", "spark", "auto")
_PER_ROW = 100  # bytes that a label takes at most while a table is read into memory
_CSV_ROW = 16  # bytes of a short row
_SMALL = 1 << 26  # bytes of files that fit into any memory
_GIB = 2.0**30


class Choice(NamedTuple):
    """An engine, and why it is taken."""

    engine: str
    reason: str


def choose_engine(file: LabelFile, *, master: str | None = None) -> Choice:
    """The engine for some files of labels.

    It is Spark if a master is named, stream if the labels would take more than half of the memory
    that is available, and memory otherwise.
    """
    if master is not None:
        return Choice("spark", f"a Spark master is named ({master})")
    if not can_be_streamed(file):
        return Choice("memory", "only long tables in CSV, TSV or Parquet are read in batches")
    n_bytes = sum(path.stat().st_size for path in file.inputs)
    if n_bytes < _SMALL:
        return Choice("memory", f"the files have {n_bytes / 2**20:.0f} MiB")
    need, available = _PER_ROW * _count_rows(file) / _GIB, available_memory() / _GIB
    told = f"the labels take up to {need:.1f} GiB, and {available:.1f} are available"
    return Choice("stream" if need > available / 2 else "memory", told)


def can_be_streamed(file: LabelFile) -> bool:
    """Whether the files are long tables of a format that is read in batches."""
    try:
        format = common_format(file.inputs, file.format, LABEL_SUFFIXES)
    except DataError:
        return False
    long = file.layout in (None, "long")
    return format in BATCHED and long and file.kind not in IN_MEMORY


def _count_rows(file: LabelFile) -> float:
    rows = 0.0
    for path in file.inputs:
        if common_format([path], file.format, LABEL_SUFFIXES) == "parquet":
            with opened_parquet(path, bounded=False) as table:
                rows += table.metadata.num_rows
        else:
            rows += path.stat().st_size / _CSV_ROW
    return rows


def available_memory() -> float:
    """Bytes of memory that a new process may take without swapping."""
    told = Path("/proc/meminfo")
    if told.exists():
        for line in told.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 4 * _GIB
