"""Choosing a method without truth, and whether majority voting would do."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.catalog import AGGREGATORS
from manyhands.aggregation.comparison import Comparison, require_comparable
from manyhands.aggregation.held_out import foretold_labels, one_label_aside
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.evaluation import (
    JUDGES,
    RANKS,
    HeldLabels,
    crowd_scores,
    paired_difference,
    rank_average,
)

MAJORITY = "majority"


@dataclass(frozen=True)
class Choice:
    """Methods ranked by labels that they have not seen, and what follows from it.

    **When majority voting is enough**: the winner is compared with majority voting on every
    held-out label, by the log-probability of the label and by whether it is the label predicted of
    this annotator. Where the winner is not better in both by more than two standard errors, which
    let the labels of an item vary together, majority voting is enough.
    """

    table: Comparison
    winner: str
    majority_is_enough: bool
    reason: str


def select(
    annotations: Annotations,
    methods: Sequence[str] | None = None,
    *,
    judge: str = RANKS,
    truth: Mapping[Any, Any] | None = None,
    runs: int = 1,
    seed: int = 0,
) -> Choice:
    """Choose among methods of `AGGREGATORS` for classes by labels taken away before fitting.

    Of every item with three labels or more one is taken away, `runs` times with other draws, and
    `judge` (of `JUDGES`) says which method foretells them best. `majority` is always among them.
    `truth` decides nothing: accuracy against it stands in the last column, for information.
    """
    JUDGES[judge]  # says which names it knows
    require(runs >= 1, "runs", ">= 1", runs)
    ann = annotations.as_kind("classes")
    names = contenders(methods)
    held: dict[str, list[HeldLabels]] = {}
    beside: dict[str, dict[str, float]] = {}
    aside = [one_label_aside(ann, seed + run) for run in range(runs)]
    for name in names:
        began = time.perf_counter()
        held[name] = [foretold_labels(AGGREGATORS[name](), *each) for each in aside]
        beside[name] = {"seconds": (time.perf_counter() - began) / runs}
        if truth is not None:
            beside[name] |= {"accuracy": _accuracy(name, ann, truth)}
    return choose(held, MAJORITY, judge=judge, beside=beside)


def contenders(methods: Sequence[str] | None) -> list[str]:
    """The aggregators that selection compares: all for classes, or those named and majority."""
    if methods is None:
        return [name for name, method in AGGREGATORS.items() if method.kind == "classes"]
    require(len(methods) > 0, "methods", "at least one name", list(methods))
    require_comparable([*methods, MAJORITY])
    return list(dict.fromkeys([*methods, MAJORITY]))


def choose(
    held: Mapping[str, Sequence[HeldLabels]],
    baseline: str,
    *,
    judge: str = RANKS,
    beside: Mapping[str, Mapping[str, float]] | None = None,
) -> Choice:
    """Rank candidates by what each said of the same held-out labels, run by run.

    `beside` holds more numbers of every candidate, which stand in the table and decide nothing.
    """
    names = list(held)
    runs = {name: [crowd_scores(each) for each in held[name]] for name in names}
    scores = {
        key: np.array([np.mean([run[key] for run in runs[name]]) for name in names])
        for key in runs[names[0]][0]
    }
    # Where the judge sees no difference, the likelihood does, and else the order of the names.
    order = np.lexsort((-scores["likelihood"], -JUDGES[judge](scores)))
    columns = {
        "method": np.array(names, dtype=object),
        "average_rank": rank_average(scores),
        **scores,
        **_columns(names, beside or {}),
    }
    table = Comparison({key: each[order] for key, each in columns.items()}, told_judge(judge))
    winner = names[int(order[0])]
    enough, reason = _verdict(winner, baseline, held)
    return Choice(table, winner, enough, reason)


def told_judge(judge: str) -> str:
    """What a table is ranked by, in words."""
    what = "average rank over all criteria" if judge == RANKS else judge
    return f"{what} on held-out labels (no truth was used)"


def _verdict(
    winner: str, baseline: str, held: Mapping[str, Sequence[HeldLabels]]
) -> tuple[bool, str]:
    if winner == baseline:
        return True, f"Majority voting is enough: {baseline} itself comes first."
    item_n = np.concatenate([run.item[run.row] for run in held[winner]])
    probable, right = (
        paired_difference(_pooled(held[winner], what), _pooled(held[baseline], what), item_n)
        for what in ("log_said_n", "hit_n")
    )
    compared = (
        f"on {len(item_n)} held-out labels {winner} differs from {baseline} by {probable} in "
        f"log-probability and by {right} in the share of labels predicted"
    )
    if probable.is_clear and right.is_clear:
        return False, f"Majority voting is not enough: {compared}, both above two standard errors."
    return True, f"Majority voting is enough: {compared}, not both above two standard errors."


def _pooled(runs: Sequence[HeldLabels], what: str) -> Floats:
    return np.concatenate([getattr(run, what) for run in runs])


def _columns(names: Sequence[str], beside: Mapping[str, Mapping[str, float]]) -> dict[str, Floats]:
    keys = beside.get(names[0], {})
    return {key: np.array([beside[name][key] for name in names]) for key in keys}


def _accuracy(name: str, annotations: Annotations, truth: Mapping[Any, Any]) -> float:
    scores = AGGREGATORS[name]().fit(annotations).score(truth).as_dict()
    return float(scores["accuracy"])
