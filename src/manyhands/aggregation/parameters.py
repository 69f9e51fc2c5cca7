"""What a fitted model has learnt: the state from which a consensus continues."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from manyhands.core.arrays import AnyArray, Floats


@dataclass(frozen=True)
class Parameters:
    """Base of every model's parameters: a dataclass whose fields are arrays and floats.

    Rows of arrays whose names end in `_a` follow the annotators of the consensus, those in `_i` its
    items. A consensus is saved with its parameters field by field.
    """

    def confusion(self) -> Floats | None:
        """Every annotator's confusion, shape (a, k, l); None if the model has none."""
        return None

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """Columns of the annotators table that only this model has."""
        return {}

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same parameters with `n_new` average annotators appended."""
        return self

    def for_new_items(self, n_items: int) -> Self:
        """The same parameters for `n_items` other items, about which nothing is known."""
        return self
