"""Cells that keep the table from being read: labels that are blank, unlisted or infinite."""

import numpy as np

from manyhands.annotations.labels import EMPTY, INFINITE, OUTSIDE
from manyhands.annotations.vocabulary import BLANK, join_names
from manyhands.checks.chart import Chart, percent
from manyhands.checks.finding import Finding
from manyhands.core.arrays import AnyArray


def no_labels(chart: Chart) -> list[Finding]:
    """Not a single row can be used."""
    if len(chart.usable):
        return []
    n_rows = len(chart.rows)
    what = f"none of the {n_rows} rows holds a label that can be used" if n_rows else "no rows"
    remedy = "check that the right columns were read"
    return [chart.finding("error", what, remedy, n_rows, rows=np.arange(min(n_rows, 10)))]


def blank_label(chart: Chart) -> list[Finding]:
    """Rows whose label is blank and was not said to mean "no label"."""
    remedy = 'drop such rows with missing="" (command line: --missing ""), or fill them in'
    return _cells(chart, chart.rows.state == EMPTY, "a blank label", remedy)


def label_outside_classes(chart: Chart) -> list[Finding]:
    """Rows whose label is not one of the classes that were listed."""
    if chart.rows.classes is None:
        return []
    known = join_names(chart.rows.classes.names)
    remedy = "correct them, list their classes too, or drop them as missing"
    what = f"a label outside the classes {known}"
    return _cells(chart, chart.rows.state == OUTSIDE, what, remedy)


def infinite_label(chart: Chart) -> list[Finding]:
    """Rows whose number is infinite."""
    remedy = "give finite numbers, or drop these rows"
    return _cells(chart, chart.rows.state == INFINITE, "an infinite label", remedy)


def blank_name(chart: Chart) -> list[Finding]:
    """Rows that do not say which item, or who labelled it."""
    found = []
    for noun, codes in (("item", chart.rows.item), ("annotator", chart.rows.annotator)):
        remedy = f"fill in the {noun}, or delete these rows"
        found += _cells(chart, codes == BLANK, f"a blank {noun}", remedy)
    return found


def unlisted_name(chart: Chart) -> list[Finding]:
    """Rows of an item or annotator that is not among those listed."""
    found = []
    for noun, codes, names in (
        ("item", chart.rows.item, chart.rows.items),
        ("annotator", chart.rows.annotator, chart.rows.annotators),
    ):
        what = f"an {noun} that is not among the {len(names)} listed"
        remedy = f"list this {noun} too, or delete these rows"
        found += _cells(chart, (codes < 0) & (codes != BLANK), what, remedy)
    return found


def _cells(chart: Chart, broken: AnyArray, what: str, remedy: str) -> list[Finding]:
    bad = np.flatnonzero(broken)
    if len(bad) == 0:
        return []
    n_rows = len(chart.rows)
    message = f"{what} in {len(bad)} of {n_rows} rows ({percent(len(bad), n_rows)})"
    return [chart.finding("error", message, remedy, len(bad), rows=bad)]
