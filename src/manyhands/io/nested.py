"""JSON files of labels: {item: {annotator: label}}, or a list of records."""

import json
from pathlib import Path
from typing import Any

from manyhands.annotations.vocabulary import repeated
from manyhands.core.errors import DataError
from manyhands.io.texts import text_lines

_EXPECTED = "{item: {annotator: label}}"


def json_content(path: Path, encoding: str) -> dict[str, Any] | list[dict[str, Any]]:
    """{item: {annotator: label}}, or a list of records."""
    try:
        found: Any = json.loads("\n".join(text_lines(path, encoding)), object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: not JSON ({error}); the file may be cut short") from None
    except RecursionError:
        raise DataError(f"{path}: not {{item: {{annotator: label}}}}: nested too deep") from None
    except DataError as error:
        raise error.at(path) from None
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return found
    if found in ([], {}):
        raise DataError(f"{path}: has no records")
    _require_nested(path, found)
    if not any(found.values()):
        raise DataError(f"{path}: has no label")
    nested: dict[str, Any] = found
    return nested


def _require_nested(path: Path, found: Any) -> None:
    """Raise a `DataError` for what is not {item: {annotator: label}}, and say what it is."""
    values = list(found.values()) if isinstance(found, dict) else []
    if values and all(isinstance(row, list) for row in values):
        raise DataError(
            f"{path}: a list of labels per item without annotators; expected {_EXPECTED}; if the "
            "first label of every list is by one annotator, and so on, save the lists as the rows "
            "of a matrix (.txt)"
        )
    if not values or not all(isinstance(row, dict) for row in values):
        raise DataError(f"{path}: expected {_EXPECTED}, or a list of records [{{...}}, ...]")
    inner = [label for row in values for label in row.values()]
    if inner and all(isinstance(label, dict) for label in inner):
        raise DataError(
            f"{path}: JSON nested three deep; expected {_EXPECTED}: join the names of the outer "
            "two, which are a pair of things that is one item"
        )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = repeated([name for name, _ in pairs])
    if twice:
        raise DataError(f"{twice[0]!r} is named twice in one object; name it once")
    return dict(pairs)
