"""Folders that are written to: which are ours, and one writer at a time."""

import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manyhands.core.errors import DataError
from manyhands.io.atomic import require_name
from manyhands.io.headers import bundle_header
from manyhands.io.json_text import parse_json

try:
    import fcntl
except ImportError:  # not on Windows: there two writers are on their own
    fcntl = None  # type: ignore[assignment]

LOG_FILE = "log.jsonl"
DIGITS = 12  # of the checksum, in the name of a file of arrays
_ARRAYS = re.compile(rf"[a-z]+-([0-9a-f]{{{DIGITS}}})\.safetensors")
_HELD: dict[str, tuple[int, int]] = {}  # folder: the thread that holds it, and how often
_GUARD = threading.Lock()
_PAUSE = 0.05  # seconds between two tries


def claim_folder(folder: str | Path) -> Path:
    """A folder to write a bundle or a log to: made if it is missing, refused if it is not ours.

    A folder is ours if it is empty, or has a bundle, or only what a stopped run leaves behind.
    """
    require_folder(folder)
    return make_folder(folder)


def require_folder(folder: str | Path) -> None:
    """Raise a `DataError` for a folder that `claim_folder` would refuse; nothing is made."""
    home = _named_folder(folder)
    if home.is_dir() and not is_ours(home):
        raise DataError(
            f"{home}: has other files and nothing of manyhands; name a new or an empty folder"
        )


def make_folder(folder: str | Path) -> Path:
    """The folder, created if it does not exist."""
    home = _named_folder(folder)
    home.mkdir(parents=True, exist_ok=True)
    return home


def _named_folder(folder: str | Path) -> Path:
    """The path of a folder; a `DataError` if its name is empty or that of a file."""
    if str(folder) == "":
        raise DataError("the name of the folder is empty; name a folder")
    require_name(folder)
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise DataError(f"{home}: is a file; name a folder")
    return home


def new_files(folder: str | Path, *names: str) -> list[Path]:
    """Paths of files to write in a folder, which is made; a file that exists is not overwritten."""
    home = make_folder(folder)
    paths = [home / name for name in names]
    for path in paths:
        if path.exists() or path.is_symlink():
            raise DataError(f"{path}: exists and would be lost; name a new or an empty folder")
    return paths


def is_ours(home: Path) -> bool:
    """Whether a folder is empty or was written by this package."""
    entries = [each for each in home.iterdir() if not each.name.startswith(".")]
    headers = [each for each in entries if each.suffix == ".json"]
    if any(header_of(each) is not None for each in headers):
        return True
    return all(_is_left_behind(each) for each in entries)


def header_of(path: Path) -> dict[str, Any] | None:
    """The header of a bundle; None if the file is something else."""
    try:
        return bundle_header(path)
    except DataError:
        return None


def _is_left_behind(entry: Path) -> bool:
    """Whether this is what a run leaves that was stopped before its first checkpoint."""
    if entry.is_symlink():
        return False
    if entry.is_dir():
        return entry.name == "tensorboard" or is_ours(entry)
    if entry.name != LOG_FILE:
        return has_own_name(entry)
    with entry.open("rb") as stream:
        line = stream.readline(10_000)
    try:
        return line == b"" or {"epoch", "loss"} <= dict(parse_json(line, entry)).keys()
    except (ValueError, TypeError):
        return False


def has_own_name(path: Path, listed: str = "") -> bool:
    """Whether a file of arrays is one of ours: its name is made of the checksum of its content.

    That of the file that our header lists is not computed again.
    """
    found = _ARRAYS.fullmatch(path.name)
    if found is None or path.is_symlink() or not path.is_file():
        return False
    if path.name == listed:
        return True
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest().startswith(found[1])


@contextmanager
def locked_folder(folder: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Hold a folder, so that no other process or thread writes to it.

    It is free again when the process ends, whatever ends it. The thread that holds a folder may
    hold it again. Others wait for `patience` seconds and then get a `DataError`.
    """
    key, until = os.path.realpath(folder), time.monotonic() + patience
    handle = None
    while not _hold(key):
        _wait(folder, until)
    try:
        if fcntl is not None and _HELD[key][1] == 1:
            handle = os.open(folder, os.O_RDONLY)
            while not _lock(handle):
                _wait(folder, until)
        yield
    finally:
        if handle is not None:
            os.close(handle)
        _release(key)


def _wait(folder: Path, until: float) -> None:
    if time.monotonic() >= until:
        raise DataError(
            f"{folder}: another process writes to this folder; wait for it, or name another folder"
        )
    time.sleep(_PAUSE)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _hold(key: str) -> bool:
    me = threading.get_ident()
    with _GUARD:
        owner, times = _HELD.get(key, (me, 0))
        if owner != me:
            return False
        _HELD[key] = (me, times + 1)
    return True


def _release(key: str) -> None:
    with _GUARD:
        owner, times = _HELD.pop(key)
        if times > 1:
            _HELD[key] = (owner, times - 1)
