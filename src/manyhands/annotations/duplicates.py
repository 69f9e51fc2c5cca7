"""One policy for an annotator who labelled the same item more than once.

`keep`
    every label counts (the default: nothing is lost).
`first`, `last`
    only the first or the last in row order counts.
`refuse`
    an error that names the first such pair.

Equal and conflicting repeats are treated alike.
"""

from typing import Literal

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes
from manyhands.core.errors import DataError, SettingName

Duplicates = Literal["keep", "first", "last", "refuse"]
DUPLICATES = ("keep", "first", "last", "refuse")


def repeats_previous(item: Codes, annotator: Codes) -> Bools:
    """Which of the sorted pairs stand right behind an equal pair."""
    again = np.zeros(len(item), dtype=bool)
    again[1:] = (item[1:] == item[:-1]) & (annotator[1:] == annotator[:-1])
    return again


def kept_positions(
    item: Codes, annotator: Codes, policy: Duplicates, items: AnyArray, annotators: AnyArray
) -> Bools | None:
    """Which of the sorted annotations stay under a policy; None when all of them do."""
    if policy == "keep":
        return None
    again = repeats_previous(item, annotator)
    if not again.any():
        return None
    if policy == "refuse":
        n = int(np.flatnonzero(again)[0])
        raise DataError(
            f"annotator {annotators[annotator[n]]!r} labelled item {items[item[n]]!r} more than "
            f"once ({int(again.sum())} such repeats); set ",
            SettingName("duplicates"),
            " to keep, first or last",
        )
    if policy == "first":
        return ~again
    return ~np.append(again[1:], False)
