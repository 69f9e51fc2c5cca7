"""A crowd whose mistakes are partly everybody's and partly each annotator's own."""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes, Floats
from manyhands.core.seeds import generator
from manyhands.core.settings import require, require_choice
from manyhands.simulation.assignment import assign, in_order
from manyhands.simulation.crowds import SimulatedCrowd, draw_labels, label_table
from manyhands.simulation.items import Items, checked, gaussian_items
from manyhands.simulation.mistakes import PATTERNS, drawn_partners, given_partners, mistaken
from manyhands.simulation.settings import CrowdSizes, require_share

LABELS_AT_ONCE = 2**16


@dataclass(frozen=True, kw_only=True)
class CommonNoiseSettings(CrowdSizes):
    """The synthetic data of Chu, Ma and Wang (2021), "Experiments on Synthesized Datasets".

    A class's mean is normal with standard deviation `separation` in each of `n_features`
    dimensions; an item's features are normal around it with standard deviation 1.

    With probability omega a label comes from the confusion that all share, else from the
    annotator's own. omega = sigmoid(u_a . W x_i + b): u_a and W are hidden, of dimension `n_hidden`
    and normal, scaled so that the logits of all labels have standard deviation `contrast`, and b is
    such that the mean of omega over all labels is `common_share`.

    A strength is the probability of a mistake under a confusion. `pattern` "asymmetric" lets the
    shared confusion take each class for another one drawn at random, "symmetric" takes pairs of
    classes for each other; `partners` gives these classes instead. Own confusions are asymmetric.
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
        for name in ("common_strength", "individual_strength", "common_share"):
            require_share(name, getattr(self, name))
        for name in ("n_features", "n_hidden"):
            require(getattr(self, name) >= 1, name, ">= 1", getattr(self, name))
        for name in ("n_test", "separation", "contrast"):
            holds = 0 <= getattr(self, name) < np.inf
            require(holds, name, "finite and >= 0", getattr(self, name))
        if self.partners:
            given_partners(self.partners, self.n_classes, self.pattern)


@dataclass(frozen=True, kw_only=True)
class CommonNoiseCrowd(SimulatedCrowd):
    """Also the confusions behind the labels, and for every label omega and where it came from."""

    common_kl: Floats
    individual_akl: Floats
    omega_n: Floats
    from_common_n: Bools

    @property
    def annotator_notes(self) -> dict[str, AnyArray]:
        """The share of each annotator's labels that came from the shared confusion."""
        annotator, n_annotators = self.annotations.annotator, self.annotations.n_annotators
        common_a = np.bincount(annotator, self.from_common_n, minlength=n_annotators)
        return {"common_share": common_a / np.maximum(self.annotations.labels_per_annotator, 1)}

    @property
    def label_notes(self) -> dict[str, AnyArray]:
        """The confusion that each label came from, and the probability that it was the shared."""
        source = np.where(self.from_common_n, "common", "individual")
        return {"source": source, "omega": self.omega_n}


def common_noise(settings: CommonNoiseSettings, items: Items | None = None) -> CommonNoiseCrowd:
    """Mistakes that everybody makes, and mistakes of one's own."""
    known = _gaussians(settings) if items is None else checked(items, settings)
    common_kl, individual_akl = _confusions(settings)
    n_items, n_annotators = len(known.truth), settings.n_annotators
    rng = generator(settings.seed, "who labels what")
    item, annotator = in_order(*assign(n_items, n_annotators, settings.labels_per_item, rng))
    omega_n = _omega(settings, known.flat_features, item, annotator)
    common_n = generator(settings.seed, "sources").random(len(item)) < omega_n
    stacked_akl = np.concatenate([individual_akl, common_kl[None]])
    teller = np.where(common_n, n_annotators, annotator)
    rng = generator(settings.seed, "labels")
    label = draw_labels(stacked_akl, known.truth[item], teller, rng)
    classes = np.arange(settings.n_classes)
    mean_ak = _mean_omega(omega_n, annotator, known.truth[item], settings)[:, :, None]
    return CommonNoiseCrowd(
        label_table(item, annotator, label, n_items, n_annotators, classes),
        known.truth,
        mean_ak * common_kl + (1 - mean_ak) * individual_akl,
        np.full(n_annotators, "honest", dtype=object),
        known.features,
        known.test,
        common_kl=common_kl,
        individual_akl=individual_akl,
        omega_n=omega_n,
        from_common_n=common_n,
    )


def _gaussians(settings: CommonNoiseSettings) -> Items:
    rng = generator(settings.seed, "centres")
    shape = (settings.n_classes, settings.n_features)
    centre_kd = settings.separation * rng.standard_normal(shape)
    return gaussian_items(
        centre_kd, 1.0, n_items=settings.n_items, n_test=settings.n_test, seed=settings.seed
    )


def _confusions(settings: CommonNoiseSettings) -> tuple[Floats, Floats]:
    """The shared confusion, and everybody's own."""
    n_classes = settings.n_classes
    rng = generator(settings.seed, "mistakes")
    if settings.partners:
        partner_k = given_partners(settings.partners, n_classes, settings.pattern)
    else:
        partner_k = drawn_partners(1, n_classes, settings.pattern, rng)[0]
    own_ak = drawn_partners(settings.n_annotators, n_classes, "asymmetric", rng)
    common_akl = mistaken(partner_k[None], settings.common_strength)
    return common_akl[0], mistaken(own_ak, settings.individual_strength)


def _omega(
    settings: CommonNoiseSettings, features: AnyArray, item: Codes, annotator: Codes
) -> Floats:
    """How probable it is that each label comes from the shared confusion."""
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
    """The number to add to logits so that their sigmoids have this mean.

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
    """Each annotator's mean omega by class; the crowd's where they labelled none of the class."""
    shape = (settings.n_annotators, settings.n_classes)
    cell_n = annotator.astype(np.int64) * settings.n_classes + truth_n
    size = shape[0] * shape[1]
    n_labels = np.bincount(cell_n, minlength=size)
    total = np.bincount(cell_n, omega_n, minlength=size)
    mean = np.where(n_labels > 0, total / np.maximum(n_labels, 1), settings.common_share)
    return np.asarray(mean.reshape(shape))
