"""Time of a whole fit with default settings, relative to that of `em`.

    python -m benchmarks.fit_times --data DIR

DIR holds the corpora labelme and music. Records the numbers and writes docs/method-costs.md.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

import manyhands as mh
from benchmarks.benchmark import (
    EPOCH_COSTS,
    FIT_TIMES,
    RAYKAR,
    Row,
    command_given,
    log,
    parser,
)
from benchmarks.cost_page import PAGE, make_page
from benchmarks.machine import machine_facts
from manyhands.experiments import write_page

CORPORA = ("labelme", "music")
UNIT = "em"
METHODS = ("two-stage-dawid-skene", UNIT, "geocrowdnet", "conal", "cross-fit")
ROUNDS = 5  # the first warms up


def measure_all(corpora: Mapping[str, Any], command: str) -> Iterator[Row]:
    """A row for the run, and one for every corpus and method."""
    yield {"kind": "run", "command": command, "rounds": ROUNDS - 1, **machine_facts()}
    torch.set_num_threads(1)
    for name, corpus in corpora.items():
        seconds: dict[str, list[float]] = {method: [] for method in METHODS}
        for seed in range(ROUNDS):
            for method in METHODS:  # in turn, so that other programs disturb all of them alike
                took = fit_seconds(corpus.features, corpus.annotations, method, seed)
                seconds[method].append(took)
        typical = {method: float(np.median(each[1:])) for method, each in seconds.items()}
        for method, took in typical.items():
            ratio = took / typical[UNIT]
            log(f"{name} {method}: {took:.2f} s, {ratio:.1f} times {UNIT}")
            yield {"kind": "fit", "corpus": name, "method": method, "seconds": took, "ratio": ratio}


def fit_seconds(features: object, annotations: mh.Annotations, method: str, seed: int) -> float:
    """Processor seconds of a fit with default settings."""
    start = time.process_time()
    mh.CrowdClassifier(method=method, seed=seed).fit(features, annotations)
    return time.process_time() - start


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    made = parser("fit_times", __doc__)
    made.add_argument("--data", type=Path, required=True, help="folder with the public corpora")
    options = made.parse_args(arguments)
    command = command_given("fit_times", arguments).replace(str(options.data), "DIR")
    corpora = {name: mh.DATASETS[name].read(options.data) for name in CORPORA}
    rows = FIT_TIMES.keep(measure_all(corpora, command), options.docs)
    page = make_page(EPOCH_COSTS.read(options.docs), RAYKAR.read(options.docs), rows)
    write_page(options.docs / PAGE, page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
