"""Measure training steps and the loop around them: `python -m benchmarks.training`."""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.command import sections_of, shown_command, tell
from benchmarks.machine import machine_facts
from benchmarks.measure import FAILED, SKIPPED
from benchmarks.training_jobs import do_job
from benchmarks.training_page import make_page
from benchmarks.training_steps import (
    AS_DOCUMENTED,
    DENSE,
    ONCE_PER_ITEM,
    OUR_CLASSIFIER,
    OUR_DEFAULTS,
    OURS,
)

Row = dict[str, Any]

SECTIONS = ("growth", "beside", "memory", "loop", "threads")
METHODS = ("crowd-layer-mw", "speelfc", "trace-reg", "conal")
DECAY = {"noise_weight_decay": 0.01}
NETWORKS = ((512, 128), (8192, 128), (4096, 1024))  # features, hidden units

_ONE_HOT = "one-hot annotators alone take 40 GB"


@dataclass(frozen=True)
class Plan:
    """What to measure, and how much time to give it."""

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
        """Every job with what it is asked for, in the order of the page."""
        for name in self.sections:
            for request in getattr(self, f"_{name}")():
                yield name, request

    def _scene(self, n_annotators: int, **others: int) -> Row:
        sizes = {"n_classes": self.n_classes[0], "n_items": self.n_items}
        return {"n_annotators": n_annotators, **sizes, **others}

    def _growth(self) -> Iterator[Row]:
        about = {"sizes": self.sizes, "budget_s": self.budget_s}
        variants: list[tuple[str, Row]] = [(method, {}) for method in METHODS]
        variants.append(("speelfc", DECAY))
        for n_classes in self.n_classes:
            for method, settings in variants:
                scene = self._scene(0, n_classes=n_classes)
                yield {"scene": scene, "method": method, "settings": settings, **about}
        variants = [(method, {"as_published": True}) for method in METHODS]
        variants += [(METHODS[0], {"sparse": sparse}) for sparse in (True, False)]
        for method, settings in variants:
            yield {"scene": self._scene(0), "method": method, "settings": settings, **about}

    def _beside(self) -> Iterator[Row]:
        small, middle, large, huge = self.sizes
        tried = {"crowd-layer-mw": (small, middle, huge), "conal": (small, middle, large)}
        for layer, sizes in tried.items():
            for n_annotators in sizes:
                scene = self._scene(n_annotators)
                yield {"scene": scene, "layer": layer, "budget_s": self.budget_s}

    def _memory(self) -> Iterator[Row]:
        small, middle, large, huge = self.sizes
        for tool in (OUR_CLASSIFIER, OUR_DEFAULTS, OURS):
            for method in METHODS:
                for n_annotators in (small, huge):
                    yield {"scene": self._scene(n_annotators), "tool": tool, "method": method}
        for tool in (AS_DOCUMENTED, ONCE_PER_ITEM, DENSE):
            for n_annotators in (middle, huge):
                scene = self._scene(n_annotators)
                yield {"scene": scene, "tool": tool, "method": "crowd-layer-mw"}
        for n_annotators in (middle, large, huge):
            yield {"scene": self._scene(n_annotators), "tool": AS_DOCUMENTED, "method": "conal"}

    def _loop(self) -> Iterator[Row]:
        scene = self._scene(59, n_items=self.loop_items, n_classes=8)
        about = {"epochs": self.epochs, "labels_each": 2.547, "repeats": self.repeats}
        for method in METHODS:
            yield {"scene": scene, "method": method, **about}

    def _threads(self) -> Iterator[Row]:
        for n_features, n_hidden in NETWORKS:
            n_items = min(self.n_items, 2000)
            sizes = {"n_items": n_items, "n_features": n_features, "n_hidden": n_hidden}
            scene = self._scene(self.sizes[0], **sizes)
            yield {"scene": scene, "method": "speelfc", "budget_s": self.budget_s}


QUICK = Plan(sizes=(60, 200, 300, 400), n_items=640, epochs=2, repeats=2, budget_s=0.2)


def main(arguments: list[str] | None = None) -> int:
    """Measure and write the page and its numbers; 1 when something failed."""
    options = _parser().parse_args(arguments)
    out: Path = options.out
    if options.remake:
        rows = [json.loads(line) for line in options.remake.read_text().splitlines()]
        out.write_text(make_page(rows))
        return 0
    base = QUICK if options.quick else Plan()
    plan = Plan(**{**vars(base), "sections": options.only})
    record = out.with_suffix(".jsonl")
    unfinished = record.with_suffix(".jsonl.part")
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    with unfinished.open("w") as lines:
        for row in measure_all(plan, shown_command("benchmarks.training", out, arguments)):
            rows.append(row)
            lines.write(json.dumps(row) + "\n")
            lines.flush()
    out.write_text(make_page(rows))
    unfinished.replace(record)
    return 1 if any(row.get("status") == FAILED for row in rows) else 0


def measure_all(plan: Plan, command: str) -> Iterator[Row]:
    """The rows of one run, as they come."""
    yield {"kind": "run", "command": command}
    yield {"kind": "machine", **machine_facts(), "torch": _torch_version()}
    for kind, request in plan.requests:
        begin = time.perf_counter()
        rows = _skipped(kind, request) or in_fresh_process(kind, request)
        yield from rows
        took = time.perf_counter() - begin
        tell(f"{kind} {json.dumps(request)}: {rows[0]['status']} in {took:.1f} s")


def in_fresh_process(kind: str, request: Row) -> list[Row]:
    """The rows of a job; a row that says why where there are none."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(do_job, kind, request).result()
        except Exception as error:  # the other jobs can still be done
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            return [{"kind": kind, **_flat(request), "status": FAILED, "why": why}]


def _skipped(kind: str, request: Row) -> list[Row]:
    """A row in the place of a job that no machine like this can do."""
    huge = request.get("method") == "conal" and request["scene"]["n_annotators"] == 100_000
    if kind == "memory" and request["tool"] == AS_DOCUMENTED and huge:
        return [{"kind": kind, **_flat(request), "status": SKIPPED, "why": _ONE_HOT}]
    return []


def _flat(request: Row) -> Row:
    return {**request["scene"], **{key: each for key, each in request.items() if key != "scene"}}


def _torch_version() -> str:
    from importlib.metadata import version

    return version("torch")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/training-speed.md"), help="page")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument(
        "--only", type=sections_of(SECTIONS), default=SECTIONS, help=", ".join(SECTIONS)
    )
    parser.add_argument("--remake", type=Path, metavar="JSONL", help="only write the page again")
    return parser


if __name__ == "__main__":
    sys.exit(main())
