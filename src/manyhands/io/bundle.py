"""Arrays and a header in a folder: safetensors and json, never a pickle.

The header `NAME.json` holds the name and the checksum of the file of arrays. The arrays are written
first, to a file of their own, and then the new header replaces the old one. If writing stops at any
moment, the header still refers to a complete file of arrays.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io.atomic import atomic_write
from manyhands.io.folders import (
    DIGITS,
    claim_folder,
    has_own_name,
    header_of,
    locked_folder,
    make_folder,
)
from manyhands.io.headers import BUNDLE, Fields, bundle_header, require_fields

FORMAT = 2  # 1 was that of version 0.1
_PATIENCE = 60.0  # seconds to wait for another process that saves
_ENCODING = ("utf-8", "surrogatepass")


def write_bundle(
    folder: str | Path, name: str, arrays: Mapping[str, AnyArray], header: Mapping[str, Any]
) -> None:
    """Write arrays and header; the previous bundle stays until the new one is complete.

    A folder that is not ours is refused (`claim_folder`), and only our own files are removed.
    """
    home = make_folder(folder)
    path = home / f"{name}.json"
    content = safetensors.numpy.save(
        {key: np.asarray(each, order="C") for key, each in arrays.items()}
    )
    checksum = hashlib.sha256(content).hexdigest()
    weights = f"{name}-{checksum[:DIGITS]}.safetensors"
    complete = {**header, "format": FORMAT, "tensors": weights, "sha256": checksum}
    text = json.dumps(complete, ensure_ascii=False, indent=1, allow_nan=False)
    with locked_folder(home, patience=_PATIENCE):
        previous = header_of(path)
        if previous is None:
            claim_folder(home)
            if path.exists():
                raise DataError(f"{path}: is not the header of a {name}; name another folder")
        _remove_unfinished(home, name)
        for target, part in ((home / weights, content), (path, text.encode(*_ENCODING))):
            require_plain_file(target)
            with atomic_write(target) as stream:
                stream.write(part)
        for old in home.glob(f"{name}-*.safetensors"):
            if old.name != weights and has_own_name(old, str((previous or {}).get("tensors"))):
                old.unlink(missing_ok=True)


def require_plain_file(path: Path) -> None:
    """Raise a `DataError` for a link, which may point to a file of others, and for a pipe."""
    if path.is_symlink():
        raise DataError(f"{path}: is a link; remove it, or name another folder")
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: is not a file; remove it, or name another folder")


def _remove_unfinished(home: Path, name: str) -> None:
    """Remove the temporary files of a process that was killed; nobody else writes here now."""
    rest = rf"(-[0-9a-f]{{{DIGITS}}}\.safetensors|\.json)\.[a-z0-9_]{{8}}"
    ours = re.compile(rf"\.{re.escape(name)}{rest}")
    for left in home.iterdir():
        if ours.fullmatch(left.name):
            left.unlink(missing_ok=True)


def has_bundle(folder: str | Path, name: str) -> bool:
    """Whether the folder holds a bundle of this name."""
    return (Path(folder) / f"{name}.json").is_file()


def read_header(folder: str | Path, name: str, fields: Fields) -> dict[str, Any]:
    """The header of a bundle, in a format that this version reads and with these fields."""
    path = Path(folder) / f"{name}.json"
    if not path.is_file():
        raise DataError(f"{path}: no such file; there is no {name} in this folder")
    try:
        header = bundle_header(path)
    except DataError:
        raise DataError(f"{path}: is not JSON; the {name} is truncated or corrupted") from None
    if header is None:
        raise DataError(f"{path}: is not the header of a {name}")
    if header["format"] != FORMAT:
        raise DataError(
            f"{path}: is of format {header['format']}, and this version of manyhands reads format "
            f"{FORMAT}; make it again with this version, or read it with the one that made it"
        )
    try:
        require_fields(header, {**BUNDLE, **fields})
    except DataError as error:
        raise DataError(f"{path}: the {name} does not fit its description: {error}") from None
    return header


def read_bundle(
    folder: str | Path, name: str, fields: Fields | None = None
) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Arrays (read-only) and header; an incomplete or corrupted bundle raises a `DataError`.

    The header must have `fields`; this is checked before arrays are read.
    """
    header = read_header(folder, name, fields or {})
    path = Path(folder) / Path(header["tensors"]).name
    if not path.is_file():  # nor a pipe or a device, which have no end
        raise DataError(f"{path}: no such file; the {name} is not complete")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != header["sha256"]:
        raise DataError(f"{path}: is truncated or corrupted: its checksum is another")
    try:
        return safetensors.numpy.load(content), header
    except SafetensorError as error:
        raise DataError(f"{path}: is not a safetensors file: {error}") from None


def under(prefix: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries whose names begin with `prefix`, by the rest of their names."""
    return {
        key.removeprefix(prefix): each for key, each in entries.items() if key.startswith(prefix)
    }
