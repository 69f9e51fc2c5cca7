"""Comparisons: which of two items an annotator preferred, sparse and immutable."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from manyhands.annotations.annotator_choice import AnnotatorChoice
from manyhands.annotations.columns import arrow_columns, make_frame, open_frame
from manyhands.annotations.comparison_rows import (
    ComparisonRows,
    Outcome,
    WinnerIs,
    encode_comparisons,
)
from manyhands.annotations.grouping import ItemArray
from manyhands.annotations.html import HtmlTable
from manyhands.annotations.pair_columns import choose_pair_columns
from manyhands.annotations.source import Source
from manyhands.annotations.vocabulary import Vocabulary
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets, read_only

LEFT, RIGHT, TIE = 0, 1, 2
OUTCOMES = ("left", "right", "tie")


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(AnnotatorChoice, ItemArray, HtmlTable):
    """Parallel arrays `left`, `right`, `annotator`, `outcome`, one entry per comparison.

    `outcome` is 0 if the left item won, 1 if the right one did, 2 for a tie. Items and annotators
    are codes of vocabularies. The object behaves as an array of comparisons: `len`, `shape` and
    indexing go by comparison. Rows are sorted, so that their order in the file has no influence.

    >>> pairs = Comparisons.from_arrays(["a", "b"], ["b", "c"], ["u", "u"], ["left", "tie"])
    >>> len(pairs), pairs.n_items, pairs.winners.tolist()
    (2, 3, ['a', None])
    """

    left: Codes
    right: Codes
    annotator: Codes
    outcome: Codes
    item_vocabulary: Vocabulary
    annotator_vocabulary: Vocabulary
    backend: str = "pandas"
    source: Source | None = None  # the file they were read from, and how
    has_sides: bool = True  # False if the rows only tell a winner and a loser

    @classmethod
    def from_rows(cls, rows: ComparisonRows) -> "Comparisons":
        """From encoded rows; a row that cannot be used raises a `DataError` with its place."""
        rows.require_usable()
        kept = rows.usable()
        left, right, annotator, outcome = (
            column[kept] for column in (rows.left, rows.right, rows.annotator, rows.outcome)
        )
        order = np.lexsort((outcome, annotator, right, left))
        return cls(
            read_only(left[order]),
            read_only(right[order]),
            read_only(annotator[order]),
            read_only(outcome[order]),
            rows.items,
            rows.annotators,
            source=rows.read_from,
            has_sides=rows.has_sides,
        )

    @classmethod
    def from_arrays(
        cls,
        left: Any,
        right: Any,
        annotator: Any,
        winner: Any,
        *,
        items: Iterable[Any] | None = None,
        annotators: Iterable[Any] | None = None,
        winner_is: WinnerIs | None = None,
        outcomes: Mapping[Any, Outcome] | None = None,
        missing: Any = (),
    ) -> "Comparisons":
        """From four columns of equal length; `annotator=None` if nobody is named.

        A winner is the name of one of the two items, a side (left, right, A, B, first, second), or
        a tie (tie, draw, equal, both ...). `winner_is` tells which, where names of items may be
        sides too, and `outcomes` maps other words to "left", "right" or "tie". `items` and
        `annotators` list all names in code order.
        """
        return cls.from_rows(
            encode_comparisons(
                left, right, annotator, winner, items=items, annotators=annotators,
                winner_is=winner_is, outcomes=outcomes, missing=missing,
            )
        )  # fmt: skip

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        left: str | None = None,
        right: str | None = None,
        annotator: str | None = None,
        winner: str | None = None,
        *,
        winner_is: WinnerIs | None = None,
        outcomes: Mapping[Any, Outcome] | None = None,
        missing: Any = (),
    ) -> "Comparisons":
        """From a table (pandas, polars, pyarrow ...); columns are found by their names.

        Without a column of annotators all comparisons are those of one annotator, called "all".
        """
        table = open_frame(frame)
        chosen = choose_pair_columns(table.columns, left, right, winner, annotator)
        cells = arrow_columns(table)([name for name in chosen if name is not None])
        rows = encode_comparisons(
            cells[chosen.left], cells[chosen.right],
            None if chosen.annotator is None else cells[chosen.annotator],
            None if chosen.winner is None else cells[chosen.winner],
            names=(chosen.left, chosen.right), winner_is=winner_is, outcomes=outcomes,
            missing=missing,
        )  # fmt: skip
        return replace(cls.from_rows(rows), backend=str(table.implementation))

    @property
    def kind(self) -> Literal["pairs"]:
        """The kind of these labels: "pairs"."""
        return "pairs"

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons."""
        return len(self.left)

    @property
    def n_items(self) -> int:
        """Number of items, including those that were never compared."""
        return len(self.item_vocabulary)

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return len(self.annotator_vocabulary)

    @property
    def n_annotations(self) -> int:
        """Number of labels, one per comparison."""
        return len(self.left)

    @property
    def items(self) -> AnyArray:
        """Item names in code order."""
        return self.item_vocabulary.names

    @property
    def annotators(self) -> AnyArray:
        """Annotator names in code order."""
        return self.annotator_vocabulary.names

    @property
    def n_ties(self) -> int:
        """Number of comparisons that nobody won."""
        return int((self.outcome == TIE).sum())

    @property
    def labels_per_annotator(self) -> Offsets:
        """Number of comparisons of every annotator."""
        return np.bincount(self.annotator, minlength=self.n_annotators)

    @property
    def winners(self) -> AnyArray:
        """The name of the winner of every comparison; None for a tie."""
        code = np.where(self.outcome == LEFT, self.left, self.right)
        names = self.items[code].astype(object)
        names[self.outcome == TIE] = None
        return np.asarray(names)

    def to_rows(self) -> ComparisonRows:
        """The comparisons as rows that can all be used."""
        return ComparisonRows(
            self.left, self.right, self.annotator, self.outcome,
            [OUTCOMES[code] for code in self.outcome.tolist()], self.item_vocabulary,
            self.annotator_vocabulary, self.has_sides, read_from=self.source,
        )  # fmt: skip

    def counts(self) -> dict[str, Floats]:
        """How often every item was compared, won, lost and tied."""
        won = np.where(self.outcome == LEFT, self.left, self.right)
        lost = np.where(self.outcome == LEFT, self.right, self.left)
        decided = self.outcome != TIE

        def count(*codes: AnyArray) -> AnyArray:
            return np.bincount(np.concatenate(codes), minlength=self.n_items)

        return {
            "n_comparisons": count(self.left, self.right),
            "wins": count(won[decided]),
            "losses": count(lost[decided]),
            "ties": count(self.left[~decided], self.right[~decided]),
        }

    def __len__(self) -> int:
        return self.n_comparisons

    def __getitem__(self, key: Any) -> "Comparisons":
        """Some of the comparisons; items and annotators keep their codes."""
        chosen = np.sort(self.positions(key))
        return replace(
            self,
            left=read_only(self.left[chosen]),
            right=read_only(self.right[chosen]),
            annotator=read_only(self.annotator[chosen]),
            outcome=read_only(self.outcome[chosen]),
        )

    def only(self, kept: AnyArray) -> "Comparisons":
        """Some of the comparisons, by mask or by position."""
        return self[kept]

    def __repr__(self) -> str:
        ties = f", {self.n_ties} ties" if self.n_ties else ""
        return (
            f"Comparisons({self.n_comparisons} comparisons of {self.n_items} items "
            f"by {self.n_annotators} annotators{ties})"
        )

    def swapped(self) -> "Comparisons":
        """The same comparisons with left and right exchanged."""
        outcome = np.array([RIGHT, LEFT, TIE], dtype=self.outcome.dtype)[self.outcome]
        order = np.lexsort((outcome, self.annotator, self.left, self.right))
        return replace(
            self,
            left=read_only(self.right[order]),
            right=read_only(self.left[order]),
            annotator=read_only(self.annotator[order]),
            outcome=read_only(outcome[order]),
        )

    def to_columns(self) -> dict[str, AnyArray]:
        """The columns left, right, annotator and winner, as names; winner is a side or tie."""
        return {
            "left": self.items[self.left],
            "right": self.items[self.right],
            "annotator": self.annotators[self.annotator],
            "winner": np.array(OUTCOMES, dtype=object)[self.outcome],
        }

    def _preview(self, n_rows: int) -> dict[str, AnyArray]:
        return self[: min(n_rows, len(self))].to_columns()

    def to_frame(self) -> Any:
        """A long table as `to_columns` has it, of the library the data came from."""
        return make_frame(self.to_columns(), self.backend)
