"""Files of labels of items, in every layout -> rows -> annotations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.annotations import Kind, Rows
from manyhands.annotations.class_columns import choose_label_columns
from manyhands.annotations.columns import is_candidate, is_text
from manyhands.annotations.dense import dense_cells, filler
from manyhands.annotations.labels import USED, as_list
from manyhands.annotations.levels import level_order
from manyhands.annotations.out_of_scope import are_box_rows, refusal, regions_of_columns
from manyhands.annotations.pair_columns import has_pairs
from manyhands.annotations.rows import encode_rows, nested_columns
from manyhands.annotations.source import Source
from manyhands.annotations.vocabulary import repeated
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice
from manyhands.io.comparisons import PairFile, require_pair_settings
from manyhands.io.exports import ItemTexts, ToolItems
from manyhands.io.exports.exported import FILE_NAME
from manyhands.io.input_file import InputFile
from manyhands.io.joined import common_format, joined, table_of
from manyhands.io.label_times import exported_times, require_taken, with_times
from manyhands.io.lists import require_paired_lists
from manyhands.io.matrices import header_of, read_matrix
from manyhands.io.nested import json_content
from manyhands.io.numbers import plain_grid, plain_numbers, require_clear_numbers
from manyhands.io.opening import Paths, as_paths, input_files, shown_paths
from manyhands.io.sniff import column_names
from manyhands.io.tables import FORMATS, SUFFIXES, Table
from manyhands.io.tool_files import ExportFile, open_exports, read_exports, usable_truths
from manyhands.io.wide import WideTable, is_wide, layout_hint

LABEL_SUFFIXES = SUFFIXES | {".txt": "txt", ".npy": "npy", ".json": "json"}
LAYOUTS = ("long", "wide", "dense")
DENSE_MISSING = (-1, "?", "")
_AS_CLASSES = ("classes", "ordinal", "multilabel")


@dataclass(frozen=True)
class ItemFile:
    """A file of labels of items and how to read it; the settings are those of `read`."""

    path: Paths
    format: str | None = None
    layout: str | None = None
    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    kind: Kind | None = None
    classes: Iterable[Any] | None = None
    missing: Any = None
    encoding: str = "utf-8"
    sheet: str | None = None
    seconds: str | None = None
    time: str | None = None
    separator: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_paths(self.path))

    @cached_property
    def inputs(self) -> tuple[InputFile, ...]:
        """The files to read: one, or several of one format."""
        return input_files(self.path, self.sheet)

    @property
    def shown(self) -> str:
        """The name of the file or files, as errors show it."""
        return shown_paths(self.path)

    @property
    def names(self) -> list[str]:
        """The names of all files."""
        return [str(file) for file in self.inputs]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how the files were found and opened."""
        if len(self.inputs) == 1:
            return self.inputs[0].notes
        return (f"read {len(self.inputs)} files: {shown_paths(self.inputs)}",)

    @cached_property
    def exports(self) -> tuple[ExportFile, ...]:
        """The files as exports of an annotation tool; none for other files."""
        if self.layout is not None:
            return ()
        first = self.inputs[0]
        format = self.format or LABEL_SUFFIXES.get(first.suffix.lower())
        format = "csv" if first.from_sheet else format
        return open_exports(self.inputs, format, self.encoding, self.annotator)

    @property
    def is_wide(self) -> bool:
        """Whether the file is a table that is read as wide without being told so."""
        first = self.inputs[0]
        format = self.format or LABEL_SUFFIXES.get(first.suffix.lower())
        format = "csv" if first.from_sheet else str(format)
        return format in FORMATS and is_wide(table_of(self.inputs, format, self.encoding))

    @cached_property
    def has_pairs(self) -> bool:
        """Whether rows are comparisons: `kind` says so, or else the names of the columns."""
        if any(each is not None for each in (self.kind, self.layout, self.item)):
            return self.kind == "pairs"
        return has_pairs(column_names(self.inputs[0], self.format, self.encoding))

    def pairs(self, **settings: Any) -> PairFile:
        """The same file as one of comparisons; `settings` are more of `read_comparisons`."""
        require_pair_settings(
            item=self.item, layout=self.layout, classes=self.classes, seconds=self.seconds,
            time=self.time,
        )  # fmt: skip
        given: dict[str, Any] = {
            "annotator": self.annotator, "winner": self.label, "missing": self.missing
        }  # fmt: skip
        given |= {name: each for name, each in settings.items() if each is not None}
        return PairFile(self.inputs, self.format, encoding=self.encoding, **given)

    def rows(self) -> Rows:
        """The rows of the file or files, including unusable ones."""
        rows = self._rows()
        assert rows.read_from is not None
        require_taken(rows.read_from, seconds=self.seconds, time=self.time)
        read = "" if rows.classes is None else rows.classes.note
        notes = (*self.notes, *rows.read_from.notes, *filter(None, [read]))
        source = replace(
            rows.read_from, path=", ".join(self.names), notes=notes,
            files=tuple(self.names) if len(self.names) > 1 else (),
        )  # fmt: skip
        return replace(rows, read_from=source)

    def _rows(self) -> Rows:
        files = self.inputs
        format = common_format(files, self.format, LABEL_SUFFIXES)
        if format == "txt" and self.format is None and self.layout is None:
            format = self._format_of_text()
        if self.layout is not None:
            require_choice("layout", self.layout, LAYOUTS)
        if self.exports:
            return self._exported()
        if format in {"txt", "npy"} or self.layout == "dense":
            matrix = read_matrix(self._only("a matrix"), format, self.encoding)
            if self.layout is None and format == "txt" and are_box_rows(matrix.cells):
                dense = SettingName("layout", "dense")
                error = refusal("boxes", self.shown)
                raise DataError(*error.args, "; if every column is an annotator give ", dense)
            return self._dense_rows(matrix.cells, matrix.first_line, None, matrix.names)
        if format == "json":
            return self._json_rows()
        table = table_of(files, format, self.encoding, with_names=self.annotator == FILE_NAME)
        return self._wide_rows(table) if self.layout == "wide" else self._long_rows(table)

    def _format_of_text(self) -> str:
        """The format of a .txt file: that of a table if its first line names the columns of one."""
        format, names = header_of(self.inputs[0], self.encoding)
        given = {"item": self.item, "annotator": self.annotator, "label": self.label}
        found = (
            name in names if name else any(is_candidate(each, role) for each in names)
            for role, name in given.items()
        )
        return format if len(names) > 2 and all(found) else "txt"

    def _only(self, what: str) -> InputFile:
        if len(self.inputs) > 1:
            raise DataError(
                f"{self.shown}: {what} is read from one file; these are {len(self.inputs)}: "
                "read them one by one, or write them as tables"
            )
        return self.inputs[0]

    def _json_rows(self) -> Rows:
        """The rows of lists of records, or of {item: {annotator: label}}."""
        contents = [json_content(file, self.encoding) for file in self.inputs]
        tables = [
            Table.of_records(file, records)
            for file, records in zip(self.inputs, contents, strict=True)
            if isinstance(records, list)
        ]
        if len(tables) == len(contents):
            titles = [file.title for file in self.inputs]
            return self._long_rows(joined(tables, titles if self.annotator == FILE_NAME else None))
        self._only("{item: {annotator: label}}")
        labels: Any = contents[0]
        try:
            columns = nested_columns(labels, sets=self.kind == "multilabel")
        except DataError as error:
            raise error.at(self.shown) from None
        rows = self._encoded(*columns, items=list(labels))
        return self._read(rows, "nested")

    def _codes(self, default: Sequence[Any] = ()) -> list[Any]:
        return as_list(default if self.missing is None else self.missing)

    def _encoded(self, *columns: Any, **named: Any) -> Rows:
        settings: dict[str, Any] = {"missing": self._codes(), "source": self.shown}
        settings |= {"kind": self.kind, "classes": self.classes, "separator": self.separator}
        settings |= named
        return encode_rows(*columns, **settings)

    def _long_rows(self, table: Table) -> Rows:
        given = (self.layout, self.annotator, self.label)
        if not any(given) and is_wide(table):
            return self._wide_rows(table)
        written: dict[str, str] = {}
        try:
            chosen = choose_label_columns(
                table.columns, lambda names: self._with_numbers(table, names, written),
                self.item, self.annotator, self.label, self.kind, self.classes,
            )  # fmt: skip
        except DataError as error:
            regions = None if self.label is not None else regions_of_columns(table.columns)
            if regions is not None:
                raise refusal(regions, str(table.path)) from None
            if not any(given):
                require_paired_lists(table)
            hint = () if any(given) else layout_hint(table.columns, len(self.inputs))
            raise DataError(*error.at(table.path).args, *hint) from None
        item, _, label = chosen.names
        kind = "numbers" if label in written else self.kind
        rows = self._encoded(
            *chosen.cells, kind=kind, classes=chosen.classes or self.classes,
            first_line=table.first_line, parts=table.parts,
        )  # fmt: skip
        chosen = replace(chosen, notes=(*chosen.notes, *filter(None, [written.get(label)])))
        texts = [name for name in table.columns if is_text(name) and name not in chosen.names]
        content = ToolItems("", ItemTexts(item, table.select([item, *texts]))) if texts else None
        source = replace(chosen.source(self.shown), content=content)
        rows = replace(rows, read_from=source)
        return with_times(rows, table.columns, table.select, self.seconds, self.time)

    def _with_numbers(
        self, table: Table, names: Sequence[str], written: dict[str, str]
    ) -> dict[str, Any]:
        """Columns of a table; numbers with commas or percent signs are plain, and `written`."""
        columns = table.select(names)
        if self.kind in _AS_CLASSES or self.classes is not None:
            return columns
        of_labels = [name for name in table.columns if is_candidate(name, "label")]
        of_labels = of_labels if self.label is None else [self.label]
        for name in [name for name in names if name in of_labels]:
            found = plain_numbers(columns[name], [str(code) for code in self._codes()])
            if found is not None:
                columns[name], written[name] = found
            elif len(of_labels) == 1:
                require_clear_numbers(name, columns[name])
        return columns

    def _exported(self) -> Rows:
        """The rows of files that a tool exported."""
        named = {"item": self.item, "annotator": self.annotator, "label": self.label}
        check = self.label is None and self.kind is None and self.classes is None
        found = read_exports(self.exports, check_labels=check, **named)
        rows = self._encoded(found.item, found.annotator, found.label)
        said = [] if rows.classes is None else rows.classes.names.tolist()
        unsaid = [truth for truth in dict.fromkeys(found.known.values()) if truth not in said]
        if said and unsaid and self.classes is None:  # a truth that nobody said is a class too
            every = [*said, *unsaid]
            if self.kind == "ordinal":
                every = [every[position] for position in level_order(every)]
            rows = self._encoded(found.item, found.annotator, found.label, classes=every)
        known, notes = usable_truths(found.known, rows)
        told = replace(found, known=known).summary()
        source = Source(
            self.shown, found.tool, *found.fields, notes=(told, *notes), known=known,
            content=ToolItems.of(found),
        )  # fmt: skip
        columns = exported_times(found)
        rows = replace(rows, read_from=source)
        return with_times(rows, list(columns), lambda _: columns, self.seconds, self.time)

    def _read(
        self,
        rows: Rows,
        layout: str,
        item: str = "",
        annotator: str = "",
        label: str = "",
        notes: Sequence[str] = (),
        texts: Mapping[str, Any] | None = None,
    ) -> Rows:
        content = ToolItems("", ItemTexts(item, texts)) if texts and len(texts) > 1 else None
        source = Source(self.shown, layout, item, annotator, label, tuple(notes), content=content)
        return replace(rows, read_from=source)

    def _wide_rows(self, table: Table) -> Rows:
        wide = WideTable.of(table, self.item)
        grid = np.array(
            [wide.columns[name].to_pylist() for name in wide.annotators], dtype=object
        ).T
        names: list[Any] = list(range(len(grid)))
        if wide.item is not None:
            names = table.filled("item", wide.columns[wide.item], "every row needs an item")
        twice = repeated(names)
        if twice:
            raise DataError(
                f"{table.path}: the item {twice[0]!r} has more than one row; in a wide table it "
                "has one"
            )
        notes, kind = wide.notes(), self.kind
        if kind not in _AS_CLASSES and self.classes is None:
            found = plain_grid(grid, [str(code) for code in self._codes(DENSE_MISSING)])
            if found is not None:
                grid, note = found
                kind, notes = "numbers", [*notes, note]
        rows = replace(self, kind=kind)._dense_rows(grid, table.first_line, names, wide.annotators)
        if self.layout is None:
            notes.insert(0, "read as a wide table, with a column per annotator")
        shown = ", ".join(wide.annotators[:3]) + (" ..." if len(wide.annotators) > 3 else "")
        return self._read(rows, "wide", wide.item or "rows", shown, notes=notes, texts=wide.texts())

    def _dense_rows(
        self,
        grid: AnyArray,
        first_line: int | None,
        items: Sequence[Any] | None = None,
        annotators: Sequence[Any] | None = None,
    ) -> Rows:
        codes, notes = self._codes(DENSE_MISSING), []
        code = filler(grid, codes) if self.missing is None else None
        if code is not None:
            codes = [code]
            notes = [
                f"{code} fills {np.mean(grid == code):.0%} of the cells and is read as no label"
            ]
        cells = dense_cells(grid, codes, items, annotators)
        rows = self._encoded(**cells, missing=(), first_line=first_line)
        return self._read(rows, "dense", notes=notes)


def require_within(rows: Rows, low: float, high: float) -> None:
    """Raise a `DataError` for a number outside of a range."""
    outside = (rows.state == USED) & ~((rows.label >= low) & (rows.label <= high))
    for row in np.flatnonzero(outside)[:1]:
        annotator, label = rows.annotators.names[rows.annotator[row]], rows.label[row]
        raise DataError(
            f"{rows.place(int(row))}: label {label:g} of annotator {annotator!s} is outside of ",
            SettingName("bounds", (low, high)), "; correct it, or drop it with ",
            SettingName("missing", f"{label:g}"),
        )  # fmt: skip
