"""Checks of labels: values that look wrong, and how labels are distributed over the classes."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from manyhands.annotations.set_cells import find_separator, joined_classes, parse_set
from manyhands.checks.label_table import (
    MAX_EXAMPLES,
    Finding,
    LabelTable,
    Severity,
    percent,
    severity_if,
)
from manyhands.core.arrays import AnyArray, Bools, Floats

MANY_CLASSES = 50
MIN_SETS = 0.2  # share of the classes that are made of others
RARE = 0.001
DOMINANT = 0.95

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
    label, classes = table.usable_labels, table.rows.classes
    if len(label) == 0 or np.any(label != label[0]):
        return []
    name = label[0] if classes is None else classes.names[label[0]]
    message = f"all {len(label)} labels are the same: {name}"
    remedy = "check that the right column was read as the label"
    return [table.finding("warning", message, remedy, len(label), rows=table.usable, names=[name])]


def many_classes(table: LabelTable) -> list[Finding]:
    """Most of many classes occur once: labels are probably free text or numbers."""
    classes = table.rows.classes
    if classes is None:
        return []
    n_used, once = np.count_nonzero(table.label_counts), np.flatnonzero(table.label_counts == 1)
    if n_used <= MANY_CLASSES or len(once) * 2 <= n_used:
        return []
    message = f"used only once in {len(table.usable)} labels: {len(once)} of {n_used} classes"
    remedy = "free text cannot be aggregated; map it to a few classes first"
    if classes.is_whole_numbers:
        remedy = "read the labels as numbers with kind='numbers'"
    return table.about("class", once, message, remedy)


def looks_like_sets(table: LabelTable) -> list[Finding]:
    """Classes such as cat;dog beside cat and dog: labels are probably sets of classes."""
    classes = table.rows.classes
    if classes is None or classes.names.dtype != object or len(classes) < 2:
        return []
    names = [str(name) for name in classes.names.tolist()]
    separator = find_separator(names)
    parts = [parse_set(name, separator) for name in names]
    used = Counter(part for each in parts for part in each)
    alone = {part for each in parts for part in each if len(each) == 1}
    joined = [
        len(each) > 1 and all(used[part] > 1 for part in each) and not alone.isdisjoint(each)
        for each in parts
    ]
    codes = np.flatnonzero(joined)
    if len(codes) < MIN_SETS * len(names):
        return []
    message = (
        f"{len(codes)} of {len(names)} classes are made of others ({names[codes[0]]}): labels are "
        "probably sets of classes"
    )
    return table.about("class", codes, message, "read them with --kind multilabel")


def mixed_separators(table: LabelTable) -> list[Finding]:
    """Classes of sets that are made of others: cells were split at another separator."""
    classes: Any = table.rows.classes
    if classes is None or classes.kind != "multilabel":
        return []
    names = [str(name) for name in classes.class_names.tolist()]
    joined = joined_classes(names)
    if not joined:
        return []
    has_joined_s = classes.member_sk[:, np.isin(names, joined)].any(axis=1)
    rows = table.usable[has_joined_s[table.usable_labels]]
    message = (
        f"{len(joined)} of {len(names)} classes are made of others ({joined[0]}): sets were split "
        f"at {classes.separator!r}, and some are written otherwise"
    )
    remedy = "write one separator between the classes of all sets, or name it with --separator"
    return [table.finding("warning", message, remedy, len(rows), rows=rows, names=joined)]


def class_never_said(table: LabelTable) -> Iterator[Finding]:
    """Classes that have no label, few labels, or labels of a single annotator."""
    if table.rows.classes is None or len(table.usable) == 0:
        return
    count_k, total = table.label_counts, len(table.usable)
    names = set(map(str, table.rows.classes.names))
    unused = np.array(
        [
            k
            for k in np.flatnonzero(count_k == 0)
            # A tag I-X is there because B-X is: entities of one token have none.
            if f"B-{str(table.rows.classes.names[k]).removeprefix('I-')}" not in names
        ],
        dtype=np.int64,
    )
    if len(unused):
        message = f"without any label: {len(unused)} of {len(count_k)} classes"
        remedy = "remove them from the classes, unless labels are expected later"
        shown = table.rows.classes.names[unused[:MAX_EXAMPLES]]
        yield table.finding("note", message, remedy, len(unused), names=shown)
    rare = np.flatnonzero((count_k > 0) & (count_k < RARE * total))
    message = f"used in less than 0.1 % of the labels: {len(rare)} of {len(count_k)} classes"
    remedy = "check their spelling; merge them, or collect more labels of them"
    yield from table.about("class", rare, message, remedy, "note")
    by_one = _used_by_one(table)
    message = f"used by a single annotator: {len(by_one)} of {len(count_k)} classes"
    remedy = "check their spelling, and that this annotator knows the classes"
    yield from table.about("class", by_one, message, remedy, "note")


def _used_by_one(table: LabelTable) -> AnyArray:
    """Classes with several labels, all of one annotator; none if there are only two annotators."""
    ann, count_k = table.first_labels, table.label_counts
    if np.count_nonzero(ann.labels_per_annotator) < 3:
        return np.zeros(0, dtype=np.int64)
    n_classes = len(count_k)
    pair = np.sort(ann.annotator.astype(np.int64) * n_classes + ann.label)
    is_new = np.append(True, pair[1:] != pair[:-1])
    n_annotators_k = np.bincount(pair[is_new] % n_classes, minlength=n_classes)
    return np.flatnonzero((n_annotators_k == 1) & (count_k > 1))


def imbalance(table: LabelTable) -> list[Finding]:
    """Nearly all labels are of one class."""
    if table.rows.classes is None or len(table.usable) == 0:
        return []
    total, top = len(table.usable), int(table.label_counts.argmax())
    count = int(table.label_counts[top])
    if count <= DOMINANT * total or count == total:
        return []
    name = table.rows.classes.names[top]
    message = f"{percent(count, total)} of the labels are {name!r}"
    remedy = "evaluate a consensus by class, not by its accuracy"
    return [table.finding("note", message, remedy, count, names=[name])]


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
    assert table.rows.classes is not None
    rows = table.usable[suspect[table.usable_labels]]
    if len(rows) == 0:
        return []
    names = table.rows.classes.names[suspect]
    shown = ", ".join(repr(name) for name in names.tolist())
    share = percent(len(rows), len(table.usable))
    message = f"{shown} is the label in {len(rows)} rows ({share}) and probably {meaning}"
    remedy = f"drop them with --missing {names.tolist()[0]!r}, unless it is a real class"
    return [table.finding(severity, message, remedy, len(rows), rows=rows, names=names)]


def _missing_number(table: LabelTable) -> list[Finding]:
    label = table.usable_labels
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
    severity = severity_if(bool(is_peak))
    return [table.finding(severity, message, remedy, len(rows), rows=rows, names=[code])]


def outlier_numbers(table: LabelTable) -> list[Finding]:
    """Numbers far from all others, such as 999 on a scale from 0 to 10."""
    if table.rows.classes is not None:
        return []
    label = table.usable_labels
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
    names = [f"{value:g}" for value in values[:MAX_EXAMPLES]]
    rows = table.usable[outlier]
    return [table.finding("warning", message, remedy, n_outliers, rows=rows, names=names)]


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
