"""Time, memory and size of reports, as the command line writes them.

    python -m benchmarks.report [--sizes 10000,1000000]

Records the numbers and writes docs/report-speed.md.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.benchmark import REPORT, Row, command_given, commands_of, log, parser
from benchmarks.crowds import CrowdSize, simulate
from benchmarks.machine import machine_facts
from manyhands.experiments import code_block, markdown_table, write_page
from manyhands.io import write_table

PAGE = "report-speed.md"
SIZES = (10_000, 100_000, 1_000_000)
N_CLASSES, LABELS_PER_ANNOTATOR = 10, 500
MOST_SECONDS, MOST_MIB, MOST_MB = 60.0, 2048.0, 5.0  # for a million labels


def measure_all(sizes: tuple[int, ...], command: str) -> Iterator[Row]:
    """A row per size, each of a process of its own."""
    yield {"kind": "run", "command": command, **machine_facts()}
    for n_labels in sizes:
        row = measure(n_labels)
        log(f"{n_labels:,} labels: {row['seconds']:.1f} s, {row['peak_mib']:,.0f} MiB")
        yield {"kind": "case", "n_labels": n_labels, **row}


def measure(n_labels: int) -> Row:
    """Write a table of labels, and the report of it in a fresh process."""
    size = CrowdSize(n_labels, N_CLASSES, max(n_labels // LABELS_PER_ANNOTATOR, 20))
    crowd = simulate(size)
    with tempfile.TemporaryDirectory() as folder:
        labels, page = Path(folder) / "labels.csv", Path(folder) / "report.html"
        classes = np.array([f"class {k}" for k in range(N_CLASSES)], dtype=object)
        columns = {"item": crowd.item, "annotator": crowd.annotator, "label": classes[crowd.label]}
        write_table(columns, labels)
        words = ["report", str(labels), "--out", str(page)]
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "manyhands", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        if status != 0:
            raise RuntimeError(f"manyhands {' '.join(words)} ended with {status}")
        return {
            "n_items": int(crowd.item.max()) + 1,
            "n_annotators": size.n_annotators,
            "seconds": seconds,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_mib": usage.ru_maxrss / 1024,
            "megabytes": page.stat().st_size / 1e6,
        }


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    run = next(row for row in rows if row["kind"] == "run")
    cases = [row for row in rows if row["kind"] == "case"]
    head = ["labels", "items", "annotators", "s", "s of CPU", "peak, MiB", "page, MB"]
    body = [
        [
            f"{row['n_labels']:,}", f"{row['n_items']:,}", f"{row['n_annotators']:,}",
            f"{row['seconds']:.1f}", f"{row['cpu_seconds']:.1f}", f"{row['peak_mib']:,.0f}",
            f"{row['megabytes']:.1f}",
        ]
        for row in cases
    ]  # fmt: skip
    return f"""# Report speed

{code_block(commands_of(rows))}

`manyhands report labels.csv`: reading a CSV file, the consensus, agreement, flags, and the page, in
a process of its own. There are 10 labels per item, {N_CLASSES} classes, and
{LABELS_PER_ANNOTATOR} labels per annotator.

{markdown_table(head, body, left=0)}

{_verdict(cases)}

Processor: {run["processor"]}, {run["cores"]} cores. Other work ran on the machine at the same time.
"""


def _verdict(cases: list[Row]) -> str:
    wanted = [row for row in cases if row["n_labels"] == 1_000_000]
    if not wanted:
        return "The run was too short for the rule on a million labels."
    row = wanted[0]
    holds = (
        row["seconds"] < MOST_SECONDS and row["peak_mib"] < MOST_MIB and row["megabytes"] < MOST_MB
    )
    return (
        f"The rule: the report of 1,000,000 labels takes less than {MOST_SECONDS:g} s and "
        f"{MOST_MIB:,.0f} MiB, and has less than {MOST_MB:g} MB. It "
        f"{'holds' if holds else '**does not hold**'}."
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    made = parser("report", __doc__)
    made.add_argument("--sizes", default=SIZES, help="numbers of labels",
                      type=lambda text: tuple(int(each) for each in text.split(",")))  # fmt: skip
    options = made.parse_args(arguments)
    command = command_given("report", arguments)
    rows = REPORT.keep(measure_all(options.sizes, command), options.docs)
    write_page(options.docs / PAGE, make_page(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
