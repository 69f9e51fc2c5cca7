"""What a user names as a file of labels -> the files to read: packed, several, or a stream."""

import glob
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from manyhands.core.errors import DataError, SettingError
from manyhands.io.atomic import require_name
from manyhands.io.content import LOOKED_AT, suffix_by_content
from manyhands.io.input_file import InputFile, is_opened
from manyhands.io.packed import require_one_format, unpacked
from manyhands.io.sheets import sheet_as_csv, sheet_names

Paths: TypeAlias = "str | Path | Iterable[str | Path]"

STANDARD_INPUT = "standard input"  # its name in errors; users write -
_STREAMS = ("-", "/dev/stdin", STANDARD_INPUT)
_KNOWN = {
    ".csv", ".tsv", ".tab", ".parquet", ".pq", ".jsonl", ".ndjson", ".json", ".txt", ".npy", ".npz",
    ".conll", ".bio", ".iob", ".iob2",
}  # fmt: skip
_MOST_NAMES = 3
# A pipe can be read once, and a command may ask for its content several times.
_READ: "WeakKeyDictionary[Any, InputFile]" = WeakKeyDictionary()


def input_files(paths: Paths, sheet: str | None = None) -> tuple[InputFile, ...]:
    """The files to read: those of a path, a folder, a pattern such as `labels/*.csv`, or a list.

    "-" is standard input. Packed files are unpacked, and of a workbook one sheet is taken.
    """
    if isinstance(paths, str | Path):
        return tuple(file for path in _matching(paths) for file in opened(path, sheet))
    listed = [path for each in paths for path in _matching(each)]
    if not listed:
        raise DataError("no file is named; name one or more")
    twice = _named_twice(listed)
    if twice is not None:
        raise DataError(f"{twice}: is named twice, and its labels would count twice; name it once")
    return tuple(file for path in listed for file in opened(path, sheet))


def as_paths(given: Any) -> Paths:
    """A path, or a tuple of several; a `SettingError` for anything else."""
    if isinstance(given, str | Path):
        return given
    listed = isinstance(given, Iterable) and not hasattr(given, "columns")
    paths = tuple(given) if listed and not isinstance(given, Mapping) else (None,)
    if not all(isinstance(path, str | Path) for path in paths):
        raise SettingError(
            "path must be a file, a folder, a pattern or a list of files; got "
            f"{type(given).__name__}; frames and arrays are not read, but given as they are"
        )
    return paths


def opened(path: str | Path, sheet: str | None = None) -> list[InputFile]:
    """The files to read of one path: several for an archive of several files."""
    if is_opened(path):
        return [path]
    return [_readable(each, sheet) for each in unpacked(_raw(path))]


def sheet_of(path: str | Path, sheet: str | None) -> str | None:
    """The sheet, if the file is a workbook that has it; None for any other file."""
    if sheet is None or is_opened(path):
        return None
    found = unpacked(_raw(path))
    is_workbook = len(found) == 1 and found[0].content_suffix == ".xlsx"
    return sheet if is_workbook and sheet in sheet_names(found[0]) else None


def shown_paths(paths: Paths) -> str:
    """What a user named, as errors show it."""
    shown = [_shown(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    rest = f" ... ({len(shown)} files)" if len(shown) > _MOST_NAMES else ""
    return ", ".join(shown[:_MOST_NAMES]) + rest


def _shown(path: str | Path) -> str:
    if is_opened(path):
        return str(path)
    return STANDARD_INPUT if str(path) in _STREAMS else str(Path(path))


def _named_twice(paths: list[str | Path]) -> str | Path | None:
    seen = set()
    for path in paths:
        place = path if is_opened(path) else os.path.realpath(path)
        if place in seen:
            return path
        seen.add(place)
    return None


def _matching(path: str | Path) -> list[str | Path]:
    """The path, the files of a folder, or those that match a pattern."""
    text = str(path)
    if is_opened(path) or text in _STREAMS:
        return [path]
    if not text:
        raise DataError("the name of a file is empty; name a file")
    require_name(path)
    if Path(path).is_dir():
        return list(_files_of_folder(Path(path)))
    if not glob.has_magic(text) or Path(path).exists():
        return [path]
    found = sorted(Path(each) for each in glob.glob(text, recursive=True))  # noqa: PTH207
    files = [each for each in found if each.is_file()]
    if not files:
        raise DataError(f"{text}: no file matches; check the folder and the pattern")
    return list(files)


def _files_of_folder(folder: Path) -> list[Path]:
    files = sorted(
        each for each in folder.iterdir() if each.is_file() and not each.name.startswith(".")
    )
    if not files:
        inner = any(each.is_dir() for each in folder.iterdir())
        what = "holds only folders" if inner else "is a folder without files"
        raise DataError(f"{folder}: {what}; name a file")
    require_one_format(f"{folder}: is a folder", [each.name for each in files], "name one of them")
    return files


def _raw(path: str | Path) -> InputFile:
    require_name(path)
    return _standard_input() if str(path) in _STREAMS else _ordinary(Path(path))


def _ordinary(path: Path) -> InputFile:
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name a file in it")
    if not path.is_file():
        raise DataError(
            f"{path}: is not an ordinary file; save what it gives to one first, or give it as "
            "standard input (-)"
        )
    return InputFile.of(path, str(path), path.name)


def _standard_input() -> InputFile:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError(f"{STANDARD_INPUT}: there is none here; name a file")
    if stream not in _READ:
        parts = iter(lambda: stream.read(1 << 20), b"")
        _READ[stream] = InputFile.temporary(parts, STANDARD_INPUT, STANDARD_INPUT)
    if _READ[stream].stat().st_size == 0:
        raise DataError(f"{STANDARD_INPUT}: is empty")
    return _READ[stream]


def _readable(file: InputFile, sheet: str | None) -> InputFile:
    """The file, its sheet if it is a workbook, with a suffix that tells the format."""
    if file.suffix == ".xlsx" and file.content_suffix:
        return sheet_as_csv(file, sheet)
    if sheet is not None:
        raise DataError(f"{file}: is no Excel workbook, and has no sheet {sheet!r}")
    if file.suffix.lower() not in _KNOWN:
        with file.open("rb") as stream:
            head = stream.read(LOOKED_AT)
        if not head:
            raise DataError(f"{file}: the file is empty")
        file.content_suffix = suffix_by_content(head, whole=len(head) < LOOKED_AT)
        if file.content_suffix is not None:
            file.notes = (*file.notes, f"read as {file.content_suffix[1:]}, by its content")
    return file
