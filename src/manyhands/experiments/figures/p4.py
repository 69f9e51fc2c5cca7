"""Figures of Mena and Nanculef 2019 (Crowd Mixture Model)."""

from typing import Any

from manyhands.experiments.figure import FigureExperiment, Panel
from manyhands.experiments.figures.crowd_sizes import DENSE, collect_cost, draw_cost
from manyhands.experiments.figures.mixture_groups import (
    collect_examples,
    collect_groups,
    draw_examples,
    draw_groups,
)
from manyhands.experiments.published import published_figures
from manyhands.experiments.sources import CorpusSource, ScenarioSource
from manyhands.methods import METHODS

_FIGURES = published_figures()
# By the paper's EM where it is there, else the same likelihood by gradient.
MIXTURE = "mixture" if "mixture" in METHODS else "mixture-e2e"
_LABELME = CorpusSource("labelme")
_LEAST = 20  # labels of an annotator who is shown
_CROWDS = (100, 500, 1500, 3500, 6000, 10000)
_EPOCHS = 5
_PLAIN = {"init": "own", "warm_up": 0, "batch_size": 64, "threads": 1}


def _designs() -> dict[str, Any]:
    """Methods and how they are run: alike, and nothing done beforehand."""
    designs: dict[str, Any] = {
        DENSE: {"batch_size": _PLAIN["batch_size"]},
        "crowd-layer-mw": {
            "noise": {"prior_precision": 0.0},
            "training": {**_PLAIN, "sparse": True},
        },
        MIXTURE: {"training": _PLAIN},
    }
    return designs | ({"em": {"training": _PLAIN}} if "em" in METHODS else {})


_FIGURE_3 = tuple(
    Panel(
        f"{n_annotators} annotators",
        ScenarioSource("perturbed-networks", {"n_annotators": n_annotators}),
        {"designs": _designs(), "epochs": _EPOCHS},
    )
    for n_annotators in _CROWDS
)

P4_FIGURES: tuple[FigureExperiment, ...] = (
    FigureExperiment(
        _FIGURES["p4/figure-1"],
        (Panel("labelme", _LABELME, {"method": MIXTURE}),),
        collect_groups,
        draw_groups,
        expected=6.0,
    ),
    FigureExperiment(
        _FIGURES["p4/figure-2"],
        (Panel("labelme", _LABELME, {"method": MIXTURE, "least": _LEAST}),),
        collect_examples,
        draw_examples,
        expected=6.0,
    ),
    FigureExperiment(_FIGURES["p4/figure-3"], _FIGURE_3, collect_cost, draw_cost, expected=30.0),
)
