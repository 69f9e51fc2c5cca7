"""How much two annotators should agree, from how much each of them agrees with everybody else.

If people agree only because they look at the same item, the excess of agreement over chance of a
pair is a product, c_ab = s_a s_b: this is what one hidden truth does to labels, whoever errs how
often and whatever the truth is. The s are fitted to all pairs by least squares; a pair that then
stands out is left out and the rest fitted again, so that those who copy do not vouch for
themselves. To predict a pair, its own agreement is left out too.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes, Floats

ROUNDS = 12
CROWD_WEIGHT = 20.0  # shared items' worth by which everybody is drawn towards the crowd
STANDS_OUT = 4.0


@dataclass(frozen=True)
class PairExcess:
    """Pairs, the number of items they share, and their mean excess of agreement over chance."""

    first: Codes
    second: Codes
    shared: Floats
    excess: Floats
    noise: Floats  # variance of the excess on one item
    n_annotators: int

    def sums(self, weight_first: Floats, weight_second: Floats) -> Floats:
        """Sums over the pairs of each annotator, either end with its own weight."""
        one = np.bincount(self.first, weights=weight_first, minlength=self.n_annotators)
        two = np.bincount(self.second, weights=weight_second, minlength=self.n_annotators)
        return np.asarray(one + two, dtype=np.float64)


def predicted_excess(pairs: PairExcess) -> tuple[Floats, Floats]:
    """The excess that each pair's other pairs foretell, and its standard error."""
    everything = np.ones(len(pairs.first), dtype=bool)
    strength = _fit(pairs, everything)
    product = strength[pairs.first] * strength[pairs.second]
    error = np.sqrt(pairs.noise / pairs.shared)
    kept = pairs.excess - product < STANDS_OUT * error
    strength = _fit(pairs, kept)
    return _without_itself(pairs, kept, strength)


def _crowd_strength(pairs: PairExcess, kept: Bools) -> float:
    shared = pairs.shared * kept
    mean = float((shared * pairs.excess).sum() / max(float(shared.sum()), 1.0))
    return float(np.sqrt(max(mean, 1e-6)))


def _fit(pairs: PairExcess, kept: Bools) -> Floats:
    crowd = _crowd_strength(pairs, kept)
    strength = np.full(pairs.n_annotators, crowd)
    for _ in range(ROUNDS):
        above, below = _least_squares(pairs, kept, strength, crowd)
        # Half a step: a whole one would swing to and fro around the solution.
        strength = (strength + above / below) / 2.0
    return strength


def _least_squares(
    pairs: PairExcess, kept: Bools, strength: Floats, crowd: float
) -> tuple[Floats, Floats]:
    first, second = strength[pairs.first], strength[pairs.second]
    weight = pairs.shared * kept
    total = weight * pairs.excess
    above = pairs.sums(total * second, total * first) + CROWD_WEIGHT * crowd**3
    below = pairs.sums(weight * second**2, weight * first**2) + CROWD_WEIGHT * crowd**2
    return above, below


def _without_itself(pairs: PairExcess, kept: Bools, strength: Floats) -> tuple[Floats, Floats]:
    above, below = _least_squares(pairs, kept, strength, _crowd_strength(pairs, kept))
    weight = pairs.shared * kept

    def end(code: AnyArray, partner: AnyArray) -> tuple[Floats, Floats]:
        prior_precision = weight * strength[partner]
        left = below[code] - prior_precision * strength[partner]
        return (above[code] - prior_precision * pairs.excess) / left, pairs.noise / left

    one, doubt_one = end(pairs.first, pairs.second)
    two, doubt_two = end(pairs.second, pairs.first)
    return one * two, np.sqrt(two**2 * doubt_one + one**2 * doubt_two)
