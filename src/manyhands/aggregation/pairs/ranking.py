"""What comparisons tell: a score of every item with its interval, and the ranking."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from manyhands.aggregation.evidence import Quality
from manyhands.aggregation.pairs.outcomes import (
    NO_TIES,
    chance_above,
    log_odds_of_left,
    outcome_probabilities,
)
from manyhands.annotations.columns import make_frame
from manyhands.annotations.comparisons import Comparisons
from manyhands.annotations.html import HtmlTable
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.evaluation.ranking import RankingScorecard, ranking_scorecard
from manyhands.evaluation.scores import LEVEL

if TYPE_CHECKING:
    from manyhands.aggregation.pairs.base import PairAggregator


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Ranking(HtmlTable):
    """The result of aggregating comparisons; rows follow the items and annotators of these.

    `scores` are log-odds: an item with a score of 1 more than another wins 73 % of the comparisons
    that are no tie. Their mean is 0 within a group of items that comparisons connect; scores and
    ranks of different groups (`group`) cannot be compared. `covariance` is that of the scores, by
    the normal approximation around the fit; None if there are too many items for such a matrix.
    """

    comparisons: Comparisons
    scores: Floats
    group: Codes
    quality: Quality
    covariance: Floats | None = None
    follows: Floats  # how often every annotator judges by the scores, not against them
    position: Floats = field(default_factory=lambda: np.zeros(0))  # none, one or one per annotator
    position_deviation: Floats = field(default_factory=lambda: np.zeros(0))
    tie_weight: float = NO_TIES  # the logarithm
    method: "PairAggregator"
    objective: tuple[float, ...] = ()
    converged: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def items(self) -> AnyArray:
        """Item names in code order."""
        return self.comparisons.items

    @property
    def annotator_quality(self) -> Floats:
        """One number per annotator between 0 and 1; `quality` holds its interval too."""
        return self.quality.value

    @property
    def method_name(self) -> str:
        """The name of the aggregator in `PAIR_AGGREGATORS`."""
        return self.method.name

    @property
    def n_iterations(self) -> int:
        """The number of steps of the fit."""
        return len(self.objective)

    @property
    def n_groups(self) -> int:
        """Number of groups of items that no comparison connects."""
        return int(self.group.max()) + 1

    @cached_property
    def order(self) -> AnyArray:
        """Codes of the items from the best to the worst, group by group."""
        return np.lexsort((np.arange(len(self.scores)), -self.scores.round(9), self.group))

    @cached_property
    def ranks(self) -> Codes:
        """The rank of every item within its group, 1 for the best; equal scores share a rank."""
        ranks = np.empty(len(self.scores), dtype=np.int32)
        rounded = self.scores.round(9)
        for group in range(self.n_groups):
            members = self.group == group
            values = np.sort(-rounded[members])
            ranks[members] = 1 + np.searchsorted(values, -rounded[members], side="left")
        return ranks

    @cached_property
    def deviation(self) -> Floats:
        """The standard deviation of every score; NaN if there is no covariance."""
        if self.covariance is None:
            return np.full(len(self.scores), np.nan)
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @cached_property
    def chance_above(self) -> Floats:
        """The chance that item i (row) is truly above item j (column), shape (i, i).

        0.5 on the diagonal, NaN for items of different groups and without a covariance.
        """
        n = len(self.scores)
        if self.covariance is None:
            return np.full((n, n), np.nan)
        variance = np.diag(self.covariance)
        spread = variance[:, None] + variance - 2.0 * self.covariance
        chance = chance_above(self.scores[:, None] - self.scores, np.sqrt(np.maximum(spread, 0.0)))
        chance[self.group[:, None] != self.group] = np.nan
        return chance

    def chance(self, item: object, other: object) -> float:
        """The chance that one item is truly above another, by their names.

        >>> import manyhands as mh
        >>> pairs = mh.Comparisons.from_arrays(list("xxy"), list("yzz"), None, list("xxy"))
        >>> round(mh.aggregate(pairs).chance("x", "z"), 2) > 0.5
        True
        """
        code = self.comparisons.item_vocabulary.code
        return float(self.chance_above[code(item), code(other)])

    @cached_property
    def rank_interval(self) -> tuple[Codes, Codes]:
        """The best and the worst rank of every item that the data leave open, within its group.

        An item is surely below those that are above it with a chance of 97.5 % or more, and surely
        above those that are below it with that chance.
        """
        sure = 1.0 - (1.0 - LEVEL) / 2.0
        size = np.bincount(self.group)[self.group]
        if self.covariance is None:
            return np.ones(len(self.scores), dtype=np.int32), size.astype(np.int32)
        above = self.chance_above >= sure  # NaN is not
        low = 1 + above.sum(axis=0)
        high = size - above.sum(axis=1)
        return low.astype(np.int32), high.astype(np.int32)

    @property
    def p_left(self) -> Floats:
        """How often the left one of two equal items wins, per annotator, ties left out."""
        position = self.position if len(self.position) else np.zeros(1)
        per_annotator = np.broadcast_to(position, (self.comparisons.n_annotators,))
        return log_odds_of_left(per_annotator)

    def predict(self, left: Any, right: Any, annotator: Any = None) -> Floats:
        """The probabilities of left, right and tie of comparisons of known items, shape (n, 3).

        Without an annotator they are those of one who follows the scores.
        """
        names = self.comparisons.item_vocabulary
        i, j = (np.array([names.code(each) for each in side]) for side in (left, right))
        if annotator is None:
            return self._outcomes(i, j, None)
        people = self.comparisons.annotator_vocabulary
        return self._outcomes(i, j, np.array([people.code(each) for each in annotator]))

    def probabilities(self, comparisons: Comparisons) -> Floats:
        """The probabilities of left, right and tie of comparisons by the same annotators (n, 3).

        The comparisons have the codes of those of the ranking: they were split from one table.
        """
        return self._outcomes(comparisons.left, comparisons.right, comparisons.annotator)

    def _outcomes(self, left: AnyArray, right: AnyArray, who: AnyArray | None) -> Floats:
        n = len(left)
        follows = np.ones(n) if who is None else self.follows[who]
        delta = np.full(n, self.position[0] if len(self.position) == 1 else 0.0)
        if who is not None and len(self.position) > 1:
            delta = self.position[who]
        d = self.scores[left] - self.scores[right]
        return outcome_probabilities(d, delta, self.tie_weight, follows)

    def item_columns(self) -> dict[str, AnyArray]:
        """The columns of the table of items, in code order."""
        half = float(ndtri((1.0 + LEVEL) / 2.0)) * self.deviation
        low, high = self.rank_interval
        columns: dict[str, AnyArray] = {
            "item": self.items,
            "rank": self.ranks,
            "rank_low": low,
            "rank_high": high,
            "score": self.scores,
            "score_low": self.scores - half,
            "score_high": self.scores + half,
            **self.comparisons.counts(),
        }
        return columns | ({"group": self.group + 1} if self.n_groups > 1 else {})

    def ranked_columns(self) -> dict[str, AnyArray]:
        """The same from the best item to the worst."""
        return {name: each[self.order] for name, each in self.item_columns().items()}

    def annotator_columns(self) -> dict[str, AnyArray]:
        """The columns of the table of annotators."""
        columns: dict[str, AnyArray] = {
            "annotator": self.comparisons.annotators,
            "quality": self.quality.value,
            "quality_low": self.quality.low,
            "quality_high": self.quality.high,
            "n_annotations": self.comparisons.labels_per_annotator,
        }
        return columns | ({"p_left": self.p_left} if len(self.position) else {})

    def to_frame(self) -> Any:
        """One row per item, from the best to the worst: rank, score, their intervals, counts."""
        return make_frame(self.ranked_columns(), self.comparisons.backend)

    def annotators_frame(self) -> Any:
        """One row per annotator: quality, its interval, n_annotations, p_left."""
        return make_frame(self.annotator_columns(), self.comparisons.backend)

    def score(self, truth: Mapping[Any, Any]) -> RankingScorecard:
        """How well the ranking agrees with true scores, given as {item: number}."""
        return ranking_scorecard(self.comparisons.item_vocabulary, self.scores, truth, self.group)

    def save(self, folder: str | Path) -> None:
        """Write the ranking to a folder as safetensors and json; `mh.load` reads it."""
        from manyhands.aggregation.pairs.files import save_ranking  # it knows every model

        save_ranking(folder, self)

    def __repr__(self) -> str:
        groups = f", {self.n_groups} groups" if self.n_groups > 1 else ""
        return (
            f"Ranking({len(self.scores)} items by {self.method_name} from "
            f"{len(self.comparisons)} comparisons{groups})"
        )

    def _preview(self, n_rows: int) -> dict[str, AnyArray]:
        return self.ranked_columns()
