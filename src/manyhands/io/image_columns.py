"""The column of a table that has paths of images, and the images in these files."""

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path, PureWindowsPath
from typing import Any

from manyhands.annotations.columns import is_candidate, split_name
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError, SettingName
from manyhands.io.images import BY_PATH, OWN, Images, is_image_path
from manyhands.io.tables import Table

_WORDS = {
    "path", "filepath", "file", "filename", "image", "img", "photo", "picture", "imagepath",
    "imagefile", "imgpath",
}  # fmt: skip
_LOOKED_AT = 100  # rows whose cells tell what a column holds
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def image_column(table: Table, given: str | None, item: str | None) -> str | None:
    """The column of paths of images: the given one, or one found by its name and its cells.

    A column of the given items is none if there is another. A column that names the items of a
    table of numbers is none, although its names may be those of images.
    """
    if given is not None:
        return table.find_column("image", given)
    named = [name for name in table.columns if not _WORDS.isdisjoint(split_name(name))]
    cells = {name: _first_cells(table, name) for name in dict.fromkeys(named)}
    found = [name for name, some in cells.items() if some and all(map(is_image_path, some))]
    found = [name for name in found if name != item] or found
    if len(found) > 1:
        there = [name for name in found if _file(table, cells[name][0]).is_file()]
        if len(there) != 1:
            raise DataError(
                f"{table.path}: several columns may be those of images: "
                f"{join_names(map(repr, found))}; name one with ", SettingName("image", ...)
            )  # fmt: skip
        return there[0]
    if not found:
        return None
    others = [name for name in table.columns if name != found[0]]
    if not others or any(is_candidate(name, "item") for name in others):
        return found[0]
    numbers = all(map(_is_number, (cell for name in others for cell in _first_cells(table, name))))
    return None if numbers else found[0]


def images_of_column(
    table: Table, column: str, cells: Sequence[Any], items: AnyArray | None
) -> Images:
    """The images in the files of a column; a file that is not there is refused.

    Paths are relative to the folder of the table, or absolute. Nothing is fetched from an address.
    """
    files: list[Path] = []
    for row, cell in enumerate(cells):
        where = f"{table.place(row)}, column {column!r}"
        if cell is None or not str(cell).strip():
            raise DataError(f"{where}: the path is blank; leave the row out")
        if _ADDRESS.match(str(cell)):
            raise DataError(
                f"{where}: {cell!r} is an address; download the image and name its file"
            )
        files.append(_file(table, cell))
    missing = [row for row, file in enumerate(files) if not file.is_file()]
    if missing:
        more = f" ({len(missing)} files are missing)" if len(missing) > 1 else ""
        raise DataError(
            f"{table.place(missing[0])}, column {column!r}: no file {files[missing[0]]}{more}; "
            "paths are relative to the folder of the table"
        )
    names = object_array([_plain(cell) for cell in cells])
    return Images(
        object_array([str(file) for file in files]),
        names,
        names if items is None else items,
        BY_PATH if items is None else OWN,
        str(table.path),
    )


def _file(table: Table, cell: Any) -> Path:
    return Path(str(table.path)).parent / _plain(cell)


def _plain(cell: Any) -> str:
    """A path with slashes; tables of Windows have backslashes."""
    text = str(cell).strip()
    return PureWindowsPath(text).as_posix() if "\\" in text and "/" not in text else text


def _first_cells(table: Table, name: str) -> list[Any]:
    cells = table.select([name])[name]
    return [cell for cell in islice((each.as_py() for each in cells), _LOOKED_AT) if cell]


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
