"""Time and memory of aggregation beside crowd-kit, of reading, and of starting.

    python -m benchmarks.aggregation [--quick] [--only SECTIONS] [--sizes N,N] [--skip-large]

Records the numbers and writes docs/benchmarks.md. With --only or --sizes, rows that are measured
again replace the old ones and the others stay.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.aggregation_page import OURS, PAGE, PEER, make_page
from benchmarks.benchmark import AGGREGATION, Row, command_given, log, parser, sections_of
from benchmarks.crowds import CrowdSize
from benchmarks.machine import machine_facts
from benchmarks.numbers import count, time_cell
from benchmarks.processes import OK, SKIPPED, run_job
from benchmarks.reading import IDS
from benchmarks.startup import measure_compilation, measure_startup
from benchmarks.tools import METHODS
from manyhands.experiments import write_page

SIZES = (20_000, 200_000, 2_000_000, 10_000_000)
CROWDS = ((2, 100), (2, 10_000), (10, 100), (10, 10_000))  # classes, annotators
LARGE = CrowdSize(100_000_000, 2, 10_000)
READ_ROWS = 10_000_000
READ_REPEATS = 3
SECTIONS = (*METHODS, "whole", "large", "kernels", "reading", "start-up")

_OUR_LIMIT_S = 900.0
_LARGE_LIMIT_S = 3600.0


@dataclass(frozen=True)
class Plan:
    """What to measure, and the time limits."""

    sections: tuple[str, ...] = SECTIONS
    sizes: tuple[int, ...] = SIZES
    whole_sizes: tuple[int, ...] = SIZES[:2]
    crowds: tuple[tuple[int, int], ...] = CROWDS
    read_rows: int = READ_ROWS
    peer_limit_s: float = 120.0
    budget_s: float = 45.0


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page; 1 if something of ours failed."""
    options = _parser().parse_args(arguments)
    command = command_given("aggregation", arguments)
    some = options.only != SECTIONS or options.sizes is not None
    rows = AGGREGATION.keep(measure_all(_plan(options), command), options.docs, add=some)
    write_page(options.docs / PAGE, make_page(rows))
    failed = [row for row in rows if row.get("tool") != PEER and row.get("status", OK) != OK]
    return 1 if failed else 0


def measure_all(plan: Plan, command: str) -> Iterator[Row]:
    """The rows of one run, as they are measured."""
    yield {"kind": "run", "command": command}
    yield {"kind": "machine", **machine_facts()}
    for method in METHODS:
        if method in plan.sections:
            for n_classes, n_annotators in plan.crowds:
                yield from compared("case", method, n_classes, n_annotators, plan.sizes, plan)
    if "whole" in plan.sections:
        for method in METHODS:
            for n_classes, n_annotators in plan.crowds:
                yield from compared(
                    "whole", method, n_classes, n_annotators, plan.whole_sizes, plan
                )
    if "large" in plan.sections:
        yield _measured({"kind": "large", "method": "dawid-skene", **asdict(LARGE)}, _LARGE_LIMIT_S)
    if "kernels" in plan.sections:
        log("E-steps and their memory accesses")
        found = run_job("kernels", {}, limit_s=_OUR_LIMIT_S)
        yield from ({"kind": "kernel", **row} for row in found.get("rows", []))
    if "reading" in plan.sections:
        yield from _reading(plan)
    if "start-up" in plan.sections:
        log("start-up and compilation")
        yield from ({"kind": "startup", **row} for row in measure_startup())
        yield {"kind": "compilation", **measure_compilation()}


def compared(
    job: str,
    method: str,
    n_classes: int,
    n_annotators: int,
    sizes: tuple[int, ...],
    plan: Plan,
) -> Iterator[Row]:
    """Both tools at every size; a peer that was stopped is not tried at larger sizes."""
    stopped = ""
    for n_labels in sizes:
        size = asdict(CrowdSize(n_labels, n_classes, n_annotators))
        for tool, limit_s in ((PEER, plan.peer_limit_s), (OURS, _OUR_LIMIT_S)):
            row = {"kind": job, "tool": tool, "method": method, **size}
            if tool == PEER and stopped:
                yield {**row, "status": SKIPPED, "why": stopped, "limit_s": limit_s}
                continue
            row = _measured(row, limit_s, budget_s=plan.budget_s)
            if tool == PEER and row["status"] != OK:
                limit = time_cell(row).replace(">", "over")
                stopped = f"{limit} at a smaller size"
            yield row


def _measured(row: Row, limit_s: float, **settings: Any) -> Row:
    """A row with the numbers of its job."""
    begin = time.perf_counter()
    size = {name: row[name] for name in ("n_labels", "n_classes", "n_annotators")}
    request = {"method": row["method"], "size": size, **settings}
    if "tool" in row:
        request["tool"] = row["tool"]
    done = {**row, **run_job(row["kind"], request, limit_s=limit_s)}
    log(
        f"{row['kind']} {row['method']} {row.get('tool', OURS)}, {count(row['n_labels'])} labels, "
        f"{row['n_classes']} classes, {count(row['n_annotators'])} annotators: {done['status']} "
        f"{done.get('why', '')} in {time.perf_counter() - begin:.1f} s"
    )
    return done


def _reading(plan: Plan) -> Iterator[Row]:
    for ids in IDS:
        with tempfile.TemporaryDirectory() as folder:
            request = {"n_rows": plan.read_rows, "ids": ids, "repeats": READ_REPEATS}
            done = run_job("reading", {"folder": folder, **request}, limit_s=_OUR_LIMIT_S)
        log(f"reading, names are {ids}: {done['status']} {done.get('why', '')}")
        yield {"kind": "reading", **request, **done}


def _parser() -> argparse.ArgumentParser:
    made = parser("aggregation", __doc__)
    made.add_argument("--quick", action="store_true", help="two small crowds, limit 10 s")
    made.add_argument(
        "--only", type=sections_of(SECTIONS), default=SECTIONS, help=", ".join(SECTIONS)
    )
    made.add_argument("--sizes", type=_sizes, help="numbers of labels, such as 20000,200000")
    made.add_argument("--skip-large", action="store_true", help="do not measure 100 million labels")
    return made


def _plan(options: argparse.Namespace) -> Plan:
    skipped = {"large", "kernels"} if options.quick else {"large"} if options.skip_large else set()
    sections = tuple(name for name in options.only if name not in skipped)
    if options.quick:
        sizes = options.sizes or SIZES[:2]
        return Plan(sections, sizes, sizes[:1], CROWDS[:1], SIZES[1], 10.0, 5.0)
    sizes = options.sizes or SIZES
    return Plan(sections, sizes, sizes[:2])


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(size) for size in text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
