"""Checks of single rows and names: unusable cells, repeated pairs, names written in two ways."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations import Vocabulary
from manyhands.annotations.grouping import duplicated_pairs, stable_order
from manyhands.annotations.labels import EMPTY, INFINITE, OUTSIDE
from manyhands.annotations.vocabulary import BLANK, join_names
from manyhands.checks.label_table import MAX_EXAMPLES, Finding, LabelTable, percent, severity_if
from manyhands.core.arrays import AnyArray


def no_labels(table: LabelTable) -> list[Finding]:
    """No row can be used."""
    if len(table.usable):
        return []
    n_rows = len(table.rows)
    message = f"none of the {n_rows} rows has a usable label" if n_rows else "no rows"
    remedy = "check that the right columns were read"
    return [table.finding("error", message, remedy, n_rows, rows=np.arange(n_rows))]


def blank_label(table: LabelTable) -> list[Finding]:
    """Rows with a blank label that was not declared as missing."""
    remedy = 'drop such rows with missing="" (command line: --missing ""), or fill them in'
    if table.rows.classes is not None and table.rows.classes.kind == "multilabel":
        remedy += "; a set without classes is written []"
    return _unusable(table, table.rows.state == EMPTY, "a blank label", remedy)


def label_outside_classes(table: LabelTable) -> list[Finding]:
    """Rows whose label is not one of the listed classes."""
    if table.rows.classes is None:
        return []
    remedy = "correct them, list their classes too, or drop them as missing"
    what = f"a label outside the classes {join_names(table.rows.classes.class_names)}"
    return _unusable(table, table.rows.state == OUTSIDE, what, remedy)


def infinite_label(table: LabelTable) -> list[Finding]:
    """Rows whose number is infinite."""
    remedy = "give finite numbers, or drop these rows"
    return _unusable(table, table.rows.state == INFINITE, "an infinite label", remedy)


def blank_name(table: LabelTable) -> Iterator[Finding]:
    """Rows without an item or without an annotator."""
    for noun, codes in (("item", table.rows.item), ("annotator", table.rows.annotator)):
        remedy = f"fill in the {noun}, or delete these rows"
        yield from _unusable(table, codes == BLANK, f"a blank {noun}", remedy)


def unlisted_name(table: LabelTable) -> Iterator[Finding]:
    """Rows of an item or annotator that is not listed."""
    for noun, codes, names in (
        ("item", table.rows.item, table.rows.items),
        ("annotator", table.rows.annotator, table.rows.annotators),
    ):
        what = f"an {noun} that is not among the {len(names)} listed"
        remedy = f"list this {noun} too, or delete these rows"
        yield from _unusable(table, (codes < 0) & (codes != BLANK), what, remedy)


def _unusable(table: LabelTable, is_unusable: AnyArray, what: str, remedy: str) -> list[Finding]:
    rows, n_rows = np.flatnonzero(is_unusable), len(table.rows)
    if len(rows) == 0:
        return []
    message = f"{what} in {len(rows)} of {n_rows} rows ({percent(len(rows), n_rows)})"
    return [table.finding("error", message, remedy, len(rows), rows=rows)]


def near_duplicate_classes(table: LabelTable) -> list[Finding]:
    """Classes whose names differ only by case or spaces."""
    classes = table.rows.classes
    if classes is None:
        return []
    codes = near_duplicates(classes, ignore_case=True)
    names = [repr(name) for name in classes.names[codes[:MAX_EXAMPLES]]]
    message = (
        f"{len(codes)} of {len(classes)} classes differ from another only by case or "
        f"spaces ({', '.join(names)}); {table.label_counts[codes].sum()} labels use them"
    )
    remedy = "use one spelling per class before reading the table"
    found = table.about("class", codes, message, remedy)
    return [replace(each, names=tuple(names)) for each in found]


def near_duplicate_names(table: LabelTable) -> Iterator[Finding]:
    """Annotators and items whose names differ only by spaces, and annotators only by case."""
    annotators, items = near_duplicates(table.rows.annotators), near_duplicates(table.rows.items)
    message = f"the names of {len(annotators)} annotators differ from another only by spaces"
    remedy = "remove the spaces, so that each annotator has one name"
    yield from table.about("annotator", annotators, message, remedy)
    message = f"the names of {len(items)} items differ from another only by spaces"
    remedy = "remove the spaces, so that each item has one name"
    yield from table.about("item", items, message, remedy)
    by_case = np.setdiff1d(near_duplicates(table.rows.annotators, ignore_case=True), annotators)
    message = f"the names of {len(by_case)} annotators differ from another only by case"
    remedy = "if they are the same annotator, use one spelling"
    yield from table.about("annotator", by_case, message, remedy, "note")


def near_duplicates(vocabulary: Vocabulary, *, ignore_case: bool = False) -> AnyArray:
    """Codes of names that equal another name except for spaces (and case), sorted by name.

    >>> near_duplicates(Vocabulary.of(["cat ", "dog", "Cat"]), ignore_case=True).tolist()
    [0, 2]
    >>> near_duplicates(Vocabulary.of(["cat ", "dog", "Cat"])).tolist()
    []
    """
    if vocabulary.names.dtype != object or len(vocabulary) == 0:
        return np.zeros(0, dtype=np.int64)
    names = pa.array(vocabulary.names, type=pa.string())
    normalized = pc.replace_substring_regex(pc.utf8_trim_whitespace(names), r"\s+", " ")
    if ignore_case:
        normalized = pc.utf8_lower(normalized)
    group = normalized.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    codes = np.flatnonzero(np.bincount(group)[group] > 1)
    return codes[np.argsort(group[codes], kind="stable")]


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
    examples = used[np.column_stack([order[at - 1], order[at]]).ravel()]
    message = (
        f"the annotator labelled the item before in {n_repeated} labels "
        f"({percent(n_repeated, len(used))}): {n_repeated - n_conflict} times with the same "
        f"label, {n_conflict} times with another"
    )
    remedy = "choose which count with --duplicates first or last; by default every label counts"
    names = [
        f"{rows.items.names[item[n]]} by {rows.annotators.names[annotator[n]]}"
        for n in at[:MAX_EXAMPLES]
    ]
    severity = severity_if(n_conflict > 0)
    return [table.finding(severity, message, remedy, n_repeated, rows=examples, names=names)]
