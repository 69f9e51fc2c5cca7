"""Time and memory of training steps, and of the loop around them.

    python -m benchmarks.training [--quick] [--only SECTIONS]

Records the numbers and writes docs/training-speed.md. It needs crowd-kit, which is measured too.
With --only, rows that are measured again replace the old ones and the others stay.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import version
from multiprocessing import get_context

from benchmarks.benchmark import TRAINING, Row, command_given, log, parser, sections_of
from benchmarks.machine import machine_facts
from benchmarks.processes import FAILED, SKIPPED
from benchmarks.training_jobs import do_job
from benchmarks.training_page import PAGE, make_page
from benchmarks.training_steps import (
    AS_DOCUMENTED,
    DENSE,
    ONCE_PER_ITEM,
    OUR_CLASSIFIER,
    OUR_DEFAULTS,
    OURS,
)
from manyhands.experiments import write_page

SECTIONS = ("growth", "peers", "memory", "loop", "threads")
METHODS = ("crowd-layer-mw", "speelfc", "trace-reg", "conal")
DECAY = {"noise_weight_decay": 0.01}
NETWORKS = ((512, 128), (8192, 128), (4096, 1024))  # features, hidden units

_ONE_HOT = "one-hot annotators alone take 40 GB"


@dataclass(frozen=True)
class Plan:
    """What to measure, and the time budget."""

    sections: tuple[str, ...] = SECTIONS
    sizes: tuple[int, ...] = (60, 2571, 10_000, 100_000)
    n_classes: tuple[int, ...] = (10, 8)
    n_items: int = 40_000
    loop_items: int = 1000
    epochs: int = 50
    repeats: int = 15
    budget_s: float = 15.0

    @property
    def requests(self) -> Iterator[tuple[str, Row]]:
        """Every job with its request, in the order of the page."""
        for name in self.sections:
            for request in getattr(self, f"_{name}")():
                yield name, request

    def _workload(self, n_annotators: int, **others: int) -> Row:
        sizes = {"n_classes": self.n_classes[0], "n_items": self.n_items}
        return {"n_annotators": n_annotators, **sizes, **others}

    def _growth(self) -> Iterator[Row]:
        about = {"sizes": self.sizes, "budget_s": self.budget_s}
        variants: list[tuple[str, Row]] = [(method, {}) for method in METHODS]
        variants.append(("speelfc", DECAY))
        for n_classes in self.n_classes:
            for method, settings in variants:
                workload = self._workload(0, n_classes=n_classes)
                yield {"workload": workload, "method": method, "settings": settings, **about}
        variants = [(method, {"as_published": True}) for method in METHODS]
        variants += [(METHODS[0], {"sparse": sparse}) for sparse in (True, False)]
        for method, settings in variants:
            yield {"workload": self._workload(0), "method": method, "settings": settings, **about}

    def _peers(self) -> Iterator[Row]:
        small, middle, large, huge = self.sizes
        tried = {"crowd-layer-mw": (small, middle, huge), "conal": (small, middle, large)}
        for layer, sizes in tried.items():
            for n_annotators in sizes:
                workload = self._workload(n_annotators)
                yield {"workload": workload, "layer": layer, "budget_s": self.budget_s}

    def _memory(self) -> Iterator[Row]:
        small, middle, large, huge = self.sizes
        for tool in (OUR_CLASSIFIER, OUR_DEFAULTS, OURS):
            for method in METHODS:
                for n_annotators in (small, huge):
                    yield {"workload": self._workload(n_annotators), "tool": tool, "method": method}
        for tool in (AS_DOCUMENTED, ONCE_PER_ITEM, DENSE):
            for n_annotators in (middle, huge):
                workload = self._workload(n_annotators)
                yield {"workload": workload, "tool": tool, "method": "crowd-layer-mw"}
        for n_annotators in (middle, large, huge):
            yield {
                "workload": self._workload(n_annotators),
                "tool": AS_DOCUMENTED,
                "method": "conal",
            }

    def _loop(self) -> Iterator[Row]:
        workload = self._workload(59, n_items=self.loop_items, n_classes=8)
        about = {"epochs": self.epochs, "labels_each": 2.547, "repeats": self.repeats}
        for method in METHODS:
            yield {"workload": workload, "method": method, **about}

    def _threads(self) -> Iterator[Row]:
        for n_features, n_hidden in NETWORKS:
            n_items = min(self.n_items, 2000)
            sizes = {"n_items": n_items, "n_features": n_features, "n_hidden": n_hidden}
            workload = self._workload(self.sizes[0], **sizes)
            yield {"workload": workload, "method": "speelfc", "budget_s": self.budget_s}


QUICK = Plan(sizes=(60, 200, 300, 400), n_items=640, epochs=2, repeats=2, budget_s=0.2)


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page; 1 if something failed."""
    options = _parser().parse_args(arguments)
    plan = replace(QUICK if options.quick else Plan(), sections=options.only)
    command = command_given("training", arguments)
    some = options.only != SECTIONS
    rows = TRAINING.keep(measure_all(plan, command), options.docs, add=some)
    write_page(options.docs / PAGE, make_page(rows))
    return 1 if any(row.get("status") == FAILED for row in rows) else 0


def measure_all(plan: Plan, command: str) -> Iterator[Row]:
    """The rows of one run, as they are measured."""
    yield {"kind": "run", "command": command}
    yield {"kind": "machine", **machine_facts(), "torch": version("torch")}
    for kind, request in plan.requests:
        begin = time.perf_counter()
        rows = _skipped(kind, request) or in_fresh_process(kind, request)
        yield from rows
        took = time.perf_counter() - begin
        log(f"{kind} {json.dumps(request)}: {rows[0]['status']} in {took:.1f} s")


def in_fresh_process(kind: str, request: Row) -> list[Row]:
    """The rows of a job; a row with the reason if the job failed."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(do_job, kind, request).result()
        except Exception as error:  # the other jobs still run
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            return [{"kind": kind, **_flat(request), "status": FAILED, "why": why}]


def _skipped(kind: str, request: Row) -> list[Row]:
    """A row instead of a job that needs too much memory."""
    huge = request.get("method") == "conal" and request["workload"]["n_annotators"] == 100_000
    if kind == "memory" and request["tool"] == AS_DOCUMENTED and huge:
        return [{"kind": kind, **_flat(request), "status": SKIPPED, "why": _ONE_HOT}]
    return []


def _flat(request: Row) -> Row:
    return {
        **request["workload"],
        **{key: each for key, each in request.items() if key != "workload"},
    }


def _parser() -> argparse.ArgumentParser:
    made = parser("training", __doc__)
    made.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    made.add_argument(
        "--only", type=sections_of(SECTIONS), default=SECTIONS, help=", ".join(SECTIONS)
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
