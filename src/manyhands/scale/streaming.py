"""Aggregation out of core: labels on disk in parts, EM steps over one part after the other."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.catalog import DEFAULTS, make_aggregator
from manyhands.aggregation.evidence import Evidence, nothing_known, require_one_scale
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.core.settings import AT_LEAST_ONE, POSITIVE, require, require_choice
from manyhands.io import LabelFile
from manyhands.io.numbers import require_task
from manyhands.scale.consensus import StreamedConsensus, fit_parts, require_parts
from manyhands.scale.files import OpenedLabels, open_labels, with_notes
from manyhands.scale.part_file import PartedAnnotations
from manyhands.scale.spill import Naming, code_parts, spill_labels
from manyhands.scale.spill_folder import SpillFolder, fingerprint_of
from manyhands.scale.stream import StreamParts
from manyhands.scale.survey import Survey, survey_labels

CORRUPT_FILES = ("skip", "refuse")
_PER_LABEL, _PER_CLASS = 150, 40  # bytes of memory that a label takes while its part is in work
_MAX_BATCH = 1 << 20  # rows


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """How to aggregate out of core.

    `memory` is in GiB and for labels in work; parameters of annotators come on top. `parts` is the
    number of parts, by default as few as fit. `spill` is the folder of the parts, by default a
    temporary one, beside `near` if that is given. `resume` continues what an earlier process left
    there. Files that cannot be read are left out with a warning, or refused.
    """

    memory: float = 1.0
    parts: int | None = None
    spill: str | Path | None = None
    near: Path | None = None
    resume: bool = False
    corrupt_files: Literal["skip", "refuse"] = "skip"

    def __post_init__(self) -> None:
        require(POSITIVE.holds(self.memory), "memory", POSITIVE.text, self.memory)
        if self.parts is not None:
            require(AT_LEAST_ONE.holds(self.parts), "parts", AT_LEAST_ONE.text, self.parts)
        require_choice("corrupt_files", self.corrupt_files, CORRUPT_FILES)
        if self.resume and self.spill is None:
            raise SettingError(
                "resume needs the folder of an earlier run; give ", SettingName("spill", ...)
            )

    def labels_per_part(self, n_classes: int) -> int:
        """How many labels may be in work at a time."""
        return max(1, int(self.memory * 2**30 / (_PER_LABEL + _PER_CLASS * n_classes)))


@dataclass(frozen=True)
class SpilledLabels:
    """Labels in parts on disk."""

    folder: SpillFolder
    annotations: PartedAnnotations
    warnings: tuple[str, ...]


def stream_files(
    file: LabelFile,
    method: str | None = None,
    *,
    known: Mapping[Any, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    stream: StreamSettings | None = None,
) -> StreamedConsensus:
    """The consensus of files of labels that need not fit into memory."""
    stream = stream or StreamSettings()
    model = None if method is None else _model(method, settings or {})
    opened = open_labels(file, skip_corrupt=stream.corrupt_files == "skip")
    folder = SpillFolder(stream.spill, resume=stream.resume, near=stream.near)
    try:
        spilled = _spilled(file, opened, folder, model, known or {}, stream)
        if model is None:
            model = _model(DEFAULTS[spilled.annotations.kind], settings or {})
        return _fitted(model, spilled)
    except DataError:  # labels that cannot be used leave nothing, but parts of an earlier run stay
        (folder.stop if stream.resume else folder.close)()
        raise
    except BaseException:
        folder.stop()
        raise


def _model(method: str, settings: Mapping[str, Any]) -> Aggregator[Any]:
    model = make_aggregator(method, settings)
    require_parts(model)
    return model


def _spilled(
    file: LabelFile,
    opened: OpenedLabels,
    folder: SpillFolder,
    model: Aggregator[Any] | None,
    known: Mapping[Any, Any],
    stream: StreamSettings,
) -> SpilledLabels:
    """The labels in parts: as an earlier run left them, or divided now."""
    states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in file.inputs]
    fingerprint = fingerprint_of(
        states,
        opened.source.names, opened.reading, file.duplicates, model and model.kind,
        sorted(map(str, known.items())), stream.memory, stream.parts, stream.corrupt_files,
    )  # fmt: skip
    found = folder.continued(fingerprint)
    if found is None:
        _divide(file, opened, folder, model, known, stream, fingerprint)
        found = folder.continued(fingerprint)
    assert found is not None, "the parts were written just now"
    annotations = PartedAnnotations.of(
        found["n_items"], found["per_annotator"], found["annotators"], found["classes"]
    )
    read_from = with_notes(opened.read_from, *found["notes"])
    annotations = replace(annotations, source=read_from)
    return SpilledLabels(folder, annotations, tuple(found["warnings"]))


def _divide(
    file: LabelFile,
    opened: OpenedLabels,
    folder: SpillFolder,
    model: Aggregator[Any] | None,
    known: Mapping[Any, Any],
    stream: StreamSettings,
    fingerprint: str,
) -> None:
    skip = stream.corrupt_files == "skip"
    n_rows = min(_MAX_BATCH, stream.labels_per_part(2))
    survey = survey_labels(opened.source, opened.reading, n_rows, skip)
    codes = survey.labels
    require_task(file.shown, file.task, "numbers" if codes.classes is None else "classes")
    if model is not None:
        codes = codes.as_kind(model.kind)
    survey = survey.with_labels(codes)
    n_classes = 0 if codes.classes is None else len(codes.classes)
    n_parts = stream.parts or math.ceil(survey.n_rows / stream.labels_per_part(n_classes))
    rows = spill_labels(opened.source, survey, folder.path, n_parts, n_rows)
    if not rows:
        raise DataError("there is not a single label; nothing can be aggregated")
    naming = Naming(survey.annotators, codes.classes, survey.whole_items, file.duplicates)
    counts = code_parts(rows, folder.path, naming, known)
    if codes.classes is None:
        _require_one_scale(survey, naming, folder.path)
    folder.complete(
        fingerprint, np.sum([part.per_annotator for part in counts], axis=0),
        annotators=survey.annotators, classes=codes.classes,
        n_items=sum(part.n_items for part in counts),
        notes=[codes.note] if codes.note else [],
        warnings=skipped_files(dict(opened.corrupt) | dict(survey.corrupt)),
    )  # fmt: skip


def skipped_files(corrupt: Mapping[str, str]) -> list[str]:
    """The warnings about files that are left out."""
    return [f"a file is left out: {reason}" for reason in corrupt.values()]


def _require_one_scale(survey: Survey, naming: Naming, folder: Path) -> None:
    parts = StreamParts(folder, None, naming.annotators, naming.classes)

    def item_of(far: int) -> object:
        found = parts.each(_item_with, survey.label_sample[far], with_names=True)
        return next((name for name in found if name is not None), "")

    require_one_scale(survey.label_sample, item_of)


def _item_with(evidence: Evidence, label: float) -> object:
    """The first item of a part with this label."""
    ann = evidence.annotations
    rows: AnyArray = (ann.label == label).nonzero()[0]
    return ann.items[ann.item[rows[0]]] if len(rows) else None


def _fitted(model: Aggregator[Any], spilled: SpilledLabels) -> StreamedConsensus:
    ann, folder = spilled.annotations, spilled.folder
    runs = None
    if folder.is_named:  # a temporary one is not found again
        runs = folder.path / f"runs-{fingerprint_of(model.name, model.get_params())[:12]}"
    parts = StreamParts(folder.path, runs, ann.annotator_vocabulary, ann.class_vocabulary)
    fields = fit_parts(model, Evidence(ann, nothing_known(), parts), spilled.warnings)
    return StreamedConsensus(**fields, each=parts.each, close=folder.close, stop=folder.stop)
