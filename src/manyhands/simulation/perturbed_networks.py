"""A crowd of networks that were trained on the truth and have noise on their weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import Rule, generator, require, require_choice
from manyhands.simulation import crowds
from manyhands.simulation.settings import AT_LEAST_ONE, FINITE, SHARES, CrowdSizes

LABELS_FROM = ("confusion", "network")
COPIES_TRIED = 15
SAMPLE_SIZE = 1000
N_STEPS = 2000
STEPS_PER_EPOCH = 100  # at most, of batches of 64 or more
LEARNING_RATE = 0.01


@dataclass(frozen=True, kw_only=True)
class PerturbedNetworkSettings(CrowdSizes):
    """Setup (1) of Mena and Nanculef (2019), section 5: three Gaussians in the plane.

    A network of `n_hidden` units is trained on the truth. Each of the `groups` is an ability level
    with its own noise on the weights; `noises` are in units of the root mean square of a layer's
    weights. An annotator belongs to a group with probability `shares`. With `labels_from`
    "confusion", labels are drawn from the confusion of the group, which is the confusion of the
    perturbed network of median accuracy among 15. With "network", every annotator has a perturbed
    copy of the network, and its predictions are the labels.

    The centres of the classes are `distance` from the origin. More than four classes lie on a
    circle, with neighbours as far apart as those of four. Items have standard deviation `spread`
    around the centres. With `labels_vary`, `labels_per_item` is an average.
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
        self.require(AT_LEAST_ONE, "n_hidden")
        self.require(FINITE, "n_test", "distance", "spread")
        self.require(SHARES, "shares")
        require(abs(sum(self.shares) - 1) < 1e-6, "shares", "numbers with sum 1", self.shares)
        fit = all(map(FINITE.holds, self.noises))
        require(fit, "noises", "finite numbers >= 0", self.noises)
        n_groups = len(self.shares)
        as_many = Rule(lambda got: len(got) == n_groups, f"as many as shares ({n_groups})")
        self.require(as_many, "groups", "noises")


@dataclass(frozen=True, kw_only=True)
class PerturbedImageSettings(PerturbedNetworkSettings):
    """Setup (2) of the same paper: ten classes, four ability levels.

    The paper uses the images of CIFAR-10: give them as items. The default items are ten Gaussians
    on a circle.
    """

    n_items: int = 50_000
    n_classes: int = 10
    labels_per_item: int = 3
    n_test: int = 10_000
    groups: tuple[str, ...] = ("expert", "inexpert", "highly inexpert", "spammer")
    shares: tuple[float, ...] = (0.20, 0.45, 0.15, 0.20)
    noises: tuple[float, ...] = (0.1, 0.4, 0.8, 5.0)


@dataclass(frozen=True, kw_only=True)
class GroupedCrowd(crowds.SimulatedCrowd):
    """A crowd with the group of each annotator and the confusion of each group."""

    group_a: Codes
    group_mkl: Floats


def perturbed_networks(
    settings: PerturbedNetworkSettings,
    items: Items | None = None,
    *,
    group_mkl: Floats | None = None,
) -> GroupedCrowd:
    """Groups of annotators of different ability: networks with different levels of noise.

    `group_mkl` gives the confusions of the groups, of networks that were perturbed elsewhere; no
    network is trained then, and labels are drawn from the confusions.
    """
    if group_mkl is not None:
        rule = "confusion where the confusions of the groups are given"
        require(settings.labels_from == "confusion", "labels_from", rule, settings.labels_from)
    centre_kd = centres(settings.n_classes, settings.distance)
    known = crowds.gaussian_items(items, settings, centre_kd, settings.spread, settings.n_test)
    n_items, n_annotators, n_classes = len(known.truth), settings.n_annotators, settings.n_classes
    if group_mkl is None:
        features = _standardised(known.flat_features)
        network = train_network(features, known.truth, n_classes, settings.n_hidden, settings.seed)
        group_mkl = _group_confusions(settings, network, features, known.truth)
    rng = generator(settings.seed, "groups")
    shares = np.asarray(settings.shares) / np.sum(settings.shares)
    group_a = rng.choice(len(shares), size=n_annotators, p=shares).astype(np.int32)
    assign_items = crowds.assign_varied if settings.labels_vary else crowds.assign
    item, annotator = crowds.draw_pairs(settings, n_items, assign_items)
    if settings.labels_from == "confusion":
        confusion_akl = group_mkl[group_a]
        rng = generator(settings.seed, "labels")
        label = crowds.draw_labels(confusion_akl, known.truth[item], annotator, rng)
    else:
        pairs = item, annotator, np.asarray(settings.noises)[group_a]
        label, confusion_akl = _copies(settings, network, features, known.truth, *pairs)
    return GroupedCrowd(
        crowds.label_table((item, annotator), label, n_items, n_annotators, np.arange(n_classes)),
        known.truth,
        confusion_akl,
        np.asarray(settings.groups, dtype=object)[group_a],
        known.features,
        known.test,
        {"group": group_a},
        group_a=group_a,
        group_mkl=group_mkl,
    )


def centres(n_classes: int, distance: float) -> Floats:
    """The centres of the classes in the plane.

    >>> centres(3, 1.0).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    if n_classes <= 4:
        corner_kd = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        return distance * corner_kd[:n_classes]
    radius = distance * np.sqrt(0.5) / np.sin(np.pi / n_classes)
    angle_k = 2 * np.pi * np.arange(n_classes) / n_classes
    return np.asarray(radius * np.column_stack([np.cos(angle_k), np.sin(angle_k)]))


def confusion_from_labels(label: AnyArray, truth: AnyArray, n_classes: int) -> Floats:
    """The share of each label by class; equal shares for a class without items.

    >>> confusion_from_labels(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    count_kl = np.bincount(truth * n_classes + label, minlength=n_classes**2)
    count_kl = count_kl.reshape(n_classes, n_classes).astype(np.float64)
    total_k = count_kl.sum(axis=1, keepdims=True)
    return np.where(total_k > 0, count_kl / np.maximum(total_k, 1), 1 / n_classes)


def _copies(
    settings: PerturbedNetworkSettings,
    network: "SmallNetwork",
    features: AnyArray,
    truth: AnyArray,
    item: Codes,
    annotator: Codes,
    noise_a: Floats,
) -> tuple[Codes, Floats]:
    """The labels of a perturbed copy per annotator, and its confusion on a sample of the items.

    One copy exists at a time.
    """
    rng = generator(settings.seed, "copies")
    n_annotators, n_classes = len(noise_a), settings.n_classes
    sample = generator(settings.seed, "sample").permutation(len(truth))[:SAMPLE_SIZE]
    sample_features, sample_truth = features[sample], truth[sample]
    by_annotator = np.argsort(annotator, kind="stable")
    ends = np.cumsum(np.bincount(annotator, minlength=n_annotators))
    label = np.empty(len(item), dtype=np.int32)
    confusion_akl = np.empty((n_annotators, n_classes, n_classes))
    for a, (end, level) in enumerate(zip(ends, noise_a, strict=True)):
        copy = network.perturbed(level, rng)
        own = by_annotator[ends[a - 1] if a else 0 : end]
        label[own] = copy.predict(features[item[own]])
        said = copy.predict(sample_features)
        confusion_akl[a] = confusion_from_labels(said, sample_truth, n_classes)
    return label, confusion_akl


def _group_confusions(
    settings: PerturbedNetworkSettings, network: "SmallNetwork", features: AnyArray, truth: AnyArray
) -> Floats:
    """The confusion of each group: that of the perturbed copy of median accuracy."""
    rng = generator(settings.seed, "abilities")
    return median_confusions(
        lambda level: network.perturbed(level, rng).predict(features),
        settings.noises, truth, settings.n_classes,
    )  # fmt: skip


def median_confusions(
    labels_at: Callable[[float], AnyArray], noises: Sequence[float], truth: AnyArray, n_classes: int
) -> Floats:
    """The confusion at each level of noise: that of the copy of median accuracy among 15.

    `labels_at(level)` returns the labels that a new copy gives the items.
    """
    chosen = []
    for level in noises:
        tried = [labels_at(level) for _ in range(COPIES_TRIED)]
        tried.sort(key=lambda label: float(np.mean(label == truth)))
        chosen.append(confusion_from_labels(tried[COPIES_TRIED // 2], truth, n_classes))
    return np.stack(chosen)


def _standardised(features: AnyArray) -> AnyArray:
    deviation = features.std(axis=0)
    standard = np.subtract(features, features.mean(axis=0))
    np.divide(standard, np.where(deviation > 0, deviation, 1.0), out=standard)
    return np.asarray(standard)


@dataclass(frozen=True)
class SmallNetwork:
    """A network with one hidden layer in numpy: logits are max(0, x V + a) W + b."""

    into_dh: Floats
    bias_h: Floats
    out_hk: Floats
    bias_k: Floats

    def predict(self, features: AnyArray) -> AnyArray:
        """The most probable class of each row."""
        # The weights are converted, so that the features are not copied.
        into_dh = self.into_dh.astype(features.dtype, copy=False)
        hidden = np.maximum(features @ into_dh + self.bias_h, 0.0)
        return np.asarray(np.argmax(hidden @ self.out_hk + self.bias_k, axis=1))

    def perturbed(self, level: float, rng: np.random.Generator) -> "SmallNetwork":
        """A copy with normal noise of `level` times the root mean square of a layer's weights."""

        def noisy(weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
            deviation = level * float(np.sqrt(np.mean(weight**2)))
            noise = deviation * rng.standard_normal(weight.shape)
            return weight + noise, bias + deviation * rng.standard_normal(bias.shape)

        return SmallNetwork(*noisy(self.into_dh, self.bias_h), *noisy(self.out_hk, self.bias_k))


def train_network(
    features: AnyArray, truth: AnyArray, n_classes: int, n_hidden: int, seed: int
) -> SmallNetwork:
    """A network trained on the truth by Adam, with cross-entropy.

    >>> x = np.repeat([[-1.0], [1.0]], 50, axis=0)
    >>> net = train_network(x, np.repeat([0, 1], 50), 2, 4, seed=0)
    >>> net.predict(np.array([[-1.0], [1.0]])).tolist()
    [0, 1]
    """
    rng = generator(seed, "network")
    n_rows, n_features = features.shape
    weights = [
        rng.standard_normal((n_features, n_hidden)) * np.sqrt(2 / n_features),
        np.zeros(n_hidden),
        rng.standard_normal((n_hidden, n_classes)) / np.sqrt(n_hidden),
        np.zeros(n_classes),
    ]
    means, squares = ([np.zeros_like(each) for each in weights] for _ in range(2))
    size = max(64, n_rows // STEPS_PER_EPOCH)
    order, start = rng.permutation(n_rows), 0
    for step in range(1, N_STEPS + 1):
        if start >= n_rows:
            order, start = rng.permutation(n_rows), 0
        batch = order[start : start + size]
        gradients = _gradients(weights, features[batch], truth[batch])
        rate = LEARNING_RATE * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        for weight, mean, square, slope in zip(weights, means, squares, gradients, strict=True):
            mean[:] += 0.1 * (slope - mean)
            square[:] += 0.001 * (slope**2 - square)
            weight[:] -= rate * mean / (np.sqrt(square) + 1e-8)
        start += size
    return SmallNetwork(*weights)


def _gradients(weights: list[Floats], features: AnyArray, truth: AnyArray) -> list[Floats]:
    """The gradients of the mean cross-entropy."""
    into_dh, bias_h, out_hk, bias_k = weights
    hidden = np.maximum(features @ into_dh + bias_h, 0.0)
    logits = hidden @ out_hk + bias_k
    error = np.exp(logits - logits.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(len(truth)), truth] -= 1.0
    error /= len(truth)
    back = (error @ out_hk.T) * (hidden > 0)
    return [features.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
