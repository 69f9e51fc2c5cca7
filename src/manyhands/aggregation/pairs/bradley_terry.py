"""Bradley-Terry: every item has a score, and all annotators judge by it alike."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from manyhands.aggregation.pairs.base import PairAggregator
from manyhands.aggregation.pairs.system import PositionBias
from manyhands.core.settings import setting


@dataclass(frozen=True, kw_only=True)
class BradleyTerry(PairAggregator):
    """A score per item; the chance to win grows with the difference of scores.

    ::

        P(left wins) = 1 / (1 + exp(-(s_left - s_right + delta)))

    With ties as an outcome this is Davidson's model: a tie has the weight exp(tau) beside
    exp(x / 2) for the left item and exp(-x / 2) for the right one, where x is the exponent above.
    `position_bias="shared"` estimates delta, the advantage of the left side. Scores have a normal
    prior around 0, so that an item that won everything has a finite score;
    `prior_scale=inf` is maximum likelihood, and refuses such items. The log-posterior is concave
    and found by Newton steps; it never falls.

    Sources: Bradley and Terry 1952; Davidson 1970 for ties; Davidson and Beaver 1977 for the
    order of the items.

    >>> from manyhands.annotations import Comparisons
    >>> pairs = Comparisons.from_arrays(list("aab"), list("bcc"), None, list("aac"))
    >>> BradleyTerry().fit(pairs).to_frame()["item"].tolist()
    ['a', 'c', 'b']
    """

    name: ClassVar[str] = "bradley-terry"

    position_bias: Literal["none", "shared"] = setting(
        "none", "Whether the left side may have an advantage, one for all annotators."
    )

    @property
    def bias(self) -> PositionBias:
        """Whose advantage of the left side is estimated."""
        return self.position_bias
