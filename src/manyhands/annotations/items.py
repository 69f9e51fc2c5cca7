"""Items with known classes that have no labels yet: the input of simulated crowds."""

from dataclasses import dataclass, field

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.settings import require


@dataclass(frozen=True)
class Items:
    """The class codes of items, their features if there are any, and further items for testing.

    >>> Items([0, 1, 1], features=[[0.5], [0.7], [0.1]]).features.shape
    (3, 1)
    """

    truth: AnyArray
    features: AnyArray | None = None
    test: "Items | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", np.asarray(self.truth))
        whole = self.truth.ndim == 1 and self.truth.dtype.kind in "iu"
        require(whole and len(self.truth) > 0, "truth", "class codes, one per item", self.truth)
        if self.features is not None:
            object.__setattr__(self, "features", np.asarray(self.features))
            require(
                len(self.features) == len(self.truth),
                "features", f"one row per item ({len(self.truth)})", len(self.features),
            )  # fmt: skip

    @property
    def flat_features(self) -> AnyArray:
        """One row of numbers per item; small types become float32, other types float64."""
        require(self.features is not None, "items", "items with features", self.features)
        assert self.features is not None
        single = self.features.dtype == np.float32 or self.features.dtype.itemsize < 4
        dtype = np.float32 if single else np.float64
        return np.asarray(self.features, dtype=dtype).reshape(len(self.truth), -1)
