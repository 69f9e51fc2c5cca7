"""A table of comparisons in file order, encoded but not yet cleaned."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from manyhands.annotations.labels import as_list, is_blank
from manyhands.annotations.pair_columns import side_words
from manyhands.annotations.rows import Part, place
from manyhands.annotations.source import Source
from manyhands.annotations.vocabulary import Vocabulary, encode, join_names, name_to_text
from manyhands.core.arrays import AnyArray, Codes, Offsets
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.core.settings import require_choice

Outcome = Literal["left", "right", "tie"]
WinnerIs = Literal["item", "side"]
EVERYBODY = "all"  # the annotator of comparisons that name none
_CODES = {"left": 0, "right": 1, "tie": 2}
# Outcomes of rows that cannot be used.
DROPPED, EMPTY, UNKNOWN = -1, -2, -3


@dataclass(frozen=True)
class ComparisonRows:
    """Parallel columns, one entry per row; blank names are negative codes.

    `outcome` is 0, 1 or 2 (left, right, tie), or tells why the row cannot be used; `said` are the
    cells of the winner as text.
    """

    left: Codes
    right: Codes
    annotator: Codes
    outcome: Codes
    said: Sequence[str]
    items: Vocabulary
    annotators: Vocabulary
    has_sides: bool = True
    source: str = ""
    first_line: int | None = None
    parts: Sequence[Part] = ()
    read_from: Source | None = None

    def __len__(self) -> int:
        return len(self.left)

    def place(self, row: int) -> str:
        """The file and line of a row, or its number."""
        return place(self.source, self.first_line, row, None, self.parts)

    def usable(self) -> Offsets:
        """Positions of the rows that are comparisons of two different items."""
        named = (self.left >= 0) & (self.right >= 0) & (self.annotator >= 0)
        return np.flatnonzero(named & (self.outcome >= 0) & (self.left != self.right))

    def only_usable(self) -> "ComparisonRows":
        """The rows that can be used; their places in the file are not kept."""
        kept = self.usable()
        return replace(
            self, left=self.left[kept], right=self.right[kept], annotator=self.annotator[kept],
            outcome=self.outcome[kept], said=[self.said[row] for row in kept.tolist()],
        )  # fmt: skip

    def problems(self) -> dict[str, Offsets]:
        """The rows that cannot be used, by what is wrong with them."""
        kept = self.outcome != DROPPED
        nameless = (self.left < 0) | (self.right < 0) | (self.annotator < 0)
        found = {
            "blank": kept & (nameless | (self.outcome == EMPTY)),
            "self": kept & (self.left == self.right) & (self.left >= 0),
            "unknown": kept & ~nameless & (self.left != self.right) & (self.outcome == UNKNOWN),
        }
        return {name: np.flatnonzero(rows) for name, rows in found.items() if rows.any()}

    def require_usable(self) -> None:
        """Raise a `DataError` that names the first row that cannot be used."""
        problems = self.problems()
        if not problems:
            return
        name, rows = min(problems.items(), key=lambda each: int(each[1][0]))
        raise DataError(f"{self.place(int(rows[0]))}: ", *self.complaint(name, int(rows[0])))

    def complaint(self, problem: str, row: int) -> tuple[str | SettingName, ...]:
        """What is wrong with a row and what to do, as parts of an error."""
        if problem == "self":
            name = self.items.names[self.left[row]]
            return (f"the item {str(name)!r} is compared with itself; remove the row",)
        if problem == "unknown":
            sides = [
                repr(str(self.items.names[code])) for code in (self.left[row], self.right[row])
            ]
            return (
                f"the winner {self.said[row]!r} is neither {sides[0]} nor {sides[1]}, nor a side "
                "(left, right, A, B), nor a tie; say what it means with ",
                SettingName("outcomes"), ", or drop it with ",
                SettingName("missing", self.said[row]),
            )  # fmt: skip
        columns = {"left item": self.left, "right item": self.right, "annotator": self.annotator}
        for noun, codes in columns.items():
            if codes[row] < 0:
                return (f"the {noun} is blank; fill it in or remove the row",)
        return (
            "the winner is blank; drop such rows with ", SettingName("missing", ""),
            ", or write tie",
        )  # fmt: skip


def encode_comparisons(
    left: Any,
    right: Any,
    annotator: Any,
    winner: Any,
    *,
    names: tuple[str, str] = ("left", "right"),
    items: Iterable[Any] | None = None,
    annotators: Iterable[Any] | None = None,
    winner_is: WinnerIs | None = None,
    outcomes: Mapping[Any, Outcome] | None = None,
    missing: Any = (),
) -> ComparisonRows:
    """Encode columns of comparisons; see `Comparisons.from_arrays`.

    `names` are those of the columns of items. Without `winner` the left item won every time.
    """
    left, right = _texts(left), _texts(right)
    n_rows = len(left)
    annotator = [EVERYBODY] * n_rows if annotator is None else _texts(annotator)
    _require_lengths(n_rows, right=right, annotator=annotator)
    item, item_vocabulary = _encoded([*left, *right], "item", items)
    people, annotator_vocabulary = _encoded(annotator, "annotator", annotators)
    if winner is None:
        outcome, said = np.zeros(n_rows, dtype=np.int32), ["left"] * n_rows
    else:
        cells = _texts(winner)
        _require_lengths(n_rows, winner=cells)
        dropped = {
            name_to_text(each).strip() if not is_blank(each) else "" for each in as_list(missing)
        }
        said = ["" if is_blank(cell) else str(cell).strip() for cell in cells]
        pairs = [
            (str(one).strip(), str(other).strip()) for one, other in zip(left, right, strict=True)
        ]
        outcome = _outcomes(said, pairs, names, dropped, winner_is, outcomes)
    return ComparisonRows(
        item[:n_rows], item[n_rows:], people, outcome, said, item_vocabulary, annotator_vocabulary,
        has_sides=winner is not None,
    )  # fmt: skip


def _outcomes(
    said: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    names: tuple[str, str],
    dropped: set[str],
    winner_is: WinnerIs | None,
    outcomes: Mapping[Any, Outcome] | None,
) -> Codes:
    """The codes of the winners of all rows."""
    given = {}
    for word, outcome in (outcomes or {}).items():
        require_choice("outcomes", outcome, tuple(_CODES))
        given[name_to_text(word).strip().lower()] = _CODES[outcome]
    words = side_words(*names) | given
    by_side = np.array([words.get(text.lower(), UNKNOWN) for text in said], dtype=np.int32)
    by_item = np.array([_won(text, pair) for text, pair in zip(said, pairs, strict=True)], np.int32)
    special = np.array([text.lower() in given for text in said], dtype=bool)
    other = special | ((by_side == _CODES["tie"]) & (by_item == UNKNOWN))
    by_item[other] = by_side[other]
    found = _agreed(by_item, by_side, winner_is)
    empty = np.array([text == "" for text in said], dtype=bool)
    found[empty & (found < 0)] = EMPTY
    found[np.array([text in dropped for text in said], dtype=bool)] = DROPPED
    return found


def _agreed(by_item: Codes, by_side: Codes, winner_is: WinnerIs | None) -> Codes:
    """The outcomes by names of items or by sides, whichever explains all rows."""
    if winner_is is not None:
        require_choice("winner_is", winner_is, ("item", "side"))
        return by_item if winner_is == "item" else by_side
    both = (by_item >= 0) & (by_side >= 0)
    if bool((by_item[both] != by_side[both]).any()):
        known = [int((each >= 0).sum()) for each in (by_item, by_side)]
        if known[0] == known[1]:
            raise SettingError(
                "a winner may be the name of an item or a side; say which with ",
                SettingName("winner_is", "item"), " or ", SettingName("winner_is", "side"),
            )  # fmt: skip
        return by_item if known[0] > known[1] else by_side
    return np.maximum(by_item, by_side)


def _plain(cell: object) -> str:
    return "" if is_blank(cell) else name_to_text(cell).strip()


def _won(text: str, pair: tuple[str, str]) -> int:
    return pair.index(text) if text in pair else UNKNOWN


def _texts(column: Any) -> list[Any]:
    """The cells of a column as names: text, or None for a blank one."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        column = column.to_pylist()
    elif hasattr(column, "tolist"):
        column = column.tolist()
    return [None if is_blank(cell) else name_to_text(cell) for cell in column]


def _encoded(cells: list[Any], noun: str, given: Iterable[Any] | None) -> tuple[Codes, Vocabulary]:
    """The codes of names in a vocabulary of the data, or in the given one."""
    codes, vocabulary = encode(pa.array(cells, type=pa.string()), noun)
    if given is None:
        return codes, vocabulary
    listed = Vocabulary.of(given, noun)
    code_of = listed.codes(vocabulary.names.tolist())
    if len(code_of) and code_of.min() < 0:
        unlisted = vocabulary.names[code_of < 0]
        raise DataError(
            f"the {noun} {str(unlisted[0])!r} is not listed; known: {join_names(listed.names)}"
        )
    padded: AnyArray = np.append(code_of, [-2, -2]).astype(np.int32)  # of blank cells
    return padded[codes], listed


def _require_lengths(n_rows: int, **columns: Sequence[Any]) -> None:
    for name, cells in columns.items():
        if len(cells) != n_rows:
            raise DataError(f"left has {n_rows} rows and {name} has {len(cells)}")
