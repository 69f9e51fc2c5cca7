"""Check how labels are distributed over the classes."""

import numpy as np

from manyhands.checks.finding import Finding
from manyhands.checks.label_table import LabelTable, first_rows, percent

RARE = 0.001
DOMINANT = 0.95


def class_never_said(table: LabelTable) -> list[Finding]:
    """Classes that have no label, few labels, or labels of a single annotator."""
    if table.rows.classes is None or len(table.usable) == 0:
        return []
    count_k, total = table.label_counts, len(table.usable)
    names = table.rows.classes.names
    findings = []
    unused = np.flatnonzero(count_k == 0)
    if len(unused):
        message = f"without any label: {len(unused)} of {len(count_k)} classes"
        remedy = "remove them from the classes, unless labels are expected later"
        examples = names[unused[:10]]
        findings.append(table.finding("note", message, remedy, len(unused), names=examples))
    rare = np.flatnonzero((count_k > 0) & (count_k < RARE * total))
    if len(rare):
        message = f"used in less than 0.1 % of the labels: {len(rare)} of {len(count_k)} classes"
        remedy = "check their spelling; merge them, or collect more labels of them"
        rows, examples = first_rows(table.rows.label, rare[:10]), names[rare[:10]]
        finding = table.finding("note", message, remedy, len(rare), rows=rows, names=examples)
        findings.append(finding)
    return findings + _used_by_one(table)


def imbalance(table: LabelTable) -> list[Finding]:
    """Nearly all labels are of one class."""
    if table.rows.classes is None or len(table.usable) == 0:
        return []
    count_k, total = table.label_counts, len(table.usable)
    top = int(count_k.argmax())
    if count_k[top] <= DOMINANT * total or count_k[top] == total:
        return []
    name = table.rows.classes.names[top]
    message = f"{percent(count_k[top], total)} of the labels are {name!r}"
    remedy = "evaluate a consensus by class, not by its accuracy"
    return [table.finding("note", message, remedy, int(count_k[top]), names=[name])]


CHECKS = {"class-never-said": class_never_said, "imbalance": imbalance}


def _used_by_one(table: LabelTable) -> list[Finding]:
    ann, count_k = table.first_labels, table.label_counts
    if table.rows.classes is None or np.count_nonzero(ann.labels_per_annotator) < 3:
        return []
    n_classes = len(count_k)
    pair = np.sort(ann.annotator.astype(np.int64) * n_classes + ann.label)
    is_new = np.append(True, pair[1:] != pair[:-1])
    n_annotators_k = np.bincount(pair[is_new] % n_classes, minlength=n_classes)
    by_one = np.flatnonzero((n_annotators_k == 1) & (count_k > 1))
    if len(by_one) == 0:
        return []
    message = f"used by a single annotator: {len(by_one)} of {n_classes} classes"
    remedy = "check their spelling, and that this annotator knows the classes"
    rows = first_rows(table.rows.label, by_one[:10])
    names = table.rows.classes.names[by_one[:10]]
    return [table.finding("note", message, remedy, len(by_one), rows=rows, names=names)]
