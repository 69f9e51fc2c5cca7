"""How many seconds annotators take for a label, and who is unusually fast.

To be fast is no fault: practice, easy items and a good tool make fast too. So it is never a flag of
its own, only evidence beside a flag, and something to look at.

The pace of an annotator is the median of the seconds, with an interval from order statistics that
holds for any distribution: the ranks n/2 -+ 0.98 sqrt(n) of n labels enclose the median with a
probability of about 95 %. Where only the moments of labels are known, the seconds of a label are
those since the label before by the same annotator; half of them may be breaks without much effect.

The logarithm of the pace is about normal among annotators. Its centre and spread are estimated by
median and median absolute deviation, which up to half of the crowd cannot move. An annotator is
unusually fast if the upper end of the interval is below half of the crowd's pace, and if fewer than
one of a hundred annotators of this crowd would be as fast.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import group_offsets
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats

MIN_TIMED = 10  # labels with a known time
MIN_ANNOTATORS = 5  # with so many labels, to say what is usual
RARE = 0.01  # the share of annotators below which a pace is unusual
FRACTION = 0.5  # of the crowd's pace
MIN_SPREAD = 0.25  # of the logarithm: honest annotators differ by a quarter at least
_NORMAL = 1.4826  # median absolute deviation of a normal distribution to its standard deviation
_HALF_WIDTH = 0.98  # half of 1.96, in square roots of the number of labels


@dataclass(frozen=True)
class Pace:
    """Seconds per label of every annotator; NaN where they are not known.

    n_a        labels with a known time
    median_a   median of the seconds, and its 95 % interval `low_a` to `high_a`
    rare_a     share of annotators of this crowd who would be as fast
    is_fast_a  whether that is unusual
    crowd      median pace of the annotators; NaN if too few have enough labels
    from_gaps  whether seconds are those between two labels of an annotator
    """

    n_a: AnyArray
    median_a: Floats
    low_a: Floats
    high_a: Floats
    rare_a: Floats
    is_fast_a: Bools
    crowd: float
    from_gaps: bool

    def evidence(self, annotator: int) -> str:
        """What the pace of an annotator who is unusually fast says, in words."""
        rare = max(round(1000 * float(self.rare_a[annotator])), 1)
        return (
            f"unusually fast: {seconds_text(self.median_a[annotator])} per label (median), where "
            f"{seconds_text(self.crowd)} are usual; {rare} in 1,000 or fewer are so fast"
        )


def seconds_text(seconds: float) -> str:
    """Seconds with their unit.

    >>> seconds_text(1.234), seconds_text(345.6)
    ('1.2 s', '346 s')
    """
    return f"{seconds:.0f} s" if seconds >= 9.95 else f"{seconds:.1f} s"


def annotator_pace(annotations: Annotations) -> Pace | None:
    """The pace of every annotator; None if no times are known.

    >>> timed = Annotations.from_arrays([1, 2, 3], ["u", "u", "u"], [0, 1, 0], seconds=[3, 9, 4])
    >>> annotator_pace(timed).median_a.tolist()
    [4.0]
    """
    times = annotations.times
    if times is None:
        return None
    seconds = times.seconds
    from_gaps = seconds is None
    if seconds is None:
        assert times.at is not None, "either is known"
        seconds = _gaps(annotations.annotator, times.at)
    known = np.flatnonzero(np.isfinite(seconds))
    if len(known) == 0:
        return None
    order = known[np.lexsort((seconds[known], annotations.annotator[known]))]
    offsets = group_offsets(annotations.annotator[order], annotations.n_annotators)
    n_a = np.diff(offsets)
    median_a, low_a, high_a = _median_with_interval(seconds[order], offsets[:-1], n_a)
    return _compared(n_a, median_a, low_a, high_a, from_gaps)


def _median_with_interval(
    sorted_n: Floats, start_a: AnyArray, n_a: AnyArray
) -> tuple[Floats, Floats, Floats]:
    """Median and interval of runs of sorted values; NaN for an empty run."""
    half_width = _HALF_WIDTH * np.sqrt(n_a)
    last = np.maximum(n_a - 1, 0)
    places = [
        (n_a - 1) // 2,
        n_a // 2,
        np.floor(n_a / 2 - half_width),
        np.ceil(n_a / 2 + half_width),
    ]

    def value(place: AnyArray) -> Floats:
        at = start_a + np.clip(place, 0, last).astype(np.int64)
        return np.where(n_a > 0, sorted_n[np.minimum(at, len(sorted_n) - 1)], np.nan)

    below, above, low, high = map(value, places)
    return (below + above) / 2.0, low, high


def _gaps(annotator: Codes, at: AnyArray) -> Floats:
    """Seconds since the label before by the same annotator; NaN for the first.

    Labels that were stored at the same moment tell nothing, so annotators of whom most were have
    no pace.
    """
    known = np.flatnonzero(~np.isnat(at))
    order = known[np.lexsort((at[known], annotator[known]))]
    gap = np.diff(at[order]).astype("timedelta64[ms]").astype(np.float64) / 1000.0
    same = annotator[order][1:] == annotator[order][:-1]
    seconds = np.full(len(at), np.nan)
    seconds[order[1:][same]] = gap[same]
    n_annotators = int(annotator.max(initial=-1)) + 1
    stored = np.bincount(annotator[order[1:][same & (gap <= 0)]], minlength=n_annotators)
    total = np.bincount(annotator[order[1:][same]], minlength=n_annotators)
    seconds[(2 * stored > total)[annotator]] = np.nan
    return seconds


def _compared(
    n_a: AnyArray, median_a: Floats, low_a: Floats, high_a: Floats, from_gaps: bool
) -> Pace:
    enough = (n_a >= MIN_TIMED) & (median_a > 0)
    rare_a, is_fast_a = np.full(len(n_a), np.nan), np.zeros(len(n_a), dtype=bool)
    crowd = np.nan
    if enough.sum() >= MIN_ANNOTATORS:
        log_median = np.log(median_a[enough])
        centre = float(np.median(log_median))
        spread = _NORMAL * float(np.median(np.abs(log_median - centre)))
        crowd = float(np.exp(centre))
        log_high = np.log(np.maximum(high_a[enough], 1e-9))
        rare_a[enough] = special.ndtr((log_high - centre) / max(spread, MIN_SPREAD))
        is_fast_a = (np.nan_to_num(rare_a, nan=1.0) < RARE) & (high_a < FRACTION * crowd)
    return Pace(n_a, median_a, low_a, high_a, rare_a, is_fast_a, crowd, from_gaps)
