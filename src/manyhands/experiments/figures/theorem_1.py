"""The bound of theorem 1 of CoNAL beside the error of the best guess there is."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from manyhands.core.arrays import Codes, Floats
from manyhands.core.seeds import generator
from manyhands.experiments.common_noise_bound import (
    CommonNoise,
    best_guess,
    item_by_item,
    theorem_1,
)
from manyhands.experiments.figure import Content
from manyhands.experiments.figures.drawing import BLUE, GREEN, INK, ORANGE, RED, SOFT, new_figure
from manyhands.experiments.sources import Material
from manyhands.simulation import CommonNoiseCrowd

_SHADES = (BLUE, GREEN, ORANGE, RED)


def collect_bound(material: Material, seed: int, settings: Mapping[str, Any]) -> Content:
    """Bounds and errors by the share of labels at random (`random`) and the number of `items`."""
    crowd = material.crowd
    assert isinstance(crowd, CommonNoiseCrowd)
    items = [n_items for n_items in settings["items"] if n_items <= len(crowd.truth)]
    made = [softened(crowd, share, seed) for share in settings["random"]]
    return {
        "random": list(settings["random"]),
        "items": items,
        "n_items": len(crowd.truth),
        "theorem": [[theorem_1(noise.first(n)) for n in items] for noise, _ in made],
        "item_by_item": [item_by_item(noise) for noise, _ in made],
        "error": [
            float((best_guess(noise, label_n) != crowd.truth).mean()) for noise, label_n in made
        ],
    }


def softened(crowd: CommonNoiseCrowd, random: float, seed: int) -> tuple[CommonNoise, Codes]:
    """The crowd with this share of its labels drawn anew from all classes alike.

    Its confusions have zeros, under which the theorem says nothing; these have none.
    """
    ann = crowd.annotations
    rng = generator(seed, "labels at random")
    anew_n = rng.random(ann.n_annotations) < random
    label_n = np.where(anew_n, rng.integers(0, ann.n_classes, ann.n_annotations), ann.label)
    noise = CommonNoise(
        prior_ik=np.full((len(ann), ann.n_classes), 1 / ann.n_classes),
        common_kl=(1 - random) * crowd.common_kl + random / ann.n_classes,
        own_akl=(1 - random) * crowd.individual_akl + random / ann.n_classes,
        item_n=ann.item,
        annotator_n=ann.annotator,
        omega_n=crowd.omega_n,
    )
    return noise, label_n


def draw_bound(contents: Mapping[str, Content]) -> Figure:
    """Against the share of random labels, and against the number of items."""
    (content,) = contents.values()
    figure = new_figure(10.6, 4.4, "Theorem 1: no guess at the truth can have a smaller error")
    left, right = figure.subplots(1, 2)
    _draw_by_share(left, content)
    _draw_by_items(right, content)
    for axes in (left, right):
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_by_share(axes: Axes, content: Content) -> None:
    share = content["random"]
    bound = np.asarray(content["theorem"])
    axes.plot(share, content["error"], "o-", color=INK, markersize=3,
              label=f"error of the best guess, {content['n_items']} items")  # fmt: skip
    axes.plot(share, _above_zero(content["item_by_item"]), "--", color=SOFT,
              label="the same proof item by item, any number of items")  # fmt: skip
    shown = [n for n in (1, 10, 100) if n in content["items"]]
    for n_items, shade in zip(shown, _SHADES, strict=False):
        column = bound[:, content["items"].index(n_items)]
        word = "item" if n_items == 1 else "items"
        axes.plot(share, _above_zero(column), color=shade, label=f"theorem 1, {n_items} {word}")
    axes.set_ylim(0, 1.3)
    axes.set_yticks(np.arange(0, 1.1, 0.2))
    axes.legend(fontsize=7.5, frameon=False, loc="upper left")
    axes.set_xlabel("share of labels drawn at random", fontsize=9)
    axes.set_ylabel("share of items with a wrong class", fontsize=9)
    axes.set_title("where a line is missing its bound is below 0", fontsize=9)


def _draw_by_items(axes: Axes, content: Content) -> None:
    picked = _spaced(content["random"], len(_SHADES))
    for place, shade in zip(picked, _SHADES, strict=False):
        share = content["random"][place]
        axes.plot(content["items"], _above_zero(content["theorem"][place]), "o-", color=shade,
                  markersize=3, label=f"theorem 1, {100 * share:.0f} % at random")  # fmt: skip
        axes.axhline(content["error"][place], color=shade, linestyle=":")
    axes.plot([], [], ":", color=INK, label="error of the best guess")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1e-5, 2)
    axes.legend(fontsize=7.5, frameon=False, loc="lower left")
    axes.set_xlabel("number of items N", fontsize=9)
    axes.set_title("the bound falls as 1/N, the error does not", fontsize=9)


def _above_zero(bound: Any) -> Floats:
    """A bound as far as it says anything."""
    found = np.asarray(bound, dtype=np.float64)
    return np.where(found > 0, found, np.nan)


def _spaced(values: list[float], most: int) -> list[int]:
    """Places of some of the values, spread over the upper half of them."""
    places = np.linspace(len(values) // 2, len(values) - 1, min(most, len(values)))
    return sorted(set(places.round().astype(int).tolist()))
