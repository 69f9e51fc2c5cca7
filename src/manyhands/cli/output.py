"""Printing: the only place that writes to the terminal."""

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import manyhands as mh
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import SettingError

_OPTIONS = {
    'orphan_tags="repair"': "--orphan-tags repair",
    'alignment="widen"': "--alignment widen",
    "max_tokens=None reads them whole": "train with --max-tokens to read more",
    "name it with columns={'document': ...}": "name it with --item",
    "name it with columns={'annotator': ...}": "name it with --annotator",
    "name it with columns={'label': ...}": "name it with --label",
}
TAGGED = (".conll", ".bio", ".iob", ".iob2")


def say(text: str = "") -> None:
    """One line for the person, on standard output."""
    sys.stdout.write(text + "\n")


def remark(text: str) -> None:
    """One line beside the output, on standard error."""
    sys.stderr.write(text + "\n")


def say_json(content: Any) -> None:
    """One JSON object on standard output; a number that is not finite is null."""
    say(json.dumps(_plain(content), ensure_ascii=False, indent=2, allow_nan=False))


@contextmanager
def working(text: str) -> Iterator[None]:
    """A sign of life on standard error while something takes long, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


@contextmanager
def noting() -> Iterator[None]:
    """What the library warns of becomes a line on standard error.

    What differs in its counts only is said once: of texts to learn from, not of each part again.
    """
    said: set[str] = set()

    def note(message: Warning | str, *_: Any) -> None:
        plain = re.sub(r"\d+", "", str(message))
        if plain not in said:
            remark(f"note: {in_options(str(message))}")
        said.add(plain)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note  # type: ignore[assignment]
        yield


def in_options(text: str) -> str:
    """A message of the library with its settings called as the command line calls them."""
    for setting, option in _OPTIONS.items():
        text = text.replace(setting, option)
    return text


@contextmanager
def counting(text: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error for work in equal parts, on a terminal only; call what it gives."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task(text, total=total)
        yield lambda: bar.advance(row)


def put_table(columns: Mapping[str, AnyArray], out: str) -> None:
    """A table to a file by its suffix, or to standard output as CSV."""
    if out == "-":
        sys.stdout.flush()
        mh.io.write_stream(columns, sys.stdout.buffer, "csv")
        sys.stdout.flush()
    else:
        mh.io.write_table(columns, out)


def is_tagged(name: str) -> bool:
    """Whether a file holds tokens with their tags, by its name."""
    return name.lower().endswith(TAGGED)


def require_targets(
    *names: str | None, read: Sequence[str | None] = (), tagged: str | None = None
) -> None:
    """Refuse early what could not be written at the end, or would take another file's place.

    `tagged` is the one name that may be of a file of tokens with their tags.
    """
    targets = [name for name in names if name is not None]
    places = [name if name == "-" else os.path.realpath(name) for name in targets]
    for name, place in zip(targets, places, strict=True):
        if places.count(place) > 1:
            raise SettingError(f"two tables cannot both go to {name!r}; name two files")
    sources = {os.path.realpath(name) for name in read if name is not None}
    for name in targets:
        if name != "-":
            if name == tagged and is_tagged(name):
                mh.io.require_place(Path(name))
            else:
                mh.io.require_target(name)
            if os.path.realpath(name) in sources:
                raise SettingError(f"{name}: is read from and would be lost; name another file")


def require_folder(name: str) -> Path:
    """A folder to write to, made when missing."""
    home = Path(name)
    if home.exists() and not home.is_dir():
        raise SettingError(f"{home}: is a file; name a folder")
    home.mkdir(parents=True, exist_ok=True)
    return home


def records(columns: Mapping[str, AnyArray]) -> list[dict[str, Any]]:
    """A table as a list of rows of plain values."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table for a person, columns aligned, numbers to the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for position, name in enumerate(header):
        numeric = all(isinstance(row[position], int | float | None) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", no_wrap=position == 0)
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    wide = None if sys.stdout.isatty() else 120
    Console(width=wide, highlight=False).print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
