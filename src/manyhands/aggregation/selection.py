"""Choosing a method without truth, and whether majority voting would do."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.catalog import AGGREGATORS
from manyhands.aggregation.comparison import Comparison, require_comparable
from manyhands.aggregation.held_out import leave_one_label_out, predicted_labels
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.evaluation import (
    CRITERIA,
    RANKS,
    LabelPredictions,
    crowd_metrics,
    paired_difference,
    rank_average,
)

MAJORITY = "majority"
_SAME = 0.01  # of the items may be named otherwise where two methods find the same


@dataclass(frozen=True)
class Choice:
    """Methods ranked by labels that they have not seen, and what follows from it.

    **When majority voting is enough**: the winner is compared with majority voting on every
    held-out label. Unless it makes those labels more probable by more than two standard errors,
    which let the labels of an item vary together, majority voting is enough. It is too where the
    two name the same class for all but one in a hundred items: to be surer of the same is no
    reason for more effort.
    """

    table: Comparison
    winner: str
    majority_is_enough: bool
    reason: str


def select(
    annotations: Annotations,
    methods: Sequence[str] | None = None,
    *,
    monitor: str = RANKS,
    truth: Mapping[Any, Any] | None = None,
    runs: int = 1,
    seed: int = 0,
) -> Choice:
    """Choose among methods of `AGGREGATORS` for classes by labels taken away before fitting.

    Of every item with three labels or more one is taken away, `runs` times with other draws, and
    `judge` (of `JUDGES`) says which method foretells them best. `majority` is always among them.
    `truth` decides nothing: accuracy against it stands in the last column, for information.
    """
    CRITERIA[monitor]  # says which names it knows
    require(runs >= 1, "runs", ">= 1", runs)
    ann = annotations.as_kind("classes")
    names = contenders(methods)
    held: dict[str, list[LabelPredictions]] = {}
    beside: dict[str, dict[str, float]] = {}
    validation_unit = [leave_one_label_out(ann, seed + run) for run in range(runs)]
    for name in names:
        began = time.perf_counter()
        held[name] = [predicted_labels(AGGREGATORS[name](), *each) for each in validation_unit]
        beside[name] = {"seconds": (time.perf_counter() - began) / runs}
        if truth is not None:
            beside[name] |= {"accuracy": _accuracy(name, ann, truth)}
    return choose(held, MAJORITY, monitor=monitor, beside=beside)


def contenders(methods: Sequence[str] | None) -> list[str]:
    """The aggregators that selection compares: all for classes, or those named and majority."""
    if methods is None:
        return [name for name, method in AGGREGATORS.items() if method.kind == "classes"]
    require(len(methods) > 0, "methods", "at least one name", list(methods))
    require_comparable([*methods, MAJORITY])
    return list(dict.fromkeys([*methods, MAJORITY]))


def choose(
    held: Mapping[str, Sequence[LabelPredictions]],
    baseline: str,
    *,
    monitor: str = RANKS,
    beside: Mapping[str, Mapping[str, float]] | None = None,
) -> Choice:
    """Rank candidates by what each said of the same held-out labels, run by run.

    `beside` holds more numbers of every candidate, which stand in the table and decide nothing.
    """
    names = list(held)
    runs = {name: [crowd_metrics(each) for each in held[name]] for name in names}
    scores = {
        key: np.array([np.mean([run[key] for run in runs[name]]) for name in names])
        for key in runs[names[0]][0]
    }
    # Where the judge sees no difference, the likelihood does, and else the order of the names.
    order = np.lexsort((-scores["likelihood"], -CRITERIA[monitor](scores)))
    columns = {
        "method": np.array(names, dtype=object),
        "average_rank": rank_average(scores),
        **scores,
        **_columns(names, beside or {}),
    }
    table = Comparison(
        {key: each[order] for key, each in columns.items()}, monitor_description(monitor)
    )
    winner = names[int(order[0])]
    enough, reason = _verdict(winner, baseline, held)
    return Choice(table, winner, enough, reason)


def monitor_description(monitor: str) -> str:
    """What a table is ranked by, in words."""
    what = "average rank over all criteria" if monitor == RANKS else monitor
    return f"{what} on held-out labels (no truth was used)"


def _verdict(
    winner: str, baseline: str, held: Mapping[str, Sequence[LabelPredictions]]
) -> tuple[bool, str]:
    if winner == baseline:
        return True, f"Majority voting is enough: {baseline} itself comes first."
    item_n = np.concatenate([run.item[run.row] for run in held[winner]])
    gain = paired_difference(
        _pooled(held[winner], "log_likelihood_n"),
        _pooled(held[baseline], "log_likelihood_n"),
        item_n,
    )
    differ = _share_named_otherwise(held[winner], held[baseline])
    compared = (
        f"on {len(item_n)} held-out labels {winner} differs from {baseline} by {gain} in "
        f"log-probability, and it names another class for {differ:.1%} of the items"
    )
    if gain.is_clear and differ > _SAME:
        return False, f"Majority voting is not enough: {compared}."
    why = "which is not above two standard errors" if not gain.is_clear else "which is hardly any"
    return True, f"Majority voting is enough: {compared}, {why}."


def _share_named_otherwise(
    first: Sequence[LabelPredictions], second: Sequence[LabelPredictions]
) -> float:
    named = [
        np.concatenate([run.log_class_ik.argmax(axis=1) for run in runs])
        for runs in (first, second)
    ]
    return float(np.mean(named[0] != named[1]))


def _pooled(runs: Sequence[LabelPredictions], what: str) -> Floats:
    return np.concatenate([getattr(run, what) for run in runs])


def _columns(names: Sequence[str], beside: Mapping[str, Mapping[str, float]]) -> dict[str, Floats]:
    keys = beside.get(names[0], {})
    return {key: np.array([beside[name][key] for name in names]) for key in keys}


def _accuracy(name: str, annotations: Annotations, truth: Mapping[Any, Any]) -> float:
    scores = AGGREGATORS[name]().fit(annotations).score(truth).as_dict()
    return float(scores["accuracy"])
