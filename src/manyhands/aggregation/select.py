"""Select a method without truth, and decide whether majority voting is enough."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from manyhands.aggregation.catalog import AGGREGATORS, aggregators_for
from manyhands.aggregation.compare import (
    Comparison,
    leave_one_label_out,
    predict_validation_labels,
    require_comparable,
)
from manyhands.annotations import Annotations, Kind, Labels, Truth, as_annotations
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
_SAME = 0.01  # share of items on which two equivalent methods may differ


@dataclass(frozen=True)
class Choice:
    """Methods ranked by how well they predict held-out labels, and whether majority is enough.

    **When majority voting is enough**: the winner is compared with majority voting on every
    held-out label. Majority voting is enough unless the winner makes those labels more probable by
    more than two standard errors, clustered by item. It is also enough if the two choose the same
    class for all but one in a hundred items: more certainty about the same labels does not justify
    a more complex method.
    """

    table: Comparison
    winner: str
    majority_is_enough: bool
    reason: str


def select(
    annotations: Labels,
    methods: Sequence[str] | None = None,
    *,
    monitor: str = RANKS,
    truth: Truth | None = None,
    runs: int = 1,
    seed: int = 0,
    done: Callable[[], None] = lambda: None,
) -> Choice:
    """Select among methods of `AGGREGATORS` for classes by labels held out of the fit.

    One label of every item with three labels or more is held out, `runs` times with other draws.
    The methods are ranked by the criterion `monitor` (of `CRITERIA`) on these labels. `majority` is
    always among them. `truth` has no influence: accuracy against it is the last column. `done` is
    called after every method.
    """
    CRITERIA[monitor]  # an unknown name raises an error that lists the known ones
    require(runs >= 1, "runs", ">= 1", runs)
    ann = as_annotations(annotations, kind="classes")
    names = candidates(methods, "ordinal" if ann.ordered else "classes")
    predictions: dict[str, list[LabelPredictions]] = {}
    extra: dict[str, dict[str, float]] = {}
    splits = [leave_one_label_out(ann, seed + run) for run in range(runs)]
    for name in names:
        began = time.perf_counter()
        predictions[name] = [
            predict_validation_labels(AGGREGATORS[name](), *split) for split in splits
        ]
        extra[name] = {"seconds": (time.perf_counter() - began) / runs}
        if truth is not None:
            extra[name] |= {"accuracy": _accuracy(name, ann, truth)}
        done()
    return rank_by_predictions(predictions, MAJORITY, monitor=monitor, extra=extra)


def candidates(methods: Sequence[str] | None, kind: Kind = "classes") -> list[str]:
    """The aggregators to select from: all for the kind of labels, or given ones and majority."""
    if methods is None:
        return aggregators_for(kind)
    require(len(methods) > 0, "methods", "at least one name", list(methods))
    require_comparable([*methods, MAJORITY])
    return list(dict.fromkeys([*methods, MAJORITY]))


def rank_by_predictions(
    predictions: Mapping[str, Sequence[LabelPredictions]],
    baseline: str,
    *,
    monitor: str = RANKS,
    extra: Mapping[str, Mapping[str, float]] | None = None,
) -> Choice:
    """Rank methods by their predictions of the same held-out labels, one per run.

    `extra` holds more numbers of every method. They are columns of the table and do not influence
    the ranks.
    """
    names = list(predictions)
    runs = {name: [crowd_metrics(each) for each in predictions[name]] for name in names}
    scores = {
        key: np.array([np.mean([run[key] for run in runs[name]]) for name in names])
        for key in runs[names[0]][0]
    }
    # Ties of the criterion go to the higher likelihood, and then to the first name.
    order = np.lexsort((-scores["likelihood"], -CRITERIA[monitor](scores)))
    columns = {
        "method": np.array(names, dtype=object),
        "average_rank": rank_average(scores),
        **scores,
        **_columns(names, extra or {}),
    }
    table = Comparison(
        {key: each[order] for key, each in columns.items()}, monitor_description(monitor)
    )
    winner = names[int(order[0])]
    enough, reason = _verdict(winner, baseline, predictions)
    return Choice(table, winner, enough, reason)


def monitor_description(monitor: str) -> str:
    """The text that says what a table is ranked by."""
    what = "average rank over all criteria" if monitor == RANKS else monitor
    return f"{what} on held-out labels (no truth was used)"


def _verdict(
    winner: str, baseline: str, predictions: Mapping[str, Sequence[LabelPredictions]]
) -> tuple[bool, str]:
    if winner == baseline:
        return True, f"Majority voting is enough: {baseline} itself comes first."
    first, second = predictions[winner], predictions[baseline]
    item_n = np.concatenate([run.item[run.row] for run in first])
    gain = paired_difference(_log_likelihoods(first), _log_likelihoods(second), item_n)
    differ = _share_of_other_classes(first, second)
    compared = (
        f"on {len(item_n)} held-out labels {winner} differs from {baseline} by {gain} in "
        f"log-probability, and it names another class for {differ:.1%} of the items"
    )
    if gain.is_clear and differ > _SAME:
        return False, f"Majority voting is not enough: {compared}."
    why = "which is not above two standard errors" if not gain.is_clear else "which is hardly any"
    return True, f"Majority voting is enough: {compared}, {why}."


def _share_of_other_classes(
    first: Sequence[LabelPredictions], second: Sequence[LabelPredictions]
) -> float:
    """The share of items for which two methods choose another class."""
    classes = [
        np.concatenate([run.log_class_ik.argmax(axis=1) for run in runs])
        for runs in (first, second)
    ]
    return float(np.mean(classes[0] != classes[1]))


def _log_likelihoods(runs: Sequence[LabelPredictions]) -> Floats:
    return np.concatenate([run.log_likelihood_n for run in runs])


def _columns(names: Sequence[str], extra: Mapping[str, Mapping[str, float]]) -> dict[str, Floats]:
    keys = extra.get(names[0], {})
    return {key: np.array([extra[name][key] for name in names]) for key in keys}


def _accuracy(name: str, annotations: Annotations, truth: Truth) -> float:
    scores = AGGREGATORS[name]().fit(annotations).score(truth).as_dict()
    return float(scores["accuracy"])
