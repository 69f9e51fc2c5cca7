"""A table of Spark: who gave its labels, what they say, and a sample of its items."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from manyhands.annotations import Vocabulary
from manyhands.annotations.labels import is_blank
from manyhands.annotations.rows import refusal
from manyhands.annotations.vocabulary import WHOLE_NUMBER, as_arrow
from manyhands.core.arrays import AnyArray
from manyhands.scale.label_survey import MAX_WORDS, LabelCodes, LabelReading, LabelSurvey
from manyhands.scale.spark_session import FLOATS, INTEGERS
from manyhands.scale.survey import sorted_names
from manyhands.scale.words import Place, Words

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SAMPLE = 100_000
_TABLE = "the table"  # the place of a row: rows of a Spark table have no number


@dataclass(frozen=True)
class TableSurvey:
    """What a table of labels has."""

    n_rows: int
    whole_items: bool
    annotators: Vocabulary
    labels: LabelCodes
    item_sample: AnyArray
    label_sample: AnyArray


def survey_table(table: "DataFrame", reading: LabelReading) -> TableSurvey:
    """Look at a table with columns item, annotator and label; a few jobs of Spark."""
    labels, n_rows = _labels(table, reading)
    whole_items = _has_integers(table) or _ids_are_whole(table)
    annotators = Words()
    annotators.add(_column(table.select("annotator").distinct()), Place(0, 0))
    share = min(1.0, _SAMPLE / max(n_rows, 1))
    items = table.select("item")
    sample = _column(items if share == 1.0 else items.sample(fraction=share, seed=0))
    names = [name for name in as_arrow(sample).to_pylist() if name is not None]
    return TableSurvey(
        n_rows, whole_items, annotators.vocabulary("annotator"), labels[0],
        sorted_names(names, whole_items), labels[1],
    )  # fmt: skip


def _has_integers(table: "DataFrame") -> bool:
    """Whether items and annotators are integers, none missing: Parquet tells without its rows."""
    from pyspark.sql import functions as f

    if any(_type_of(table, name) not in INTEGERS for name in ("item", "annotator")):
        return False
    return bool(table.where(f.col("item").isNull() | f.col("annotator").isNull()).isEmpty())


def _ids_are_whole(table: "DataFrame") -> bool:
    """Whether items are whole numbers; a blank item or annotator is a `DataError`."""
    from pyspark.sql import functions as f

    facts = table.agg(
        f.min(_is_whole(table, "item").cast("int")).alias("whole"),
        f.sum(_is_blank(table, "item").cast("long")).alias("items"),
        f.sum(_is_blank(table, "annotator").cast("long")).alias("annotators"),
    ).first()
    assert facts is not None, "an aggregate has one row"
    for noun, n_blank in (("item", facts["items"]), ("annotator", facts["annotators"])):
        if n_blank:
            raise refusal(_TABLE, n_blank, f"the {noun} is blank", "every label needs one")
    return bool(facts["whole"])


def _labels(table: "DataFrame", reading: LabelReading) -> tuple[tuple[LabelCodes, AnyArray], int]:
    from pyspark.sql import functions as f

    survey = LabelSurvey(reading)
    may_be_numbers = reading.kind != "classes" and reading.classes is None
    label = f.col("label")
    if may_be_numbers and _is_float(table):
        odd = f.max(((label % 1 != 0) | label.isin(float("inf"), float("-inf"))).cast("int"))
        survey.decimal = bool(table.agg(odd).first()[0])  # type: ignore[index]
    counts = None
    if not survey.decimal:
        counts = table.groupBy("label").count().limit(MAX_WORDS + 1).toArrow()
    if counts is not None and counts.num_rows <= MAX_WORDS:
        survey.words.add_counts(counts.column(0).combine_chunks(), counts.column(1).to_pylist())
        n_rows = sum(counts.column(1).to_pylist())
    else:
        n_rows = table.count()
        survey.decimal = True
        _look_at_numbers(table.select(label.cast("double").alias("label")), survey, n_rows)

    def cells(at: Place) -> tuple[object, object]:
        word = list(survey.words.codes)[at.row] if survey.words.codes else None
        found = table.where(label.cast("string") == word).first() if word else None
        return (None, None) if found is None else (found["annotator"], found["label"])

    codes = survey.coded(lambda _: _TABLE, cells)
    sample = np.concatenate(survey.sample) if survey.sample else np.zeros(0)
    return (codes, sample), n_rows


def _look_at_numbers(numbers: "DataFrame", survey: LabelSurvey, n_rows: int) -> None:
    """Blank and infinite labels, and a sample with the smallest and the largest label."""
    from pyspark.sql import functions as f

    label = f.col("label")
    empty = label.isNull() | f.isnan(label)
    if any(is_blank(code) for code in survey.reading.missing):
        numbers = numbers.where(~empty)
    share = min(1.0, _SAMPLE / max(n_rows, 1))
    bad = numbers.where(empty | label.isin(float("inf"), float("-inf")))
    odd = bad.limit(_SAMPLE).unionAll(numbers.where(~empty).sample(fraction=share, seed=0))
    ends = numbers.where(~empty).agg(f.min(label), f.max(label)).first()
    assert ends is not None, "an aggregate has one row"
    values = _column(odd).to_numpy(zero_copy_only=False).astype(np.float64)
    ends_of = [each for each in ends if each is not None]
    survey._add_floats(pa.array(np.append(values, ends_of)), Place(0, 0))


def _column(table: "DataFrame") -> Any:
    """The only column of a table, brought here."""
    found = table.toArrow().column(0)
    return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)


def _is_whole(table: "DataFrame", name: str) -> "Column":
    from pyspark.sql import functions as f

    column = f.col(name)
    if _type_of(table, name) in INTEGERS:
        return column.isNotNull()
    if _type_of(table, name) in FLOATS:
        return f.floor(column) == column
    return column.rlike(WHOLE_NUMBER)


def _is_blank(table: "DataFrame", name: str) -> "Column":
    """Whether a cell is blank; a number is never turned into text for that, which takes long."""
    from pyspark.sql import functions as f

    column = f.col(name)
    if _type_of(table, name) in INTEGERS | FLOATS:
        return column.isNull()
    return column.isNull() | column.cast("string").rlike(r"^\s*$")


def _is_float(table: "DataFrame") -> bool:
    return _type_of(table, "label") in FLOATS


def _type_of(table: "DataFrame", name: str) -> str:
    return table.schema[name].dataType.typeName()
