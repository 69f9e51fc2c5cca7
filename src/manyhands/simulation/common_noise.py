"""A crowd with a confusion that all annotators share and a confusion of each annotator."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats
from manyhands.core.settings import generator, require, require_choice
from manyhands.simulation import crowds
from manyhands.simulation.settings import AT_LEAST_ONE, FINITE, SHARE, CrowdSizes

PATTERNS = ("asymmetric", "symmetric")
LABELS_AT_ONCE = 2**16


@dataclass(frozen=True, kw_only=True)
class CommonNoiseSettings(CrowdSizes):
    """The synthetic data of Chu, Ma and Wang (2021), "Experiments on Synthesized Datasets".

    The mean of a class is normal with standard deviation `separation` in each of `n_features`
    dimensions; the features of an item are normal around it with standard deviation 1.

    With probability omega a label comes from the shared confusion, otherwise from the confusion of
    the annotator. omega = sigmoid(u_a . W x_i + b). u_a and W are normal, with `n_hidden` hidden
    dimensions, and scaled so that the logits of all labels have standard deviation `contrast`. b is
    chosen so that the mean of omega over all labels is `common_share`.

    A strength is the probability of an error under a confusion. With `pattern` "asymmetric", the
    shared confusion mistakes each class for another class drawn at random; with "symmetric", it
    exchanges pairs of classes; `partners` gives these classes explicitly. The confusions of single
    annotators are asymmetric.
    """

    n_items: int = 8000
    n_annotators: int = 30
    n_classes: int = 6
    labels_per_item: int = 3
    n_test: int = 1000
    n_features: int = 10
    separation: float = 1.0
    pattern: str = "asymmetric"
    partners: tuple[int, ...] = ()
    common_strength: float = 0.4
    individual_strength: float = 0.7
    common_share: float = 0.5
    n_hidden: int = 20
    contrast: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.n_classes >= 2, "n_classes", ">= 2", self.n_classes)
        require_choice("pattern", self.pattern, PATTERNS)
        self.require(SHARE, "common_strength", "individual_strength", "common_share")
        self.require(AT_LEAST_ONE, "n_features", "n_hidden")
        self.require(FINITE, "n_test", "separation", "contrast")
        if self.partners:
            check_partners(self.partners, self.n_classes, self.pattern)


@dataclass(frozen=True, kw_only=True)
class CommonNoiseCrowd(crowds.SimulatedCrowd):
    """A crowd with its shared and individual confusions, and omega and the source of each label."""

    common_kl: Floats
    individual_akl: Floats
    omega_n: Floats
    from_common_n: Bools


def common_noise(settings: CommonNoiseSettings, items: Items | None = None) -> CommonNoiseCrowd:
    """Errors that all annotators share, and errors of each annotator."""
    rng = generator(settings.seed, "centres")
    centre_kd = rng.standard_normal((settings.n_classes, settings.n_features))
    known = crowds.gaussian_items(
        items, settings, settings.separation * centre_kd, 1.0, settings.n_test
    )
    common_kl, individual_akl = _confusions(settings)
    n_items, n_annotators = len(known.truth), settings.n_annotators
    item, annotator = crowds.draw_pairs(settings, n_items)
    omega_n = _omega(settings, known.flat_features, item, annotator)
    common_n = generator(settings.seed, "sources").random(len(item)) < omega_n
    stacked_akl = np.concatenate([individual_akl, common_kl[None]])
    source_n = np.where(common_n, n_annotators, annotator)
    rng = generator(settings.seed, "labels")
    label = crowds.draw_labels(stacked_akl, known.truth[item], source_n, rng)
    classes = np.arange(settings.n_classes)
    mean_ak = _mean_omega(omega_n, annotator, known.truth[item], settings)[:, :, None]
    common_a = np.bincount(annotator, common_n, minlength=n_annotators)
    n_labels_a = np.maximum(np.bincount(annotator, minlength=n_annotators), 1)
    return CommonNoiseCrowd(
        crowds.label_table((item, annotator), label, n_items, n_annotators, classes),
        known.truth,
        mean_ak * common_kl + (1 - mean_ak) * individual_akl,
        np.full(n_annotators, "honest", dtype=object),
        known.features,
        known.test,
        {"common_share": common_a / n_labels_a},
        {"source": np.where(common_n, "common", "individual"), "omega": omega_n},
        common_kl=common_kl,
        individual_akl=individual_akl,
        omega_n=omega_n,
        from_common_n=common_n,
    )


def _confusions(settings: CommonNoiseSettings) -> tuple[Floats, Floats]:
    """The shared confusion (k, l), and the confusion of each annotator (a, k, l)."""
    n_classes = settings.n_classes
    rng = generator(settings.seed, "mistakes")
    if settings.partners:
        partner_k = check_partners(settings.partners, n_classes, settings.pattern)
    else:
        partner_k = draw_partners(1, n_classes, settings.pattern, rng)[0]
    own_ak = draw_partners(settings.n_annotators, n_classes, "asymmetric", rng)
    common_akl = partner_confusions(partner_k[None], settings.common_strength)
    return common_akl[0], partner_confusions(own_ak, settings.individual_strength)


def _omega(
    settings: CommonNoiseSettings, features: AnyArray, item: Codes, annotator: Codes
) -> Floats:
    """The probability that each label comes from the shared confusion."""
    if settings.common_share in (0.0, 1.0):
        return np.full(len(item), float(settings.common_share))
    rng = generator(settings.seed, "hidden features")
    hidden_ah = rng.standard_normal((settings.n_annotators, settings.n_hidden))
    weight_dh = rng.standard_normal((features.shape[1], settings.n_hidden))
    hidden_ih = features @ weight_dh.astype(features.dtype, copy=False)
    logit_n = np.empty(len(item))
    for start in range(0, len(item), LABELS_AT_ONCE):
        part = slice(start, start + LABELS_AT_ONCE)
        logit_n[part] = np.einsum("nh,nh->n", hidden_ah[annotator[part]], hidden_ih[item[part]])
    deviation = logit_n.std()
    logit_n *= settings.contrast / deviation if deviation > 0 else 0.0
    return _sigmoid(logit_n + shift_for(logit_n, settings.common_share))


def shift_for(logit_n: Floats, mean: float) -> float:
    """The constant to add to logits so that their sigmoids have this mean.

    >>> round(shift_for(np.array([-1.0, -1.0]), 0.5), 6)
    1.0
    """
    from scipy.optimize import brentq

    reach = float(np.abs(logit_n).max()) + abs(float(np.log(mean) - np.log1p(-mean))) + 1.0
    return float(brentq(lambda shift: _sigmoid(logit_n + shift).mean() - mean, -reach, reach))


def _sigmoid(logit_n: Floats) -> Floats:
    return 0.5 + 0.5 * np.tanh(0.5 * logit_n)


def _mean_omega(
    omega_n: Floats, annotator: Codes, truth_n: AnyArray, settings: CommonNoiseSettings
) -> Floats:
    """Mean omega by annotator and class; `common_share` where an annotator has no such label."""
    cell_n = annotator.astype(np.int64) * settings.n_classes + truth_n
    size = settings.n_annotators * settings.n_classes
    n_labels = np.bincount(cell_n, minlength=size)
    total = np.bincount(cell_n, omega_n, minlength=size)
    mean = np.where(n_labels > 0, total / np.maximum(n_labels, 1), settings.common_share)
    return np.asarray(mean.reshape(settings.n_annotators, settings.n_classes))


def partner_confusions(partner_ak: AnyArray, strength: float) -> Floats:
    """Confusions that give each class the label of its partner with this probability.

    >>> partner_confusions(np.array([[1, 2, 2]]), 0.25)[0].tolist()
    [[0.75, 0.25, 0.0], [0.0, 0.75, 0.25], [0.0, 0.0, 1.0]]
    """
    n_annotators, n_classes = partner_ak.shape
    confusion_akl = np.zeros((n_annotators, n_classes, n_classes))
    row, column = np.arange(n_annotators)[:, None], np.arange(n_classes)
    confusion_akl[:, column, column] = 1.0 - strength
    confusion_akl[row, column, partner_ak] += strength
    return confusion_akl


def draw_partners(
    n_annotators: int, n_classes: int, pattern: str, rng: np.random.Generator
) -> AnyArray:
    """The class that each class is mistaken for, drawn for each annotator.

    "asymmetric": any other class, all equally probable. "symmetric": random pairs; with an odd
    number of classes one class is never mistaken.
    """
    if pattern == "asymmetric":
        step_ak = rng.integers(1, n_classes, size=(n_annotators, n_classes))
        return (np.arange(n_classes) + step_ak) % n_classes
    shuffled = rng.permuted(np.tile(np.arange(n_classes), (n_annotators, 1)), axis=1)
    partner_ak = np.tile(np.arange(n_classes), (n_annotators, 1))
    row = np.arange(n_annotators)[:, None]
    first, second = shuffled[:, 0 : n_classes - 1 : 2], shuffled[:, 1:n_classes:2]
    partner_ak[row, first], partner_ak[row, second] = second, first
    return partner_ak


def check_partners(partners: Sequence[int], n_classes: int, pattern: str) -> AnyArray:
    """The class that each class is mistaken for, as given; the class itself if it never is."""
    partner_k = np.asarray(partners)
    rule = f"{n_classes} classes in 0..{n_classes - 1}"
    holds = len(partner_k) == n_classes and bool(((partner_k >= 0) & (partner_k < n_classes)).all())
    require(holds, "partners", rule, partners)
    paired = bool((partner_k[partner_k] == np.arange(n_classes)).all())
    rule = "pairs of classes that are mistaken for each other if pattern is symmetric"
    require(pattern != "symmetric" or paired, "partners", rule, partners)
    return partner_k
