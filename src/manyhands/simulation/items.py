"""What there is to label: the items' classes, and features where there are any."""

from dataclasses import dataclass, field

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.seeds import generator
from manyhands.core.settings import require
from manyhands.simulation.settings import CrowdSizes


@dataclass(frozen=True)
class Items:
    """Items before anybody labelled them: class codes, features, and others kept for testing.

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
        """A row of numbers per item; images are laid out in a line, and small types stay small."""
        require(self.features is not None, "items", "items with features", self.features)
        assert self.features is not None
        single = self.features.dtype == np.float32 or self.features.dtype.itemsize < 4
        kind = np.float32 if single else np.float64
        return np.asarray(self.features, dtype=kind).reshape(len(self.truth), -1)


def items_or_drawn(items: Items | None, settings: CrowdSizes) -> Items:
    """The given items, or as many without features as the settings say, of any class alike."""
    if items is None:
        rng = generator(settings.seed, "truth")
        return Items(rng.integers(0, settings.n_classes, settings.n_items))
    return checked(items, settings)


def checked(items: Items, settings: CrowdSizes) -> Items:
    """The items, if their classes are among those of the settings."""
    low, high = int(items.truth.min()), int(items.truth.max())
    rule = f"class codes in 0..{settings.n_classes - 1} (n_classes is {settings.n_classes})"
    require(low >= 0 and high < settings.n_classes, "truth", rule, (low, high))
    return items


def gaussian_items(
    centre_kd: Floats, spread: float, *, n_items: int, n_test: int, seed: int
) -> Items:
    """Items around their classes' centres, every class as often as any other.

    >>> made = gaussian_items(np.eye(2), 0.0, n_items=4, n_test=2, seed=0)
    >>> sorted(made.features.tolist()), len(made.test.truth)
    ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], 2)
    """
    rng = generator(seed, "items")
    n_classes, n_features = centre_kd.shape
    n_all = n_items + n_test
    truth = rng.permutation(n_all) % n_classes
    features = centre_kd[truth] + spread * rng.standard_normal((n_all, n_features))
    test = Items(truth[n_items:], features[n_items:]) if n_test else None
    return Items(truth[:n_items], features[:n_items], test)
