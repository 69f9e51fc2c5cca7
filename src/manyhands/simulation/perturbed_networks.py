"""A crowd of networks that knew the truth, and of which noise has spoilt the weights."""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.seeds import generator
from manyhands.core.settings import require, require_choice
from manyhands.simulation.assignment import assign, assign_varied, in_order
from manyhands.simulation.crowds import SimulatedCrowd, draw_labels, label_table
from manyhands.simulation.items import Items, checked, gaussian_items
from manyhands.simulation.settings import CrowdSizes, require_shares
from manyhands.simulation.small_network import SmallNetwork, train_network

LABELS_FROM = ("confusion", "network")
COPIES_TRIED = 15
ITEMS_SEEN = 1000


@dataclass(frozen=True, kw_only=True)
class PerturbedNetworkSettings(CrowdSizes):
    """Setup (1) of Mena and Nanculef (2019), section 5: three Gaussians in the plane.

    A network of `n_hidden` units is trained on the truth. Each of the `groups`, an ability level,
    has noise of its level of `noises` on the weights, in units of their root mean square by layer;
    an annotator belongs to a group with the probabilities `shares`. `labels_from` "confusion"
    draws labels from the group's confusion, which is that of a perturbed network: the one of median
    accuracy among 15. "network" gives every annotator a perturbed copy of their own,
    and the labels are what it says of the items' features.

    The classes' centres lie `distance` from the origin (of more than four classes: on a circle,
    with neighbours as far apart as those of four), and items have standard deviation `spread`
    around them. With `labels_vary`, `labels_per_item` is an average.
    """

    n_items: int = 2250
    n_annotators: int = 100
    n_classes: int = 3
    labels_per_item: int = 5
    labels_vary: bool = True
    n_test: int = 750
    distance: float = 1.0
    spread: float = 0.4
    n_hidden: int = 16
    groups: tuple[str, ...] = ("expert", "inexpert", "spammer")
    shares: tuple[float, ...] = (0.25, 0.55, 0.20)
    noises: tuple[float, ...] = (0.2, 1.0, 5.0)
    labels_from: str = "confusion"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("labels_from", self.labels_from, LABELS_FROM)
        require(self.n_hidden >= 1, "n_hidden", ">= 1", self.n_hidden)
        for name in ("n_test", "distance", "spread"):
            holds = 0 <= getattr(self, name) < np.inf
            require(holds, name, "finite and >= 0", getattr(self, name))
        require_shares("shares", self.shares)
        require(abs(sum(self.shares) - 1) < 1e-6, "shares", "numbers with sum 1", self.shares)
        fit = all(0 <= level < np.inf for level in self.noises)
        require(fit, "noises", "finite numbers >= 0", self.noises)
        for name in ("groups", "noises"):
            rule = f"as many as shares ({len(self.shares)})"
            got = getattr(self, name)
            require(len(got) == len(self.shares), name, rule, got)


@dataclass(frozen=True, kw_only=True)
class PerturbedImageSettings(PerturbedNetworkSettings):
    """Setup (2) of the same paper: ten classes, four ability levels.

    The paper labels the images of CIFAR-10: give them as items. Ten Gaussians on a circle stand
    in for them.
    """

    n_items: int = 50_000
    n_classes: int = 10
    labels_per_item: int = 3
    n_test: int = 10_000
    groups: tuple[str, ...] = ("expert", "inexpert", "highly inexpert", "spammer")
    shares: tuple[float, ...] = (0.20, 0.45, 0.15, 0.20)
    noises: tuple[float, ...] = (0.1, 0.4, 0.8, 5.0)


@dataclass(frozen=True, kw_only=True)
class GroupedCrowd(SimulatedCrowd):
    """Also the group of each annotator, and each group's confusion (its typical copy's)."""

    group_a: Codes
    group_mkl: Floats

    @property
    def annotator_notes(self) -> dict[str, AnyArray]:
        """The group of each annotator, by number; the behaviour is its name."""
        return {"group": self.group_a}


def perturbed_networks(
    settings: PerturbedNetworkSettings, items: Items | None = None
) -> GroupedCrowd:
    """Groups of annotators of different ability: networks with more or less noise in them."""
    known = _gaussians(settings) if items is None else checked(items, settings)
    features = _standardised(known.flat_features)
    n_items, n_annotators, n_classes = len(features), settings.n_annotators, settings.n_classes
    network = train_network(features, known.truth, n_classes, settings.n_hidden, settings.seed)
    rng = generator(settings.seed, "groups")
    shares = np.asarray(settings.shares) / np.sum(settings.shares)
    group_a = rng.choice(len(shares), size=n_annotators, p=shares).astype(np.int32)
    group_mkl = _group_confusions(settings, network, features, known.truth)
    who = assign_varied if settings.labels_vary else assign
    rng = generator(settings.seed, "who labels what")
    item, annotator = in_order(*who(n_items, n_annotators, settings.labels_per_item, rng))
    if settings.labels_from == "confusion":
        confusion_akl = group_mkl[group_a]
        rng = generator(settings.seed, "labels")
        label = draw_labels(confusion_akl, known.truth[item], annotator, rng)
    else:
        noise_a = np.asarray(settings.noises)[group_a]
        copies = _Copies(network, noise_a, features, known.truth, n_classes, settings.seed)
        label, confusion_akl = copies.label(item, annotator)
    return GroupedCrowd(
        label_table(item, annotator, label, n_items, n_annotators, np.arange(n_classes)),
        known.truth,
        confusion_akl,
        np.asarray(settings.groups, dtype=object)[group_a],
        known.features,
        known.test,
        group_a=group_a,
        group_mkl=group_mkl,
    )


def centres(n_classes: int, distance: float) -> Floats:
    """Where the classes lie in the plane.

    >>> centres(3, 1.0).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    if n_classes <= 4:
        corner_kd = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        return distance * corner_kd[:n_classes]
    radius = distance * np.sqrt(0.5) / np.sin(np.pi / n_classes)
    angle_k = 2 * np.pi * np.arange(n_classes) / n_classes
    return np.asarray(radius * np.column_stack([np.cos(angle_k), np.sin(angle_k)]))


def confusion_of(said: AnyArray, truth: AnyArray, n_classes: int) -> Floats:
    """The share of each label by class; any label alike for a class without items.

    >>> confusion_of(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    count_kl = np.bincount(truth * n_classes + said, minlength=n_classes**2)
    count_kl = count_kl.reshape(n_classes, n_classes).astype(np.float64)
    total_k = count_kl.sum(axis=1, keepdims=True)
    return np.where(total_k > 0, count_kl / np.maximum(total_k, 1), 1 / n_classes)


class _Copies:
    """A perturbed copy of the network per annotator, one at a time."""

    def __init__(
        self,
        network: SmallNetwork,
        noise_a: Floats,
        features: AnyArray,
        truth: AnyArray,
        n_classes: int,
        seed: int,
    ) -> None:
        self.network, self.noise_a, self.features = network, noise_a, features
        self.truth, self.n_classes, self.seed = truth, n_classes, seed

    def label(self, item: Codes, annotator: Codes) -> tuple[Codes, Floats]:
        """What each copy says of the items it labels, and its confusion on a sample of items."""
        rng = generator(self.seed, "copies")
        n_items, n_annotators = len(self.truth), len(self.noise_a)
        seen = generator(self.seed, "sample").permutation(n_items)[:ITEMS_SEEN]
        seen_features, seen_truth = self.features[seen], self.truth[seen]
        by_annotator = np.argsort(annotator, kind="stable")
        ends = np.cumsum(np.bincount(annotator, minlength=n_annotators))
        label = np.empty(len(item), dtype=np.int32)
        confusion_akl = np.empty((n_annotators, self.n_classes, self.n_classes))
        for a, (end, level) in enumerate(zip(ends, self.noise_a, strict=True)):
            copy = self.network.perturbed(level, rng)
            theirs = by_annotator[ends[a - 1] if a else 0 : end]
            label[theirs] = copy.says(self.features[item[theirs]])
            confusion_akl[a] = confusion_of(copy.says(seen_features), seen_truth, self.n_classes)
        return label, confusion_akl


def _group_confusions(
    settings: PerturbedNetworkSettings, network: SmallNetwork, features: AnyArray, truth: AnyArray
) -> Floats:
    """The confusion of each group: of its perturbed copies the one of median accuracy."""
    rng = generator(settings.seed, "abilities")
    chosen = []
    for level in settings.noises:
        tried = []
        for _ in range(COPIES_TRIED):
            said = network.perturbed(level, rng).says(features)
            tried.append((float(np.mean(said == truth)), said))
        tried.sort(key=lambda one: one[0])
        said = tried[COPIES_TRIED // 2][1]
        chosen.append(confusion_of(said, truth, settings.n_classes))
    return np.stack(chosen)


def _gaussians(settings: PerturbedNetworkSettings) -> Items:
    return gaussian_items(
        centres(settings.n_classes, settings.distance),
        settings.spread,
        n_items=settings.n_items,
        n_test=settings.n_test,
        seed=settings.seed,
    )


def _standardised(features: AnyArray) -> AnyArray:
    deviation = features.std(axis=0)
    standard = np.subtract(features, features.mean(axis=0))
    np.divide(standard, np.where(deviation > 0, deviation, 1.0), out=standard)
    return np.asarray(standard)
