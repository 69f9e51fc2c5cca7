"""Crowds of annotators who label independently, each with a confusion."""

from dataclasses import dataclass, replace

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import generator, require
from manyhands.simulation import behaviours
from manyhands.simulation.crowds import SimulatedCrowd, draw_items, simulate_crowd
from manyhands.simulation.settings import SHARES, CrowdSettings, CrowdSizes


def symmetric(settings: CrowdSettings, items: Items | None = None) -> SimulatedCrowd:
    """Honest annotators of different accuracy; all wrong labels are equally probable."""
    return _crowd(settings, items, behaviours.honest(accuracies(settings), settings.n_classes))


def confusions(settings: CrowdSettings, items: Items | None = None) -> SimulatedCrowd:
    """Honest annotators whose wrong labels have probabilities of their own."""
    rng = generator(settings.seed, "mistakes")
    confusion_akl = behaviours.confused(accuracies(settings), settings.n_classes, 0.3, rng)
    return _crowd(settings, items, confusion_akl)


def spammers(settings: CrowdSettings, items: Items | None = None) -> SimulatedCrowd:
    """A share of spammers: half give random labels, half always the same label."""
    confusion_akl = behaviours.honest(accuracies(settings), settings.n_classes)
    behaviour = np.full(settings.n_annotators, "honest", dtype=object)
    n_bad = round(settings.share * settings.n_annotators)
    random, constant = slice(0, n_bad // 2), slice(n_bad // 2, n_bad)
    confusion_akl[random] = behaviours.random_spammers(n_bad // 2, settings.n_classes)
    class_a = np.arange(n_bad - n_bad // 2) % settings.n_classes
    confusion_akl[constant] = behaviours.constant_spammers(class_a, settings.n_classes)
    behaviour[random], behaviour[constant] = "random", "constant"
    return _crowd(settings, items, confusion_akl, behaviour)


def adversarial(settings: CrowdSettings, items: Items | None = None) -> SimulatedCrowd:
    """A share of adversaries, who know the class and give another label."""
    accuracy_a = accuracies(settings)
    confusion_akl = behaviours.honest(accuracy_a, settings.n_classes)
    behaviour = np.full(settings.n_annotators, "honest", dtype=object)
    bad = slice(0, round(settings.share * settings.n_annotators))
    confusion_akl[bad] = behaviours.adversaries(accuracy_a[bad], settings.n_classes)
    behaviour[bad] = "adversary"
    return _crowd(settings, items, confusion_akl, behaviour)


@dataclass(frozen=True, kw_only=True)
class SensitivitySettings(CrowdSizes):
    """The five annotators of two classes of Rodrigues and Pereira (2018), figure 2.

    Annotator a gives label 1 to an item of class 1 with probability `sensitivities[a]`, and label 0
    to an item of class 0 with probability `specificities[a]`. A crowd larger than the lists repeats
    them. In the paper every annotator labels half of 25,000 images.
    """

    n_items: int = 12_500
    n_annotators: int = 5
    n_classes: int = 2
    labels_per_item: int = 5
    sensitivities: tuple[float, ...] = (0.6, 0.9, 0.5, 0.9, 0.9)
    specificities: tuple[float, ...] = (0.7, 0.8, 0.5, 0.2, 0.9)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.n_classes == 2, "n_classes", "2 in this scenario", self.n_classes)
        self.require(SHARES, "sensitivities", "specificities")
        rule = f"as many as sensitivities ({len(self.sensitivities)})"
        holds = len(self.specificities) == len(self.sensitivities)
        require(holds, "specificities", rule, self.specificities)


def sensitivities(settings: SensitivitySettings, items: Items | None = None) -> SimulatedCrowd:
    """Two classes, and annotators of given sensitivity and specificity."""
    right_a1 = np.resize(settings.sensitivities, settings.n_annotators)
    right_a0 = np.resize(settings.specificities, settings.n_annotators)
    confusion_kla = np.array([[right_a0, 1 - right_a0], [1 - right_a1, right_a1]])
    return _crowd(settings, items, confusion_kla.transpose(2, 0, 1).copy())


def accuracies(settings: CrowdSettings) -> Floats:
    """The accuracy of each annotator, uniform between `lowest` and `highest`."""
    rng = generator(settings.seed, "accuracies")
    return rng.uniform(settings.lowest, settings.highest, size=settings.n_annotators)


def _crowd(
    settings: CrowdSizes,
    items: Items | None,
    confusion_akl: Floats,
    behaviour: AnyArray | None = None,
) -> SimulatedCrowd:
    known = draw_items(items, settings)
    crowd = simulate_crowd(
        known.truth,
        confusion_akl,
        labels_per_item=settings.labels_per_item,
        seed=settings.seed,
        behaviour=behaviour,
    )
    return replace(crowd, features=known.features, test=known.test)
