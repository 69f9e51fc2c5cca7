"""Packed files: gzip, bzip2, xz, Zstandard and zip, unpacked to temporary files of bounded size.

The first bytes of a file tell how it is packed, not its suffix. Names in an archive are shown and
never used as paths.
"""

import bz2
import errno
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from manyhands.annotations.vocabulary import repeated
from manyhands.core.errors import DataError, first_line
from manyhands.io.input_file import InputFile

MAX_UNPACKED = 1 << 30  # bytes; more only for a file that is large itself:
MAX_RATIO = 50  # unpacked bytes for each of its own
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second is that of an empty archive
_MARKS = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),  # the second is that of an empty file
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "Zstandard": re.compile(rb"\x28\xb5\x2f\xfd"),
}
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")
_TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".jsonl", ".ndjson", ".xlsx")
_ABOUT = (".txt", ".md", ".rst", ".pdf", ".html", ".docx", "")
_MOST_NAMES = 8
_PART = 1 << 20
BROKEN = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError,
    RuntimeError, ValueError, pa.ArrowException,
)  # fmt: skip
_OTHER_ARCHIVES = {
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls), or one with a password; save it as .xlsx or "
    ".csv, without a password",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it first",
    b"Rar!": "a RAR archive; unpack it first",
    b"%PDF": "a PDF file; export the table as .csv",
}


def unpacked_limit(path: Path) -> int:
    """Number of bytes that a file may unpack to."""
    return max(MAX_UNPACKED, MAX_RATIO * path.stat().st_size)


def unpacked(file: InputFile) -> list[InputFile]:
    """What a packed file holds, in the order of the names; the file itself if it is not packed."""
    found, limit = [file], unpacked_limit(file)
    for _ in range(2):  # a zip of .gz files
        inner: list[InputFile] = []
        n_bytes = 0
        for packed in found:
            new = _unpacked_once(packed, limit - n_bytes)
            n_bytes += sum(each.stat().st_size for each in new)
            inner += new
        found = inner
    return found


def _unpacked_once(file: InputFile, limit: int) -> list[InputFile]:
    with file.open("rb") as stream:
        head = stream.read(512)
    for mark, what in _OTHER_ARCHIVES.items():
        if head.startswith(mark):
            raise DataError(f"{file}: is {what}")
    if head[257:262] == b"ustar":
        raise DataError(f"{file}: is a tar archive; unpack it, and give the folder or its files")
    if head.startswith(_ZIP):
        return _from_zip(file, limit)
    packing = next((name for name, mark in _MARKS.items() if mark.match(head)), None)
    return [file] if packing is None else [_from_stream(file, packing, limit)]


def _from_stream(file: InputFile, packing: str, limit: int) -> InputFile:
    name = Path(file.content_name)
    plain = name.stem if name.suffix.lower() in _SUFFIXES else name.name
    with file.open("rb") as raw:
        try:
            parts = _bounded(_decompressed(raw, packing), raw, file, limit)
            unpacked = InputFile.temporary(
                parts, str(file), plain, (*file.notes, f"unpacked ({packing})")
            )
        except DataError:
            raise
        except BROKEN as error:
            raise _diagnosed(file, packing, error) from None
    unpacked.from_archive = file.from_archive
    return unpacked


def _decompressed(raw: BinaryIO, packing: str) -> Any:
    openers: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
    if packing in openers:
        return openers[packing](raw)
    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")


def _bounded(stream: Any, raw: BinaryIO, file: InputFile, limit: int) -> Iterator[bytes]:
    """The content of a stream, up to the bound; `raw` is the packed file that it reads from."""
    size, n_bytes = file.stat().st_size, 0
    while part := stream.read(_PART):
        n_bytes += len(part)
        if n_bytes > limit:
            raise _too_large(file, n_bytes * size // max(raw.tell(), 1), limit)
        yield part


def _from_zip(file: InputFile, limit: int) -> list[InputFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            members = [each for each in archive.infolist() if _is_content(each.filename)]
            twice = repeated(each.filename for each in members)
            if twice:
                raise DataError(f"{file}: holds two files {twice[0]!r}; keep one of them")
            table = _only_table([each.filename for each in members])
            if table is not None:
                others = [each.filename for each in members if each.filename != table]
                members = [each for each in members if each.filename == table]
                file.notes = (*file.notes, f"left out {_listed(others)} of the archive")
            names = [each.filename for each in members]
            kind, n_bytes = _kind_of(file, names), sum(each.file_size for each in members)
            if kind != ".npz" and n_bytes > limit:
                raise _too_large(file, n_bytes, limit)
            if kind is not None:
                file.content_suffix = kind
                return [file]
            return [_member(file, archive, each, len(members) == 1) for each in members]
    except DataError:
        raise
    except BROKEN as error:
        raise _diagnosed(file, "zip", error) from None


def _is_content(name: str) -> bool:
    """Whether a member of an archive is a file of the user's, not one that a system added."""
    parts = name.split("/")
    return bool(parts[-1]) and "__MACOSX" not in parts and not parts[-1].startswith(".")


def _only_table(names: list[str]) -> str | None:
    """The one table among files that say something about it, such as README.txt."""
    tables = [name for name in names if _plain_suffix(name) in _TABLES]
    others = [name for name in names if name not in tables]
    about = all(_plain_suffix(name) in _ABOUT for name in others)
    return tables[0] if len(tables) == 1 and others and about else None


def _kind_of(file: InputFile, names: list[str]) -> str | None:
    """The suffix of a zip that is read as a whole; None for an archive of files of labels."""
    if not names:
        raise DataError(f"{file}: the zip archive holds no file")
    if "xl/workbook.xml" in names:
        return ".xlsx"
    suffix = Path(file.content_name).suffix.lower()
    if all(name.endswith(".npy") for name in names) and suffix != ".zip":
        return suffix if suffix == ".npy" else ".npz"
    if "xl/workbook.bin" in names or {"content.xml", "mimetype"} <= set(names):
        raise DataError(f"{file}: is a workbook that is not read; save it as .xlsx or .csv")
    require_one_format(f"{file}: is an archive", names, "unpack it and name one of them")
    return None


def require_one_format(place: str, names: list[str], remedy: str) -> None:
    """Raise a `DataError` for files that do not all have the same suffix; `place` begins it."""
    kinds = {_plain_suffix(name) for name in names}
    if len(kinds) > 1:
        raise DataError(
            f"{place} with files of several formats ({_listed(names)}); keep those of one format, "
            f"or {remedy}"
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" ..." if len(names) > _MOST_NAMES else "")


def _plain_suffix(name: str) -> str:
    path = Path(name)
    return Path(path.stem if path.suffix.lower() in _SUFFIXES else path.name).suffix.lower()


def _member(
    file: InputFile, archive: zipfile.ZipFile, member: zipfile.ZipInfo, alone: bool
) -> InputFile:
    shown = str(file) if alone else f"{file} ({member.filename})"
    notes = (f"unpacked {member.filename} (zip)",) if alone else ()
    with archive.open(member) as stream:
        parts = iter(lambda: stream.read(_PART), b"")
        unpacked = InputFile.temporary(parts, shown, member.filename, (*file.notes, *notes))
    unpacked.from_archive = True
    return unpacked


def _too_large(file: InputFile, estimate: int, limit: int) -> DataError:
    return DataError(
        f"{file}: would unpack to about {shown_size(estimate)}, and at most {shown_size(limit)} "
        "are unpacked; unpack it yourself if this is right"
    )


def _diagnosed(file: InputFile, packing: str, error: Exception) -> Exception:
    if of_machine(error):
        return error
    if isinstance(error, RuntimeError) and "password" in str(error):
        return DataError(f"{file}: the archive has a password; unpack it first")
    if packing == "zip" and Path(file.content_name).suffix.lower() == ".xlsx":
        return DataError(f"{file}: not an Excel file, or cut short")
    return DataError(f"{file}: not a {packing} file, or cut short ({first_line(error)})")


def of_machine(error: Exception) -> bool:
    """Whether an error is one such as a full disk, not one of the file.

    EINVAL is a place before the beginning of a file, where a damaged archive may send its reader.
    """
    return getattr(error, "errno", None) not in (None, errno.EINVAL)


def shown_size(n_bytes: int) -> str:
    """A number of bytes for people."""
    units = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "bytes": 1}
    unit = next((name for name, size in units.items() if n_bytes >= size), "bytes")
    return f"{n_bytes / units[unit]:.3g} {unit}"
