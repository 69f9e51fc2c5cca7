"""Check for annotators who labelled the same item more than once."""

import numpy as np

from manyhands.annotations.grouping import duplicated_pairs, stable_order
from manyhands.checks.finding import Finding, Severity
from manyhands.checks.label_table import LabelTable, percent


def repeated_pair(table: LabelTable) -> list[Finding]:
    """Labels that repeat an (item, annotator) pair, with the same label or another."""
    rows, used = table.rows, table.usable
    item, annotator, label = rows.item[used], rows.annotator[used], rows.label[used]
    order = stable_order(annotator, len(rows.annotators))
    order = order[stable_order(item[order], len(rows.items))]
    item, annotator, label = item[order], annotator[order], label[order]
    repeated = duplicated_pairs(item, annotator)
    if not repeated.any():
        return []
    conflict = repeated.copy()
    conflict[1:] &= label[1:] != label[:-1]
    n_repeated, n_conflict = int(repeated.sum()), int(conflict.sum())
    # Conflicts come first; each repeat follows the row that it repeats.
    at = np.concatenate([np.flatnonzero(conflict), np.flatnonzero(repeated & ~conflict)])
    examples = np.column_stack([order[at - 1], order[at]]).ravel()
    message = (
        f"the annotator labelled the item before in {n_repeated} labels "
        f"({percent(n_repeated, len(used))}): {n_repeated - n_conflict} times with the same "
        f"label, {n_conflict} times with another"
    )
    remedy = "choose which count with duplicates= first or last; by default every label counts"
    pairs = zip(
        rows.items.names[item[at[:10]]], rows.annotators.names[annotator[at[:10]]], strict=True
    )
    names = [f"{item_name} by {annotator_name}" for item_name, annotator_name in pairs]
    severity: Severity = "warning" if n_conflict else "note"
    return [table.finding(severity, message, remedy, n_repeated, rows=used[examples], names=names)]


CHECKS = {"repeated-pair": repeated_pair}
