"""Compare several methods on the same labels."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.catalog import AGGREGATORS
from manyhands.aggregation.leave_one_out import validation_score
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError
from manyhands.evaluation import ClassificationScorecard


@dataclass(frozen=True)
class Comparison:
    """A table of methods, best first."""

    columns: dict[str, AnyArray]
    ranked_by: str

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per method, NaN as None."""
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        return [
            {
                name: None if isinstance(value, float) and np.isnan(value) else value
                for name, value in zip(self.columns, row, strict=True)
            }
            for row in rows
        ]


def compare(
    annotations: Annotations,
    methods: Sequence[str] | None = None,
    *,
    truth: Mapping[Any, Any] | None = None,
    seed: int = 0,
) -> Comparison:
    """Fit methods of `AGGREGATORS` with their defaults and rank them.

    With truth they are ranked by accuracy, or by mean absolute error for numbers. Without truth
    they are ranked by the column `validation`: the mean log-probability of labels held out of the
    fit (`validation_score`). It is NaN if no item has enough labels to hold one out.
    """
    names = list(methods or _methods_for(annotations))
    require_comparable(names)
    rows = [_row(name, annotations, truth, seed) for name in names]
    key, better, ranked_by = _ranking(rows[0])
    rows.sort(key=lambda row: (np.isnan(row[key]), -better * row[key]))
    columns = {
        name: np.array([row[name] for row in rows], dtype=_dtype(rows[0][name])) for name in rows[0]
    }
    return Comparison(columns, ranked_by)


def require_comparable(names: Sequence[str]) -> None:
    """Raise an error for unknown methods, and for a mix of methods for classes and numbers."""
    if len({AGGREGATORS[name].kind for name in names}) > 1:
        raise SettingError("methods must be all for classes or all for numbers to be compared")


def _methods_for(annotations: Annotations) -> list[str]:
    return [name for name, method in AGGREGATORS.items() if method.kind == annotations.kind]


def _row(
    name: str, annotations: Annotations, truth: Mapping[Any, Any] | None, seed: int
) -> dict[str, Any]:
    method = AGGREGATORS[name]()
    began = time.perf_counter()
    consensus = method.fit(annotations)
    seconds = time.perf_counter() - began
    row: dict[str, Any] = {"method": name}
    if truth is not None:
        scores = consensus.score(truth)
        if isinstance(scores, ClassificationScorecard):
            row |= {
                "accuracy": scores.accuracy,
                "log_loss": scores.log_loss,
                "calibration_error": scores.calibration_error,
            }
        else:
            row |= {"mae": scores.mae, "rmse": scores.rmse}
    try:
        row["validation"] = validation_score(method, annotations, seed=seed)
    except DataError:
        row["validation"] = float("nan")
    row |= {
        "confidence": float(consensus.confidence.mean()),
        "agreement": float(np.nanmean(consensus.agreement)),
        "seconds": seconds,
    }
    return row


def _ranking(row: Mapping[str, Any]) -> tuple[str, int, str]:
    if "accuracy" in row:
        return "accuracy", 1, "accuracy against the truth"
    if "mae" in row:
        return "mae", -1, "mean absolute error against the truth"
    return "validation", 1, "mean log-probability of held-out labels (no truth was used)"


def _dtype(value: Any) -> Any:
    return object if isinstance(value, str) else np.float64
