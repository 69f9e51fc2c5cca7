"""Files of comparisons of two items -> `Comparisons`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.annotations.comparison_rows import (
    ComparisonRows,
    Outcome,
    WinnerIs,
    encode_comparisons,
)
from manyhands.annotations.comparisons import Comparisons
from manyhands.annotations.pair_columns import choose_pair_columns
from manyhands.annotations.source import Source
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.io.exclusion import without_excluded
from manyhands.io.input_file import InputFile
from manyhands.io.joined import common_format, joined, table_of
from manyhands.io.nested import json_content
from manyhands.io.opening import Paths, as_paths, input_files, shown_paths
from manyhands.io.tables import FORMATS, SUFFIXES, Table

_SUFFIXES = SUFFIXES | {".json": "json"}


def read_comparisons(
    path: Paths,
    *,
    format: str | None = None,
    left: str | None = None,
    right: str | None = None,
    annotator: str | None = None,
    winner: str | None = None,
    winner_is: WinnerIs | None = None,
    outcomes: Mapping[Any, Outcome] | None = None,
    missing: Any = (),
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> Comparisons:
    """Read a table of comparisons, or several: a row per comparison of two items.

    Columns are found by their names unless they are given: the two items by names that differ by
    their side only (left and right, item_a and item_b, response_1 and response_2 ...), the winner
    by a word such as winner or preference, the annotator as in other files. A table without a
    column of annotators has one annotator, called "all". Columns called chosen and rejected are the
    winner and the loser; nothing is then known of sides.

    The winner is the name of an item of its row, a side (left, right, A, B, the name of a column,
    or what the names of the two columns differ by), or a tie (tie, draw, equal, both ...).

    Parameters
    ----------
    path, format, encoding, sheet
        As for `read`: a table (.csv .tsv .parquet .jsonl .xlsx) or a list of records (.json).
    left, right, annotator, winner : str
        Names of columns.
    winner_is : {"item", "side"}
        What a winner is, where names of items may as well be sides.
    outcomes : dict
        What other words mean, such as {"0": "left", "1": "right", "2": "tie"}.
    missing : object
        Winners that mean "no comparison", such as "skip" or "" for an empty cell.
    """
    file = PairFile(
        path, format, left, right, annotator, winner, winner_is, outcomes, missing, encoding, sheet
    )
    return file.read()


@dataclass(frozen=True)
class PairFile:
    """A file of comparisons and how to read it; the settings are those of `read_comparisons`."""

    path: Paths
    format: str | None = None
    left: str | None = None
    right: str | None = None
    annotator: str | None = None
    winner: str | None = None
    winner_is: WinnerIs | None = None
    outcomes: Mapping[Any, Outcome] | None = None
    missing: Any = ()
    encoding: str = "utf-8"
    sheet: str | None = None
    exclude: Any = None  # annotators whose comparisons are left out

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

    def read(self) -> Comparisons:
        """The comparisons of the file."""
        found = without_excluded(Comparisons.from_rows(self.rows()), self.exclude, self.shown)
        if len(found) == 0:
            raise DataError(f"{self.shown}: there is not a single comparison")
        return found

    def rows(self) -> ComparisonRows:
        """The rows of the file, including those that cannot be used."""
        table = self._table()
        try:
            chosen = choose_pair_columns(
                table.columns, self.left, self.right, self.winner, self.annotator
            )
        except DataError as error:
            raise error.at(self.shown) from None
        columns = table.select([name for name in dict.fromkeys(chosen) if name is not None])
        rows = encode_comparisons(
            columns[chosen.left], columns[chosen.right],
            None if chosen.annotator is None else columns[chosen.annotator],
            None if chosen.winner is None else columns[chosen.winner],
            names=(chosen.left, chosen.right), winner_is=self.winner_is, outcomes=self.outcomes,
            missing=() if self.missing is None else self.missing,
        )  # fmt: skip
        read_from = Source(
            ", ".join(self.names), "pairs", item=f"{chosen.left}, {chosen.right}",
            annotator=chosen.annotator or "", label=chosen.winner or "",
            notes=tuple(_notes(self.inputs, rows, chosen.annotator)),
            files=tuple(self.names) if len(self.names) > 1 else (),
        )  # fmt: skip
        return replace(
            rows, source=str(table.path), first_line=table.first_line, parts=table.parts,
            read_from=read_from,
        )  # fmt: skip

    def _table(self) -> Table:
        format = common_format(self.inputs, self.format, _SUFFIXES)
        if format == "json":
            contents = [json_content(file, self.encoding) for file in self.inputs]
            for file, content in zip(self.inputs, contents, strict=True):
                if isinstance(content, dict):
                    raise DataError(
                        f"{file}: comparisons are a list of records with the keys left, right and "
                        "winner; this is an object"
                    )
            return joined(
                [
                    Table.of_records(file, records)  # type: ignore[arg-type]
                    for file, records in zip(self.inputs, contents, strict=True)
                ]
            )
        if format not in FORMATS:
            raise DataError(f"{self.shown}: comparisons are read from a table; got {format}")
        return table_of(self.inputs, format, self.encoding)


def require_pair_settings(**given: Any) -> None:
    """Raise a `SettingError` for a setting that a table of comparisons has no use for."""
    for name, value in given.items():
        if value is not None:
            raise SettingError(
                SettingName(name), " is not for comparisons of two items; leave it out"
            )


def _notes(inputs: Sequence[InputFile], rows: ComparisonRows, annotator: str | None) -> list[str]:
    notes = list(inputs[0].notes) if len(inputs) == 1 else [f"read {len(inputs)} files"]
    if annotator is None:
        notes.append("no column of annotators: all comparisons count as those of one annotator")
    if not rows.has_sides:
        notes.append("the rows tell winner and loser; on which side they were is not known")
    n_dropped = int(np.sum(rows.outcome == -1))
    if n_dropped:
        notes.append(f"{n_dropped} rows are left out, as their winner means no comparison")
    return notes
