"""A file of labels as the page shows it: what was taken for what, and what can be changed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from manyhands.annotations import Annotations, Kind
from manyhands.annotations.labels import as_list
from manyhands.core.errors import DataError
from manyhands.io import LabelFile, TextLabels
from manyhands.io.batches import BATCHED, BatchedTable
from manyhands.io.joined import common_format
from manyhands.io.labels import LABEL_SUFFIXES
from manyhands.io.sniff import column_names
from manyhands.report.shown import shown

N_ROWS = 5  # rows of the file that are shown
MAX_COLUMNS = 200
COLUMNS = ("item", "annotator", "label")
# What the field "Labels are" sets.
LABELS_ARE: dict[str, dict[str, str | None]] = {
    "": {"kind": None, "task": None},
    "classes": {"kind": "classes", "task": None},
    "numbers": {"kind": "numbers", "task": None},
    "ordinal": {"kind": "ordinal", "task": None},
    "sets": {"kind": "multilabel", "task": None},
    "tags": {"kind": None, "task": "tagging"},
}
READMIT = "readmit"  # the name of the box that takes annotators back who were left out
EMPTY = "empty"  # the value of the box that says that empty cells are no labels


@dataclass(frozen=True)
class Preview:
    """The columns of a table and its first rows; empty for other files."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class ReadLabels:
    """Labels of items, or of tokens if `tokens` is there, and what they were read from."""

    annotations: Annotations
    tokens: TextLabels | None = None

    @property
    def task(self) -> str:
        """What the labels are."""
        if self.tokens is not None:
            return "tagging"
        return "regression" if self.annotations.kind == "numbers" else "classification"

    @property
    def kind(self) -> Kind:
        """What the labels are, by which methods are offered."""
        return "ordinal" if self.annotations.ordered else self.annotations.kind

    @property
    def taken(self) -> dict[str, str]:
        """The columns that were taken, by role; empty if the file has none."""
        source = self.annotations.source
        if source is None or source.layout != "long":
            return {}
        return {role: getattr(source, role) for role in COLUMNS}

    @property
    def told(self) -> str:
        """What the file was taken for, as the command line says it."""
        source = self.annotations.source
        return "tokens with their tags" if source is None else shown(source, 400)

    @property
    def notes(self) -> list[str]:
        """What a reader of the file should know."""
        source = self.annotations.source
        notes = [] if source is None else [shown(note, 400) for note in source.notes]
        if self.tokens is not None and self.tokens.n_orphan_tags:
            n = self.tokens.n_orphan_tags
            notes.append(f"{n:,} tags I- that follow no entity were changed to B-")
        return notes


def read_labels(file: LabelFile) -> ReadLabels:
    """The labels of a file, of items or of tokens."""
    if file.tokens is None:
        return ReadLabels(file.read_items())
    marked = file.read_tokens()
    return ReadLabels(marked.labels.annotations, marked)


def preview(file: LabelFile) -> Preview:
    """What a table begins with, also if its columns are not clear; nothing for other files."""
    try:
        first = file.inputs[0]
        format = "csv" if first.from_sheet else common_format([first], file.format, LABEL_SUFFIXES)
        names = column_names(first, format, file.encoding)[:MAX_COLUMNS]
        if format not in BATCHED or len(set(names)) < max(len(names), 1):
            return Preview(tuple(dict.fromkeys(names)))
        batches = BatchedTable(first, format, file.encoding).batches(names, N_ROWS)
        columns = next(iter(batches), {})
        cells = [islice(columns[name].to_pylist(), N_ROWS) for name in names if name in columns]
    except DataError:
        return Preview()
    rows = tuple(tuple(_cell(cell) for cell in row) for row in zip(*cells, strict=True))
    return Preview(tuple(names), rows)


def _cell(value: Any) -> str:
    return "" if value is None else shown(value, 60)


def changed_settings(
    settings: Mapping[str, Any], form: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    r"""The settings of a file after a form was sent; those without a field stay.

    Annotators that are left out stay so unless the box `READMIT` is ticked.

    >>> form = {"item": ["id"], "labels_are": ["numbers"], "missing": ["NA, ?", "empty"]}
    >>> found = changed_settings({"label": "x", "bounds": (1, 5)}, form)
    >>> found["item"], found["label"], found["kind"], found["missing"], found["bounds"]
    ('id', None, 'numbers', ['NA', '?', ''], (1, 5))
    >>> changed_settings({"exclude": ["u"]}, {"exclude": ["v\r\nw"]})["exclude"]
    ['u', 'v', 'w']
    """
    one = {name: values[0] for name, values in form.items() if values}
    changed = dict(settings)
    for name in (*COLUMNS, "layout", "sheet"):  # names may begin or end with blanks
        changed[name] = one.get(name) or None
    changed |= LABELS_ARE.get(one.get("labels_are", ""), {})
    changed["encoding"] = one.get("encoding", "").strip() or "utf-8"
    changed["classes"] = _listed(one.get("classes", "")) or None
    marks = _listed(one.get("missing", ""))
    marks += [""] if EMPTY in form.get("missing", [])[1:] else []
    changed["missing"] = marks or None
    gone = [] if READMIT in form else [*as_list(settings.get("exclude") or ())]
    gone += [name for name in re.split(r"\r?\n", one.get("exclude", "")) if name.strip()]
    changed["exclude"] = list(dict.fromkeys(gone)) or None
    return changed


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
