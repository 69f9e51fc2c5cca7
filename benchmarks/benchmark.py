"""What the benchmarks share: the command line, the records, and the pages made from the records.

A benchmark measures rows. Every row becomes a record, kept under the hash of the fields that
identify it in `docs/results/records/benchmark-NAME.jsonl`, in the same format as the records of
experiments. Pages are made from the records alone: `python docs/write_pages.py` writes all of them.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manyhands.experiments import Records, RecordStore, fingerprint_key, write_page

Row = dict[str, Any]

DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark by name, and the fields that identify its rows."""

    name: str
    identity: tuple[str, ...]

    def path(self, docs: Path = DOCS) -> Path:
        """The file of its records."""
        return docs / "results" / "records" / f"benchmark-{self.name}.jsonl"

    def read(self, docs: Path = DOCS) -> list[Row]:
        """Its recorded rows."""
        return list(Records.read([self.path(docs)]))

    def record(self, row: Row) -> Row:
        """A row with the key of its record."""
        identity = {name: row[name] for name in self.identity if name in row}
        return {"key": fingerprint_key({"benchmark": self.name, **identity}), **row}

    def keep(self, rows: Iterable[Row], docs: Path = DOCS, *, add: bool = False) -> list[Row]:
        """Record rows as they are measured; returns all rows recorded now.

        The rows replace the old records once all of them are measured. With `add`, only rows that
        were measured again are replaced.
        """
        path = self.path(docs)
        unfinished = path.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        store = RecordStore(unfinished)
        for row in rows:
            store.append(self.record(row))
        kept = Records.read([path, unfinished] if add else [unfinished])
        lines = [json.dumps(record, ensure_ascii=False, sort_keys=True) for record in kept]
        write_page(path, "\n".join([*lines, ""]))
        unfinished.unlink(missing_ok=True)
        return list(kept)


AGGREGATION = Benchmark(
    "aggregation",
    ("kind", "tool", "method", "n_labels", "n_classes", "n_annotators", "ids", "command"),
)
TRAINING = Benchmark(
    "training",
    ("kind", "tool", "method", "layer", "settings", "part", "n_annotators", "n_classes", "n_items",
     "n_features", "n_hidden", "busy", "threads", "command"),
)  # fmt: skip
EPOCH_COSTS = Benchmark("epoch-costs", ("kind", "method"))
FIT_TIMES = Benchmark("fit-times", ("kind", "corpus", "method"))
AGREEMENT = Benchmark("agreement", ("kind", "tool", "level", "n_labels"))
RAYKAR = Benchmark("raykar", ("kind", "n_items", "n_annotators", "n_labels"))
CHAINS = Benchmark("chains", ("kind", "tool"))
TAGGING = Benchmark("tagging", ("kind", "method"))
ACCURACY = Benchmark("accuracy", ("kind", "set", "method"))
CALIBRATION = Benchmark("calibration", ("set",))
FEW_LABELS = Benchmark(
    "few-labels", ("kind", "lowest", "highest", "n_classes", "labels_per_annotator")
)
NEXT_LABELS = Benchmark("next-labels", ("kind", "set", "tool", "method", "confusions"))
JUDGE_PANELS = Benchmark("judge-panels", ("kind", "panel", "n_gold"))
REPORT = Benchmark("report", ("kind", "n_labels"))
FLAGS = Benchmark("flags", ("kind", "crowd"))
SHORTFALLS = Benchmark("shortfalls", ("kind", "labels", "method", "seed"))
JOINT_CONSENSUS = Benchmark("joint-consensus", ("kind", "labels", "draw", "start"))
ZOO = Benchmark("zoo", ("kind", "seed"))
GPU_TRAINING = Benchmark("gpu-training", ("kind", "variant", "batch_size"))
GPU_AGGREGATION = Benchmark("gpu-aggregation", ("kind", "method", "n_labels", "n_classes"))
CAPACITY = Benchmark("capacity", ("kind", "engine", "labels", "annotators", "classes", "steps",
                                   "cores", "repeat"))  # fmt: skip
GPU_PROCESSES = Benchmark("gpu-processes", ("kind", "training", "processes"))
MANY_SEEDS = Benchmark("gpu-seeds", ("kind", "method"))


def parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    made = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--docs", type=Path, default=DOCS, help="folder for the page and its records")
    return made


def sections_of(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """An argument type: some of these names, separated by commas."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {unknown[0]!r}; known: {', '.join(known)}")
        return names

    return read


def command_given(module: str, arguments: list[str] | None) -> str:
    """The command as given, without the folder of the documentation."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--docs" in words:
        at = words.index("--docs")
        del words[at : at + 2]
    return " ".join([f"python -m benchmarks.{module}", *words])


def commands_of(rows: Iterable[Row]) -> str:
    """The commands that made some rows, one per line."""
    return "\n".join(row["command"] for row in rows if row["kind"] == "run")


def log(text: str) -> None:
    """Print one line of progress."""
    print(text, file=sys.stderr, flush=True)
