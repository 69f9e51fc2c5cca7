"""The unit of labels that are numbers: networks learn them standardised."""

from dataclasses import dataclass, replace

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats, read_only
from manyhands.core.errors import DataError

_LARGEST = 1e100  # squares of numbers are summed
_ROUNDING = 1e-14


@dataclass(frozen=True)
class TargetScaler:
    """Numbers are `centre` + `size` x standardised ones; learning rates hold for any of them."""

    centre: float
    size: float

    def standardised(self, values: Floats) -> Floats:
        """Numbers without their unit."""
        return np.asarray((values - self.centre) / self.size)

    def told(self, standardised: Floats) -> Floats:
        """Standardised numbers in their unit."""
        return np.asarray(self.centre + self.size * standardised)

    def without(self, annotations: Annotations) -> Annotations:
        """The same annotations with standardised labels."""
        return replace(annotations, label=read_only(self.standardised(annotations.label)))


def fit_target_scaler(annotations: Annotations) -> TargetScaler:
    """Mean and deviation of all labels; of labels that are all equal the deviation is taken as 1.

    >>> unit_of(Annotations.from_arrays([1, 1], ["u", "v"], [2.5, 4.5]))
    Unit(centre=3.5, size=1.0)
    """
    largest = float(np.abs(annotations.label).max(initial=0.0))
    if largest > _LARGEST:
        raise DataError(f"a label is {largest:g}; give numbers up to {_LARGEST:g} in another unit")
    size = float(annotations.label.std())
    told_apart = size > _ROUNDING * largest  # equal numbers have a deviation of rounding errors
    return TargetScaler(float(annotations.label.mean()), size if told_apart else 1.0)
