"""What every aggregator of classes makes of one simulated crowd."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import manyhands as mh
from benchmarks.benchmark import Row
from benchmarks.zoo_crowds import Crowd, draw_crowd
from manyhands.agreement import fleiss
from manyhands.evaluation import calibration_curve, log_loss


def measure(seed: int) -> Row:
    """The row of one crowd: what every aggregator makes of it, on one thread."""
    crowd = draw_crowd(seed)
    row: Row = {"kind": "crowd", "seed": seed, **crowd.about}
    row["fleiss_kappa"] = round(fleiss(crowd.annotations, interval="none").value, 4)
    with one_thread():
        load_loops()
        for name, make in class_aggregators().items():
            for score, value in scores_of(make(), crowd).items():
                row.setdefault(score, {})[name] = round(value, 5)
    return row


def class_aggregators() -> dict[str, Any]:
    """Every aggregator of classes by name."""
    return {name: make for name, make in mh.AGGREGATORS.items() if make.kind == "classes"}


def scores_of(aggregator: Any, crowd: Crowd) -> dict[str, float]:
    """What one aggregator makes of a crowd; seconds are processor time."""
    began = time.process_time()
    consensus = aggregator.fit(crowd.annotations)
    seconds = time.process_time() - began
    right = consensus.labels == crowd.truth
    return {
        "accuracy": float(right.mean()),
        "log_loss": log_loss(crowd.truth, consensus.probabilities),
        "calibration_error": calibration_curve(consensus.confidence, right).calibration_error,
        "seconds": seconds,
    }


@contextmanager
def one_thread() -> Iterator[None]:
    """Fits use one thread in here: the crowds are measured side by side."""
    before = os.environ.get("MANYHANDS_THREADS")
    os.environ["MANYHANDS_THREADS"] = "1"
    try:
        yield
    finally:
        del os.environ["MANYHANDS_THREADS"]
        if before is not None:
            os.environ["MANYHANDS_THREADS"] = before


@cache
def load_loops() -> None:
    """Fit once per process, so that no time includes the loading of compiled loops."""
    for make in class_aggregators().values():
        make().fit(draw_crowd(0).annotations)
