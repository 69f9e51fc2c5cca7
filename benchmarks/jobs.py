"""What a fresh process measures: `python -m benchmarks.jobs '{"job": ..., ...}'`.

A job prints its numbers as JSON lines while it measures, so that a job that is stopped has printed
what it measured until then.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crowds import CrowdData, CrowdSize, simulate
from benchmarks.gauges import (
    cap_memory,
    least_seconds,
    marginal,
    peak_bytes,
    resident_bytes,
    stopwatch,
)
from benchmarks.tools import METHODS, TOOLS, Tool

Row = dict[str, Any]

_WARM_LABELS, _WARM_ANNOTATORS = 1000, 20
_MEMORY_SHARE = 0.9  # of the free memory, which a job may use


def measure_case(tool: str, method: str, size: Row, budget_s: float) -> Iterator[Row]:
    """Memory of one fit, then the time of one EM iteration, or of a fit without iterations.

    Memory is counted after the three arrays exist: the tool's own table is part of what it adds.
    """
    one, crowd = _ready(TOOLS[tool], method, CrowdSize(**size))
    baseline = resident_bytes()
    take_s, table = stopwatch(one.take, crowd)
    first_s, fitted = stopwatch(one.fit, table, method, 1)
    yield {"baseline_bytes": baseline, "peak_bytes": peak_bytes()}
    yield {"take_s": take_s, "first_s": first_s, "accuracy": _accuracy(one, fitted, crowd)}
    del fitted
    if method == "majority":
        del table
        seconds, repeats = least_seconds(lambda: one.fit(one.take(crowd), method), budget_s)
        yield {"seconds": seconds, "repeats": repeats}
        return
    cost = marginal(
        lambda n: one.n_iterations(one.fit(table, method, n)), first_s=first_s, budget_s=budget_s
    )
    yield {"seconds": None} if cost is None else asdict(cost)


def measure_whole(tool: str, method: str, size: Row, budget_s: float) -> Iterator[Row]:
    """A whole fit with the tool's own settings and stopping rule, from three arrays to labels."""
    one, crowd = _ready(TOOLS[tool], method, CrowdSize(**size))

    def work() -> Any:
        return one.fit(one.take(crowd), method)

    first_s, fitted = stopwatch(work)
    yield {"n_iterations": one.n_iterations(fitted), "accuracy": _accuracy(one, fitted, crowd)}
    del fitted
    seconds, repeats = least_seconds(work, budget_s, [first_s])
    yield {"seconds": seconds, "repeats": repeats}


def measure_large(method: str, size: Row) -> Iterator[Row]:
    """One fit to convergence on a very large crowd; manyhands only."""
    one, crowd = _ready(TOOLS["manyhands"], method, CrowdSize(**size))
    yield {"baseline_bytes": resident_bytes()}
    take_s, table = stopwatch(one.take, crowd)
    yield {"take_s": take_s, "take_peak_bytes": peak_bytes()}
    fit_s, consensus = stopwatch(one.fit, table, method)
    yield {
        "fit_s": fit_s,
        "n_iterations": consensus.n_iterations,
        "converged": consensus.converged,
        "peak_bytes": peak_bytes(),
        "accuracy": _accuracy(one, consensus, crowd),
    }


def measure_first_calls() -> Iterator[Row]:
    """Seconds of the first fit of every method on a tiny crowd, with compilation or loading."""
    one = TOOLS["manyhands"]
    crowd = simulate(CrowdSize(_WARM_LABELS, 2, _WARM_ANNOTATORS))
    total = 0.0
    for method in METHODS:
        take_s, table = stopwatch(one.take, crowd)
        fit_s, _ = stopwatch(one.fit, table, method, 1)
        total += take_s + fit_s
    yield {"seconds": total}


def measure_reading(folder: str, n_rows: int, ids: str, repeats: int) -> Iterator[Row]:
    """The time to read a label table, and to read its columns only."""
    from benchmarks.reading import compare_reading

    yield compare_reading(Path(folder), n_rows, ids, repeats)


def measure_agreement(tool: str, level: str, n_labels: int, budget_s: float) -> Iterator[Row]:
    """Alpha of real-valued or class labels: memory, seconds and the value."""
    from benchmarks.alphas import ALPHAS, draw

    compute = ALPHAS[tool]
    compute(draw(level, 100), level)  # imports and compilation
    table = draw(level, n_labels)
    yield {"baseline_bytes": resident_bytes()}
    first_s, value = stopwatch(compute, table, level)
    yield {"peak_bytes": peak_bytes(), "value": value}
    seconds, repeats = least_seconds(lambda: compute(table, level), budget_s, [first_s])
    yield {"seconds": seconds, "repeats": repeats}


def measure_kernels() -> Iterator[Row]:
    """E-steps per label beside their memory accesses alone: a list of rows."""
    from benchmarks import kernel_limits

    yield {"rows": list(kernel_limits.measure_kernels())}


JOBS: dict[str, Callable[..., Iterator[Row]]] = {
    "case": measure_case,
    "whole": measure_whole,
    "large": measure_large,
    "kernels": measure_kernels,
    "first-calls": measure_first_calls,
    "reading": measure_reading,
    "agreement": measure_agreement,
}


def _ready(tool: Tool, method: str, size: CrowdSize) -> tuple[Tool, CrowdData]:
    """The tool after a small fit, so that imports and compilation are done, and its crowd."""
    small = simulate(CrowdSize(_WARM_LABELS, size.n_classes, _WARM_ANNOTATORS))
    tool.fit(tool.take(small), method, 1)
    return tool, simulate(size)


def _accuracy(tool: Tool, fitted: Any, crowd: CrowdData) -> float:
    return float(np.mean(tool.labels(fitted) == crowd.truth))


def main() -> None:
    """Run one job; running out of memory is a result too."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    cap_memory(_MEMORY_SHARE)
    try:
        for part in JOBS[request.pop("job")](**request):
            print(json.dumps(part), flush=True)
    except MemoryError:
        print(json.dumps({"status": "out of memory"}), flush=True)


if __name__ == "__main__":
    main()
