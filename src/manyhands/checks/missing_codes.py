"""Labels that probably mean "no label": NA, null, ?, -1 among counts, 999 among ratings."""

import numpy as np

from manyhands.checks.chart import Chart, percent
from manyhands.checks.finding import Finding, Severity
from manyhands.core.arrays import AnyArray

# Compared without case and spaces.
# fmt: off
BLANK_WORDS = frozenset([
    "na", "n/a", "n.a.", "#n/a", "nan", "null", "nil", "none", "missing", "skip", "skipped",
    "blank", "(blank)", "empty", "nolabel", "no_label", "?", "??", "???", "-", "--", ".", "...",
])
UNSURE_WORDS = frozenset([
    "unknown", "unsure", "notsure", "not_sure", "don'tknow", "dontknow", "donotknow", "idk",
    "can'ttell", "cannottell", "undecided", "unclear",
])
# fmt: on
BELOW_ZERO = frozenset((-1, -9, -99, -999, -9999))
FAR_ABOVE = frozenset((99, 999, 9999))
FAR = 5  # a code stands this many times above every other class
FREQUENT = 3  # a code is said this many times as often as the next number


def looks_missing(chart: Chart) -> list[Finding]:
    """Labels that are used as a class or a number but look like a code for "no label"."""
    if chart.rows.classes is None:
        return _number_codes(chart)
    names = chart.rows.classes.names
    if chart.rows.classes.is_whole_numbers:
        return _findings(chart, _whole_number_codes(names), "warning", "stands for no label")
    words = ["".join(str(name).casefold().split()) for name in names]
    blank = np.array([word in BLANK_WORDS for word in words], dtype=bool)
    unsure = np.array([word in UNSURE_WORDS for word in words], dtype=bool)
    return [
        *_findings(chart, blank, "warning", "stands for no label"),
        *_findings(chart, unsure, "note", "says only that somebody was unsure"),
    ]


def _whole_number_codes(names: AnyArray) -> AnyArray:
    below = np.array([name in BELOW_ZERO for name in names.tolist()], dtype=bool)
    below &= names < 0
    if np.count_nonzero(names < 0) != 1 or np.count_nonzero(names >= 0) == 0:
        below[:] = False  # with several negative classes the scale itself goes below zero
    above = np.array([name in FAR_ABOVE for name in names.tolist()], dtype=bool)
    rest = names[~above & ~below]
    if len(rest) < 2:
        above[:] = False
    else:
        above &= names >= FAR * max(int(rest.max()), 1)
    return np.asarray(below | above)


def _findings(chart: Chart, suspect: AnyArray, severity: Severity, meaning: str) -> list[Finding]:
    if not suspect.any() or chart.rows.classes is None:
        return []
    codes, names = np.flatnonzero(suspect), chart.rows.classes.names[suspect]
    at = chart.usable[np.isin(chart.rows.label[chart.usable], codes)]
    if len(at) == 0:
        return []
    shown = ", ".join(repr(name) for name in names.tolist())
    share = percent(len(at), len(chart.usable))
    message = f"{shown} was said in {len(at)} labels ({share}) and probably {meaning}"
    remedy = f"drop them with --missing {names.tolist()[0]!r}, unless it is a real class"
    return [chart.finding(severity, message, remedy, len(at), rows=at, names=names)]


def _number_codes(chart: Chart) -> list[Finding]:
    label = chart.rows.label[chart.usable]
    below = label[label < 0]
    if len(below) == 0 or len(below) == len(label) or below.min() != below.max():
        return []
    if below[0] not in BELOW_ZERO:
        return []
    at, code = chart.usable[label < 0], int(below[0])
    next_above = label[label >= 0].min()
    # On a scale that goes on below zero, the last number is not the most frequent one.
    peak = len(at) >= FREQUENT * np.count_nonzero(label == next_above)
    message = (
        f"{code} was said in {len(at)} labels ({percent(len(at), len(label))}); it is the only "
        "number below zero and may stand for no label"
    )
    remedy = f"drop them with --missing {code}, unless it is a real number"
    severity: Severity = "warning" if peak else "note"
    return [chart.finding(severity, message, remedy, len(at), rows=at, names=[code])]
