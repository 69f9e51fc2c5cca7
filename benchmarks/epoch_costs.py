"""Time of an epoch of every classification method, relative to ordinary training.

    python -m benchmarks.epoch_costs [--only METHODS] [--quick]

Records the numbers and writes docs/method-costs.md.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

import manyhands as mh
from benchmarks.benchmark import (
    EPOCH_COSTS,
    FIT_TIMES,
    RAYKAR,
    Row,
    command_given,
    log,
    parser,
    sections_of,
)
from benchmarks.cost_page import BROKEN, PAGE, make_page, verdict
from benchmarks.machine import machine_facts
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import generator
from manyhands.experiments import write_page
from manyhands.experiments.runs import classification_methods
from manyhands.methods import FullBatchMethod
from manyhands.networks import MLP
from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest

PLAIN = "truth"  # cross-entropy on one class per item
ACCURACIES = (0.4, 0.9)
_SHIFT = 0.3  # between the mean features of classes, in standard deviations
_WORDS = 0.2  # mean count of a word in a text


@dataclass(frozen=True)
class Plan:
    """What to measure, and how often."""

    n_items: int = 2000
    n_features: int = 512
    n_classes: int = 8
    n_annotators: int = 100
    labels_each: tuple[int, ...] = (3, 6, 12, 24)
    epochs: int = 4  # of one fit: the first warms up, the fastest of the others counts
    rounds: int = 3
    steps: int = 5  # at most, of methods without epochs
    solved_rounds: int = 1
    wide: int = 1024  # hidden units for measuring again what does not keep the rule
    methods: tuple[str, ...] = ()  # all of them

    @property
    def names(self) -> list[str]:
        """The classification methods, or those asked for."""
        known = classification_methods()
        return [name for name in known if not self.methods or name in self.methods]


QUICK = Plan(n_items=128, n_features=8, n_annotators=24, epochs=3, rounds=1, steps=2)


@dataclass(frozen=True)
class Workload:
    """Items with features, their truth, and their labels."""

    features: AnyArray
    truth: Codes
    annotations: Annotations


@cache
def workload(plan: Plan, labels_each: int, counts: bool = False) -> Workload:
    """A simulated crowd; features may be counts, like those of words."""
    rng = generator(0, "items")
    truth: Codes = rng.integers(0, plan.n_classes, plan.n_items, np.int32)
    shift_kj = _SHIFT * rng.standard_normal((plan.n_classes, plan.n_features))
    features: AnyArray = shift_kj[truth] + rng.standard_normal((plan.n_items, plan.n_features))
    if counts:
        features = rng.poisson(_WORDS * np.exp(shift_kj)[truth])
    annotators = honest(rng.uniform(*ACCURACIES, plan.n_annotators), plan.n_classes)
    crowd = simulate_crowd(truth, annotators, labels_per_item=labels_each, seed=0)
    return Workload(features.astype(np.float32), truth, crowd.annotations)


def epoch_seconds(
    plan: Plan, name: str, labels_each: int, hidden: int | None = None
) -> tuple[float, float]:
    """The least processor time and the least wall time of an epoch of one fit, except the first.

    `hidden` is the number of hidden units; None uses the default network.
    """
    data = workload(plan, labels_each)
    ends: list[float] = []

    def callback(_: Any) -> dict[str, float]:
        ends.append(time.process_time())
        return {}

    network = None if hidden is None else MLP(plan.n_features, plan.n_classes, hidden=(hidden,))
    settings = {**_ALIKE, "epochs": plan.epochs, "warm_up": 0, "validation_fraction": 0.0}
    model = mh.CrowdClassifier(network, name, **settings)
    truth = data.truth if mh.METHODS[name].needs_truth else None
    model.fit(data.features, data.annotations, truth=truth, callback=callback)
    wall = min(entry["seconds"] for entry in model.history_[1:])
    return min(after - before for before, after in pairwise(ends)), float(wall)


_ALIKE: dict[str, Any] = {"threads": 1, "device": "cpu", "progress": False}


def step_seconds(plan: Plan, name: str, labels_each: int) -> tuple[float, int]:
    """Processor seconds of a complete fit of a method without epochs, and its number of steps."""
    data = workload(plan, labels_each, mh.METHODS[name].needs_counts)
    model = mh.CrowdClassifier(method=name, epochs=plan.steps, **_ALIKE)
    began = time.process_time()
    model.fit(data.features, data.annotations)
    return time.process_time() - began, len(model.history_)


def measure_all(plan: Plan, command: str) -> Iterator[Row]:
    """The rows of one run, as they are measured."""
    sizes = {key: value for key, value in vars(plan).items() if key != "methods"}
    yield {"kind": "run", "command": command, **sizes, **machine_facts()}
    solved = [name for name in plan.names if isinstance(mh.METHODS[name], FullBatchMethod)]
    trained = [name for name in plan.names if name not in solved]
    times: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in trained}
    for number in range(plan.rounds):
        began = time.perf_counter()
        for name in trained:
            times[name].append(_round(plan, name))
        log(f"round {number + 1} of {plan.rounds} in {time.perf_counter() - began:.1f} s")
    for name in trained:
        row = {"kind": "epoch", "method": name, "cost": _cost(name)}
        yield (row := row | _summary(plan, times[name]))
        if verdict(row) == BROKEN:
            again = [_round(plan, name, plan.wide) for _ in range(plan.rounds)]
            yield row | {"kind": "wide"} | _summary(plan, again)
            log(f"{name} with {plan.wide} hidden units")
    for name in solved:
        yield _solved_row(plan, name)
        log(name)


def _round(plan: Plan, name: str, hidden: int | None = None) -> tuple[Floats, Floats]:
    """Processor and wall time of a plain epoch, and of a method at every number of labels.

    The fits of the method are between two plain fits.
    """
    few = plan.labels_each[0]
    before = epoch_seconds(plan, PLAIN, few, hidden)
    taken = [epoch_seconds(plan, name, each, hidden) for each in plan.labels_each]
    after = epoch_seconds(plan, PLAIN, few, hidden)
    return np.add(before, after) / 2, np.array(taken)


def _summary(plan: Plan, rounds: list[tuple[Floats, Floats]]) -> Row:
    """Medians over the rounds: of plain epochs, and of ratios to the plain epoch of the round."""
    ratios = np.array([taken / plain for plain, taken in rounds])
    processor, wall = np.moveaxis(ratios, 2, 0)
    return {
        "plain_s": float(np.median([plain[0] for plain, _ in rounds])),
        "labels": [each * plan.n_items for each in plan.labels_each],
        "ratios": np.median(processor, axis=0).round(4).tolist(),
        "wall_ratios": np.median(wall, axis=0).round(4).tolist(),
        "spread": (processor.max(axis=0) - processor.min(axis=0)).round(3).tolist(),
    }


def _solved_row(plan: Plan, name: str) -> Row:
    few_many = (plan.labels_each[0], plan.labels_each[-1])
    fits = [[step_seconds(plan, name, n) for n in few_many] for _ in range(plan.solved_rounds)]
    return {
        "kind": "solved",
        "method": name,
        "cost": _cost(name),
        "labels": [each * plan.n_items for each in few_many],
        "steps": [steps for _, steps in fits[0]],
        "seconds": np.median([[took for took, _ in each] for each in fits], axis=0).tolist(),
    }


def _cost(name: str) -> str:
    return mh.METHODS[name].about.cost


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    options = _parser().parse_args(arguments)
    plan = replace(QUICK if options.quick else Plan(), methods=options.only)
    command = command_given("epoch_costs", arguments)
    if options.only:
        _, *measured = measure_all(plan, command)
        rows = EPOCH_COSTS.keep(measured, options.docs, add=True)
    else:
        earlier = [row for row in EPOCH_COSTS.read(options.docs) if row["kind"] == "epoch"]
        before = [row | {"kind": "before"} for row in earlier]
        rows = EPOCH_COSTS.keep([*measure_all(plan, command), *before], options.docs)
    page = make_page(rows, RAYKAR.read(options.docs), FIT_TIMES.read(options.docs))
    write_page(options.docs / PAGE, page)
    return 0


def _parser() -> argparse.ArgumentParser:
    made = parser("epoch_costs", __doc__)
    made.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    made.add_argument(
        "--only",
        type=sections_of(classification_methods()),
        default=(),
        metavar="METHODS",
        help="only these, separated by commas; the records of the others stay",
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
