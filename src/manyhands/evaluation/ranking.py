"""How well scores rank items whose true scores are known."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

from manyhands.annotations.vocabulary import Vocabulary
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError


@dataclass(frozen=True)
class RankingScorecard:
    """The agreement of estimated with true scores.

    `pair_accuracy` is the share of pairs of items with different true scores that are in the right
    order; equal estimates count as half. `spearman` and `kendall` are rank correlations.
    """

    n: int
    spearman: float
    kendall: float
    pair_accuracy: float

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        return asdict(self)


def ranking_scorecard(
    items: Vocabulary, scores: Floats, truth: Mapping[Any, Any], group: AnyArray | None = None
) -> RankingScorecard:
    """Score estimates (i,) against {item: true score}; pairs of different groups do not count.

    >>> items = Vocabulary.of(["a", "b", "c"])
    >>> ranking_scorecard(items, np.array([1.0, 2.0, 3.0]), {"a": 0, "b": 5, "c": 7}).spearman
    1.0
    """
    code = items.codes(list(truth))
    if not (code >= 0).any():
        raise DataError("no item of the truth was compared; check the names of the items")
    try:
        true = np.array([float(value) for value in truth.values()])[code >= 0]
    except (TypeError, ValueError):
        raise DataError("true scores must be numbers; the truth has words") from None
    known = code[code >= 0]
    group_i = np.zeros(len(items), dtype=int) if group is None else group
    return _scorecard(scores[known], true, group_i[known])


def _scorecard(scores: Floats, true: Floats, group: AnyArray) -> RankingScorecard:
    n = len(true)
    if n < 2:
        return RankingScorecard(n, float("nan"), float("nan"), float("nan"))
    return RankingScorecard(
        n,
        _spearman(scores, true),
        float(kendalltau(scores, true).statistic),
        pair_accuracy(scores, true, group),
    )


def pair_accuracy(scores: Floats, true: Floats, group: AnyArray | None = None) -> float:
    """The share of pairs with different true scores that are in the right order.

    >>> pair_accuracy(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    0.8333333333333334
    """
    counted = right = 0.0
    for i in range(len(true)):
        wanted = np.sign(true[i + 1 :] - true[i])
        same = np.ones(len(wanted)) if group is None else group[i + 1 :] == group[i]
        found = np.sign(scores[i + 1 :] - scores[i])
        known = (wanted != 0) & (same > 0)
        counted += known.sum()
        right += (known & (wanted == found)).sum() + 0.5 * (known & (found == 0)).sum()
    return float(right / counted) if counted else float("nan")


def _spearman(scores: Floats, true: Floats) -> float:
    ranks = rankdata(scores), rankdata(true)
    if min(np.ptp(each) for each in ranks) == 0:
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])
