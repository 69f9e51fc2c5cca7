"""A crowd with annotators of every bad behaviour, to measure what finds them."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import generator, require
from manyhands.simulation import behaviours, crowds
from manyhands.simulation.independent import accuracies
from manyhands.simulation.settings import SHARE, CrowdSettings

PLANTED = ("random", "constant", "adversary", "copycat")


@dataclass(frozen=True, kw_only=True)
class PlantedSettings(CrowdSettings):
    """A `share` of the annotators misbehaves, a quarter each: random, constant, adversary, copycat.

    A copycat labels the items of one honest annotator and gives that annotator's label with
    probability `copying`, otherwise an independent one. Class k + 1 is `imbalance` times as
    frequent as class k. A part `hard_share` of the items looks like another class, which is the
    same for all: annotators who look at such an item see that class with probability `look_alike`.
    """

    n_items: int = 3000
    n_annotators: int = 200
    n_classes: int = 4
    lowest: float = 0.6
    highest: float = 0.95
    share: float = 0.2
    copying: float = 0.9
    imbalance: float = 1.0
    hard_share: float = 0.0
    look_alike: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(SHARE, "copying", "hard_share", "look_alike")
        require(0 < self.imbalance <= 1, "imbalance", "in (0, 1]", self.imbalance)
        require(5 * self.n_planted <= self.n_annotators, "share", "at most 0.8", self.share)
        require(self.n_classes >= 2, "n_classes", ">= 2", self.n_classes)
        rule = "at most the number of annotators who do not copy"
        own = self.n_annotators - self.n_planted
        require(self.labels_per_item <= own, "labels_per_item", rule, self.labels_per_item)

    @property
    def n_planted(self) -> int:
        """Number of annotators of each planted behaviour."""
        return round(self.share * self.n_annotators / len(PLANTED))


def planted(settings: PlantedSettings, items: Items | None = None) -> crowds.SimulatedCrowd:
    """Honest annotators, and a share of each bad behaviour."""
    known = _draw_items(settings) if items is None else crowds.check_items(items, settings)
    behaviour, confusion_akl = _annotators(settings)
    source_a = np.full(settings.n_annotators, -1, dtype=np.int32)
    copiers = np.flatnonzero(behaviour == "copycat")
    honest = np.flatnonzero(behaviour == "honest")
    rng = generator(settings.seed, "whom they copy")
    source_a[copiers] = rng.choice(honest, size=len(copiers), replace=False)
    item, annotator = _who_labels_what(len(known.truth), source_a, settings)
    keys, wanted = _pair_keys(item, annotator), _pair_keys(item, source_a[annotator])
    copied = np.isin(wanted, keys)
    copied &= generator(settings.seed, "copying").random(len(item)) < settings.copying
    seen_n = _seen(known.truth, item, settings)
    label = crowds.draw_labels(confusion_akl, seen_n, annotator, generator(settings.seed, "labels"))
    label[copied] = label[np.searchsorted(keys, wanted[copied])]
    sizes = len(known.truth), settings.n_annotators
    return crowds.SimulatedCrowd(
        crowds.label_table((item, annotator), label, *sizes, np.arange(settings.n_classes)),
        known.truth,
        _as_labelled(confusion_akl, source_a, settings),
        behaviour,
        known.features,
        known.test,
        {"copies": source_a},
    )


def _draw_items(settings: PlantedSettings) -> Items:
    share_k = settings.imbalance ** np.arange(settings.n_classes)
    rng = generator(settings.seed, "truth")
    return Items(rng.choice(settings.n_classes, settings.n_items, p=share_k / share_k.sum()))


def _annotators(settings: PlantedSettings) -> tuple[AnyArray, Floats]:
    """The behaviour of each annotator, and the confusions (a, k, l)."""
    n, n_classes, accuracy_a = settings.n_planted, settings.n_classes, accuracies(settings)
    behaviour = np.full(settings.n_annotators, "honest", dtype=object)
    for place, name in enumerate(PLANTED):
        behaviour[place * n : (place + 1) * n] = name
    confusion_akl = behaviours.honest(accuracy_a, n_classes)
    confusion_akl[behaviour == "random"] = behaviours.random_spammers(n, n_classes)
    said_a = np.arange(n) % n_classes
    confusion_akl[behaviour == "constant"] = behaviours.constant_spammers(said_a, n_classes)
    bad = behaviour == "adversary"
    confusion_akl[bad] = behaviours.adversaries(accuracy_a[bad], n_classes)
    return behaviour, confusion_akl


def _who_labels_what(
    n_items: int, source_a: Codes, settings: PlantedSettings
) -> tuple[Codes, Codes]:
    """Pairs of items and annotators: a copycat takes a place beside the source of the labels."""
    rng = generator(settings.seed, "who labels what")
    own = np.flatnonzero(source_a < 0).astype(np.int32)
    _, place = crowds.assign(n_items, len(own), settings.labels_per_item, rng)
    chosen = own[place].reshape(n_items, settings.labels_per_item)
    is_source = np.isin(np.arange(len(source_a)), source_a)
    for copier in np.flatnonzero(source_a >= 0):
        theirs = np.flatnonzero((chosen == source_a[copier]).any(axis=1))
        free = ~is_source[chosen[theirs]] & (source_a[chosen[theirs]] < 0)
        theirs, free = theirs[free.any(axis=1)], free[free.any(axis=1)]
        chosen[theirs, np.where(free, rng.random(free.shape), -1.0).argmax(axis=1)] = copier
    item = np.repeat(np.arange(n_items, dtype=np.int32), settings.labels_per_item)
    return crowds.sort_pairs(item, chosen.ravel())


def _seen(truth: AnyArray, item: Codes, settings: PlantedSettings) -> AnyArray:
    """The class that each label is drawn for: that of the item, or the one it looks like."""
    rng = generator(settings.seed, "hard items")
    hard_i = rng.random(len(truth)) < settings.hard_share
    other_i = (truth + rng.integers(1, settings.n_classes, len(truth))) % settings.n_classes
    misled_n = hard_i[item] & (rng.random(len(item)) < settings.look_alike)
    return np.where(misled_n, other_i[item], truth[item])


def _pair_keys(item: Codes, annotator: Codes) -> AnyArray:
    return (item.astype(np.int64) << 32) + annotator


def _as_labelled(confusion_akl: Floats, source_a: Codes, settings: PlantedSettings) -> Floats:
    """The confusions of the labels: with hard items, and with what copycats copy."""
    misled, n_classes = settings.hard_share * settings.look_alike, settings.n_classes
    seen_kk = np.full((n_classes, n_classes), misled / (n_classes - 1))
    np.fill_diagonal(seen_kk, 1.0 - misled)
    confusion_akl = seen_kk @ confusion_akl
    mixed_akl = (1 - settings.copying) * confusion_akl + settings.copying * confusion_akl[source_a]
    return np.where((source_a >= 0)[:, None, None], mixed_akl, confusion_akl)
