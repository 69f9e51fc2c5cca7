"""Several runs of the same thing: mean, deviation, and an interval of the mean."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.core.errors import DataError
from manyhands.evaluation.scores import LEVEL


@dataclass(frozen=True)
class RunSummary:
    """What several runs say; the interval is Student's t for their mean."""

    mean: float
    deviation: float
    low: float
    high: float
    n_runs: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} +- {self.deviation:.4f} ({self.n_runs} runs)"


def summarise_runs(scores: Sequence[float]) -> RunSummary:
    """Mean, standard deviation and 95 % interval; a single run has no deviation (NaN).

    >>> str(summarise_runs([0.8, 0.9]))
    '0.8500 +- 0.0707 (2 runs)'
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(values) == 0:
        raise DataError("there are no runs to summarise")
    mean = float(values.mean())
    if len(values) == 1:
        return RunSummary(mean, float("nan"), float("nan"), float("nan"), 1)
    deviation = float(values.std(ddof=1))
    reach = (
        float(special.stdtrit(len(values) - 1, (1 + LEVEL) / 2)) * deviation / len(values) ** 0.5
    )
    return RunSummary(mean, deviation, mean - reach, mean + reach, len(values))
