"""Measure aggregation beside crowd-kit and write the page: `python -m benchmarks.aggregation`."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.command import sections_of, shown_command, tell
from benchmarks.crowds import CrowdSize
from benchmarks.machine import machine_facts
from benchmarks.measure import OK, SKIPPED, run_job
from benchmarks.page import OURS, PEER, make_page
from benchmarks.reading import IDS
from benchmarks.startup import measure_compilation, measure_startup
from benchmarks.table import count, time_cell
from benchmarks.tools import METHODS

Row = dict[str, Any]

SIZES = (20_000, 200_000, 2_000_000, 10_000_000)
CROWDS = ((2, 100), (2, 10_000), (10, 100), (10, 10_000))  # classes, annotators
LARGE = CrowdSize(100_000_000, 2, 10_000)
READ_ROWS = 10_000_000
READ_REPEATS = 3
SECTIONS = (*METHODS, "whole", "large", "reading", "start-up")

_OUR_LIMIT_S = 900.0
_LARGE_LIMIT_S = 3600.0


@dataclass(frozen=True)
class Plan:
    """What to measure, and how much time to give it."""

    sections: tuple[str, ...] = SECTIONS
    sizes: tuple[int, ...] = SIZES
    whole_sizes: tuple[int, ...] = SIZES[:2]
    crowds: tuple[tuple[int, int], ...] = CROWDS
    read_rows: int = READ_ROWS
    peer_limit_s: float = 120.0
    budget_s: float = 45.0


def main(arguments: list[str] | None = None) -> int:
    """Measure and write the page and its numbers; 1 when something of ours failed."""
    options = _parser().parse_args(arguments)
    out: Path = options.out
    if options.remake:
        rows = [json.loads(line) for line in options.remake.read_text().splitlines()]
        out.write_text(make_page(rows))
        return 0
    record = out.with_suffix(".jsonl")
    unfinished = record.with_suffix(".jsonl.part")
    rows = []
    out.parent.mkdir(parents=True, exist_ok=True)
    with unfinished.open("w") as lines:
        for row in measure_all(
            _plan(options), shown_command("benchmarks.aggregation", out, arguments)
        ):
            rows.append(row)
            lines.write(json.dumps(row) + "\n")
            lines.flush()
    out.write_text(make_page(rows))
    unfinished.replace(record)
    failed = [row for row in rows if row.get("tool") != PEER and row.get("status", OK) != OK]
    return 1 if failed else 0


def measure_all(plan: Plan, command: str) -> Iterator[Row]:
    """The rows of one run, as they come."""
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
        yield _told({"kind": "large", "method": "dawid-skene", **asdict(LARGE)}, _LARGE_LIMIT_S)
    if "reading" in plan.sections:
        yield from _reading(plan)
    if "start-up" in plan.sections:
        tell("start-up and compilation")
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
    """Their case and ours at every size; a peer that was stopped at one is not tried beyond."""
    stopped = ""
    for n_labels in sizes:
        size = asdict(CrowdSize(n_labels, n_classes, n_annotators))
        for tool, limit_s in ((PEER, plan.peer_limit_s), (OURS, _OUR_LIMIT_S)):
            row = {"kind": job, "tool": tool, "method": method, **size}
            if tool == PEER and stopped:
                yield {**row, "status": SKIPPED, "why": stopped, "limit_s": limit_s}
                continue
            row = _told(row, limit_s, budget_s=plan.budget_s)
            if tool == PEER and row["status"] != OK:
                what = time_cell(row).replace(">", "over")
                stopped = f"{what} at a smaller size"
            yield row


def _told(row: Row, limit_s: float, **settings: Any) -> Row:
    """A row completed by its job, with a line on the terminal."""
    begin = time.perf_counter()
    size = {name: row[name] for name in ("n_labels", "n_classes", "n_annotators")}
    request = {"method": row["method"], "size": size, **settings}
    if "tool" in row:
        request["tool"] = row["tool"]
    done = {**row, **run_job(row["kind"], request, limit_s=limit_s)}
    tell(
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
        tell(f"reading, names are {ids}: {done['status']} {done.get('why', '')}")
        yield {"kind": "reading", **request, **done}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aggregation", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks.md"), help="the page")
    parser.add_argument("--quick", action="store_true", help="two small crowds, limit 10 s")
    parser.add_argument(
        "--only", type=sections_of(SECTIONS), default=SECTIONS, help=", ".join(SECTIONS)
    )
    parser.add_argument("--sizes", type=_sizes, help="numbers of labels, such as 20000,200000")
    parser.add_argument("--skip-large", action="store_true", help="leave out 100 million labels")
    parser.add_argument("--remake", type=Path, metavar="JSONL", help="only write the page again")
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    skipped = {"large"} if options.skip_large or options.quick else set()
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
