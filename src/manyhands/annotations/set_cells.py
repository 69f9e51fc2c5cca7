"""Cells that are sets of classes: lists, JSON, or names between separators."""

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from manyhands.annotations.vocabulary import join_names, name_to_text
from manyhands.core.arrays import AnyArray, Bools, object_array
from manyhands.core.errors import DataError, SettingName

SEPARATORS = (";", "|", ",")  # cells are split at the first that occurs in one of them
EMPTY_SET = "[]"
_BRACKETS = {"[": "]", "{": "}", "(": ")"}
_OPEN_LISTS, _ENDS_OF_LISTS = ('["', "['", '{"', "{'"), ('"]', "']", '"}', "'}")
_YES_NO = {"1": True, "0": False, "true": True, "false": False}
_COLLECTIONS = (set, frozenset, list, tuple, np.ndarray)


def holds_collections(values: Any) -> bool:
    """Whether a column has lists or sets in its cells; other cells of it may be blank.

    >>> holds_collections([{"cat"}, None]), holds_collections(["cat;dog"])
    (True, False)
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _is_list_type(values.type)
    if isinstance(values, np.ndarray) and values.dtype != object:
        return False
    return any(isinstance(value, _COLLECTIONS) for value in values)


def set_texts(values: Any) -> AnyArray:
    """A column of sets as texts: collections as JSON lists, other cells as they are."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        values = values.to_pylist()
    return object_array([_as_text(value) for value in values])


def parse_set(cell: Any, separator: str) -> list[str]:
    """The classes of one cell, each once and in the order of the cell.

    >>> parse_set("cat; dog", ";"), parse_set('["a;b"]', ";"), parse_set("[]", ";")
    (['cat', 'dog'], ['a;b'], [])
    """
    if isinstance(cell, _COLLECTIONS):
        found: Iterable[Any] = cell
    else:
        text = name_to_text(cell).strip()
        inner = _listed(text)
        if inner is None and (text[:2] in _OPEN_LISTS or text[-2:] in _ENDS_OF_LISTS):
            raise DataError(
                f"the label {text[:40]!r} begins or ends as a list without its other bracket; "
                "correct it"
            )
        found = _parted(text, separator) if inner is None else inner
    names = [name_to_text(name) for name in found]
    if any(isinstance(name, _COLLECTIONS) for name in found):
        raise DataError(f"the label {str(cell)[:40]!r} is a list in a list; give a list of classes")
    return list(dict.fromkeys(name for name in names if name.strip()))


def find_separator(cells: Iterable[str]) -> str:
    """What the cells of a column are split at: the first of `;`, `|` and `,` that one of them has.

    >>> find_separator(["cat|dog", "bird, small"]), find_separator(["cat"])
    ('|', ';')
    """
    plain = [cell for cell in cells if _listed(cell.strip()) is None]
    for separator in SEPARATORS:
        if any(separator in cell for cell in plain):
            return separator
    return SEPARATORS[0]


def joined_classes(names: Sequence[str]) -> list[str]:
    """Classes that are made of other classes between some separator.

    >>> joined_classes(["cat", "dog", "cat|dog", "dog, cat", "cat, small"])
    ['cat|dog', 'dog, cat']
    """
    known = set(names)
    return [
        name for name in names
        if any(sign in name and known.issuperset(_parted(name, sign)) for sign in SEPARATORS)
    ]  # fmt: skip


def set_cell(names: Sequence[str], separator: str, plain: bool) -> str:
    """A set as it is written in a table; `plain` if no class would be unclear between separators.

    >>> set_cell(["cat", "dog"], ";", True), set_cell([], ";", True), set_cell(["a;b"], ";", False)
    ('cat;dog', '[]', '["a;b"]')
    """
    if plain and names:
        return separator.join(names)
    return json.dumps(list(names), ensure_ascii=False)


def cells_of_members(members_ik: Bools, classes: Sequence[Any], separator: str) -> AnyArray:
    """Sets as they are written in a table; rows tell which classes a set has.

    >>> cells_of_members(np.array([[True, True], [False, False]]), ["cat", "dog"], ";").tolist()
    ['cat;dog', '[]']
    """
    names = [name_to_text(name) for name in classes]
    plain = all(is_plain(name, separator) for name in names)
    return object_array([
        set_cell([names[k] for k in np.flatnonzero(row)], separator, plain) for row in members_ik
    ])  # fmt: skip


def is_plain(name: str, separator: str) -> bool:
    """Whether a class can be written between separators and read again."""
    return separator not in name and name == name.strip() and name[:1] not in _BRACKETS


def _listed(text: str) -> list[Any] | None:
    """The content of brackets: JSON, Python, or names between commas; None for other cells."""
    if len(text) < 2 or _BRACKETS.get(text[0]) != text[-1]:
        return [] if text == "set()" else None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return _parted(text[1:-1], ",")
    if isinstance(found, dict):
        return [] if not found else _parted(text[1:-1], ",")
    return list(found) if isinstance(found, list | tuple | set) else [found]


def _parted(text: str, separator: str) -> list[str]:
    return [part.strip() for part in text.split(separator)]


def _as_text(value: Any) -> Any:
    if not isinstance(value, _COLLECTIONS):
        return value
    names = [each.tolist() if isinstance(each, np.ndarray) else each for each in value]
    if any(isinstance(each, list | tuple | set | dict) for each in names):
        raise DataError(f"the label {str(value)[:40]} is a list of lists; give a list of classes")
    return json.dumps(sorted({name_to_text(each) for each in names}), ensure_ascii=False)


def _is_list_type(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def sets_of_columns(
    cells: Mapping[str, Any], *, listed: bool = False
) -> tuple[list[str], AnyArray]:
    """The classes whose columns hold only 0 and 1 (or true and false), and the set of every row.

    Columns that are `listed` must all be such.

    >>> names, sets = sets_of_columns({"cat": [1, 0], "dog": [1, 0], "seconds": [3.5, 7]})
    >>> names, sets.tolist()
    (['cat', 'dog'], [['cat', 'dog'], []])
    """
    told = {name: _truths(column) for name, column in cells.items()}
    names = [name for name, flags in told.items() if flags is not None]
    if listed and len(names) < len(told):
        odd = next(name for name, flags in told.items() if flags is None)
        raise DataError(
            f"the column {odd!r} of a class has cells that are neither 0 nor 1; correct them, or "
            "drop these rows"
        )
    if not names:
        raise DataError(
            f"no column holds only 0 and 1, as one per class would: {join_names(cells)}; give ",
            SettingName("label", ...), ", the column of the sets",
        )  # fmt: skip
    table = np.stack([np.asarray(told[name], dtype=bool) for name in names], axis=1)
    return names, object_array([[names[k] for k in np.flatnonzero(row)] for row in table])


def _truths(column: Any) -> list[bool] | None:
    values = column.to_pylist() if isinstance(column, pa.Array | pa.ChunkedArray) else list(column)
    found = [_YES_NO.get(name_to_text(value).strip().lower()) for value in values]
    return None if any(flag is None for flag in found) else [bool(flag) for flag in found]
