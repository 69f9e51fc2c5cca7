"""Names from the data as they are shown on a page: short, without characters that a page obeys."""

import re
from typing import Any

import numpy as np

MAX_CHARACTERS = 120
MISSING = "\N{EN DASH}"  # stands for a value that is not known

# Control characters, and those that turn the direction of writing for the text that follows.
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(name: object, max_characters: int = MAX_CHARACTERS) -> str:
    r"""A name as text of limited length; what would be obeyed is written as an escape.

    The page escapes markup where it writes the text.

    >>> shown("a" * 130)[-21:]
    'aaa… (130 characters)'
    >>> shown("right" + chr(0x202E) + "left")
    'right\\u202eleft'
    """
    text = str(name)
    cut = text[:max_characters]
    text_shown = _OBEYED.sub(lambda found: repr(found[0])[1:-1], cut)
    return text_shown if len(cut) == len(text) else f"{text_shown}… ({len(text):,} characters)"


def n_bytes(text: str) -> int:
    """The size of a text on a page.

    >>> n_bytes("né")
    3
    """
    return len(text.encode(errors="replace"))


def number(value: Any, digits: int = 4) -> float | None:
    """A number as JSON has it: rounded, and None if it is not finite.

    >>> number(0.123456), number(float("nan"))
    (0.1235, None)
    """
    return round(float(value), digits) if np.isfinite(value) else None


def percent(share: float) -> str:
    """A share in whole per cent.

    >>> percent(0.127), percent(0.999), percent(0.004), percent(0.0)
    ('13 %', '99 %', 'less than 1 %', '0 %')
    """
    if 0.0 < share < 0.01:
        return "less than 1 %"
    rounded = round(100 * share)
    return f"{min(rounded, 99) if share < 1.0 else rounded} %"
