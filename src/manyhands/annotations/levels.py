"""The order of levels: numbers by their value, words by a scale that is known."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingName

# Words of common scales, from lowest to highest; words of one place are separated by a stroke.
_SCALES = (
    "strongly disagree|totally disagree|fully disagree|completely disagree, "
    "disagree|mostly disagree, somewhat disagree|slightly disagree|rather disagree, "
    "neutral|neither|undecided|neither agree nor disagree, "
    "somewhat agree|slightly agree|rather agree, agree|mostly agree, "
    "strongly agree|totally agree|fully agree|completely agree",
    "very bad|terrible|awful, bad|poor, fair|ok|okay|average|acceptable, good, very good, "
    "excellent|perfect|outstanding",
    "very poor, poor, fair|average, good, very good, excellent",
    "none|not at all, very low, low, medium|moderate|average, high, very high",
    "very small, small, medium|average, large|big, very large|very big",
    "never, rarely|seldom, sometimes|occasionally, often|frequently, very often, always",
    "very negative|strongly negative, negative, slightly negative|somewhat negative, neutral, "
    "slightly positive|somewhat positive, positive, very positive|strongly positive",
    "very unlikely, unlikely, possible|neutral, likely, very likely",
    "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
    "very easy, easy, medium|moderate, hard|difficult, very hard|very difficult",
    "none|absent, mild|slight, moderate, severe, very severe|critical",
    "not relevant|irrelevant, slightly relevant|marginally relevant, "
    "partially relevant|somewhat relevant, relevant, very relevant|highly relevant",
    "no, maybe|unsure, yes",
)


_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d{1,2}\s*")  # three digits may be thousands


def number_of(text: str) -> float | None:
    """The number that a text is, or None."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def number_of_level(name: object) -> float | None:
    """The number that the name of a level is, also with a decimal comma, or None.

    >>> number_of_level(2.5), number_of_level("2,5"), number_of_level("2,500")
    (2.5, 2.5, None)
    """
    text = str(name)
    return number_of(text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)


def level_order(names: Sequence[Any]) -> AnyArray:
    """The positions of classes from the lowest to the highest.

    Numbers are sorted by their value. Words are sorted by a scale that has all of them, in any
    case. Other words have no order that could be known: a `DataError`.

    >>> level_order(["10", "9.5", "0"]).tolist(), level_order(["High", "low"]).tolist()
    ([2, 1, 0], [1, 0])
    """
    numbers = [number_of_level(name) for name in names]
    place = [each for each in numbers if each is not None and np.isfinite(each)]
    if len(place) != len(names):
        place = _places_on_a_scale([_plain(name) for name in names])
    if not place and len(names):
        raise DataError(
            f"the order of the levels {join_names(map(repr, map(str, names)))} is not known; list "
            "them from lowest to highest with ", SettingName("levels", ...),
        )  # fmt: skip
    return np.argsort(np.array(place), kind="stable")


def level_values(names: Sequence[Any]) -> Floats:
    """The number of every level: its name if all are numbers, otherwise 1, 2, 3 ...

    >>> level_values([0, 5, 10]).tolist(), level_values(["low", "high"]).tolist()
    ([0.0, 5.0, 10.0], [1.0, 2.0])
    """
    numbers = [number_of_level(name) for name in names]
    known = [each for each in numbers if each is not None and np.isfinite(each)]
    if len(known) == len(names) and bool((np.diff(known) > 0).all()):
        return np.array(known, dtype=np.float64)
    return np.arange(1.0, len(names) + 1.0)


def _plain(name: object) -> str:
    return re.sub(r"[\s_-]+", " ", str(name)).strip().lower()


def _places_on_a_scale(words: Sequence[str]) -> list[float]:
    """The places of words on the first scale that has all of them, none twice; empty without."""
    for scale in _SCALES:
        place_of = {
            word: float(place)
            for place, group in enumerate(scale.split(", "))
            for word in group.split("|")
        }
        places = [place_of[word] for word in words if word in place_of]
        if len(places) == len(words) == len(set(places)):
            return places
    return []
