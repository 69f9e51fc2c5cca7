"""The headers of models, consensuses and checkpoints: bounded JSON whose fields are declared."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from manyhands.core.errors import DataError
from manyhands.io.json_text import read_json

_MAX_BYTES = 1 << 30  # names of a hundred million items
_MAX_COUNT = 1 << 53
_SHOWN = 40  # characters of a value in an error


class Field(NamedTuple):
    """What a field of a header may be: in words, and as a test."""

    expected: str
    fits: Callable[[Any], bool]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MAX_COUNT


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lists(value: Any, types: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, types) for each in value)


TEXT = Field("text", lambda value: isinstance(value, str))
FLAG = Field("true or false", lambda value: isinstance(value, bool))
COUNT = Field("a whole number from 0", _is_count)
NUMBER = Field("a number", _is_number)
OBJECT = Field("an object", lambda value: isinstance(value, dict))
NAMES = Field("a list of names", lambda value: _lists(value, str | int | float))
TEXTS = Field("a list of texts", lambda value: _lists(value, str))
OBJECTS = Field("a list of objects", lambda value: _lists(value, dict))
COUNTS = Field(
    "a list of whole numbers", lambda value: _lists(value, int) and all(map(_is_count, value))
)
NUMBERS = Field(
    "an object of numbers",
    lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
)

Fields = Mapping[str, Field]


def optional(field: Field) -> Field:
    """The same field, or null."""
    return Field(
        f"{field.expected} or null", lambda value: value is None or bool(field.fits(value))
    )


def require_fields(found: Mapping[str, Any], fields: Fields) -> None:
    """Raise a `DataError` unless all fields are there and are what they may be."""
    for name, field in fields.items():
        if name not in found:
            raise DataError(f"{name!r} is missing")
        if not field.fits(found[name]):
            got = repr(found[name])[:_SHOWN]
            raise DataError(f"{name!r} must be {field.expected}; got {got}")


BUNDLE = {"format": COUNT, "tensors": TEXT, "sha256": TEXT}  # what every header has


def bundle_header(path: Path) -> dict[str, Any] | None:
    """The header of a bundle; None if the file holds something else, a `DataError` if no JSON."""
    found = read_json(path, max_bytes=_MAX_BYTES)
    if not isinstance(found, dict) or not found.keys() >= BUNDLE.keys():
        return None
    return found
