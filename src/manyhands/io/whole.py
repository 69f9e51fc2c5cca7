"""Output files appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from manyhands.core.errors import DataError


@contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the name `path` only when everything is on disk.

    When writing fails, half-way or at the end, what was at `path` before is still there.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise DataError(f"{target}: no such folder {str(target.parent)!r}; make it first")
    if target.is_dir():
        raise DataError(f"{target}: is a folder; name a file")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(_ordinary_mode())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _ordinary_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
