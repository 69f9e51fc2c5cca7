"""Crowds that fall into parts: people who share no item cannot be compared."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from manyhands.annotations import Annotations
from manyhands.checks.chart import Chart, percent
from manyhands.checks.finding import Finding, Severity
from manyhands.core.arrays import AnyArray

OUTSIDE = 0.05  # share of labels outside the largest part that makes a warning


def disconnected_crowd(chart: Chart) -> list[Finding]:
    """Groups of annotators that share no item, directly or through others."""
    ann = chart.once
    part_a = crowd_parts(ann)
    used = np.flatnonzero(ann.labels_per_annotator)
    if len(used) == 0:
        return []
    labels = np.bincount(part_a[used], weights=ann.labels_per_annotator[used])
    people = np.bincount(part_a[used])
    parts = np.flatnonzero(people)
    if len(parts) < 2:
        return []
    parts = parts[np.argsort(-labels[parts], kind="stable")]
    outside = used[part_a[used] != parts[0]]
    n_outside, total = int(labels[parts[1:]].sum()), int(labels.sum())
    sizes = ", ".join(str(int(size)) for size in people[parts[:5]])
    message = (
        f"the crowd falls into {len(parts)} parts that share no item (annotators: {sizes}"
        f"{' ...' if len(parts) > 5 else ''}); {percent(n_outside, total)} of the labels lie "
        "outside the largest"
    )
    remedy = "give some items to people of several parts, or look at each part by itself"
    severity: Severity = "warning" if n_outside > OUTSIDE * total else "note"
    return [chart.about_annotators(severity, message, remedy, outside)]


def crowd_parts(annotations: Annotations) -> AnyArray:
    """The part of the crowd every annotator belongs to.

    >>> ann = Annotations.from_arrays([1, 1, 2], ["u", "v", "w"], ["x", "x", "y"])
    >>> part = crowd_parts(ann)
    >>> bool(part[0] == part[1]), bool(part[0] == part[2])
    (True, False)
    """
    n_annotators = annotations.n_annotators
    size = n_annotators + annotations.n_items
    link = np.ones(annotations.n_annotations, dtype=np.int8)
    ends = annotations.annotator, annotations.item.astype(np.int64) + n_annotators
    graph = coo_array((link, ends), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    return np.asarray(part[:n_annotators])
