"""Check whether the crowd falls into groups that share no item and cannot be compared."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from manyhands.annotations import Annotations
from manyhands.checks.finding import Finding, Severity
from manyhands.checks.label_table import LabelTable, percent
from manyhands.core.arrays import AnyArray

MAX_OUTSIDE = 0.05  # share of labels outside the largest group above which it is a warning


def disconnected_crowd(table: LabelTable) -> list[Finding]:
    """Groups of annotators that share no item, directly or through other annotators."""
    ann = table.first_labels
    group_a = connected_groups(ann)
    used = np.flatnonzero(ann.labels_per_annotator)
    if len(used) == 0:
        return []
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
    severity: Severity = "warning" if n_outside > MAX_OUTSIDE * total else "note"
    return [table.annotator_finding(severity, message, remedy, outside)]


CHECKS = {"disconnected-crowd": disconnected_crowd}


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
