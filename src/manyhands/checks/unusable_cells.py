"""Check for cells that cannot be used: blank, unlisted or infinite."""

import numpy as np

from manyhands.annotations.labels import EMPTY, INFINITE, OUTSIDE
from manyhands.annotations.vocabulary import BLANK, join_names
from manyhands.checks.finding import Finding
from manyhands.checks.label_table import LabelTable, percent
from manyhands.core.arrays import AnyArray


def no_labels(table: LabelTable) -> list[Finding]:
    """No row can be used."""
    if len(table.usable):
        return []
    n_rows = len(table.rows)
    message = f"none of the {n_rows} rows has a usable label" if n_rows else "no rows"
    remedy = "check that the right columns were read"
    return [table.finding("error", message, remedy, n_rows, rows=np.arange(min(n_rows, 10)))]


def blank_label(table: LabelTable) -> list[Finding]:
    """Rows with a blank label that was not declared as missing."""
    remedy = 'drop such rows with missing="" (command line: --missing ""), or fill them in'
    return _cell_finding(table, table.rows.state == EMPTY, "a blank label", remedy)


def label_outside_classes(table: LabelTable) -> list[Finding]:
    """Rows whose label is not one of the listed classes."""
    if table.rows.classes is None:
        return []
    known = join_names(table.rows.classes.names)
    remedy = "correct them, list their classes too, or drop them as missing"
    what = f"a label outside the classes {known}"
    return _cell_finding(table, table.rows.state == OUTSIDE, what, remedy)


def infinite_label(table: LabelTable) -> list[Finding]:
    """Rows whose number is infinite."""
    remedy = "give finite numbers, or drop these rows"
    return _cell_finding(table, table.rows.state == INFINITE, "an infinite label", remedy)


def blank_name(table: LabelTable) -> list[Finding]:
    """Rows without an item or without an annotator."""
    findings = []
    for noun, codes in (("item", table.rows.item), ("annotator", table.rows.annotator)):
        remedy = f"fill in the {noun}, or delete these rows"
        findings += _cell_finding(table, codes == BLANK, f"a blank {noun}", remedy)
    return findings


def unlisted_name(table: LabelTable) -> list[Finding]:
    """Rows of an item or annotator that is not listed."""
    findings = []
    for noun, codes, names in (
        ("item", table.rows.item, table.rows.items),
        ("annotator", table.rows.annotator, table.rows.annotators),
    ):
        what = f"an {noun} that is not among the {len(names)} listed"
        remedy = f"list this {noun} too, or delete these rows"
        findings += _cell_finding(table, (codes < 0) & (codes != BLANK), what, remedy)
    return findings


CHECKS = {
    "no-labels": no_labels,
    "blank-label": blank_label,
    "label-outside-classes": label_outside_classes,
    "infinite-label": infinite_label,
    "blank-name": blank_name,
    "unlisted-name": unlisted_name,
}


def _cell_finding(
    table: LabelTable, is_unusable: AnyArray, what: str, remedy: str
) -> list[Finding]:
    rows = np.flatnonzero(is_unusable)
    if len(rows) == 0:
        return []
    n_rows = len(table.rows)
    message = f"{what} in {len(rows)} of {n_rows} rows ({percent(len(rows), n_rows)})"
    return [table.finding("error", message, remedy, len(rows), rows=rows)]
