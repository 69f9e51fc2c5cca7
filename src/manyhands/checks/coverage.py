"""Checks of the crowd as a whole: enough labels, shared items, agreement beyond chance."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from manyhands.annotations import Annotations
from manyhands.checks.label_table import Finding, LabelTable, percent, severity_if
from manyhands.core.arrays import AnyArray, Bools

MAX_SINGLE = 0.5  # share of items with a single label above which it is a warning
MAX_UNLABELLED = 0.05
MIN_LABELS = 5
MAX_OUTSIDE = 0.05  # share of labels outside the largest group above which it is a warning

MIN_COMPARED = 200
MAX_SKILL = 0.1
BALANCED = 1.15  # the most frequent class has at most this multiple of the mean class count


def too_few_annotators(table: LabelTable) -> list[Finding]:
    """One or two annotators: their disagreements cannot be resolved."""
    present = np.flatnonzero(table.first_labels.labels_per_annotator)
    if len(present) == 1:
        message = "all labels come from one annotator; no other label confirms or corrects them"
        remedy = "let others label some of the items, or use the labels as they are"
        return table.about("annotator", present, message, remedy)
    if len(present) == 2:
        message = "all labels come from two annotators; their disagreements cannot be resolved"
        remedy = "let a third annotator label the items on which they disagree"
        return table.about("annotator", present, message, remedy, "note")
    return []


def single_label_items(table: LabelTable) -> list[Finding]:
    """Items with a single annotator: no other label confirms or corrects theirs."""
    n_i = table.first_labels.labels_per_item
    what = "a single annotator for {} of {} labelled items ({}); their consensus is that one label"
    remedy = "let two more annotators label them, starting with the most important items"
    return _about_items(table, n_i == 1, int((n_i > 0).sum()), MAX_SINGLE, what, remedy)


def unlabelled_items(table: LabelTable) -> list[Finding]:
    """Items that are listed or occur in the table, but have no usable label."""
    n_items = len(table.rows.items)
    n_i = np.bincount(table.rows.item[table.usable], minlength=n_items)
    what = "no usable label for {} of {} items ({}); their consensus is only the prior"
    remedy = "let annotators label them, or leave them out"
    return _about_items(table, n_i == 0, n_items, MAX_UNLABELLED, what, remedy)


def _about_items(
    table: LabelTable, chosen: Bools, n_items: int, most: float, what: str, remedy: str
) -> list[Finding]:
    """A finding about some of the items, a warning if their share is above `most`."""
    codes = np.flatnonzero(chosen)
    message = what.format(len(codes), n_items, percent(len(codes), n_items))
    severity = severity_if(len(codes) / max(n_items, 1) > most)
    return table.about("item", codes, message, remedy, severity)


def few_labels_annotators(table: LabelTable) -> list[Finding]:
    """Annotators with too few labels for a reliable profile."""
    n_a = table.first_labels.labels_per_annotator
    few = np.flatnonzero((n_a > 0) & (n_a < MIN_LABELS))
    n_few, total = int(n_a[few].sum()), int(n_a.sum())
    message = (
        f"{len(few)} of {int(np.count_nonzero(n_a))} annotators gave fewer than {MIN_LABELS} "
        f"labels; together they gave {percent(n_few, total)} of all labels"
    )
    remedy = "do not rely on their profiles; ask fewer annotators for more labels each"
    worst = few[np.argsort(n_a[few], kind="stable")]
    return table.about("annotator", worst, message, remedy, severity_if(n_few > total / 2))


def disconnected_crowd(table: LabelTable) -> list[Finding]:
    """Groups of annotators that share no item, directly or through other annotators."""
    ann = table.first_labels
    group_a = connected_groups(ann)
    used = np.flatnonzero(ann.labels_per_annotator)
    n_labels = np.bincount(group_a[used], weights=ann.labels_per_annotator[used])
    n_annotators = np.bincount(group_a[used])
    groups = np.flatnonzero(n_annotators)
    if len(groups) < 2:
        return []
    groups = groups[np.argsort(-n_labels[groups], kind="stable")]
    outside = used[group_a[used] != groups[0]]
    n_outside, total = int(n_labels[groups[1:]].sum()), int(n_labels.sum())
    sizes = ", ".join(str(int(size)) for size in n_annotators[groups[:5]])
    message = (
        f"the crowd falls into {len(groups)} groups that share no item (annotators: {sizes}"
        f"{' ...' if len(groups) > 5 else ''}); {percent(n_outside, total)} of the labels are "
        "outside the largest group"
    )
    remedy = "let annotators of several groups label the same items, or analyse each group alone"
    severity = severity_if(n_outside > MAX_OUTSIDE * total)
    return table.about("annotator", outside, message, remedy, severity)


def connected_groups(annotations: Annotations) -> AnyArray:
    """The connected group of every annotator, by number.

    >>> ann = Annotations.from_arrays([1, 1, 2], ["u", "v", "w"], ["x", "x", "y"])
    >>> group = connected_groups(ann)
    >>> bool(group[0] == group[1]), bool(group[0] == group[2])
    (True, False)
    """
    n_annotators = annotations.n_annotators
    size = n_annotators + annotations.n_items
    edge = np.ones(annotations.n_annotations, dtype=np.int8)
    ends = annotations.annotator, annotations.item.astype(np.int64) + n_annotators
    graph = coo_array((edge, ends), shape=(size, size))
    _, group = connected_components(graph, directed=False)
    return np.asarray(group[:n_annotators])


def no_agreement(table: LabelTable) -> list[Finding]:
    """The crowd agrees no more than by chance: columns are mixed up, or items cannot be judged.

    Weak annotators look the same if nearly all items are of one class, so the finding is only a
    note if one class is more frequent than the others.
    """
    agreement = table.agreement
    n_compared = float(agreement.n_compared_a.sum())
    maximum = float(agreement.max_excess_a.sum())
    deviation = float(np.sqrt(agreement.variance_a.sum()))
    if n_compared < MIN_COMPARED or deviation == 0.0 or maximum == 0.0:
        return []
    z, upper = agreement.excess_a.sum() / deviation, agreement.skill + 3.0 * deviation / maximum
    if z > 2.0 or upper > MAX_SKILL:
        return []
    message = (
        f"over {n_compared:.0f} labels the crowd agrees no more than by chance "
        f"(skill {agreement.skill:+.3f}, where 1 is perfect agreement)"
    )
    remedy = "check that items, annotators and labels were not shuffled against one another"
    return [table.finding(severity_if(_is_balanced(table)), message, remedy, int(n_compared))]


def _is_balanced(table: LabelTable) -> bool:
    if table.rows.classes is None:
        return True
    count_k = np.bincount(table.first_labels.label)
    mean = count_k.sum() / max(np.count_nonzero(count_k), 1)
    return bool(count_k.max() < BALANCED * mean)
