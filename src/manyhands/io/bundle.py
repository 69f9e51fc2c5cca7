"""Tensors and a header in a folder, written whole: safetensors and json, never a pickle.

The header `NAME.json` names the file of tensors and its checksum. The tensors are written first,
under a name of their own, then the header takes the place of the old one: whenever writing stops,
the header points at tensors that are complete.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from manyhands.core.errors import DataError
from manyhands.io import atomic_write

FORMAT = 1


def write_bundle(
    folder: str | Path, name: str, tensors: Mapping[str, Tensor], header: Mapping[str, Any]
) -> None:
    """Write tensors and header; what was there before stays until the new one is complete."""
    home = made_folder(folder)
    clear_away(home, f".{name}-*.safetensors.*", f".{name}.json.*")
    content = safetensors.torch.save(apart(tensors))
    checksum = hashlib.sha256(content).hexdigest()
    weights = f"{name}-{checksum[:12]}.safetensors"
    with atomic_write(home / weights) as stream:
        stream.write(content)
    told = {**header, "format": FORMAT, "tensors": weights, "sha256": checksum}
    with atomic_write(home / f"{name}.json") as stream:
        stream.write(json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False).encode())
    for old in home.glob(f"{name}-*.safetensors"):
        if old.name != weights:
            old.unlink(missing_ok=True)


def made_folder(folder: str | Path) -> Path:
    """The folder, made where it is not there."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise DataError(f"{home}: is a file; name a folder")
    home.mkdir(parents=True, exist_ok=True)
    return home


def clear_away(home: Path, *patterns: str) -> None:
    """Remove what a process left that was killed while it wrote."""
    for pattern in patterns:
        for left in home.glob(pattern):
            left.unlink(missing_ok=True)


def read_header(folder: str | Path, name: str) -> dict[str, Any]:
    """The header of a bundle, of a format that this version knows."""
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
            f"{FORMAT}"
        )
    return header


def read_bundle(folder: str | Path, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header, whole or refused."""
    header = read_header(folder, name)
    path = Path(folder) / Path(str(header["tensors"])).name
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise DataError(f"{path}: no such file; the {name} is not complete") from None
    if hashlib.sha256(content).hexdigest() != header["sha256"]:
        raise DataError(f"{path}: is truncated or corrupted: its checksum is another")
    try:
        return safetensors.torch.load(content), header
    except SafetensorError as error:
        raise DataError(f"{path}: is not a safetensors file: {error}") from None


def apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, each in memory of its own: tied weights share theirs, and no file holds that."""
    seen: set[int] = set()
    apart = {}
    for key, each in tensors.items():
        shared = each.untyped_storage().data_ptr() in seen
        seen.add(each.untyped_storage().data_ptr())
        apart[key] = each.detach().clone().contiguous() if shared else each.contiguous()
    return apart


def under(prefix: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries whose names begin so, by the rest of their names."""
    return {
        key.removeprefix(prefix): each for key, each in entries.items() if key.startswith(prefix)
    }
