"""Theorem 1 of Chu, Ma and Wang (2021): a lower bound of the error under shared mistakes.

The figure shows the bound beside the error of the best possible estimate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import entr, rel_entr

from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.settings import generator, require
from manyhands.experiments import drawing
from manyhands.experiments.data import ExperimentData
from manyhands.experiments.figure import Content, Settings
from manyhands.simulation.common_noise import CommonNoiseCrowd

_SHADES = (drawing.BLUE, drawing.GREEN, drawing.ORANGE, drawing.RED)
_TOLERANCE = 1e-6  # of the sum of a distribution


@dataclass(frozen=True, kw_only=True)
class CommonNoise:
    """The quantities that theorem 1 takes as given; none of them is estimated.

    There are N items, R annotators and C classes. In the paper's notation:

    - `prior_ik` is rho_ic, the probability of each class of an item before it is labelled;
    - `common_kl` is pi^g, the confusion that all annotators share; `own_akl` holds the confusions
      pi^r of the single annotators;
    - annotation n is of item `item_n` by annotator `annotator_n`. It comes from the common
      confusion with probability `omega_n`, omega_i^r, otherwise from the annotator's own.

    The theorem sums over all R annotators as if each labelled every item. A pair without a label
    carries no information, so the sum here goes over the annotations. Given the class, annotations
    are independent of each other and of the item's features.
    """

    prior_ik: Floats
    common_kl: Floats
    own_akl: Floats
    item_n: Codes
    annotator_n: Codes
    omega_n: Floats

    def __post_init__(self) -> None:
        n_items, n_classes = self.prior_ik.shape
        require(n_items >= 1 and n_classes >= 2, "prior_ik", "items x classes, two at least",
                self.prior_ik.shape)  # fmt: skip
        square = (n_classes, n_classes)
        require(self.common_kl.shape == square, "common_kl", f"of shape {square}",
                self.common_kl.shape)  # fmt: skip
        require(self.own_akl.shape[1:] == square, "own_akl", f"matrices of shape {square}",
                self.own_akl.shape)  # fmt: skip
        for name in ("prior_ik", "common_kl", "own_akl"):
            given = getattr(self, name)
            sound = bool((given >= 0).all() and (abs(given.sum(axis=-1) - 1) < _TOLERANCE).all())
            require(sound, name, "rows of probabilities that sum to 1", given)
        holds = bool(((self.omega_n >= 0) & (self.omega_n <= 1)).all())
        require(holds, "omega_n", "probabilities in 0..1", self.omega_n)

    @property
    def n_classes(self) -> int:
        """C."""
        return int(self.prior_ik.shape[1])

    def mixed(self) -> Floats:
        """The confusion behind each annotation, omega pi^g + (1 - omega) pi^r; shape (n, k, l)."""
        omega = self.omega_n[:, None, None]
        return np.asarray(omega * self.common_kl + (1 - omega) * self.own_akl[self.annotator_n])

    def first(self, n_items: int) -> "CommonNoise":
        """The first items only."""
        kept = self.item_n < n_items
        parts = {name: getattr(self, name)[kept] for name in ("item_n", "annotator_n", "omega_n")}
        return replace(self, prior_ik=self.prior_ik[:n_items], **parts)


def theorem_1(noise: CommonNoise) -> float:
    """The lower bound of the minimax error rate (eq. 2): sum_i F_i - log 2, over N^2 log C.

    For every estimate, the expected share of wrong items under the worst truth is at least this
    large; so is its average over truths drawn from the prior, also for the best estimate. Entropies
    are in nats. A bound below 0 is empty.

    It follows from Fano's inequality for all N classes at once, P(any item wrong) >=
    (sum_i F_i - log 2) / (N log C), divided by N to give an error rate. The bound therefore falls
    as 1 / N for any labels, from N = 2 log 2 / max_i F_i on (corollary 1.1).
    """
    terms_i = item_terms(noise)
    n_items = len(terms_i)
    return float((terms_i.sum() - np.log(2)) / (n_items**2 * np.log(noise.n_classes)))


def item_by_item(noise: CommonNoise) -> float:
    """Fano's inequality for each item alone, averaged: (sum_i F_i / N - log 2) / log C.

    It is not in the paper, but it is the paper's proof with N = 1 for every item. It does not fall
    with N, and for a single item it equals `theorem_1`.
    """
    return float((item_terms(noise).mean() - np.log(2)) / np.log(noise.n_classes))


def item_terms(noise: CommonNoise) -> Floats:
    """F_i: a lower bound of the entropy of an item's class that is left after its labels.

    F_i = H(rho_i) - sum_r sum_cc' rho_ic rho_ic' (omega_i^r KL(pi^g_c || pi^g_c')
    + (1 - omega_i^r) KL(pi^r_c || pi^r_c')).

    It is minus infinity if a label is possible under one class and impossible under another.
    """
    prior_nk = noise.prior_ik[noise.item_n]
    weight_nkm = prior_nk[:, :, None] * prior_nk[:, None, :]
    common_n = _product(weight_nkm, divergences(noise.common_kl)).sum(axis=(1, 2))
    own_nkm = divergences(noise.own_akl)[noise.annotator_n]
    own_n = _product(weight_nkm, own_nkm).sum(axis=(1, 2))
    information_n = _product(noise.omega_n, common_n) + _product(1 - noise.omega_n, own_n)
    information_i = np.zeros(len(noise.prior_ik))
    np.add.at(information_i, noise.item_n, information_n)
    return np.asarray(entr(noise.prior_ik).sum(axis=1) - information_i)


def best_estimate(noise: CommonNoise, label_n: Codes) -> AnyArray:
    """The most probable class of every item, given its labels and the true quantities."""
    with np.errstate(divide="ignore"):
        log_class_ik = np.log(noise.prior_ik)
        log_label_nk = np.log(noise.mixed()[np.arange(len(label_n)), :, label_n])
    np.add.at(log_class_ik, noise.item_n, log_label_nk)
    return np.asarray(log_class_ik.argmax(axis=1))


def divergences(confusion_kl: Floats) -> Floats:
    """KL(pi_c || pi_c') of every pair of rows, in nats; shape (..., k, k).

    >>> divergences(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [[0.0, inf], [0.693, 0.0]]
    """
    return np.asarray(
        rel_entr(confusion_kl[..., :, None, :], confusion_kl[..., None, :, :]).sum(axis=-1)
    )


def _product(weight: Floats, divergence: Floats) -> Floats:
    """A product in which 0 times infinity is 0."""
    return np.where(weight > 0, weight, 0) * np.where(weight > 0, divergence, 0)


def collect_bound(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """Bounds and errors by the share of random labels (`random`) and the number of `items`."""
    crowd: CommonNoiseCrowd = data.crowd
    items = [n_items for n_items in settings["items"] if n_items <= len(crowd.truth)]
    crowds = [softened(crowd, share, seed) for share in settings["random"]]
    return {
        "random": list(settings["random"]),
        "items": items,
        "n_items": len(crowd.truth),
        "theorem": [[theorem_1(noise.first(n)) for n in items] for noise, _ in crowds],
        "item_by_item": [item_by_item(noise) for noise, _ in crowds],
        "error": [
            float((best_estimate(noise, label_n) != crowd.truth).mean())
            for noise, label_n in crowds
        ],
    }


def softened(crowd: CommonNoiseCrowd, random: float, seed: int) -> tuple[CommonNoise, Codes]:
    """The crowd with this share of its labels replaced by uniformly random labels.

    The confusions of the crowd have zeros, for which the bound is empty; the new ones have none.
    """
    ann = crowd.annotations
    rng = generator(seed, "labels at random")
    random_n = rng.random(ann.n_annotations) < random
    label_n = np.where(random_n, rng.integers(0, ann.n_classes, ann.n_annotations), ann.label)
    noise = CommonNoise(
        prior_ik=np.full((len(ann), ann.n_classes), 1 / ann.n_classes),
        common_kl=(1 - random) * crowd.common_kl + random / ann.n_classes,
        own_akl=(1 - random) * crowd.individual_akl + random / ann.n_classes,
        item_n=ann.item,
        annotator_n=ann.annotator,
        omega_n=crowd.omega_n,
    )
    return noise, label_n


def draw_bound(contents: Mapping[str, Content]) -> drawing.Figure:
    """Against the share of random labels, and against the number of items."""
    (content,) = contents.values()
    figure = drawing.new_figure(
        10.6, 4.4, "Theorem 1: no guess at the truth can have a smaller error"
    )
    left, right = figure.subplots(1, 2)
    _draw_by_share(left, content)
    _draw_by_items(right, content)
    for axes in (left, right):
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_by_share(axes: drawing.Axes, content: Content) -> None:
    share = content["random"]
    bound = np.asarray(content["theorem"])
    axes.plot(share, content["error"], "o-", color=drawing.INK, markersize=3,
              label=f"error of the best guess, {content['n_items']} items")  # fmt: skip
    axes.plot(share, _above_zero(content["item_by_item"]), "--", color=drawing.SOFT,
              label="the same proof item by item, any number of items")  # fmt: skip
    shown = [n for n in (1, 10, 100) if n in content["items"]]
    for n_items, shade in zip(shown, _SHADES, strict=False):
        column = bound[:, content["items"].index(n_items)]
        word = "item" if n_items == 1 else "items"
        axes.plot(share, _above_zero(column), color=shade, label=f"theorem 1, {n_items} {word}")
    axes.set_ylim(0, 1.3)
    axes.set_yticks(np.arange(0, 1.1, 0.2))
    axes.legend(fontsize=7.5, frameon=False, loc="upper left")
    drawing.label(axes, across="share of labels drawn at random",
                  up="share of items with a wrong class",
                  title="where a line is missing its bound is below 0")  # fmt: skip


def _draw_by_items(axes: drawing.Axes, content: Content) -> None:
    picked = _spaced(content["random"], len(_SHADES))
    for place, shade in zip(picked, _SHADES, strict=False):
        share = content["random"][place]
        axes.plot(content["items"], _above_zero(content["theorem"][place]), "o-", color=shade,
                  markersize=3, label=f"theorem 1, {100 * share:.0f} % at random")  # fmt: skip
        axes.axhline(content["error"][place], color=shade, linestyle=":")
    axes.plot([], [], ":", color=drawing.INK, label="error of the best guess")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1e-5, 2)
    axes.legend(fontsize=7.5, frameon=False, loc="lower left")
    title = "the bound falls as 1/N, the error does not"
    drawing.label(axes, across="number of items N", up="", title=title)


def _above_zero(bound: Any) -> Floats:
    """A bound where it is not empty."""
    bounds = np.asarray(bound, dtype=np.float64)
    return np.where(bounds > 0, bounds, np.nan)


def _spaced(values: list[float], most: int) -> list[int]:
    """Indices of some values, spread over the upper half."""
    places = np.linspace(len(values) // 2, len(values) - 1, min(most, len(values)))
    return sorted(set(places.round().astype(int).tolist()))
