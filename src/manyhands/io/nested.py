"""JSON files of labels: {item: {annotator: label}}, or a list of records."""

from pathlib import Path
from typing import Any

from manyhands.annotations.out_of_scope import refusal, regions_of_json
from manyhands.core.errors import DataError
from manyhands.io.json_text import parse_json
from manyhands.io.texts import text_lines

_EXPECTED = "{item: {annotator: label}}"


def json_content(path: Path, encoding: str) -> dict[str, Any] | list[dict[str, Any]]:
    """{item: {annotator: label}}, or a list of records."""
    found: Any = parse_json("\n".join(text_lines(path, encoding)), path)
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        return found
    if found in ([], {}):
        raise DataError(f"{path}: has no records")
    regions = regions_of_json(found)
    if regions is not None:
        raise refusal(regions, str(path))
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
