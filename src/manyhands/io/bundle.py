"""Arrays and a header in a folder: safetensors and json, never a pickle.

The header `NAME.json` holds the name and the checksum of the file of arrays. The arrays are written
first, to a file of their own, and then the new header replaces the old one. If writing stops at any
moment, the header still refers to a complete file of arrays.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io.atomic import atomic_write

FORMAT = 2  # 1 was that of version 0.1


def write_bundle(
    folder: str | Path, name: str, arrays: Mapping[str, AnyArray], header: Mapping[str, Any]
) -> None:
    """Write arrays and header; the previous bundle stays until the new one is complete."""
    home = make_folder(folder)
    remove_matching(home, f".{name}-*.safetensors.*", f".{name}.json.*")
    content = safetensors.numpy.save(
        {key: np.asarray(each, order="C") for key, each in arrays.items()}
    )
    checksum = hashlib.sha256(content).hexdigest()
    weights = f"{name}-{checksum[:12]}.safetensors"
    with atomic_write(home / weights) as stream:
        stream.write(content)
    complete = {**header, "format": FORMAT, "tensors": weights, "sha256": checksum}
    text = json.dumps(complete, ensure_ascii=False, indent=1, allow_nan=False)
    with atomic_write(home / f"{name}.json") as stream:
        stream.write(text.encode("utf-8", "surrogatepass"))
    for old in home.glob(f"{name}-*.safetensors"):
        if old.name != weights:
            old.unlink(missing_ok=True)


def make_folder(folder: str | Path) -> Path:
    """The folder, created if it does not exist."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise DataError(f"{home}: is a file; name a folder")
    home.mkdir(parents=True, exist_ok=True)
    return home


def remove_matching(home: Path, *patterns: str) -> None:
    """Remove unfinished files that a killed process left behind."""
    for pattern in patterns:
        for left in home.glob(pattern):
            left.unlink(missing_ok=True)


def has_bundle(folder: str | Path, name: str) -> bool:
    """Whether the folder holds a bundle of this name."""
    return (Path(folder) / f"{name}.json").is_file()


def read_header(folder: str | Path, name: str) -> dict[str, Any]:
    """The header of a bundle, in a format that this version reads."""
    path = Path(folder) / f"{name}.json"
    if not path.is_file():
        raise DataError(f"{path}: no such file; there is no {name} in this folder")
    try:
        header = json.loads(path.read_bytes())
    except ValueError:
        raise DataError(f"{path}: is not JSON; the {name} is truncated or corrupted") from None
    if not isinstance(header, dict) or not {"format", "tensors", "sha256"} <= header.keys():
        raise DataError(f"{path}: is not the header of a {name}")
    if header["format"] != FORMAT:
        raise DataError(
            f"{path}: is of format {header['format']}, and this version of manyhands reads format "
            f"{FORMAT}; make it again with this version, or read it with the one that made it"
        )
    return header


def read_bundle(folder: str | Path, name: str) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Arrays (read-only) and header; an incomplete or corrupted bundle raises a `DataError`."""
    header = read_header(folder, name)
    path = Path(folder) / Path(str(header["tensors"])).name
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise DataError(f"{path}: no such file; the {name} is not complete") from None
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
