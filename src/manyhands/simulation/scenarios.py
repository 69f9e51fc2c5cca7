"""Named crowds to try methods on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.registry import Registry
from manyhands.core.seeds import generator
from manyhands.core.settings import require
from manyhands.simulation.behaviours import (
    adversaries,
    confused,
    constant_spammers,
    honest,
    random_spammers,
)
from manyhands.simulation.crowds import SimulatedCrowd, simulate_crowd


@dataclass(frozen=True, kw_only=True)
class CrowdSettings:
    """The knobs every scenario has.

    Accuracies are uniform between `lowest` and `highest`; `share` is the part of the crowd that
    misbehaves in scenarios that have such people.
    """

    n_items: int = 1000
    n_annotators: int = 50
    n_classes: int = 3
    labels_per_item: int = 5
    lowest: float = 0.5
    highest: float = 0.9
    share: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n_items", "n_annotators", "n_classes", "labels_per_item"):
            require(getattr(self, name) >= 1, name, ">= 1", getattr(self, name))
        require(0 <= self.lowest <= self.highest <= 1, "lowest, highest", "in order within 0..1",
                (self.lowest, self.highest))  # fmt: skip
        require(0 <= self.share <= 1, "share", "in 0..1", self.share)
        require(
            self.labels_per_item <= self.n_annotators,
            "labels_per_item",
            f"at most n_annotators ({self.n_annotators})",
            self.labels_per_item,
        )


def symmetric(settings: CrowdSettings) -> SimulatedCrowd:
    """Honest annotators of different accuracy; a mistake is any other class alike."""
    return _crowd(settings, honest(_accuracies(settings), settings.n_classes))


def confusions(settings: CrowdSettings) -> SimulatedCrowd:
    """Honest annotators with favourite mistakes of their own."""
    rng = generator(settings.seed, "mistakes")
    return _crowd(settings, confused(_accuracies(settings), settings.n_classes, 0.3, rng))


def spammers(settings: CrowdSettings) -> SimulatedCrowd:
    """A share of the crowd says anything: half of it at random, half always the same class."""
    confusion_akl = honest(_accuracies(settings), settings.n_classes)
    behaviour = np.full(settings.n_annotators, "honest", dtype=object)
    n_bad = round(settings.share * settings.n_annotators)
    random, constant = slice(0, n_bad // 2), slice(n_bad // 2, n_bad)
    confusion_akl[random] = random_spammers(n_bad // 2, settings.n_classes)
    class_a = np.arange(n_bad - n_bad // 2) % settings.n_classes
    confusion_akl[constant] = constant_spammers(class_a, settings.n_classes)
    behaviour[random], behaviour[constant] = "random", "constant"
    return _crowd(settings, confusion_akl, behaviour)


def adversarial(settings: CrowdSettings) -> SimulatedCrowd:
    """A share of the crowd knows the class and says another."""
    accuracy_a = _accuracies(settings)
    confusion_akl = honest(accuracy_a, settings.n_classes)
    behaviour = np.full(settings.n_annotators, "honest", dtype=object)
    bad = slice(0, round(settings.share * settings.n_annotators))
    confusion_akl[bad] = adversaries(accuracy_a[bad], settings.n_classes)
    behaviour[bad] = "adversary"
    return _crowd(settings, confusion_akl, behaviour)


SCENARIOS: Registry[Callable[[CrowdSettings], SimulatedCrowd]] = Registry(
    "scenario",
    {
        "symmetric": symmetric,
        "confusions": confusions,
        "spammers": spammers,
        "adversaries": adversarial,
    },
)


def _accuracies(settings: CrowdSettings) -> Floats:
    rng = generator(settings.seed, "accuracies")
    return rng.uniform(settings.lowest, settings.highest, size=settings.n_annotators)


def _crowd(
    settings: CrowdSettings, confusion_akl: Floats, behaviour: AnyArray | None = None
) -> SimulatedCrowd:
    truth = generator(settings.seed, "truth").integers(0, settings.n_classes, settings.n_items)
    return simulate_crowd(
        truth,
        confusion_akl,
        labels_per_item=settings.labels_per_item,
        seed=settings.seed,
        behaviour=behaviour,
    )
