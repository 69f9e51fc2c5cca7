"""The items that a simulated crowd labels: given ones, or drawn ones."""

from manyhands.annotations import Items
from manyhands.core.arrays import Floats
from manyhands.core.settings import generator, require
from manyhands.simulation.settings import CrowdSizes


def draw_items(items: Items | None, settings: CrowdSizes) -> Items:
    """The given items; without them, `n_items` items of equally probable classes."""
    if items is None:
        rng = generator(settings.seed, "truth")
        return Items(rng.integers(0, settings.n_classes, settings.n_items))
    return check_items(items, settings)


def check_items(items: Items, settings: CrowdSizes) -> Items:
    """The items; raises a `SettingError` if a class is not one of the settings' classes."""
    low, high = int(items.truth.min()), int(items.truth.max())
    rule = f"class codes in 0..{settings.n_classes - 1} (n_classes is {settings.n_classes})"
    require(low >= 0 and high < settings.n_classes, "truth", rule, (low, high))
    return items


def gaussian_items(
    centre_kd: Floats, spread: float, *, n_items: int, n_test: int, seed: int
) -> Items:
    """Items that are normal around the centres of their classes; classes are equally frequent.

    >>> import numpy as np
    >>> items = gaussian_items(np.eye(2), 0.0, n_items=4, n_test=2, seed=0)
    >>> sorted(items.features.tolist()), len(items.test.truth)
    ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], 2)
    """
    rng = generator(seed, "items")
    n_classes, n_features = centre_kd.shape
    n_all = n_items + n_test
    truth = rng.permutation(n_all) % n_classes
    features = centre_kd[truth] + spread * rng.standard_normal((n_all, n_features))
    test = Items(truth[n_items:], features[n_items:]) if n_test else None
    return Items(truth[:n_items], features[:n_items], test)
