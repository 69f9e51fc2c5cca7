"""Output files are written completely or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from manyhands.core.errors import DataError

_LONGEST = 60  # characters of a file name that are used in the temporary name


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to that gets the name `path` only when everything is on disk.

    If writing fails, the old file at `path` stays as it was. A link stays a link, and a pipe or
    device is written to directly.
    """
    require_place(Path(path))
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with naming_file(path), target.open("wb") as stream:
            yield stream
        return
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:_LONGEST]}.", dir=target.parent)
    try:
        with naming_file(path), os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(_mode_of(target))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def naming_file(path: str | Path) -> Iterator[None]:
    """Let an error of the machine, such as a full disk, name the file that is written."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def require_name(path: str | Path) -> None:
    """Raise a `DataError` for a text that no file system takes as a name."""
    try:
        valid = b"\x00" not in os.fsencode(path)
    except UnicodeEncodeError:
        valid = False
    if not valid:
        raise DataError(f"{str(path)!r}: no file is called so: the name holds NUL or is no text")


def require_place(target: Path) -> None:
    """Raise a `DataError` for a path at which no file can be written."""
    require_name(target)
    if not target.parent.is_dir():
        raise DataError(f"{target}: no such folder {str(target.parent)!r}; create it first")
    if target.is_dir():
        raise DataError(f"{target}: is a folder; name a file")


def _mode_of(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
