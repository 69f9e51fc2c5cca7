"""Annotators who labelled the same item more than once."""

import numpy as np

from manyhands.annotations.grouping import duplicated_pairs, stable_order
from manyhands.checks.chart import Chart, percent
from manyhands.checks.finding import Finding, Severity


def repeated_pair(chart: Chart) -> list[Finding]:
    """Labels of an (item, annotator) that was labelled before: the same again, or in conflict."""
    rows, used = chart.rows, chart.usable
    item, annotator, label = rows.item[used], rows.annotator[used], rows.label[used]
    order = stable_order(annotator, len(rows.annotators))
    order = order[stable_order(item[order], len(rows.items))]
    item, annotator, label = item[order], annotator[order], label[order]
    again = duplicated_pairs(item, annotator)
    if not again.any():
        return []
    conflict = again.copy()
    conflict[1:] &= label[1:] != label[:-1]
    n_again, n_conflict = int(again.sum()), int(conflict.sum())
    # Conflicts are shown first; each repeat stands behind the row it repeats.
    at = np.concatenate([np.flatnonzero(conflict), np.flatnonzero(again & ~conflict)])
    shown = np.column_stack([order[at - 1], order[at]]).ravel()
    message = (
        f"an item labelled again by the same annotator in {n_again} labels "
        f"({percent(n_again, len(used))}): {n_again - n_conflict} times with the same label, "
        f"{n_conflict} times with another"
    )
    remedy = "choose which count with duplicates= first or last; without it every label counts"
    pairs = zip(
        rows.items.names[item[at[:10]]], rows.annotators.names[annotator[at[:10]]], strict=True
    )
    names = [f"{one} by {who}" for one, who in pairs]
    severity: Severity = "warning" if n_conflict else "note"
    return [
        chart.finding(severity, message, remedy, n_again, rows=used[shown], names=names),
    ]
