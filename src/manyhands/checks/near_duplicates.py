"""Check for names that differ only by case or spaces, such as "Cat", "cat" and "cat "."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations import Vocabulary
from manyhands.checks.finding import MAX_EXAMPLES, Finding
from manyhands.checks.label_table import LabelTable, first_rows
from manyhands.core.arrays import AnyArray


def near_duplicate_classes(table: LabelTable) -> list[Finding]:
    """Classes whose names differ only by case or spaces."""
    if table.rows.classes is None:
        return []
    codes = near_duplicates(table.rows.classes, ignore_case=True)
    if len(codes) == 0:
        return []
    names = [repr(name) for name in table.rows.classes.names[codes[:MAX_EXAMPLES]]]
    rows = table.usable[np.isin(table.rows.label[table.usable], codes)]
    message = (
        f"{len(codes)} of {len(table.rows.classes)} classes differ from another only by case or "
        f"spaces ({', '.join(names)}); {len(rows)} labels use them"
    )
    remedy = "use one spelling per class before reading the table"
    rows = first_rows(table.rows.label, codes[:MAX_EXAMPLES])
    return [table.finding("warning", message, remedy, len(codes), rows=rows, names=names)]


def near_duplicate_names(table: LabelTable) -> list[Finding]:
    """Annotators and items whose names differ only by spaces, and annotators only by case."""
    findings = []
    annotators, items = near_duplicates(table.rows.annotators), near_duplicates(table.rows.items)
    if len(annotators):
        message = f"the names of {len(annotators)} annotators differ from another only by spaces"
        remedy = "remove the spaces, so that each annotator has one name"
        findings.append(table.annotator_finding("warning", message, remedy, annotators))
    if len(items):
        message = f"the names of {len(items)} items differ from another only by spaces"
        remedy = "remove the spaces, so that each item has one name"
        findings.append(table.item_finding("warning", message, remedy, items))
    by_case = np.setdiff1d(near_duplicates(table.rows.annotators, ignore_case=True), annotators)
    if len(by_case):
        message = f"the names of {len(by_case)} annotators differ from another only by case"
        remedy = "if they are the same annotator, use one spelling"
        findings.append(table.annotator_finding("note", message, remedy, by_case))
    return findings


CHECKS = {
    "near-duplicate-classes": near_duplicate_classes,
    "near-duplicate-names": near_duplicate_names,
}


def near_duplicates(vocabulary: Vocabulary, *, ignore_case: bool = False) -> AnyArray:
    """Codes of names that equal another name except for spaces (and case), sorted by name.

    >>> near_duplicates(Vocabulary.of(["cat ", "dog", "Cat"]), ignore_case=True).tolist()
    [0, 2]
    >>> near_duplicates(Vocabulary.of(["cat ", "dog", "Cat"])).tolist()
    []
    """
    if vocabulary.is_whole_numbers or len(vocabulary) == 0:
        return np.zeros(0, dtype=np.int64)
    names = pa.array(vocabulary.names, type=pa.string())
    normalized = pc.replace_substring_regex(pc.utf8_trim_whitespace(names), r"\s+", " ")
    if ignore_case:
        normalized = pc.utf8_lower(normalized)
    group = normalized.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    size = np.bincount(group)[group]
    codes = np.flatnonzero(size > 1)
    return codes[np.argsort(group[codes], kind="stable")]
