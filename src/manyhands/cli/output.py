"""Printing: the only place that writes to the terminal."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import manyhands as mh
from manyhands.core.arrays import AnyArray


def say(text: str = "") -> None:
    """One line for the person, on standard output."""
    sys.stdout.write(text + "\n")


def remark(text: str) -> None:
    """One line beside the output, on standard error."""
    sys.stderr.write(text + "\n")


def say_json(content: Any) -> None:
    """One JSON object on standard output."""
    say(json.dumps(content, ensure_ascii=False, indent=2, default=_plain, allow_nan=False))


def put_table(columns: Mapping[str, AnyArray], out: str) -> None:
    """A table to a file by its suffix, or to standard output as CSV."""
    if out == "-":
        sys.stdout.flush()
        mh.io.write_stream(columns, sys.stdout.buffer, "csv")
        sys.stdout.flush()
    else:
        mh.io.write_table(columns, out)


def records(columns: Mapping[str, AnyArray]) -> list[dict[str, Any]]:
    """A table as a list of rows of plain values, NaN as null."""
    names = list(columns)
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    return [
        {name: None if value != value else value for name, value in zip(names, row, strict=True)}  # noqa: PLR0124
        for row in rows
    ]


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table for a person, columns aligned, numbers to the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for position, name in enumerate(header):
        numeric = all(isinstance(row[position], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", no_wrap=position == 0)
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    wide = None if sys.stdout.isatty() else 120
    Console(width=wide, highlight=False).print(table)


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"not JSON: {type(value).__name__}")
