"""Time and memory of Krippendorff's alpha, beside the package krippendorff.

    python -m benchmarks.agreement [--quick]

Records the numbers and writes docs/agreement-speed.md. It needs the package krippendorff, whose
licence is the GPL, and says how to install it.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from benchmarks.alphas import ALPHAS, LABELS_PER_ITEM, N_CLASSES, PEER
from benchmarks.benchmark import AGREEMENT, Row, command_given, commands_of, log, parser
from benchmarks.machine import machine_facts
from benchmarks.numbers import mebibytes, number, time_cell
from benchmarks.processes import OK, SKIPPED, run_job
from manyhands.experiments import code_block, markdown_table, write_page

PAGE = "agreement-speed.md"
HOW_TO_INSTALL = """krippendorff is not installed. Only this comparison needs it:
    pip install --target peers --no-deps krippendorff==0.9.0
    PYTHONPATH=peers python -m benchmarks.agreement"""
MOST_SECONDS, MOST_MIB = 10.0, 1024.0  # for a million real numbers


@dataclass(frozen=True)
class Plan:
    """What to measure, and how long it may take."""

    levels: tuple[str, ...] = ("nominal", "ordinal", "interval", "ratio")
    sizes: tuple[int, ...] = (500, 1_000, 5_000, 1_000_000)
    budget_s: float = 10.0
    limit_s: float = 60.0


QUICK = Plan(levels=("nominal", "interval"), sizes=(200,), budget_s=0.01)


def measure_all(plan: Plan, command: str) -> Iterator[Row]:
    """The rows of one run, each of a process of its own."""
    about = {"limit_s": plan.limit_s, "peer_version": version(PEER)}
    yield {"kind": "run", "command": command, **about, **machine_facts()}
    for level in plan.levels:
        stopped: dict[str, int] = {}  # the size at which a tool gave up
        for n_labels in plan.sizes:
            for tool in ALPHAS:
                request = {"tool": tool, "level": level, "n_labels": n_labels}
                if tool in stopped:
                    why = f"{stopped[tool]:,} labels were too many"
                    yield {"kind": "case", **request, "status": SKIPPED, "why": why}
                    continue
                found = run_job(
                    "agreement", {**request, "budget_s": plan.budget_s}, limit_s=plan.limit_s
                )
                if found["status"] != OK:
                    stopped[tool] = n_labels
                log(f"{level}, {n_labels:,} labels, {tool}: {time_cell(found)} ms")
                yield {"kind": "case", **request, **found}


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    run = next(row for row in rows if row["kind"] == "run")
    cases = [row for row in rows if row["kind"] == "case"]
    head = ["level", "labels", "tool", "ms", "peak, MiB", "added, MiB", "alpha"]
    body = [
        [
            row["level"], f"{row['n_labels']:,}", row["tool"], time_cell(row),
            number(mebibytes(row, "peak")), number(mebibytes(row, "added")),
            f"{row['value']:.9f}" if row["status"] == OK else "-",
        ]
        for row in cases
    ]  # fmt: skip
    return f"""# Agreement speed

{code_block(commands_of(rows))}

Krippendorff's alpha from three columns of labels, without an interval: `mh.agreement.alpha`, and
the package krippendorff {run["peer_version"]}, which takes a matrix. There are {LABELS_PER_ITEM}
labels per item. At the levels nominal and ordinal labels are {N_CLASSES} classes, at interval and
ratio real numbers, nearly all different. The peer makes a table of all pairs of different values
for every item. Every row is a process of its own. Times are the least of several runs and include
the conversion of the columns to our `Annotations` or to the peer's matrix. A process may take
{run["limit_s"]:g} s and 90 % of the free memory.

{markdown_table(head, body)}

{_verdict(cases)}

Processor: {run["processor"]}, {run["cores"]} cores.
"""


def _verdict(cases: list[Row]) -> str:
    wanted = [
        row for row in cases
        if (row["tool"], row["level"], row["n_labels"]) == ("manyhands", "interval", 1_000_000)
    ]  # fmt: skip
    if not wanted:
        return "The run was too short for the rule on a million numbers."
    seconds, peak = wanted[0]["seconds"], mebibytes(wanted[0], "peak") or 0.0
    holds = seconds < MOST_SECONDS and peak < MOST_MIB
    return (
        f"The rule: alpha (interval) of 1,000,000 real numbers takes less than {MOST_SECONDS:g} s "
        f"and {MOST_MIB:,.0f} MiB. It {'holds' if holds else '**does not hold**'}: "
        f"{seconds:.2f} s and {peak:,.0f} MiB."
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page; 1 if the peer is not installed."""
    options = _parser().parse_args(arguments)
    try:
        version(PEER)
    except PackageNotFoundError:
        log(HOW_TO_INSTALL)
        return 1
    plan = QUICK if options.quick else Plan()
    rows = AGREEMENT.keep(measure_all(plan, command_given("agreement", arguments)), options.docs)
    write_page(options.docs / PAGE, make_page(rows))
    return 0


def _parser() -> argparse.ArgumentParser:
    made = parser("agreement", __doc__)
    made.add_argument("--quick", action="store_true", help="tiny tables, to see that it runs")
    return made


if __name__ == "__main__":
    sys.exit(main())
