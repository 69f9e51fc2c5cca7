"""How time and memory of labels in parts grow with labels, annotators, classes and workers.

    python -m benchmarks.capacity [--quick] [--only growth,workers,large]

Records the numbers and writes docs/capacity.md with its figure. Every run is a process of its own,
from a Parquet file to the consensus table. Processor time is measured beside wall time, because it
hardly depends on what else a machine does.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.benchmark import CAPACITY, Row, command_given, log, parser, sections_of
from benchmarks.capacity_page import FIGURE, PAGE, draw, make_page
from benchmarks.large_page import LARGE_ANNOTATORS, LARGE_LABELS, LARGE_TOL
from benchmarks.machine import machine_facts
from benchmarks.scale import measure, write_labels
from manyhands.experiments import write_page

SECTIONS = ("growth", "workers", "large")
LABELS_PER_ITEM = 10


@dataclass(frozen=True)
class Case:
    """A run of `dawid-skene` by one engine; all steps are made."""

    engine: str
    labels: int
    annotators: int = 1000
    classes: int = 2
    steps: int = 5
    cores: int = 2


@dataclass(frozen=True)
class LargeCase(Case):
    """A run until it converges, on labels as many as those of published times."""

    labels: int = LARGE_LABELS
    annotators: int = LARGE_ANNOTATORS
    steps: int = 100
    repeat: int = 0


MILLION = 1_000_000
GROWTH = (
    Case("stream", MILLION), Case("stream", 4 * MILLION), Case("stream", 16 * MILLION),
    Case("stream", 4 * MILLION, steps=40), Case("stream", 4 * MILLION, annotators=200_000),
    Case("stream", 4 * MILLION, classes=10), Case("stream", 4 * MILLION, classes=10, steps=40),
    Case("stream", 4 * MILLION, annotators=20_000, classes=10, steps=20),
)  # fmt: skip
WORKERS = (
    Case("spark", MILLION, cores=2), Case("spark", 8 * MILLION, cores=1),
    Case("spark", 16 * MILLION, cores=2), Case("spark", 8 * MILLION, steps=40, cores=2),
)  # fmt: skip
LARGE = tuple(
    LargeCase(engine, repeat=repeat) for repeat in range(3) for engine in ("stream", "spark")
)
QUICK = (Case("stream", 20_000, steps=2), Case("stream", 40_000, steps=3))


def measure_all(cases: tuple[Case, ...], command: str, folder: str | None) -> Iterator[Row]:
    """The rows of one run."""
    yield {"kind": "run", "command": command, **machine_facts()}
    for case in cases:
        with tempfile.TemporaryDirectory(dir=folder) as home:
            labels, out = Path(home) / "labels.parquet", Path(home) / "out.parquet"
            sizes = case.labels, max(1, case.labels // LABELS_PER_ITEM), case.annotators
            write_labels(labels, *sizes, case.classes)
            busy = os.getloadavg()[0]
            large = isinstance(case, LargeCase)
            tol = LARGE_TOL if large else 0.0
            found = measure(case.engine, labels, out, case.steps, cores=case.cores, tol=tol)
        log(f"{case}: {found}")
        kind = "large" if large else "case"
        yield {"kind": kind, **asdict(case), **found, "load": round(busy, 1)}


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records, the page and the figure; 1 if a run failed."""
    made = parser("capacity", __doc__)
    made.add_argument("--quick", action="store_true", help="two small runs of stream")
    made.add_argument("--only", type=sections_of(SECTIONS), default=SECTIONS)
    made.add_argument("--folder", default=None, help="last option: where files are put")
    options = made.parse_args(arguments)
    chosen: dict[str, tuple[Case, ...]] = {"growth": GROWTH, "workers": WORKERS, "large": LARGE}
    cases = QUICK if options.quick else sum((chosen[name] for name in options.only), ())
    some = options.only != SECTIONS and not options.quick
    command = command_given("capacity", arguments).partition(" --folder")[0]
    rows = CAPACITY.keep(measure_all(cases, command, options.folder), options.docs, add=some)
    write_page(options.docs / PAGE, make_page(rows))
    draw(rows).savefig(options.docs / FIGURE, dpi=110)
    return 1 if any(row.get("code") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
