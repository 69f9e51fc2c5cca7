"""Check for labels that look wrong: one label only, free text, codes for "no label", outliers."""

import numpy as np

from manyhands.checks.finding import Finding, Severity
from manyhands.checks.label_table import LabelTable, first_rows, percent
from manyhands.core.arrays import AnyArray, Bools, Floats

MANY_CLASSES = 50

# Compared without case and spaces.
# fmt: off
MISSING_WORDS = frozenset([
    "na", "n/a", "n.a.", "#n/a", "nan", "null", "nil", "none", "missing", "skip", "skipped",
    "blank", "(blank)", "empty", "nolabel", "no_label", "?", "??", "???", "-", "--", ".", "...",
])
UNSURE_WORDS = frozenset([
    "unknown", "unsure", "notsure", "not_sure", "don'tknow", "dontknow", "donotknow", "idk",
    "can'ttell", "cannottell", "undecided", "unclear",
])
# fmt: on
NEGATIVE_CODES = frozenset((-1, -9, -99, -999, -9999))
LARGE_CODES = frozenset((99, 999, 9999))
CODE_RATIO = 5  # a code is at least this many times the largest class
FREQUENCY_RATIO = 3  # a code is at least this many times as frequent as the next number

OUTLIER_DISTANCE = 10.0  # robust standard deviations from the median
OUTLIER_GAP = 3.0  # times the distance of the farthest other label
MAX_OUTLIER_SHARE = 0.25


def one_class(table: LabelTable) -> list[Finding]:
    """All labels are the same, so there is nothing to learn."""
    label = table.rows.label[table.usable]
    if len(label) == 0 or np.any(label != label[0]):
        return []
    classes = table.rows.classes
    name = label[0] if classes is None else classes.names[label[0]]
    message = f"all {len(label)} labels are the same: {name}"
    remedy = "check that the right column was read as the label"
    rows = table.usable[:10]
    return [table.finding("warning", message, remedy, len(label), rows=rows, names=[name])]


def many_classes(table: LabelTable) -> list[Finding]:
    """Most of many classes occur once: labels are probably free text or numbers."""
    classes = table.rows.classes
    if classes is None or len(table.usable) == 0:
        return []
    count_k = table.label_counts
    n_used, once = np.count_nonzero(count_k), np.flatnonzero(count_k == 1)
    if n_used <= MANY_CLASSES or len(once) * 2 <= n_used:
        return []
    message = f"used only once in {len(table.usable)} labels: {len(once)} of {n_used} classes"
    remedy = (
        "read the labels as numbers with kind='numbers'"
        if classes.is_whole_numbers
        else "free text cannot be aggregated; map it to a few classes first"
    )
    rows = first_rows(table.rows.label, once[:10])
    names = classes.names[once[:10]]
    return [table.finding("warning", message, remedy, len(once), rows=rows, names=names)]


def looks_missing(table: LabelTable) -> list[Finding]:
    """Labels that probably mean "no label": NA, null, ?, -1 among counts, 999 among ratings."""
    if table.rows.classes is None:
        return _missing_number(table)
    names = table.rows.classes.names
    if table.rows.classes.is_whole_numbers:
        return _missing_classes(table, _missing_codes(names), "warning", "means no label")
    words = ["".join(str(name).casefold().split()) for name in names]
    missing = np.array([word in MISSING_WORDS for word in words], dtype=bool)
    unsure = np.array([word in UNSURE_WORDS for word in words], dtype=bool)
    return [
        *_missing_classes(table, missing, "warning", "means no label"),
        *_missing_classes(table, unsure, "note", "means only that the annotator was unsure"),
    ]


def outlier_numbers(table: LabelTable) -> list[Finding]:
    """Numbers far from all others, such as 999 on a scale from 0 to 10."""
    if table.rows.classes is not None:
        return []
    label = table.rows.label[table.usable]
    outlier = is_outlier(label)
    if not outlier.any():
        return []
    rest, values = label[~outlier], np.unique(label[outlier])
    shown = ", ".join(f"{value:g}" for value in values[:5]) + (" ..." if len(values) > 5 else "")
    n_outliers = int(outlier.sum())
    message = (
        f"{shown} in {n_outliers} labels ({percent(n_outliers, len(label))}), far from the other "
        f"labels, which are between {rest.min():g} and {rest.max():g}"
    )
    remedy = "if they mean no label, drop them with missing=; otherwise correct them"
    names = [f"{value:g}" for value in values[:10]]
    rows = table.usable[outlier]
    return [table.finding("warning", message, remedy, n_outliers, rows=rows, names=names)]


CHECKS = {
    "one-class": one_class,
    "many-classes": many_classes,
    "looks-missing": looks_missing,
    "outlier-numbers": outlier_numbers,
}


def is_outlier(label_n: Floats) -> Bools:
    """Which numbers are far from the median, with a gap between them and the other numbers.

    The distance is measured in robust standard deviations (the scaled median distance from the
    median). The gap excludes the tail of a skewed distribution, where numbers follow closely.

    >>> is_outlier(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 999.0])).tolist()
    [False, False, False, False, False, True]
    """
    outlier = np.zeros(len(label_n), dtype=bool)
    if len(label_n) < 5:
        return outlier
    distance = np.abs(label_n - np.median(label_n))
    scale = 1.4826 * float(np.median(distance))
    if scale == 0.0:  # more than half of the labels are equal
        inner = distance[distance <= np.quantile(distance, 1.0 - MAX_OUTLIER_SHARE)]
        scale = float(inner.mean()) or float(distance[distance > 0].min(initial=np.inf))
    order = np.argsort(distance)
    ascending = distance[order]
    inside = np.maximum(ascending[:-1], scale)
    jump = (ascending[1:] > OUTLIER_GAP * inside) & (ascending[1:] > OUTLIER_DISTANCE * scale)
    jump[: int((1.0 - MAX_OUTLIER_SHARE) * len(jump))] = False  # outliers must be a minority
    first = np.flatnonzero(jump)
    if len(first):
        outlier[order[first[0] + 1 :]] = True
    return outlier


def _missing_codes(names: AnyArray) -> AnyArray:
    """Which classes, whole numbers, look like a code for "no label"."""
    below = np.array([name in NEGATIVE_CODES for name in names.tolist()], dtype=bool)
    below &= names < 0
    if np.count_nonzero(names < 0) != 1 or np.count_nonzero(names >= 0) == 0:
        below[:] = False  # with several negative classes, negative numbers belong to the scale
    above = np.array([name in LARGE_CODES for name in names.tolist()], dtype=bool)
    rest = names[~above & ~below]
    if len(rest) < 2:
        above[:] = False
    else:
        above &= names >= CODE_RATIO * max(int(rest.max()), 1)
    return np.asarray(below | above)


def _missing_classes(
    table: LabelTable, suspect: AnyArray, severity: Severity, meaning: str
) -> list[Finding]:
    if not suspect.any() or table.rows.classes is None:
        return []
    codes, names = np.flatnonzero(suspect), table.rows.classes.names[suspect]
    rows = table.usable[np.isin(table.rows.label[table.usable], codes)]
    if len(rows) == 0:
        return []
    shown = ", ".join(repr(name) for name in names.tolist())
    share = percent(len(rows), len(table.usable))
    message = f"{shown} is the label in {len(rows)} rows ({share}) and probably {meaning}"
    remedy = f"drop them with --missing {names.tolist()[0]!r}, unless it is a real class"
    return [table.finding(severity, message, remedy, len(rows), rows=rows, names=names)]


def _missing_number(table: LabelTable) -> list[Finding]:
    label = table.rows.label[table.usable]
    below = label[label < 0]
    if len(below) == 0 or len(below) == len(label) or below.min() != below.max():
        return []
    if below[0] not in NEGATIVE_CODES:
        return []
    rows, code = table.usable[label < 0], int(below[0])
    next_above = label[label >= 0].min()
    # On a scale with negative numbers, the lowest number is not the most frequent one.
    is_peak = len(rows) >= FREQUENCY_RATIO * np.count_nonzero(label == next_above)
    message = (
        f"{code} is the label in {len(rows)} rows ({percent(len(rows), len(label))}); it is the "
        "only negative number and may mean no label"
    )
    remedy = f"drop them with --missing {code}, unless it is a real number"
    severity: Severity = "warning" if is_peak else "note"
    return [table.finding(severity, message, remedy, len(rows), rows=rows, names=[code])]
