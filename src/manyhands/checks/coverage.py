"""Check whether items, annotators and the table have enough labels."""

import numpy as np

from manyhands.checks.finding import Finding, Severity
from manyhands.checks.label_table import LabelTable, percent

MAX_SINGLE = 0.5  # share of items with a single label above which it is a warning
MAX_UNLABELLED = 0.05
MIN_LABELS = 5


def too_few_annotators(table: LabelTable) -> list[Finding]:
    """One or two annotators: their disagreements cannot be resolved."""
    n_a = table.first_labels.labels_per_annotator
    present = np.flatnonzero(n_a)
    if len(present) == 0 or len(present) > 2:
        return []
    if len(present) == 1:
        message = "all labels come from one annotator; no other label confirms or corrects them"
        remedy = "let others label some of the items, or use the labels as they are"
        return [table.annotator_finding("warning", message, remedy, present)]
    message = "all labels come from two annotators; their disagreements cannot be resolved"
    remedy = "let a third annotator label the items on which they disagree"
    return [table.annotator_finding("note", message, remedy, present)]


def single_label_items(table: LabelTable) -> list[Finding]:
    """Items with a single annotator: no other label confirms or corrects theirs."""
    n_i = table.first_labels.labels_per_item
    single, n_labelled = np.flatnonzero(n_i == 1), int(np.count_nonzero(n_i))
    if len(single) == 0:
        return []
    share = len(single) / n_labelled
    message = (
        f"a single annotator for {len(single)} of {n_labelled} labelled items "
        f"({percent(len(single), n_labelled)}); their consensus is that one label"
    )
    remedy = "let two more annotators label them, starting with the most important items"
    severity: Severity = "warning" if share > MAX_SINGLE else "note"
    return [table.item_finding(severity, message, remedy, single)]


def unlabelled_items(table: LabelTable) -> list[Finding]:
    """Items that are listed or occur in the table, but have no usable label."""
    n_items = len(table.rows.items)
    unlabelled = np.flatnonzero(np.bincount(table.rows.item[table.usable], minlength=n_items) == 0)
    if len(unlabelled) == 0:
        return []
    message = (
        f"no usable label for {len(unlabelled)} of {n_items} items "
        f"({percent(len(unlabelled), n_items)}); their consensus is only the prior"
    )
    remedy = "let annotators label them, or leave them out"
    severity: Severity = "warning" if len(unlabelled) / n_items > MAX_UNLABELLED else "note"
    return [table.item_finding(severity, message, remedy, unlabelled)]


def few_labels_annotators(table: LabelTable) -> list[Finding]:
    """Annotators with too few labels for a reliable profile."""
    n_a = table.first_labels.labels_per_annotator
    few = np.flatnonzero((n_a > 0) & (n_a < MIN_LABELS))
    if len(few) == 0:
        return []
    n_few, total = int(n_a[few].sum()), int(n_a.sum())
    message = (
        f"{len(few)} of {int(np.count_nonzero(n_a))} annotators gave fewer than {MIN_LABELS} "
        f"labels; together they gave {percent(n_few, total)} of all labels"
    )
    remedy = "do not rely on their profiles; ask fewer annotators for more labels each"
    severity: Severity = "warning" if n_few > total / 2 else "note"
    worst = few[np.argsort(n_a[few], kind="stable")]
    return [table.annotator_finding(severity, message, remedy, worst)]


CHECKS = {
    "too-few-annotators": too_few_annotators,
    "single-label-items": single_label_items,
    "unlabelled-items": unlabelled_items,
    "few-labels-annotators": few_labels_annotators,
}
