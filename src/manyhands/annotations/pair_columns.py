"""Which columns of a table are the left and the right item and the winner of a comparison."""

from collections.abc import Sequence
from typing import NamedTuple

from manyhands.annotations.columns import find_column, is_candidate, split_name
from manyhands.core.errors import DataError, SettingName

# The last word of the names of two columns of items, which are equal otherwise.
SIDES = (
    ("left", "right"), ("a", "b"), ("1", "2"), ("0", "1"), ("first", "second"), ("one", "two"),
    ("i", "j"), ("x", "y"),
)  # fmt: skip
_SIMPLE = {"left", "right", "a", "b"}  # that are the whole name of a column
_WINNERS = {"winner", "winning", "preference", "preferred", "prefer", "better", "best", "wins"}
# Columns with the winner and the loser instead of two sides and a winner.
_ORDERED = (
    ("chosen", "rejected"),
    ("winner", "loser"),
    ("better", "worse"),
    ("preferred", "other"),
)


class PairColumns(NamedTuple):
    """The names of the columns; without `winner` the left item won everywhere."""

    left: str
    right: str
    winner: str | None
    annotator: str | None


def has_pairs(columns: Sequence[str]) -> bool:
    """Whether the names of columns tell on their own that rows are comparisons of two items.

    >>> has_pairs(["model_a", "model_b", "judge", "winner"]), has_pairs(["id", "user", "label"])
    (True, False)
    """
    if _ordered_sides(columns):
        return True
    sides = _named_sides(columns)
    return len(sides) == 1 and len(_winners(columns, sides[0])) == 1


def choose_pair_columns(
    columns: Sequence[str],
    left: str | None = None,
    right: str | None = None,
    winner: str | None = None,
    annotator: str | None = None,
) -> PairColumns:
    """The columns of comparisons: the given ones, the others by their names.

    >>> choose_pair_columns(["option_a", "option_b", "user", "preference"])
    PairColumns(left='option_a', right='option_b', winner='preference', annotator='user')
    """
    for role, name in (("left", left), ("right", right), ("winner", winner)):
        if name is not None:
            find_column(columns, role, name)
    if left is None or right is None:
        left, right, ordered = _found_sides(columns, left, right, winner)
    else:
        ordered = False
    if winner is None and not ordered:
        winner = _found_winner(columns, (left, right))
    people = [name for name in columns if name not in (left, right, winner)]
    if annotator is not None:
        find_column(columns, "annotator", annotator)
    elif any(is_candidate(name, "annotator") for name in people):
        annotator = find_column(people, "annotator")
    return PairColumns(left, right, winner, annotator)


def side_words(left: str, right: str) -> dict[str, int]:
    """The words for the left item (0), for the right item (1) and for a tie (2), in lower case.

    The names of the columns are such words too, and so is what differs between them.

    >>> [side_words("reply_1", "reply_2").get(word) for word in ("1", "reply_2", "draw", "3")]
    [0, 1, 2, None]
    """
    words = dict.fromkeys(("left", "l", "first", "a"), 0)
    words |= dict.fromkeys(("right", "r", "second", "b"), 1)
    for code, name in enumerate((left, right)):
        parts = split_name(name)
        words[name.lower()] = code
        words[parts[-1] if parts else name.lower()] = code
    return words | dict.fromkeys(TIES, 2)


TIES = (
    "tie", "tied", "draw", "equal", "equals", "both", "same", "neither", "none", "tie (bothbad)",
    "tie (both bad)", "bothbad", "both bad", "both good", "no preference", "no difference",
)  # fmt: skip


def _found_sides(
    columns: Sequence[str], left: str | None, right: str | None, winner: str | None
) -> tuple[str, str, bool]:
    """The columns of the two items, and whether the first of them always won."""
    if left is not None or right is not None:
        role, other = ("right", "left") if left is not None else ("left", "right")
        raise DataError(
            "the columns of both items must be named: give ", SettingName(role, ...), " beside ",
            SettingName(other),
        )  # fmt: skip
    ordered = _ordered_sides(columns) if winner is None else []
    found = ordered or _named_sides(columns)
    if len(found) == 1:
        return *found[0], bool(ordered)
    what = "several columns may be" if found else "no columns look like"
    raise DataError(
        f"{what} the two items of a comparison; name them with ", SettingName("left", ...), " and ",
        SettingName("right", ...), f"; columns: {_listed(columns)}",
    )  # fmt: skip


def _found_winner(columns: Sequence[str], sides: tuple[str, str]) -> str:
    """The column of the winner: by a word for winners, or else the only label of the table."""
    found = _winners(columns, sides)
    rest = [name for name in columns if name not in sides]
    found = found or [name for name in rest if is_candidate(name, "label")]
    if len(found) == 1:
        return found[0]
    what = "several columns may be" if found else "no column looks like"
    raise DataError(
        f"{what} the winner; name it with ", SettingName("winner", ...),
        f"; columns: {_listed(found or columns)}",
    )  # fmt: skip


def _winners(columns: Sequence[str], sides: tuple[str, str]) -> list[str]:
    """Columns, other than the two items, whose names have a word for winners."""
    rest = [name for name in columns if name not in sides]
    return [name for name in rest if not _WINNERS.isdisjoint(split_name(name))]


def _ordered_sides(columns: Sequence[str]) -> list[tuple[str, str]]:
    by_word = {" ".join(split_name(name)): name for name in columns}
    return [
        (by_word[won], by_word[lost])
        for won, lost in _ORDERED
        if won in by_word and lost in by_word
    ][:1]


def _named_sides(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns whose names differ by two words for sides, at one place."""
    words = {name: tuple(split_name(name)) for name in columns}
    found = []
    for one in columns:
        for other in columns:
            differ = [
                pair for pair in zip(words[one], words[other], strict=False) if pair[0] != pair[1]
            ]
            same_length = len(words[one]) == len(words[other])
            if not (same_length and len(differ) == 1 and differ[0] in SIDES):
                continue
            if len(words[one]) > 1 or differ[0][0] in _SIMPLE:
                found.append((one, other))
    ids = [(one, other) for one, other in found if "id" in (*words[one], *words[other])]
    return ids if len(found) > 1 and len(ids) == 1 else found


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in list(columns)[:12])
