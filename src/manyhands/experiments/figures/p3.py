"""Figures of Chu, Ma and Wang 2021 (CoNAL)."""

from functools import partial
from typing import Any

from manyhands.datasets.cifar10 import CLASSES
from manyhands.experiments.figure import FigureExperiment, Panel
from manyhands.experiments.figures.common_confusions import (
    CONAL_FROM_IDENTITY,
    collect_learnt,
    collect_true_and_learnt,
    draw_learnt,
    draw_true_and_learnt,
)
from manyhands.experiments.figures.omega_ranks import collect_omega_ranks, draw_omega_ranks
from manyhands.experiments.figures.shared_mistakes import (
    collect_shared_mistakes,
    draw_shared_mistakes,
)
from manyhands.experiments.figures.theorem_1 import collect_bound, draw_bound
from manyhands.experiments.published import published_figures
from manyhands.experiments.sources import CorpusSource, ScenarioSource

_FIGURES = published_figures()
_CORPORA = (
    Panel("labelme", CorpusSource("labelme")),
    Panel("music", CorpusSource("music")),
)
_PATTERNS = ("asymmetric", "symmetric")
# The paper sets the strength of own mistakes to 0.7, yet calls these annotators "of high quality":
# both readings are shown, a chance of 0.7 to be wrong and of 0.7 to be right.
_OWN_MISTAKES = (0.3, 0.7)
_COMMON = {"common_strength": 0.7, "common_share": 0.5}
# bird and airplane are the paper's; the other similar classes are not named there
_CIFAR10_PAIRS = {0: 2, 1: 9, 3: 5, 4: 7, 6: 8}
_PARTNERS = tuple(
    ({**_CIFAR10_PAIRS, **{second: first for first, second in _CIFAR10_PAIRS.items()}})[code]
    for code in range(10)
)


def _learnt(panel: Panel) -> Panel:
    return Panel(panel.key, panel.source, {**panel.settings, "run": CONAL_FROM_IDENTITY})


def _simulated(items: str | None, crowd: dict[str, Any], training: dict[str, Any]) -> list[Panel]:
    """A panel for each pattern and reading of the strength."""
    how = {**CONAL_FROM_IDENTITY, "training": {**CONAL_FROM_IDENTITY["training"], **training}}
    names = {} if items is None else {"names": list(CLASSES)}
    panels = []
    for own in _OWN_MISTAKES:
        for pattern in _PATTERNS:
            given = {**crowd, **_COMMON, "pattern": pattern, "individual_strength": own}
            if items is not None and pattern == "symmetric":
                given["partners"] = _PARTNERS
            source = ScenarioSource("common-noise", given, items)
            key = f"{pattern} common mistakes, own mistakes {own}"
            panels.append(Panel(key, source, {"run": how, **names}))
    return panels


_FIGURE_5 = _simulated(
    "cifar10", {"n_classes": 10}, {"epochs": 20, "validation_fraction": 0.0, "batch_size": 128}
)
_FIGURE_7 = _simulated(None, {}, {"batch_size": 256})
_BOUND = Panel(
    "simulated",
    ScenarioSource("common-noise", {**_COMMON, "n_items": 5000, "n_test": 0}),
    {
        "random": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        "items": [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
    },
)

P3_FIGURES: tuple[FigureExperiment, ...] = (
    FigureExperiment(
        _FIGURES["p3/figure-1"], _CORPORA, collect_shared_mistakes, draw_shared_mistakes
    ),
    FigureExperiment(
        _FIGURES["p3/figure-5"],
        tuple(_FIGURE_5),
        collect_true_and_learnt,
        partial(draw_true_and_learnt, "CoNAL on images of CIFAR-10", inches=9.0),
        expected=300.0,
    ),
    FigureExperiment(
        _FIGURES["p3/figure-7"],
        tuple(_FIGURE_7),
        collect_true_and_learnt,
        partial(draw_true_and_learnt, "CoNAL on six Gaussians", inches=7.0),
        expected=40.0,
    ),
    FigureExperiment(
        _FIGURES["p3/figure-8"],
        (_learnt(_CORPORA[0]),),
        collect_learnt,
        partial(draw_learnt, "Confusions that CoNAL learns on LabelMe"),
        expected=5.0,
    ),
    FigureExperiment(
        _FIGURES["p3/figure-9"],
        (_learnt(_CORPORA[1]),),
        collect_learnt,
        partial(draw_learnt, "Confusions that CoNAL learns on music genres"),
        expected=8.0,
    ),
    FigureExperiment(
        _FIGURES["p3/figure-10"],
        tuple(_learnt(panel) for panel in _CORPORA),
        collect_omega_ranks,
        draw_omega_ranks,
        expected=8.0,
    ),
    FigureExperiment(_FIGURES["p3/theorem-1"], (_BOUND,), collect_bound, draw_bound, expected=2.0),
)
