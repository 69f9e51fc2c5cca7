"""Limits of memory and time: what goes beyond them is refused before it begins, with an estimate.

Models with a matrix per annotator need memory that grows with the square of the number of classes.
A small file with a thousand classes could fill a machine or keep it busy for hours.
"""

import os

from manyhands.core.errors import TooLargeError
from manyhands.core.settings import require

MAX_GIB = "MANYHANDS_MAX_GIB"
MAX_MINUTES = "MANYHANDS_MAX_MINUTES"
_DEFAULTS = {MAX_GIB: 4.0, MAX_MINUTES: 5.0}


def require_memory(who: str, n_bytes: float, need: str, remedy: str) -> None:
    """Raise a `TooLargeError` if `who` would take more memory than the limit.

    The limit is 4 GiB, or the environment variable MANYHANDS_MAX_GIB.

    >>> require_memory("ebcc", 9e9, "3,000 items x 700 classes", "use majority")
    Traceback (most recent call last):
    ...
    manyhands.core.errors.TooLargeError: ebcc needs about 8.4 GiB for 3,000 items x 700 classes, \
and at most 4 are allowed; use majority, or set MANYHANDS_MAX_GIB to allow more
    """
    _require(MAX_GIB, who, n_bytes / 2**30, "GiB", need, remedy)


def require_time(who: str, seconds: float, need: str, remedy: str) -> None:
    """Raise a `TooLargeError` if `who` could take longer than the limit on an ordinary machine.

    The limit is 5 minutes, or the environment variable MANYHANDS_MAX_MINUTES.
    """
    _require(MAX_MINUTES, who, seconds / 60, "minutes", need, remedy)


def product(*sizes: int, of: str) -> str:
    """Sizes as a text.

    >>> product(5000, 100, 100, of="annotators x classes x classes")
    '5,000 x 100 x 100 (annotators x classes x classes)'
    """
    return f"{' x '.join(f'{size:,}' for size in sizes)} ({of})"


def _require(variable: str, who: str, amount: float, unit: str, need: str, remedy: str) -> None:
    limit = _limit(variable)
    if amount > limit:
        about = f"{amount:.1f}" if amount < 10 else f"{amount:,.0f}"
        raise TooLargeError(
            f"{who} needs about {about} {unit} for {need}, and at most {limit:g} are allowed; "
            f"{remedy}, or set {variable} to allow more"
        )


def _limit(variable: str) -> float:
    text = os.environ.get(variable)
    if text is None:
        return _DEFAULTS[variable]
    limit = _number(text)
    require(limit > 0, variable, "a number > 0", text)
    return limit


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
