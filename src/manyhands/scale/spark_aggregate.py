"""Aggregation on Spark: of a table, or of files that a cluster reads."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.catalog import DEFAULTS, make_aggregator
from manyhands.aggregation.evidence import Evidence, nothing_known, require_one_scale
from manyhands.aggregation.parts import resolved
from manyhands.annotations import Kind, Vocabulary
from manyhands.annotations.grouping import DUPLICATES, Duplicates, duplicated_pairs, repeats_error
from manyhands.annotations.labels import as_list
from manyhands.annotations.source import Source
from manyhands.annotations.vocabulary import name_to_text
from manyhands.core.arrays import AnyArray, Offsets
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import NOT_NEGATIVE, require, require_choice
from manyhands.io import LabelFile
from manyhands.scale.consensus import PartedConsensus, fit_parts, item_columns, require_parts
from manyhands.scale.files import ROLES, choose_by_name, open_labels
from manyhands.scale.label_survey import LabelReading
from manyhands.scale.part_file import PartAnnotations, PartedAnnotations
from manyhands.scale.spark import SparkParts, require_spark
from manyhands.scale.spark_parts import divide_table
from manyhands.scale.spark_session import (
    corrupt_files,
    read_files,
    spark_errors,
    spark_session,
)
from manyhands.scale.spark_survey import TableSurvey, survey_table
from manyhands.scale.spill import Naming, RowCodes, split_items
from manyhands.scale.streaming import StreamSettings, skipped_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TASKS_PER_CORE = 2
_LABELS_PER_TASK = 1 << 26
_MAX_LABELS = 1 << 20  # of a part: Spark copies its row several times in the memory of Java
_TYPES = {"i": "bigint", "f": "double", "b": "boolean", "O": "string"}  # by kind of an array


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SparkConsensus(PartedConsensus):
    """The consensus of a table of Spark; items are a distributed table.

    Parts are in the memory of the cluster until `close`.
    """

    spark_parts: SparkParts
    whole_items: bool

    def to_frame(self) -> "DataFrame":
        """The consensus table, distributed; its rows are computed when they are used."""
        return self.spark_parts.rows(item_columns, self.table_arguments, self._schema())

    def write(self, path: str | Path) -> None:
        """Write the consensus table as Parquet files in a new folder, where Spark can write."""
        self.to_frame().write.parquet(str(path))

    def close(self) -> None:
        """Give the memory of the cluster back."""
        self.spark_parts.close()

    def _schema(self) -> str:
        """Names and types of the columns, which those of no items have too."""
        names = np.zeros(0, dtype=np.int64 if self.whole_items else object)
        ann, none = self.crowd.annotations, np.zeros(0, dtype=np.int32)
        empty = PartAnnotations(
            none, none, ann.label, Vocabulary(names, "item"), ann.annotator_vocabulary,
            ann.class_vocabulary, offsets=np.zeros(1, dtype=np.int64),
        )  # fmt: skip
        given = [resolved(each, lambda _: np.zeros(0)) for each in self.table_arguments]
        columns = item_columns(Evidence(empty, nothing_known()), *given)
        quoted = (
            (name.replace("`", "``"), _TYPES[each.dtype.kind]) for name, each in columns.items()
        )
        return ", ".join(f"`{name}` {kind}" for name, kind in quoted)

    def __enter__(self) -> "SparkConsensus":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def aggregate(
    table: "DataFrame",
    method: str | None = None,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    kind: Kind | None = None,
    classes: Iterable[Any] | None = None,
    missing: Any = (),
    bounds: tuple[float, float] | None = None,
    duplicates: Duplicates = "keep",
    known: Mapping[Any, Any] | None = None,
    parts: int | None = None,
    memory: float = 1.0,
    broadcast: float = 1.0,
    source: Source | None = None,
    skipped: Sequence[str] = (),
    **settings: Any,
) -> SparkConsensus:
    """The consensus of a table of Spark, one row per label.

    Columns are found by their names or given. `duplicates` is "keep" or "refuse": rows of a Spark
    table have no order. `parts` is the number of parts, by default two per core and as many as
    tasks with `memory` GiB for labels need. `dawid-skene` divides confusions of annotators that
    take more than `broadcast` GiB among the executors, unless it has no prior or one by annotator.
    `source` and `skipped` tell where the table comes from, and what was left out of it. Other
    settings are those of `manyhands.aggregate`. The executors need manyhands too.
    """
    require_spark()
    stream = StreamSettings(memory=memory, parts=parts)
    require(NOT_NEGATIVE.holds(broadcast), "broadcast", NOT_NEGATIVE.text, broadcast)
    require_choice("duplicates", duplicates, DUPLICATES)
    if duplicates in ("first", "last"):
        raise SettingError(
            f"duplicates={duplicates!r} needs an order, which rows of a Spark table do not have; "
            "take keep or refuse"
        )
    given = {"item": item, "annotator": annotator, "label": label}
    names = tuple(choose_by_name(table.columns, role, given) for role in ROLES)
    columns = [table[f"`{name}`"].alias(role) for name, role in zip(names, ROLES, strict=True)]
    reading = LabelReading(
        names[2], kind, None if classes is None else tuple(classes), tuple(as_list(missing)), bounds
    )
    source = source or Source("a Spark table", "long", names[0], names[1], names[2])
    model = None if method is None else _model(method, settings)
    return _fitted(
        table.select(*columns),
        model,
        settings,
        reading,
        duplicates,
        known or {},
        stream,
        broadcast,
        source,
        skipped,
    )


def spark_files(
    file: LabelFile,
    method: str | None = None,
    *,
    known: Mapping[Any, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    master: str | None = None,
    memory: float = 1.0,
    broadcast: float = 1.0,
    skip_corrupt: bool = True,
) -> SparkConsensus:
    """The consensus of files of labels (CSV, TSV, Parquet) that a Spark cluster reads.

    The files must be where all executors find them. `master` is the cluster; without it, that of
    the Spark session or of the Spark settings, or all cores of this machine.
    """
    require_spark()
    opened = open_labels(file, skip_corrupt=skip_corrupt)
    if opened.source.titles is not None:
        raise SettingError("an annotator per file is not for Spark; write a column of annotators")
    session, tables = spark_session(master), list(opened.source.tables)
    item, annotator, label = opened.source.names

    def fitted(skipped: Mapping[str, str]) -> SparkConsensus:
        left = [table for table in tables if str(table.path) not in skipped]
        return aggregate(
            read_files(session, left, opened.source.names), method,
            item=item, annotator=annotator, label=label,
            kind=opened.reading.kind, classes=opened.reading.classes,
            missing=opened.reading.missing, bounds=opened.reading.bounds,
            duplicates=file.duplicates, known=known, memory=memory, broadcast=broadcast,
            source=opened.read_from, skipped=skipped_files(skipped), **(settings or {}),
        )  # fmt: skip

    try:
        return fitted(opened.corrupt)
    except spark_errors() as error:  # executors do not say which file they could not read
        corrupt = corrupt_files(session, tables, opened.source.names)
        if not corrupt:
            raise
        if not skip_corrupt or len(corrupt) == len(tables):
            raise DataError(next(iter(corrupt.values()))) from error
        return fitted({**opened.corrupt, **corrupt})


def _model(method: str, settings: Mapping[str, Any]) -> Aggregator[Any]:
    model = make_aggregator(method, settings)
    require_parts(model)
    return model


def _fitted(
    table: "DataFrame",
    model: Aggregator[Any] | None,
    settings: Mapping[str, Any],
    reading: LabelReading,
    duplicates: Duplicates,
    known: Mapping[Any, Any],
    stream: StreamSettings,
    broadcast: float,
    source: Source,
    skipped: Sequence[str] = (),
) -> SparkConsensus:
    survey = survey_table(table, reading)
    if model is None:
        found: Kind = "numbers" if survey.labels.classes is None else "classes"
        model = _model(DEFAULTS[found], settings)
    codes = survey.labels.as_kind(model.kind)
    if codes.classes is None:
        _require_one_scale(table, survey)
    naming = Naming(survey.annotators, codes.classes, survey.whole_items, duplicates)
    known = {name_to_text(name): truth for name, truth in known.items()}
    n_tasks = _n_tasks(table, survey)
    splits = split_items(survey.item_sample, _n_parts(n_tasks, survey, stream, codes.classes))
    n_tasks = min(n_tasks, len(splits) + 1)
    row_codes = RowCodes(survey.annotators, codes, survey.whole_items)
    alone = _divides_annotators(model, survey.annotators, codes.classes, broadcast)
    divided = divide_table(table, row_codes, splits, n_tasks, naming, known, alone=alone)
    n_tasks = len(splits) + 1 if alone else n_tasks
    parts = SparkParts(divided, n_tasks, survey.annotators, codes.classes, divide_annotators=alone)
    try:
        n_items, per_annotator = parts.total(_counts)
        if per_annotator.sum() == 0:
            raise DataError("there is not a single label; nothing can be aggregated")
        _require_usable(parts, duplicates, known)
        ann = PartedAnnotations.of(n_items, per_annotator, survey.annotators, codes.classes)
        object.__setattr__(ann, "source", source)
        fields = fit_parts(model, Evidence(ann, nothing_known(), parts), tuple(skipped))
    except BaseException:
        parts.close()
        raise
    return SparkConsensus(**fields, spark_parts=parts, whole_items=survey.whole_items)


def _divides_annotators(
    model: Aggregator[Any], annotators: Vocabulary, classes: Vocabulary | None, broadcast: float
) -> bool:
    """Whether confusions of annotators are too large to be sent to all executors."""
    n_classes = 0 if classes is None else len(classes)
    return model.needs_few_rows and 8 * len(annotators) * n_classes**2 > broadcast * 2**30


def _n_tasks(table: "DataFrame", survey: TableSurvey) -> int:
    cores = table.sparkSession.sparkContext.defaultParallelism
    return max(_TASKS_PER_CORE * cores, math.ceil(survey.n_rows / _LABELS_PER_TASK))


def _n_parts(
    n_tasks: int, survey: TableSurvey, stream: StreamSettings, classes: Vocabulary | None
) -> int:
    if stream.parts is not None:
        return stream.parts
    most = min(_MAX_LABELS, stream.labels_per_part(0 if classes is None else len(classes)))
    return max(n_tasks, math.ceil(survey.n_rows / most))


def _require_one_scale(table: "DataFrame", survey: TableSurvey) -> None:
    def item_of(far: int) -> object:
        found = table.where(
            table["label"].cast("double") == float(survey.label_sample[far])
        ).first()
        return "" if found is None else found["item"]

    require_one_scale(survey.label_sample, item_of)


def _require_usable(parts: SparkParts, duplicates: Duplicates, known: Mapping[str, Any]) -> None:
    """Raise a `DataError` for repeats that are refused, and for known truths of no item."""
    if duplicates == "refuse":
        repeats = [found for found in parts.results(_repeats) if found is not None]
        if repeats:
            raise repeats_error(*repeats[0][:2], sum(found[2] for found in repeats))
    if known:
        labelled = {name for names in parts.results(_known_items) for name in names}
        for name in known:
            if name not in labelled:
                raise DataError(
                    f"known truth of item {name!r}, which nobody labelled; leave it out"
                )


def _counts(evidence: Evidence) -> tuple[int, Offsets]:
    ann = evidence.annotations
    return ann.n_items, np.bincount(ann.annotator, minlength=ann.n_annotators)


def _repeats(evidence: Evidence) -> tuple[object, object, int] | None:
    """The first repeated pair of a part, and the number of repeats."""
    ann = evidence.annotations
    repeated: AnyArray = np.flatnonzero(duplicated_pairs(ann.item, ann.annotator))
    if len(repeated) == 0:
        return None
    n = int(repeated[0])
    return ann.annotators[ann.annotator[n]], ann.items[ann.item[n]], len(repeated)


def _known_items(evidence: Evidence) -> list[str]:
    names = evidence.annotations.items[evidence.is_known]
    return [name_to_text(name) for name in names.tolist()]
