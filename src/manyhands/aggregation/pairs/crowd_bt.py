"""Crowd-BT: Bradley-Terry with the reliability of every annotator."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from manyhands.aggregation.pairs.base import PairAggregator
from manyhands.aggregation.pairs.system import PositionBias
from manyhands.core.settings import NOT_NEGATIVE, POSITIVE, setting


@dataclass(frozen=True, kw_only=True)
class CrowdBT(PairAggregator):
    """Scores of items, and how often every annotator judges by them instead of against them.

    ::

        P(left wins) = eta_a B(d) + (1 - eta_a) B(-d),  B(d) = 1 / (1 + exp(-(d + delta_a)))

    with d the difference of the scores. eta = 1 is an annotator of `BradleyTerry`, 0.5 one who
    tells nothing, 0 one who says the opposite. eta has a Beta prior, given as pseudo-comparisons;
    without any against the scores (`prior_against=0`) all eta are 1, and the model is
    `BradleyTerry` exactly. Ties are those of Davidson. delta is the advantage of the left side:
    none, one for all, or one of every annotator with a normal prior around 0. EM; the
    log-posterior never falls.

    Source: Chen, Bennett, Collins-Thompson and Horvitz 2013, Pairwise ranking aggregation in a
    crowdsourced setting; ties and sides are added.

    >>> from manyhands.annotations import Comparisons
    >>> columns = list("xyzxyzxyz"), list("yzxyzxyzx"), list("uuuvvvwww"), list("xyxxyxyzz")
    >>> CrowdBT().fit(Comparisons.from_arrays(*columns)).annotator_quality.argmin()
    np.int64(2)
    """

    name: ClassVar[str] = "crowd-bt"

    position_bias: Literal["none", "shared", "annotator"] = setting(
        "none", "Whether the left side may have an advantage: one for all, or one per annotator."
    )
    position_scale: float = setting(
        1.0, "Standard deviation of annotators' own advantages, in log-odds.", rule=POSITIVE
    )
    prior_for: float = setting(
        4.0, "Comparisons by the scores that every annotator is given beforehand.", rule=POSITIVE
    )
    prior_against: float = setting(
        1.0, "Comparisons against the scores, likewise; 0: all are reliable.", rule=NOT_NEGATIVE
    )

    @property
    def bias(self) -> PositionBias:
        """Whose advantage of the left side is estimated."""
        return self.position_bias

    @property
    def side_scale(self) -> float:
        """The standard deviation of annotators' own advantages of the left side."""
        return self.position_scale

    @property
    def pseudo_counts(self) -> tuple[float, float]:
        """Comparisons for and against the scores that every annotator is given beforehand."""
        return self.prior_for, self.prior_against
