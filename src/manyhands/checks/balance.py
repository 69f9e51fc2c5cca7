"""How labels spread over the classes: never said, hardly said, said nearly always."""

import numpy as np

from manyhands.checks.chart import Chart, first_rows, percent
from manyhands.checks.finding import Finding
from manyhands.core.arrays import AnyArray

NEARLY_ALL = 0.95
HARDLY = 0.001
MANY_CLASSES = 50


def class_never_said(chart: Chart) -> list[Finding]:
    """Classes that are listed but that nobody ever said, or that are hardly ever said."""
    if chart.rows.classes is None or len(chart.usable) == 0:
        return []
    count_k, total = _class_counts(chart), len(chart.usable)
    names = chart.rows.classes.names
    found = []
    never = np.flatnonzero(count_k == 0)
    if len(never):
        message = f"never said: {len(never)} of {len(count_k)} classes"
        remedy = "leave them out of the classes, unless they are expected later"
        shown = names[never[:10]]
        found.append(chart.finding("note", message, remedy, len(never), names=shown))
    hardly = np.flatnonzero((count_k > 0) & (count_k < HARDLY * total))
    if len(hardly):
        message = f"said in less than 0.1 % of the labels: {len(hardly)} of {len(count_k)} classes"
        remedy = "check that they are not misspelt; merge them, or collect more labels of them"
        rows = first_rows(chart.rows.label, hardly[:10])
        shown = names[hardly[:10]]
        found.append(chart.finding("note", message, remedy, len(hardly), rows=rows, names=shown))
    return found + _said_by_one(chart, count_k)


def one_class(chart: Chart) -> list[Finding]:
    """Every label is the same: there is nothing to learn."""
    label = chart.rows.label[chart.usable]
    if len(label) == 0 or np.any(label != label[0]):
        return []
    classes = chart.rows.classes
    name = label[0] if classes is None else classes.names[label[0]]
    message = f"all {len(label)} labels are the same: {name}"
    remedy = "check that the right column was read as the label"
    rows = chart.usable[:10]
    return [chart.finding("warning", message, remedy, len(label), rows=rows, names=[name])]


def imbalance(chart: Chart) -> list[Finding]:
    """One class holds nearly all labels."""
    if chart.rows.classes is None or len(chart.usable) == 0:
        return []
    count_k, total = _class_counts(chart), len(chart.usable)
    top = int(count_k.argmax())
    if count_k[top] <= NEARLY_ALL * total or count_k[top] == total:
        return []
    name = chart.rows.classes.names[top]
    message = f"{percent(count_k[top], total)} of the labels are {name!r}"
    remedy = "judge a consensus by each class, not by the share that is right"
    return [chart.finding("note", message, remedy, int(count_k[top]), names=[name])]


def many_classes(chart: Chart) -> list[Finding]:
    """So many classes that labels look like free text, or like numbers."""
    classes = chart.rows.classes
    if classes is None or len(chart.usable) == 0:
        return []
    count_k = _class_counts(chart)
    said, once = np.count_nonzero(count_k), np.flatnonzero(count_k == 1)
    if said <= MANY_CLASSES or len(once) * 2 <= said:
        return []
    message = f"said only once in {len(chart.usable)} labels: {len(once)} of {said} classes"
    remedy = (
        "read the labels as numbers with kind='numbers'"
        if classes.is_whole_numbers
        else "free text cannot be aggregated; map it to a few classes first"
    )
    rows = first_rows(chart.rows.label, once[:10])
    names = classes.names[once[:10]]
    return [chart.finding("warning", message, remedy, len(once), rows=rows, names=names)]


def _class_counts(chart: Chart) -> AnyArray:
    assert chart.rows.classes is not None, "only classes are counted"
    return np.bincount(chart.rows.label[chart.usable], minlength=len(chart.rows.classes))


def _said_by_one(chart: Chart, count_k: AnyArray) -> list[Finding]:
    ann = chart.once
    if chart.rows.classes is None or np.count_nonzero(ann.labels_per_annotator) < 3:
        return []
    n_classes = len(count_k)
    pair = np.sort(ann.annotator.astype(np.int64) * n_classes + ann.label)
    new = np.append(True, pair[1:] != pair[:-1])
    people_k = np.bincount(pair[new] % n_classes, minlength=n_classes)
    lonely = np.flatnonzero((people_k == 1) & (count_k > 1))
    if len(lonely) == 0:
        return []
    message = f"said by a single annotator: {len(lonely)} of {n_classes} classes"
    remedy = "check that they are not misspelt, and that this annotator knows the classes"
    rows = first_rows(chart.rows.label, lonely[:10])
    names = chart.rows.classes.names[lonely[:10]]
    return [chart.finding("note", message, remedy, len(lonely), rows=rows, names=names)]
