"""Time of Raykar's model, beside the implementation of scikit-activeml.

    python -m benchmarks.raykar [--quick] [--cases N]

Records the numbers and writes docs/method-costs.md. It needs scikit-activeml and says how to
install it.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from benchmarks.benchmark import EPOCH_COSTS, FIT_TIMES, RAYKAR, Row, command_given, log, parser
from benchmarks.cost_page import PAGE, make_page
from benchmarks.machine import machine_facts
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import generator
from manyhands.experiments import write_page
from manyhands.methods.linear.base import LinearWeights
from manyhands.methods.linear.raykar import fit_raykar
from manyhands.simulation import simulate_crowd

PEER = "scikit-activeml"
HOW_TO_INSTALL = """scikit-activeml is not installed. Only this comparison needs it:
    pip install --target peers --no-deps scikit-activeml==1.0.1 makefun iteration-utilities
    PYTHONPATH=peers python -m benchmarks.raykar"""

_TINY = 1e-300
_PEER_TOL = 1e-4  # of the whole objective, its default


@dataclass(frozen=True)
class Case:
    """The size of a problem; every annotator labels every item if `labels_each` is None."""

    n_items: int
    n_annotators: int
    labels_each: int | None
    n_features: int = 30
    n_classes: int = 5


@dataclass(frozen=True)
class Plan:
    """What to measure, and how often."""

    cases: tuple[Case, ...] = (
        Case(5000, 100, 5),
        Case(10_000, 200, 5),
        Case(5000, 100, None),
    )
    repeats: int = 3
    once_s: float = 10.0  # a peer that takes longer is run once
    tolerances: tuple[float, ...] = (1e-8, 1e-9, 1e-10, 1e-11)


QUICK = Plan(cases=(Case(60, 8, 3, 4, 3),), repeats=1)


@dataclass(frozen=True)
class Solution:
    """A classifier and the confusions of all annotators, shape (a, k, l)."""

    weights: LinearWeights
    confusion_akl: Floats


def draw(case: Case) -> tuple[Floats, Annotations]:
    """Features, and labels of annotators with accuracies and mistakes of their own."""
    rng = generator(0, "raykar benchmark")
    features_ij = rng.standard_normal((case.n_items, case.n_features))
    score_ik = 0.5 * features_ij @ rng.standard_normal((case.n_features, case.n_classes))
    truth = (score_ik + rng.gumbel(size=score_ik.shape)).argmax(axis=1)
    right_a = rng.uniform(0.35, 0.8, case.n_annotators)[:, None, None]
    wrong_akl = rng.dirichlet(np.ones(case.n_classes), (case.n_annotators, case.n_classes))
    annotator_akl = right_a * np.eye(case.n_classes) + (1 - right_a) * wrong_akl
    each = case.labels_each or case.n_annotators
    return features_ij, simulate_crowd(
        truth, annotator_akl, labels_per_item=each, seed=0
    ).annotations


def objective(solution: Solution, features_ij: Floats, annotations: Annotations) -> float:
    """The objective that both sides maximise, by its definition.

    ::

        sum_i log sum_k f_k(x_i) prod_n C[a_n, k, y_n] - 1/2 sum_jk W_jk^2
    """
    ann, weights = annotations, solution.weights
    joint_ik = log_softmax(features_ij @ weights.coefficient_jk + weights.intercept_k, axis=1)
    log_akl = np.log(np.maximum(solution.confusion_akl, _TINY))
    np.add.at(joint_ik, ann.item, log_akl[ann.annotator, :, ann.label])
    # Adding the same to the weights of all classes gives the same classifier: the smallest count.
    centred_jk = weights.coefficient_jk - weights.coefficient_jk.mean(axis=1, keepdims=True)
    return float(logsumexp(joint_ik, axis=1).sum() - 0.5 * np.square(centred_jk).sum())


def ours(features_ij: Floats, annotations: Annotations, tol: float) -> Solution:
    """`fit_raykar`, with the penalty that is the peer's default."""
    fitted = fit_raykar(features_ij, annotations, tol=tol)
    return Solution(fitted.weights, fitted.confusion_akl)


def theirs(features_ij: Floats, labels_ia: Any, n_classes: int) -> Solution:
    """The peer with its defaults, which takes a matrix of labels with -1 for missing ones."""
    peer = import_module("skactiveml.classifier.multiannotator")
    model = peer.AnnotatorLogisticRegression(classes=list(range(n_classes)), missing_label=-1)
    model.fit(features_ij, labels_ia)
    return Solution(LinearWeights(model.W_[1:], model.W_[0]), model.Alpha_)


def measure_all(plan: Plan, command: str) -> Iterator[Row]:
    """The rows of one run."""
    first = plan.cases[0]
    sizes = {"n_features": first.n_features, "n_classes": first.n_classes}
    about = {"repeats": plan.repeats, "once_s": plan.once_s, "peer_version": version(PEER)}
    yield {"kind": "run", "command": command, **sizes, **about, **machine_facts()}
    fit_raykar(*draw(QUICK.cases[0]))  # compiles the kernels
    for case in plan.cases:
        row = {"kind": "case", **race(case, plan)}
        best = row["equal" if row["reached"] else "ours"]
        log(f"{case}: {row['peer']['seconds'] / best['seconds']:.1f} times")
        yield row


def race(case: Case, plan: Plan) -> Row:
    """Both sides on one problem: ours with its defaults, ours at the peer's objective, the peer.

    EM may end in different maxima. If ours is below the peer's at every tolerance, `reached` is
    false and there is no comparison at an equal objective.
    """
    features_ij, ann = draw(case)
    labels_ia = ann.to_dense(missing=-1)

    def value(solution: Solution) -> float:
        return objective(solution, features_ij, ann)

    def peer() -> Solution:
        return theirs(features_ij, labels_ia, case.n_classes)

    usual = plan.tolerances[0]
    first, solution = timed(peer)
    target = value(solution)
    enough = [tol for tol in plan.tolerances if value(ours(features_ij, ann, tol)) >= target]
    contestants: dict[str, tuple[float, Callable[[], Solution]]] = {
        "ours": (usual, lambda: ours(features_ij, ann, usual)),
        "peer": (_PEER_TOL / ann.n_annotations, peer),
    }
    if enough:
        contestants["equal"] = (enough[0], lambda: ours(features_ij, ann, enough[0]))
    times: dict[str, list[Floats]] = {name: [] for name in contestants} | {"peer": [first]}
    values = {"peer": target}
    for _ in range(plan.repeats):
        for name, (_, fit) in contestants.items():
            if name != "peer" or first[1] <= plan.once_s:
                took, solution = timed(fit)
                times[name].append(took)
                values[name] = value(solution)
    row: Row = {"n_items": ann.n_items, "n_annotators": ann.n_annotators}
    row |= {"n_labels": ann.n_annotations, "reached": bool(enough)}
    for name, (tol, _) in contestants.items():
        processor, wall = np.median(times[name], axis=0).tolist()
        measured = {"seconds": processor, "wall_s": wall, "objective": values[name]}
        row[name] = {"tol": tol, **measured, "runs": len(times[name])}
    return row


def timed(fit: Callable[[], Solution]) -> tuple[Floats, Solution]:
    """Processor and wall seconds of a fit, and its solution."""
    began = np.array([time.process_time(), time.perf_counter()])
    solution = fit()
    return np.array([time.process_time(), time.perf_counter()]) - began, solution


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page; 1 if the peer is not installed."""
    options = _parser().parse_args(arguments)
    try:
        version(PEER)
    except PackageNotFoundError:
        log(HOW_TO_INSTALL)
        return 1
    plan = QUICK if options.quick else Plan()
    if options.cases:
        plan = replace(plan, cases=plan.cases[: options.cases])
    command = command_given("raykar", arguments)
    rows = RAYKAR.keep(measure_all(plan, command), options.docs)
    write_page(
        options.docs / PAGE,
        make_page(EPOCH_COSTS.read(options.docs), rows, FIT_TIMES.read(options.docs)),
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    made = parser("raykar", __doc__)
    made.add_argument("--quick", action="store_true", help="a tiny problem, to see that it runs")
    made.add_argument("--cases", type=int, default=0, help="only the first so many problems")
    return made


if __name__ == "__main__":
    sys.exit(main())
