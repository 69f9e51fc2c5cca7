"""JSON from outside: read exactly, or refused in one line.

Every JSON text that others may have written passes here: labels, exports of tools, cells of
tables, and the headers of models.
"""

import json
from pathlib import Path
from typing import Any, NoReturn

from manyhands.core.errors import DataError

MAX_DEPTH = 100  # of lists and objects in each other
_CONTAINERS = (dict, list)


def parse_json(text: str | bytes, place: object, *, finite: bool = False) -> Any:
    """The content of a JSON text; a `DataError` that begins with `place` if it is not clear.

    A name that is given twice in one object, nesting deeper than `MAX_DEPTH` and a number of more
    digits than Python reads are refused; with `finite` also NaN and Infinity, which Python writes
    and JSON does not have.
    """
    try:
        found = json.loads(
            text, object_pairs_hook=_named_once, parse_constant=_refuse_constant if finite else None
        )
    except json.JSONDecodeError as error:
        at = f", line {error.lineno}, column {error.colno}" if error.lineno > 1 else ""
        raise DataError(f"{place}: not JSON ({error.msg}{at}); the file may be cut short") from None
    except RecursionError:
        raise _too_deep(place) from None
    except DataError as error:
        raise error.at(place) from None
    except UnicodeDecodeError:
        raise DataError(f"{place}: not JSON; it is not UTF-8 text") from None
    except ValueError:
        raise DataError(
            f"{place}: a number has too many digits to be read; put it in quotes if it is a name"
        ) from None
    _require_shallow(found, place)
    return found


def parse_cell(cell: str) -> Any:
    """The content of a cell that holds a JSON list or object; other cells as they are."""
    if not cell.startswith(("[", "{")):
        return cell
    try:
        return parse_json(cell, "")
    except DataError:
        return cell


def read_json(path: Path, *, max_bytes: int) -> Any:
    """The content of a file that a program wrote; a `DataError` if it is no plain JSON.

    Only an ordinary file is read, since a pipe or a device may have no end.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.stat().st_size > max_bytes:
        raise DataError(f"{path}: has more than {max_bytes} bytes, which no such file needs")
    return parse_json(path.read_bytes(), path, finite=True)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{twice!r} is named twice in one object; name it once")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise DataError(f"{name} is not JSON")


def _require_shallow(found: Any, place: object) -> None:
    """Raise a `DataError` for deep nesting, on which every function that calls itself would end."""
    level = [found] if isinstance(found, _CONTAINERS) else []
    for _ in range(MAX_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [child for each in inner for child in each if isinstance(child, _CONTAINERS)]
        if not level:
            return
    raise _too_deep(place)


def _too_deep(place: object) -> DataError:
    return DataError(f"{place}: not data; lists or objects are nested too deep")
