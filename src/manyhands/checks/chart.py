"""What all checks look at: the table as it was read, and views of it that are made once."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Rows
from manyhands.checks.finding import MOST_EXAMPLES, MOST_PLACES, Finding, Severity
from manyhands.checks.others import Cells, class_cells, mid_ranks
from manyhands.checks.skills import Skills, class_skills, number_skills
from manyhands.core.arrays import AnyArray, Floats


@dataclass(frozen=True, eq=False)
class Chart:
    """A label table under examination."""

    rows: Rows

    @cached_property
    def usable(self) -> AnyArray:
        """Positions of the rows whose cells can all be used."""
        return self.rows.usable()

    @cached_property
    def annotations(self) -> Annotations:
        """Every usable label."""
        return Annotations.from_rows(self._usable_rows())

    @cached_property
    def once(self) -> Annotations:
        """Usable labels, the first one where an annotator labelled an item again.

        Comparisons of people use it: who repeats themselves must not pass for two people.
        """
        return Annotations.from_rows(self._usable_rows(), duplicates="first")

    @cached_property
    def cells(self) -> Cells:
        """How often each class was said of each item; for classes only."""
        return class_cells(self.once)

    @cached_property
    def ranks(self) -> Floats:
        """The share of all labels that lie below each label; for numbers only."""
        return mid_ranks(self.once.label)

    @cached_property
    def skills(self) -> Skills:
        """How far every annotator follows the others."""
        if self.rows.classes is None:
            return number_skills(self.once, self.ranks)
        return class_skills(self.once, self.cells)

    def finding(
        self,
        severity: Severity,
        message: str,
        remedy: str,
        count: int,
        *,
        rows: AnyArray | None = None,
        names: Iterable[Any] = (),
    ) -> Finding:
        """A finding with its first example rows (positions in the table) and names."""
        some = [] if rows is None else rows[:MOST_EXAMPLES].tolist()
        return Finding(
            severity,
            message,
            remedy,
            int(count),
            tuple(row + 1 for row in some),
            tuple(str(name) for name in list(names)[:MOST_EXAMPLES]),
            tuple(self.rows.place(row) for row in some[:MOST_PLACES]),
        )

    def about_annotators(
        self, severity: Severity, message: str, remedy: str, worst: AnyArray
    ) -> Finding:
        """A finding about annotators, given by code, the worst first."""
        names = self.rows.annotators.names[worst[:MOST_EXAMPLES]]
        rows = first_rows(self.rows.annotator, worst[:MOST_EXAMPLES])
        return self.finding(severity, message, remedy, len(worst), rows=rows, names=names)

    def about_items(
        self, severity: Severity, message: str, remedy: str, items: AnyArray
    ) -> Finding:
        """A finding about items, given by code."""
        names = self.rows.items.names[items[:MOST_EXAMPLES]]
        rows = first_rows(self.rows.item, items[:MOST_EXAMPLES])
        return self.finding(severity, message, remedy, len(items), rows=rows, names=names)

    def _usable_rows(self) -> Rows:
        rows, used = self.rows, self.usable
        if len(used) == len(rows):
            return rows
        return replace(
            rows,
            item=rows.item[used],
            annotator=rows.annotator[used],
            label=rows.label[used],
            state=rows.state[used],
        )


def first_rows(codes: AnyArray, wanted: AnyArray) -> AnyArray:
    """Where each of a few codes first stands; a code that never does is left out.

    >>> first_rows(np.array([4, 2, 4, 2]), np.array([2, 3])).tolist()
    [1]
    """
    at = [np.flatnonzero(codes == code)[:1] for code in wanted]
    return np.concatenate(at) if at else np.zeros(0, dtype=np.int64)


def percent(part: float, whole: float) -> str:
    """A share a person can read.

    >>> percent(1, 8), percent(1, 5000), percent(0, 3)
    ('12.5 %', '< 0.1 %', '0 %')
    """
    share = 100.0 * part / whole if whole else 0.0
    return "< 0.1 %" if 0.0 < share < 0.1 else f"{share:.3g} %"
