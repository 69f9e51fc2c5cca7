"""A crowd in which many annotators make the same mistake on the same items."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import Bools
from manyhands.core.settings import generator, require
from manyhands.simulation import crowds
from manyhands.simulation.behaviours import honest
from manyhands.simulation.independent import accuracies
from manyhands.simulation.settings import AT_LEAST_ONE, FINITE, SHARE, CrowdSettings


@dataclass(frozen=True, kw_only=True)
class SharedMistakeSettings(CrowdSettings):
    """A `share` of the items is mistaken for one other class, the same for all annotators.

    An annotator makes the shared mistake with probability `following`, and otherwise labels
    independently. Features are normal around the mean of the true class, which is normal with
    standard deviation `separation`; they do not show which items are mistaken.
    """

    labels_per_item: int = 5
    lowest: float = 0.7
    highest: float = 0.95
    share: float = 0.2
    following: float = 0.8
    n_features: int = 10
    separation: float = 1.5
    n_test: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.n_classes >= 2, "n_classes", ">= 2", self.n_classes)
        self.require(SHARE, "following")
        self.require(AT_LEAST_ONE, "n_features")
        self.require(FINITE, "separation", "n_test")


@dataclass(frozen=True, kw_only=True)
class SharedMistakeCrowd(crowds.SimulatedCrowd):
    """A crowd with the items that annotators mistake, and the labels that follow the mistake."""

    mistaken_i: Bools
    followed_n: Bools


def shared_mistakes(
    settings: SharedMistakeSettings, items: Items | None = None
) -> SharedMistakeCrowd:
    """A share of the items is mistaken for the same other class by most annotators."""
    rng = generator(settings.seed, "centres")
    centre_kd = rng.standard_normal((settings.n_classes, settings.n_features))
    known = crowds.gaussian_items(
        items, settings, settings.separation * centre_kd, 1.0, settings.n_test
    )
    n_items, n_classes = len(known.truth), settings.n_classes
    rng = generator(settings.seed, "mistakes")
    mistaken_i = rng.random(n_items) < settings.share
    other_i = (known.truth + rng.integers(1, n_classes, n_items)) % n_classes
    item, annotator = crowds.draw_pairs(settings, n_items)
    followed_n = mistaken_i[item] & (rng.random(len(item)) < settings.following)
    own_akl = honest(accuracies(settings), n_classes)
    label = crowds.draw_labels(
        own_akl, known.truth[item], annotator, generator(settings.seed, "labels")
    )
    label = np.where(followed_n, other_i[item], label)
    followed = settings.share * settings.following
    even_kl = (1 - np.eye(n_classes)) / (n_classes - 1)
    pairs = item, annotator
    return SharedMistakeCrowd(
        crowds.label_table(pairs, label, n_items, settings.n_annotators, np.arange(n_classes)),
        known.truth,
        (1 - followed) * own_akl + followed * even_kl,
        np.full(settings.n_annotators, "honest", dtype=object),
        known.features,
        known.test,
        label_notes={"source": np.where(followed_n, "shared mistake", "own")},
        mistaken_i=mistaken_i,
        followed_n=followed_n,
    )
