"""Numbers that lie so far from the rest that they are probably typing errors or codes."""

import numpy as np

from manyhands.checks.chart import Chart, percent
from manyhands.checks.finding import Finding
from manyhands.core.arrays import Bools, Floats

FAR = 10.0  # robust standard deviations from the median
GAP = 3.0  # times as far as the farthest of the rest
MOST_SHARE = 0.25


def outlier_numbers(chart: Chart) -> list[Finding]:
    """Labels far outside the rest, such as 999 on a scale from 0 to 10."""
    if chart.rows.classes is not None:
        return []
    label = chart.rows.label[chart.usable]
    wild = far_outside(label)
    if not wild.any():
        return []
    rest, odd = label[~wild], np.unique(label[wild])
    shown = ", ".join(f"{value:g}" for value in odd[:5]) + (" ..." if len(odd) > 5 else "")
    n_wild = int(wild.sum())
    message = (
        f"{shown} in {n_wild} labels ({percent(n_wild, len(label))}), far outside the rest, "
        f"which lie between {rest.min():g} and {rest.max():g}"
    )
    remedy = "if they stand for no label, drop them with missing=; otherwise correct them"
    names = [f"{value:g}" for value in odd[:10]]
    rows = chart.usable[wild]
    return [chart.finding("warning", message, remedy, n_wild, rows=rows, names=names)]


def far_outside(label_n: Floats) -> Bools:
    """Which numbers lie far from the median with a gap between them and the rest.

    Far is `FAR` times the median distance from the median (scaled to a standard deviation). The
    gap spares what merely has a long tail, where each number is near the next.

    >>> far_outside(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 999.0])).tolist()
    [False, False, False, False, False, True]
    """
    wild = np.zeros(len(label_n), dtype=bool)
    if len(label_n) < 5:
        return wild
    distance = np.abs(label_n - np.median(label_n))
    scale = 1.4826 * float(np.median(distance))
    if scale == 0.0:  # more than half of the labels are equal
        inner = distance[distance <= np.quantile(distance, 1.0 - MOST_SHARE)]
        scale = float(inner.mean()) or float(distance[distance > 0].min(initial=np.inf))
    order = np.argsort(distance)
    sorted_distance = distance[order]
    inside = np.maximum(sorted_distance[:-1], scale)
    jump = (sorted_distance[1:] > GAP * inside) & (sorted_distance[1:] > FAR * scale)
    jump[: int((1.0 - MOST_SHARE) * len(jump))] = False  # so many cannot be the odd ones
    first = np.flatnonzero(jump)
    if len(first):
        wild[order[first[0] + 1 :]] = True
    return wild
