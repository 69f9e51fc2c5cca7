"""What checks see of labels that are sets: rows as they are, whole sets, or single classes."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Rows
from manyhands.checks.label_table import LabelTable

_OF_ROWS = (
    "no-labels", "blank-label", "label-outside-classes", "blank-name", "unlisted-name",
    "near-duplicate-names", "mixed-separators",
)  # fmt: skip
_OF_CLASSES = (
    "many-classes", "looks-missing", "near-duplicate-classes", "class-never-said", "imbalance",
)  # fmt: skip
# Several rows of an item by one annotator are one set, and labels are known to be sets.
_NONE = ("repeated-pair", "looks-like-sets")


class SetTables:
    """The table for each check of labels that are sets of classes.

    Checks of annotators and items see a class in every distinct set. Checks of classes see a label
    in every class of a set.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def of(self, check: str) -> LabelTable | None:
        """The table that a check inspects; None if it is not for sets."""
        if check in _NONE:
            return None
        if check in _OF_ROWS:
            return LabelTable(self.rows)
        return self.classes if check in _OF_CLASSES else self.whole

    @cached_property
    def _joined(self) -> Rows:
        """The usable rows, one for each item and annotator."""
        return Annotations.from_rows(self.rows.only(self.rows.usable())).to_rows()

    @cached_property
    def whole(self) -> LabelTable:
        """Every distinct set as a class."""
        sets: Any = self._joined.classes
        return LabelTable(replace(self._joined, classes=sets.as_wholes()))

    @cached_property
    def classes(self) -> LabelTable:
        """A row for every class of every set."""
        sets: Any = self.rows.classes
        used = self.rows.usable()
        row, label = np.nonzero(sets.member_sk[self.rows.label[used]])
        rows = self.rows.only(used[row])
        places = used if self.rows.row_of is None else self.rows.row_of[used]
        return LabelTable(
            replace(
                rows, label=label.astype(np.int32), classes=sets.classes,
                row_of=places[row].astype(np.int32),
            )
        )  # fmt: skip
