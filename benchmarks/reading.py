"""Time of reading a label table from CSV, and of reading its columns with pyarrow."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import manyhands
from benchmarks.crowds import CrowdData, CrowdSize, simulate
from benchmarks.gauges import stopwatch

N_CLASSES, N_ANNOTATORS = 10, 10_000
IDS = ("integers", "strings")

_BLOCK_ROWS = 1_000_000
_WARM_ROWS = 10_000


def compare_reading(folder: Path, n_rows: int, ids: str, repeats: int) -> dict[str, Any]:
    """Least seconds of pyarrow's reader and of ours on one file, alternated in one process."""
    small = write_table(folder / "small.csv", _WARM_ROWS, ids)
    path = write_table(folder / "labels.csv", n_rows, ids)
    bare: list[float] = []
    ours: list[float] = []
    for source, repeat in [(small, 1), (path, repeats)]:
        bare.clear()
        ours.clear()
        for _ in range(repeat):
            bare.append(stopwatch(csv.read_csv, source)[0])
            seconds, annotations = stopwatch(manyhands.read_annotations, source)
            ours.append(seconds)
            n_read = annotations.n_annotations
            del annotations
    if n_read != n_rows:
        raise ValueError(f"{n_rows} rows were written and {n_read} read")
    return {
        "file_bytes": path.stat().st_size,
        "pyarrow_s": min(bare),
        "manyhands_s": min(ours),
        "repeats": repeats,
    }


def write_table(path: Path, n_rows: int, ids: str) -> Path:
    """A CSV of simulated labels with columns item, annotator, label."""
    crowd = simulate(CrowdSize(n_rows, N_CLASSES, N_ANNOTATORS))
    schema = _block(crowd, slice(0, 1), ids).schema
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as sink, csv.CSVWriter(sink, schema, write_options=options) as out:
        sink.write(b"item,annotator,label\n")
        for first in range(0, n_rows, _BLOCK_ROWS):
            out.write_table(_block(crowd, slice(first, first + _BLOCK_ROWS), ids))
    return path


def _block(crowd: CrowdData, rows: slice, ids: str) -> pa.Table:
    made = {
        "item": pa.array(crowd.item[rows]),
        "annotator": pa.array(crowd.annotator[rows]),
        "label": pa.array(crowd.label[rows]),
    }
    if ids == "strings":
        made["label"] = _named("class", made["label"])
        made |= {name: _named(name, made[name]) for name in ("item", "annotator")}
    return pa.table(made)


def _named(noun: str, numbers: pa.Array) -> pa.Array:
    """Names such as item_123."""
    return pc.binary_join_element_wise(noun, numbers.cast(pa.string()), "_")
