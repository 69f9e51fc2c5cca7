"""Files that annotation tools export: recognised by their content, and read."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from manyhands.annotations import Rows
from manyhands.annotations.out_of_scope import refusal
from manyhands.annotations.plausible import text_advice, why_no_labels
from manyhands.core.errors import DataError, SettingName
from manyhands.io.delimited import DELIMITERS
from manyhands.io.exports import (
    EXPORTS,
    Export,
    ExportedLabels,
    ExportedSpans,
    marks_spans,
    read_marked_spans,
    recognise,
)
from manyhands.io.exports.exported import FILE_NAME
from manyhands.io.input_file import InputFile
from manyhands.io.json_text import parse_json
from manyhands.io.lists import parsed_list
from manyhands.io.nested_parquet import parquet_records
from manyhands.io.opening import shown_paths
from manyhands.io.tables import delimiter_of
from manyhands.io.texts import encoding_of, text_lines, with_mark

_LOOKED_AT = 50  # rows that tell what a file is
_PLAIN_TABLES = ("crowd-kit", "cleanlab")  # read as any other table
ONE_ROW_PER_LABEL = ("mturk", "label-studio-table")
_OF_TABLES = (*ONE_ROW_PER_LABEL, "list-columns")  # those that are CSV
_ONE_ANNOTATOR = ("doccano", "prodigy", "mturk", "label-studio-table")  # may be of one person
_LONGEST_CELL = 2**31 - 1  # characters; Python's own limit is less than a long document


@contextmanager
def errors_at(place: object) -> Iterator[None]:
    """Put a place in front of the errors of some work."""
    try:
        yield
    except DataError as error:
        raise error.at(place) from None


@dataclass(frozen=True)
class ExportFile:
    """A file that a tool exported: its format and its parsed content."""

    path: Path | str  # the name of the file or files, for errors
    tool: Export
    content: Any

    def marks_spans(self, label: str | None = None, tagging: bool | None = None) -> bool:
        """Whether its labels are spans of texts; see `exports.marks_spans`."""
        with errors_at(self.path):
            return marks_spans(self.content, label=label, tagging=tagging)

    def read(
        self, *, item: str | None = None, annotator: str | None = None, label: str | None = None
    ) -> ExportedLabels:
        """Its labels of items."""
        with errors_at(self.path):
            return self.tool.read(self.content, item=item, annotator=annotator, label=label)

    def read_spans(
        self, *, item: str | None = None, annotator: str | None = None, label: str | None = None
    ) -> ExportedSpans:
        """Its spans of texts."""
        with errors_at(self.path):
            return read_marked_spans(self.content, item=item, annotator=annotator, label=label)


def open_export(path: Path, format: str | None, encoding: str) -> ExportFile | None:
    """A file that a tool exported; None for any other file."""
    content: Any = None
    if format == "json":
        content = _parsed(path, encoding)
    elif format == "jsonl" and _tool(_first(_records(path, encoding))):
        content = list(_records(path, encoding))
    elif format in DELIMITERS and _is_export_table(path, format, encoding):
        content = list(_table_rows(path, format, encoding))
    elif format == "parquet" and _tool(parquet_records(path, _LOOKED_AT)):
        content = parquet_records(path)
    tool = _tool(content)
    return None if tool is None else ExportFile(path, tool, content)


def open_exports(
    files: Sequence[InputFile], format: str | None, encoding: str, annotator: str | None = None
) -> tuple[ExportFile, ...]:
    """Files that a tool exported; none for any other files.

    Archives and several files of doccano are those of its users, and become one export. Other
    files must all be exports of one tool. With the `annotator` "file name" every record has the
    name of its file.
    """
    by_user = files_of_users(files, encoding) if format == "jsonl" else {}
    if by_user and annotator == FILE_NAME:
        by_user = {user: _named_after(user, records) for user, records in by_user.items()}
    if by_user:
        return (ExportFile(shown_paths(files), EXPORTS["doccano"], by_user),)
    found = [open_export(file, format, encoding) for file in files]
    if annotator == FILE_NAME:
        found = [
            each and _with_file_name(each, file.title)
            for each, file in zip(found, files, strict=True)
        ]
    exports = tuple(each for each in found if each is not None)
    for file, each in zip(files, found, strict=True):
        if exports and (each is None or each.tool.name != exports[0].tool.name):
            what = "no export of a tool" if each is None else f"an export of {each.tool.tool}"
            raise DataError(
                f"{file}: is {what}, and another of these files is one of {exports[0].tool.tool}; "
                "read them one by one"
            )
    return exports


def _with_file_name(export: ExportFile, title: str) -> ExportFile:
    """An export of one annotator, whom the name of the file tells."""
    if export.tool.name not in _ONE_ANNOTATOR:
        raise DataError(
            f"{export.path}: an export of {export.tool.tool} names its annotators; leave out ",
            SettingName("annotator", FILE_NAME),
        )
    return replace(export, content=_named_after(title, export.content))


def _named_after(title: str, records: Sequence[Any]) -> list[Any]:
    return [{**record, FILE_NAME: title} for record in records]


def combined(exports: Sequence[ExportFile]) -> ExportFile:
    """Several exports of a tool as one, if their contents are lists."""
    first = exports[0]
    if len(exports) == 1:
        return first
    shown = ", ".join(str(each.path) for each in exports)
    if not all(isinstance(each.content, list) for each in exports):
        raise DataError(
            f"{shown}: every file is one object, not a list of records, and the items of several "
            "may have the same names; read them one by one"
        )
    return ExportFile(shown, first.tool, [record for each in exports for record in each.content])


def read_exports(
    exports: Sequence[ExportFile], *, check_labels: bool, **named: str | None
) -> ExportedLabels:
    """The labels of exports of a tool; `named` are fields of items, annotators and labels.

    `check_labels` refuses texts, which are no classes.
    """
    found = _joined(exports, [each.read(**named) for each in exports])
    if check_labels and any(isinstance(label, str) for label in found.label):
        _require_labels(found, shown_paths([each.path for each in exports]))
    return found


def _require_labels(found: ExportedLabels, path: str) -> None:
    column = pa.chunked_array([[str(label) for label in found.label]])
    problem = why_no_labels(column)
    if problem in ("boxes", "masks"):
        raise refusal(problem, path)
    if problem is not None:
        n, some = len(set(found.label)), next(iter(found.label))
        raise DataError(
            f"{path}: the label {found.fields.label} has {n} different values in "
            f"{len(found.label)} answers, such as {some!r}: these are no classes; name "
            "another one with ", SettingName("label", ...), ", or say what they are with ",
            SettingName("kind", "classes"), *text_advice(column),
        )  # fmt: skip


def files_of_users(files: Sequence[InputFile], encoding: str) -> dict[str, list[Any]]:
    """{user: records} of a doccano export; nothing for other files, or one outside of a zip."""
    titles = [file.title for file in files]
    if len(set(titles)) < len(files) or not (len(files) > 1 or files[0].from_archive):
        return {}
    first = {file.title: _first(_records(file, encoding)) for file in files}
    tool = recognise(first) if any(first.values()) else None
    if tool is None or tool.name != "doccano":
        return {}
    return {file.title: list(_records(file, encoding)) for file in files}


def _joined(files: Sequence[ExportFile], exports: Sequence[ExportedLabels]) -> ExportedLabels:
    """The labels of several exports; an item must be the same thing in all of them."""
    whole = exports[0]
    for file, each in zip(files[1:], exports[1:], strict=True):
        other = [item for item, data in each.data.items() if whole.data.get(item, data) != data]
        if other:
            raise DataError(
                f"{file.path}: the item {other[0]!r} has other data than in a file before; exports "
                "of several projects count their items alike: read them one by one"
            )
        columns = {*whole.extras, *each.extras}
        whole = replace(
            whole,
            item=whole.item + each.item,
            annotator=whole.annotator + each.annotator,
            label=whole.label + each.label,
            extras={name: _cells(whole, name) + _cells(each, name) for name in columns},
            data=whole.data | each.data,
            known=whole.known | each.known,
            skipped=dict(Counter(whole.skipped) + Counter(each.skipped)),
        )
    return whole


def _cells(labels: ExportedLabels, name: str) -> list[Any]:
    return labels.extras.get(name, [None] * len(labels.label))


def _tool(content: Any) -> Export | None:
    found = recognise(content) if content else None
    if found is None or found.name in _PLAIN_TABLES:
        return None
    return None if found.name == "doccano" and _says_twice(content) else found


def _says_twice(content: Any) -> bool:
    """Whether a list of labels names a class twice: it is of several annotators, not of doccano."""
    records = content if isinstance(content, list) else []
    lists = [record.get(name) for record in records for name in ("label", "labels")]
    return any(
        len(set(said)) < len(said)
        for said in lists
        if isinstance(said, list) and all(isinstance(label, str | int) for label in said)
    )


def _is_export_table(path: Path, format: str, encoding: str) -> bool:
    tool = _tool(_first(_table_rows(path, format, encoding)))
    return tool is not None and tool.name in _OF_TABLES


def _first(records: Iterator[Any]) -> list[Any]:
    """The first records, up to one that cannot be read; whoever reads them all raises the error."""
    found: list[Any] = []
    try:
        for record in islice(records, _LOOKED_AT):
            found.append(record)
    except DataError:
        pass
    return found


def _parsed(path: Path, encoding: str) -> Any:
    """The content of a JSON file, or of a file of JSON lines that is named so."""
    try:
        return parse_json("\n".join(text_lines(path, encoding)), path)
    except DataError:  # which the reader of plain files raises again
        lines = _first(_records(path, encoding))
        # One object over several lines is a JSON file that its reader finds to be cut short.
        return list(_records(path, encoding)) if _tool(lines) else None


def _records(path: Path, encoding: str) -> Iterator[Any]:
    for number, line in enumerate(text_lines(path, encoding), 1):
        if line.strip():
            yield parse_json(line, f"{path}, line {number}")


def _table_rows(path: Path, format: str, encoding: str) -> Iterator[dict[str, Any]]:
    """The rows of a table; lists that are written as text are lists again."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        delimiter = delimiter_of(path, DELIMITERS[format], encoding)
        with path.open(encoding=with_mark(encoding_of(path, encoding)), newline="") as stream:
            rows = csv.DictReader(stream, delimiter=delimiter)
            widths: list[int] = []
            for row in rows:
                if None in row:
                    raise DataError(f"{path}, line {rows.line_num}: more cells than columns")
                widths.append(sum(cell is not None for cell in row.values()))
                # Mechanical Turk leaves out the last cells of a row if they are blank.
                yield {name: parsed_list(cell or "") for name, cell in row.items()}
        n_columns = len(rows.fieldnames or ())
        if widths and widths[-1] < min([n_columns, *widths[:-1]]) and not _ends_a_line(path):
            raise DataError(
                f"{path}: the last row has {widths[-1]} of {n_columns} cells; the file may be cut "
                "short"
            )
    except (UnicodeError, LookupError, csv.Error):
        raise DataError(f"{path}: cannot be read as text") from None
    finally:
        csv.field_size_limit(limit)


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(max(path.stat().st_size - 4, 0))
        return not {*stream.read()}.isdisjoint(b"\r\n")


def usable_truths(known: dict[Any, Any], rows: Rows) -> tuple[dict[Any, Any], list[str]]:
    """The truths of an export that are classes of its labels, and a note about the others."""
    if rows.classes is None or not known:
        return known, []
    codes = rows.classes.codes(list(known.values())).tolist()
    kept = {item: truth for (item, truth), k in zip(known.items(), codes, strict=True) if k >= 0}
    others = list(dict.fromkeys(str(known[item]) for item in known if item not in kept))
    n_others = len(known) - len(kept)
    told = f"{n_others} known truths are not used: no annotator said {', '.join(others)}"
    return kept, [told] if others else []
