"""The label table that checks inspect, with the views that several checks share, and findings."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from manyhands.annotations import Annotations, Rows
from manyhands.checks import agreement_with_others
from manyhands.checks.agreement_with_others import AgreementWithOthers, ItemClassCounts
from manyhands.core.arrays import AnyArray, Floats

Severity = Literal["error", "warning", "note"]
SEVERITIES = ("error", "warning", "note")  # worst first

MAX_EXAMPLES = 10
MAX_PLACES = 3


@dataclass(frozen=True)
class Finding:
    """The result of a check: what is wrong, where, and what to do.

    The table cannot be used after an error. After a warning its consensus is doubtful. A note is
    information. `count` is the number of rows, items, annotators or pairs concerned; `rows`
    (counted from 1), `names` and `places` show the first or the worst of them.
    """

    severity: Severity
    message: str
    remedy: str
    count: int
    rows: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    check: str = ""

    def to_json(self) -> dict[str, Any]:
        """The finding as plain values, the name of the check first.

        >>> Finding("note", "what", "do", 1, check="imbalance").to_json()["check"]
        'imbalance'
        """
        lists = {name: list(getattr(self, name)) for name in ("rows", "names", "places")}
        return {"check": self.check} | asdict(self) | lists


@dataclass(frozen=True, eq=False)
class LabelTable:
    """The rows of a label table as they were read; every view is computed once."""

    rows: Rows

    @cached_property
    def usable(self) -> AnyArray:
        """Positions of the rows whose three cells can be used."""
        return self.rows.usable()

    @cached_property
    def usable_labels(self) -> AnyArray:
        """The labels of the usable rows."""
        return self.rows.label[self.usable]

    @cached_property
    def first_labels(self) -> Annotations:
        """Usable labels; only the first label if an annotator labelled an item more than once.

        Checks that compare annotators use it, so that a repeat does not count as agreement.
        """
        rows, used = self.rows, self.usable
        if len(used) < len(rows):
            rows = rows.only(used)
        return Annotations.from_rows(rows, duplicates="first")

    @cached_property
    def label_counts(self) -> AnyArray:
        """Number of usable labels of each class; only if labels are classes."""
        assert self.rows.classes is not None, "only classes are counted"
        return np.bincount(self.usable_labels, minlength=len(self.rows.classes))

    @cached_property
    def item_class_counts(self) -> ItemClassCounts:
        """Number of labels of each class that each item has; only if labels are classes."""
        return agreement_with_others.count_item_classes(self.first_labels)

    @cached_property
    def ranks(self) -> Floats:
        """The share of all labels below each label; only if labels are numbers."""
        return agreement_with_others.mid_ranks(self.first_labels.label)

    @cached_property
    def agreement(self) -> AgreementWithOthers:
        """The agreement of every annotator with the others, compared with chance."""
        if self.rows.classes is None:
            return agreement_with_others.agreement_of_ranks(self.first_labels, self.ranks)
        return agreement_with_others.agreement_of_classes(self.first_labels, self.item_class_counts)

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
        """A finding with examples: positions in the table, and names."""
        examples = [] if rows is None else rows[:MAX_EXAMPLES].tolist()
        return Finding(
            severity,
            message,
            remedy,
            int(count),
            tuple(row + 1 for row in examples),
            tuple(str(name) for name in list(names)[:MAX_EXAMPLES]),
            tuple(self.rows.place(row) for row in examples[:MAX_PLACES]),
        )

    def about(
        self,
        noun: Literal["item", "annotator", "class"],
        codes: AnyArray,
        message: str,
        remedy: str,
        severity: Severity = "warning",
    ) -> list[Finding]:
        """A finding about items, annotators or classes, the worst first; none without codes."""
        column, vocabulary = {
            "item": (self.rows.item, self.rows.items),
            "annotator": (self.rows.annotator, self.rows.annotators),
            "class": (self.rows.label, self.rows.classes),
        }[noun]
        if len(codes) == 0 or vocabulary is None:
            return []
        shown = codes[:MAX_EXAMPLES]
        rows, names = first_rows(column, shown), vocabulary.names[shown]
        return [self.finding(severity, message, remedy, len(codes), rows=rows, names=names)]


def first_rows(codes: AnyArray, wanted: AnyArray) -> AnyArray:
    """The first position of each of a few codes; a code that does not occur is left out.

    >>> first_rows(np.array([4, 2, 4, 2]), np.array([2, 3])).tolist()
    [1]
    """
    positions = [np.flatnonzero(codes == code)[:1] for code in wanted]
    return np.concatenate(positions) if positions else np.zeros(0, dtype=np.int64)


def percent(part: float, whole: float) -> str:
    """A share in percent.

    >>> percent(1, 8), percent(1, 5000), percent(0, 3)
    ('12.5 %', '< 0.1 %', '0 %')
    """
    share = 100.0 * part / whole if whole else 0.0
    return "< 0.1 %" if 0.0 < share < 0.1 else f"{share:.3g} %"


def severity_if(is_serious: bool) -> Severity:
    """A warning if a finding is serious, otherwise a note."""
    return "warning" if is_serious else "note"
