"""How good an annotator is, with an interval that says how sure that is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from manyhands.aggregation.evidence import Evidence
from manyhands.core.arrays import Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel
from manyhands.evaluation.scores import LEVEL

CROWD_LABELS = 2.0  # how many labels' worth the crowd's average counts for


@dataclass(frozen=True, eq=False)
class Quality:
    """An estimate per annotator between 0 and 1, and the interval around it.

    The interval is worked out when it is first asked for: for a large crowd it takes longer than
    the consensus itself.
    """

    value: Floats
    find_interval: Callable[[], tuple[Floats, Floats]]

    @cached_property
    def _interval(self) -> tuple[Floats, Floats]:
        low, high = self.find_interval()
        return np.minimum(low, self.value), np.maximum(high, self.value)

    @property
    def low(self) -> Floats:
        """The lower end of the 95 % interval."""
        return self._interval[0]

    @property
    def high(self) -> Floats:
        """The upper end of the 95 % interval."""
        return self._interval[1]

    def with_strangers(self, n_new: int) -> "Quality":
        """The same, and for strangers the crowd's average with the crowd's whole range."""
        if n_new == 0:
            return self
        value = np.append(self.value, np.full(n_new, self.value.mean()))
        return Quality(
            value,
            lambda: (
                np.append(self.low, np.full(n_new, self.low.min())),
                np.append(self.high, np.full(n_new, self.high.max())),
            ),
        )


def share_right(evidence: Evidence, posterior_ik: Floats) -> Quality:
    """How often an annotator is right: the mean of a Beta posterior and its 95 % interval.

    A label counts as right by the consensus probability of the class it names, and it counts
    only where somebody else labelled the item too or its truth is known: a label nobody can
    confirm says nothing about who gave it. The prior is the crowd's average, worth two labels.
    The interval takes the consensus as it is; it does not hold the consensus's own doubt.
    """
    ann = evidence.annotations
    right, seen = _confirmed(
        ann.item_offsets,
        ann.annotator,
        ann.label,
        evidence.is_known,
        posterior_ik,
        ann.n_annotators,
    )
    crowd = (right.sum() + 1.0) / (seen.sum() + 2.0)
    return beta_interval(right, seen, float(crowd))


def beta_interval(right: Floats, seen: Floats, crowd: float) -> Quality:
    """Beta posterior of a share from soft counts, drawn towards the crowd's share."""
    hits = right + CROWD_LABELS * crowd
    misses = np.maximum(seen - right, 0.0) + CROWD_LABELS * (1.0 - crowd)
    tail = (1.0 - LEVEL) / 2.0

    def interval() -> tuple[Floats, Floats]:
        low, high = (special.betaincinv(hits, misses, p) for p in (tail, 1.0 - tail))
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    return Quality(hits / (hits + misses), interval)


@kernel
def _confirmed(
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    is_known: Bools,
    posterior: Floats,
    n_annotators: int,
) -> tuple[Floats, Floats]:
    right, seen = np.zeros(n_annotators), np.zeros(n_annotators)
    for i in range(len(offsets) - 1):
        begin, end = offsets[i], offsets[i + 1]
        # Labels of an item stand by annotator: first and last are of one person, or of several.
        if begin == end or (annotator[begin] == annotator[end - 1] and not is_known[i]):
            continue
        for n in range(begin, end):
            right[annotator[n]] += posterior[i, label[n]]
            seen[annotator[n]] += 1.0
    return right, seen
