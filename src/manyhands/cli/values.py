"""Values of options that are more than one word or number."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from manyhands.core.errors import DataError, SettingError


def named_values(flag: str, texts: Iterable[str] | None) -> dict[str, Any]:
    """Settings from NAME=VALUE: a number, true, false, null, a list in brackets, or a word.

    >>> named_values("--set", ["max_iter=5", "start=majority"])
    {'max_iter': 5, 'start': 'majority'}
    """
    values = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if not name or not value:
            raise SettingError(f"{flag} must be NAME=VALUE; got {text!r}")
        try:
            values[name] = json.loads(value)
        except (ValueError, RecursionError):
            values[name] = value
    return values


def numbers(flag: str, text: str) -> list[float]:
    """Numbers with commas between them; whole ones stay whole.

    >>> numbers("--milestones", "60,0.5")
    [60, 0.5]
    """
    try:
        found = json.loads(f"[{text}]")
    except (ValueError, RecursionError):
        found = [None]
    if not all(isinstance(each, int | float) for each in found):
        raise SettingError(f"{flag} must be numbers with commas between them; got {text!r}")
    return list(found)


def names_of(flag: str, text: str | None) -> list[str] | None:
    """Names with commas between them, without spaces around them.

    >>> names_of("--levels", "bad, fair,good")
    ['bad', 'fair', 'good']
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise SettingError(f"{flag} must be names with commas between them; got {text!r}")
    return names


def lines_of(path: str, encoding: str) -> list[str]:
    """The lines of a text file that are not blank, without spaces around them."""
    try:
        text = Path(path).read_text(encoding=encoding)
    except UnicodeError:
        raise DataError(f"{path}: is not text in {encoding}; give its encoding") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def bounds(text: str | None) -> tuple[float, float] | None:
    """The ends of a range from LOW:HIGH."""
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = 1.0, 0.0
    if not ends[0] < ends[1]:
        raise SettingError(f"--range must be LOW:HIGH with LOW below HIGH; got {text!r}")
    return ends
