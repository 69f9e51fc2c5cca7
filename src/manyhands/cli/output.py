"""Output: the only module that writes to the terminal."""

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import manyhands as mh
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import SettingError

# Control characters, and those that turn the direction of writing.
_OBEYED = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_LONGEST, _MOST_LEVELS = 4000, 20  # characters of a line, and names of levels in it


def say(text: str = "") -> None:
    """Print a line on standard output."""
    sys.stdout.write(visible(text) + "\n")


def flush() -> None:
    """Show at once what was printed: the command goes on for long."""
    sys.stdout.flush()


def say_text(text: str) -> None:
    """Print our own text of several lines, with its colours, on standard output."""
    sys.stdout.write(text + "\n")


def remark(text: str) -> None:
    """Print a line on standard error."""
    with suppress(OSError):  # nobody can be told
        sys.stderr.write(visible(text) + "\n")


@contextmanager
def unheard() -> Iterator[None]:
    """Drop all output, as in a process of which another prints the same."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def visible(text: str) -> str:
    """Text on one line, with characters that a terminal would obey written as escapes.

    Names come from data: a name must not move the cursor, or look like a line of ours.

    >>> visible("ann" + chr(10) + "ok") == "ann" + chr(92) + "nok"
    True
    """
    shown = _OBEYED.sub(lambda found: repr(found[0])[1:-1], text)
    if len(shown) <= _LONGEST:
        return shown
    return f"{shown[: _LONGEST // 2]} ... {shown[-_LONGEST // 2 :]}"


def say_json(content: Any) -> None:
    """Print a JSON object on standard output; numbers that are not finite are null."""
    text = json.dumps(_plain(content), ensure_ascii=False, indent=2, allow_nan=False)
    obeyed = _OBEYED.sub(lambda found: _json_escape(found[0]), text)
    sys.stdout.write(obeyed + "\n")


def _json_escape(character: str) -> str:
    return character if character == "\n" else f"\\u{ord(character):04x}"


def reading_lines(annotations: Any) -> list[str]:
    """What a file of labels was taken for, and notes about it."""
    source = annotations.source
    if source is None:
        return []
    n_labels, n_items = annotations.n_annotations, annotations.n_items
    return [
        f"{source}; {counted(n_labels, 'label')} of {counted(n_items, 'item')}",
        *level_lines(annotations.class_vocabulary),
        *(f"note: {note}" for note in source.notes),
    ]


def level_lines(classes: "mh.annotations.Vocabulary | None") -> list[str]:
    """The levels of ordinal labels in their order."""
    if classes is None or not classes.ordered:
        return []
    names, n_more = classes.names[:_MOST_LEVELS], len(classes) - _MOST_LEVELS
    return [f"levels: {' < '.join(map(str, names))}{f' < {n_more} more' if n_more > 0 else ''}"]


def source_of(annotations: Any, file: "mh.io.LabelFile | None" = None) -> dict[str, object]:
    """What a file of labels was taken for, and what was found in it, for JSON."""
    source = annotations.source
    if source is not None:
        taken: dict[str, object] = source.as_dict()
    else:
        taken = {} if file is None else {"path": file.shown, "layout": file.tokens}
    if annotations.ordered:
        taken["levels"] = annotations.classes.tolist()
    return taken | {
        "n_labels": annotations.n_annotations, "n_items": annotations.n_items,
        "n_annotators": annotations.n_annotators,
    }  # fmt: skip


def told_features(features: "mh.io.Features", path: str) -> "mh.io.Features":
    """The features, after notes about columns and files that are not used."""
    if features.unused:
        remark(
            f"note: {path}: only its {features.kind} are used, not {', '.join(features.unused[:5])}"
        )
    for note in getattr(features.values, "notes", ()):
        remark(f"note: {path}: {note}")
    return features


def counted(n: int, noun: str) -> str:
    """A number and its noun: 1 item, 2 items."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def told(annotations: Any) -> Any:
    """The annotations, after their `reading_lines` were printed on standard error."""
    for line in reading_lines(annotations):
        remark(line)
    return annotations


def token_notes(marked: "mh.io.TextLabels", orphan_tags: str | None) -> list[str]:
    """What a person should know about a file of tagged tokens that was read."""
    labels = marked.labels
    notes = [*getattr(labels.annotations.source, "notes", ())]
    if marked.n_orphan_tags:
        done = "are kept" if orphan_tags == "keep" else "were changed to B-"
        orphans = f"{marked.n_orphan_tags} tags I- that follow no entity"
        notes.append(f"{orphans} {done} (--orphan-tags)")
    labelled = set(labels.sentences.sentence_of_token[labels.annotations.item].tolist())
    if len(labelled) < len(labels):
        n_bare = len(labels) - len(labelled)
        notes.append(f"{n_bare} of {len(labels)} sentences have no label; they are kept")
    return notes


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that work is going on, on standard error and only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(visible(text))):
        yield


@contextmanager
def noting() -> Iterator[None]:
    """Print warnings of the library as lines on standard error.

    Warnings that differ in their numbers only are printed once.
    """
    printed: set[str] = set()

    def note(message: Warning | str, *_: Any) -> None:
        plain = re.sub(r"\d+", "", str(message))
        if plain not in printed:
            remark(f"note: {message}")
        printed.add(plain)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note  # type: ignore[assignment]
        yield


@contextmanager
def counting(text: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error, only on a terminal; call the result after every part."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task(escape(visible(text)), total=total)
        yield lambda: bar.advance(row)


def put_table(columns: Mapping[str, AnyArray], out: str) -> None:
    """Write a table to a file by its suffix, or to standard output as CSV."""
    if out == "-":
        sys.stdout.flush()
        mh.io.write_stream(columns, sys.stdout.buffer, "csv")
        sys.stdout.flush()
    else:
        mh.io.write_table(columns, out)


def put_tables(tables: Iterable[Mapping[str, AnyArray]], out: str) -> None:
    """The same for tables that are made one after the other and have the same columns."""
    if out == "-":
        sys.stdout.flush()
        mh.io.append_tables(tables, sys.stdout.buffer, "csv")
        sys.stdout.flush()
    else:
        mh.io.write_tables(tables, out)


def is_tagged(name: str) -> bool:
    """Whether a file has tokens with their tags, by its suffix."""
    return name.lower().endswith(mh.io.TAGGED_SUFFIXES)


def put_tokens(
    sentences: "mh.Sentences", tags: AnyArray, columns: dict[str, AnyArray], out: str
) -> None:
    """Write tokens with their tags to a CoNLL file, or a table, by the suffix."""
    if is_tagged(out):
        mh.io.write_bio(mh.annotations.TaggedSentences(sentences, tags), out)
    else:
        put_table(columns, out)


def with_words(sentences: "mh.Sentences", columns: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """A table of tokens, with their names and words first."""
    return {"item": sentences.token_names, "word": sentences.word} | columns


def require_targets(
    *names: str | None,
    read: Sequence[str | None] = (),
    tagged: str | None = None,
    for_tools: Sequence[str | None] = (),
) -> None:
    """Raise an error for files that cannot be written, that are also read, or that are one stream.

    `tagged` is the one file that may have tokens with their tags, and `for_tools` are files that
    may have any suffix.
    """
    targets = [name for name in (*names, *for_tools) if name is not None]
    places = [name if name == "-" else os.path.realpath(name) for name in targets]
    for name, place in zip(targets, places, strict=True):
        if places.count(place) > 1:
            raise SettingError(f"two tables cannot both go to {name!r}; name two files")
    if sum(name in ("-", mh.io.STANDARD_INPUT) for name in read) > 1:
        raise SettingError("standard input can be one file only; name a file for the other")
    for name in targets:
        if name != "-":
            mh.io.require_target(name, tagged=name == tagged, any_suffix=name in for_tools)
            require_unread(name, read)


def require_unread(target: str, read: Iterable[str | None]) -> None:
    """Raise an error if a file that is written is also read, by this name or by a link to it."""
    for name in read:
        if name is not None and _same_file(target, name):
            raise SettingError(f"{target}: is read from and would be lost; name another file")


def _same_file(one: str, other: str) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 - a hard link is the same file too
    except OSError:
        return False


def records(columns: Mapping[str, AnyArray]) -> list[dict[str, Any]]:
    """A table as a list of rows of plain values."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def show_table(
    title: str, rows: Sequence[Mapping[str, Any]], columns: Iterable[str] | None = None
) -> None:
    """Print some columns of a table, or all, with numbers to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names = list(columns or rows[0])
    heading = Text(visible(title)) if title else None
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False)
    for name in names:
        numeric = all(isinstance(row[name], int | float | None) for row in rows)
        table.add_column(
            Text(visible(name)), justify="right" if numeric else "left", no_wrap=name == names[0]
        )
    for row in rows:
        table.add_row(*(Text(visible(_cell(row[name]))) for name in names))
    wide = None if sys.stdout.isatty() else 120
    Console(width=wide, highlight=False).print(table)


_GRID_STYLES = {"reached": "green", "better": "blue", "short": "red", "not-run": "dim"}


def show_grid(grid: "mh.experiments.Grid") -> None:
    """Print a published table: a line for the published figures, and lines for those of runs."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    titles = [title for title in (grid.title, *(group for group, _ in grid.groups)) if title]
    heading = Text(visible(", ".join(titles))) if titles else None
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False)
    table.add_column(Text(visible(grid.corner)))
    table.add_column("")
    for name in grid.columns:
        table.add_column(Text(visible(name)), justify="right", no_wrap=True)
    head = None
    for line in grid.lines:
        cells = [
            Text(visible(cell.shown), style=_GRID_STYLES.get(cell.meaning, ""))
            for cell in line.cells
        ]
        shown = "" if line.head == head else line.head
        table.add_row(Text(visible(shown)), Text(visible(line.label), style="dim"), *cells)
        head = line.head
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
