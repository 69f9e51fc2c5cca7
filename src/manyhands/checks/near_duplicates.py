"""Names that a person would read as one: "Cat", "cat" and "cat "."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations import Vocabulary
from manyhands.checks.chart import Chart, first_rows
from manyhands.checks.finding import MOST_EXAMPLES, Finding
from manyhands.core.arrays import AnyArray


def near_duplicate_classes(chart: Chart) -> list[Finding]:
    """Classes whose names differ only by case or spaces."""
    if chart.rows.classes is None:
        return []
    codes = alike(chart.rows.classes, any_case=True)
    if len(codes) == 0:
        return []
    names = [repr(name) for name in chart.rows.classes.names[codes[:MOST_EXAMPLES]]]
    at = chart.usable[np.isin(chart.rows.label[chart.usable], codes)]
    message = (
        f"{len(codes)} of {len(chart.rows.classes)} classes differ from another only by case or "
        f"spaces ({', '.join(names)}); {len(at)} labels use them"
    )
    remedy = "write each class in one way before reading the table"
    rows = first_rows(chart.rows.label, codes[:MOST_EXAMPLES])
    return [chart.finding("warning", message, remedy, len(codes), rows=rows, names=names)]


def near_duplicate_names(chart: Chart) -> list[Finding]:
    """Annotators and items whose names differ only by spaces; annotators also only by case."""
    found = []
    annotators, items = alike(chart.rows.annotators), alike(chart.rows.items)
    remedy = "remove the spaces, so that one {} has one name"
    if len(annotators):
        message = f"{len(annotators)} annotators' names differ from another's only by spaces"
        told = remedy.format("annotator")
        found.append(chart.about_annotators("warning", message, told, annotators))
    if len(items):
        message = f"{len(items)} items' names differ from another's only by spaces"
        found.append(chart.about_items("warning", message, remedy.format("item"), items))
    by_case = np.setdiff1d(alike(chart.rows.annotators, any_case=True), annotators)
    if len(by_case):
        message = f"{len(by_case)} annotators' names differ from another's only by case"
        told = "if they are one person, write the name in one way"
        found.append(chart.about_annotators("note", message, told, by_case))
    return found


def alike(vocabulary: Vocabulary, *, any_case: bool = False) -> AnyArray:
    """Codes of the names that equal another one but for spaces (and case), sorted by name.

    >>> alike(Vocabulary.of(["cat ", "dog", "Cat"]), any_case=True).tolist()
    [0, 2]
    >>> alike(Vocabulary.of(["cat ", "dog", "Cat"])).tolist()
    []
    """
    if vocabulary.is_whole_numbers or len(vocabulary) == 0:
        return np.zeros(0, dtype=np.int64)
    names = pa.array(vocabulary.names, type=pa.string())
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(names), r"\s+", " ")
    if any_case:
        plain = pc.utf8_lower(plain)
    group = plain.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    size = np.bincount(group)[group]
    codes = np.flatnonzero(size > 1)
    return codes[np.argsort(group[codes], kind="stable")]
