"""Aggregators of comparisons in one ranked table, by true scores or by comparisons held out."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manyhands.aggregation.compare import Comparison
from manyhands.aggregation.pairs.catalog import PAIR_AGGREGATORS, make_pair_aggregator
from manyhands.annotations.comparisons import TIE, Comparisons
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.core.settings import generator

N_FOLDS = 5
_SMALLEST = 1e-12


def compare_rankings(
    comparisons: Comparisons,
    methods: Sequence[str] | None = None,
    *,
    truth: Mapping[Any, Any] | None = None,
    seed: int = 0,
) -> Comparison:
    """Fit aggregators of comparisons with their defaults and rank them.

    With `truth`, {item: true score}, by the rank correlation of the scores. Without it by the mean
    log-probability of comparisons that a fit to four fifths of them did not see.

    >>> pairs = Comparisons.from_arrays(list("aabc") * 5, list("bcca") * 5, None, list("aabc") * 5)
    >>> compare_rankings(pairs, ["bradley-terry"]).columns["held_out"].tolist()
    [20]
    """
    names = [PAIR_AGGREGATORS[name].name for name in methods or PAIR_AGGREGATORS]
    rows = [
        {"method": name}
        | (validate(comparisons, name, seed) if truth is None else _score(comparisons, name, truth))
        for name in names
    ]
    key = "log_probability" if truth is None else "spearman"
    rows.sort(key=lambda row: -row[key])
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    by = "log-probability of held-out comparisons" if truth is None else "rank correlation"
    return Comparison(columns, by)


def validate(comparisons: Comparisons, method: str, seed: int = 0) -> dict[str, Any]:
    """How probable comparisons are that were held out, and how often the right winner was."""
    if len(comparisons) < N_FOLDS:
        raise DataError(f"comparisons are held out in {N_FOLDS} parts; there are fewer rows")
    fold = generator(seed, "folds of comparisons").permutation(len(comparisons)) % N_FOLDS
    log_p, right = np.empty(len(comparisons)), np.empty(len(comparisons))
    start = time.perf_counter()
    for part in range(N_FOLDS):
        model = make_pair_aggregator(method, {})
        held = np.flatnonzero(fold == part)
        p = model.fit(comparisons[np.flatnonzero(fold != part)]).probabilities(comparisons[held])
        outcome = comparisons[held].outcome
        log_p[held] = np.log(np.maximum(p[np.arange(len(p)), outcome], _SMALLEST))
        right[held] = _right(p, outcome)
    decided = comparisons.outcome != TIE
    return {
        "log_probability": float(log_p.mean()),
        "accuracy": float(right[decided].mean()) if decided.any() else float("nan"),
        "held_out": len(comparisons),
        "seconds": time.perf_counter() - start,
    }


def _right(p: AnyArray, outcome: AnyArray) -> AnyArray:
    """Whether the side that won was the more probable one; half for equal ones."""
    lean = np.sign(p[:, 0] - p[:, 1])
    wanted = np.where(outcome == 0, 1.0, -1.0)
    return np.asarray(0.5 + 0.5 * lean * wanted)


def _score(comparisons: Comparisons, method: str, truth: Mapping[Any, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    scores = make_pair_aggregator(method, {}).fit(comparisons).score(truth)
    return scores.as_dict() | {"seconds": time.perf_counter() - start}
