"""Time and memory of training against the number of annotators: figure 3 of the mixture paper."""

import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from manyhands.annotations import Annotations
from manyhands.experiments.figure import Content
from manyhands.experiments.figures.dense_design import train_dense
from manyhands.experiments.figures.drawing import BLUE, GREEN, ORANGE, RED, new_figure, tidy
from manyhands.experiments.methods import fit_method
from manyhands.experiments.sources import Material
from manyhands.experiments.tasks import peak_mib
from manyhands.selection import Trial

DENSE = "dense crowd layer"
_SHADES = {DENSE: ORANGE, "crowd-layer-mw": BLUE, "mixture-e2e": GREEN, "mixture": GREEN, "em": RED}
_NAMES = {
    DENSE: "crowd layer, dense as in public codes",
    "crowd-layer-mw": "crowd layer, sparse as here",
}
_FEW = 64  # items of the crowd that is trained on first
_LINUX_STATUS = Path("/proc/self/status")


def collect_cost(material: Material, seed: int, settings: Mapping[str, Any]) -> Content:
    """Processor seconds per epoch and MiB of every design, each in a process of its own.

    `settings` has `designs`, methods by name or `DENSE`, with the settings of their runs, and how
    many `epochs` each trains.
    """
    trial = material.trial
    ann = trial.annotations
    costs = {}
    for design, run in settings["designs"].items():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            costs[design] = pool.submit(cost_of, trial, design, run, settings["epochs"], seed)
    return {
        "n_annotators": ann.n_annotators,
        "n_items": len(ann),
        "n_labels": ann.n_annotations,
        "epochs": settings["epochs"],
        "seconds": {design: cost.result()[0] for design, cost in costs.items()},
        "mib": {design: cost.result()[1] for design, cost in costs.items()},
    }


def cost_of(
    trial: Trial, design: str, run: Mapping[str, Any], epochs: int, seed: int
) -> tuple[float, float]:
    """Processor seconds per epoch, and by how many MiB training raises the peak of this process.

    On one thread processor time is the time of an idle machine, however busy this one is. Some
    items are trained on first: what libraries load and compile once is not counted.
    """
    torch.set_num_threads(1)
    _train(_part(trial, _FEW), design, run, 1, seed)
    before, began = own_peak_mib(), time.process_time()
    _train(trial, design, run, epochs, seed)
    return (time.process_time() - began) / epochs, own_peak_mib() - before


def own_peak_mib() -> float:
    """The most memory this process has had since its program began.

    On Linux the usual count begins with what the process that started this one had.
    """
    if sys.platform != "linux":
        return peak_mib()
    lines = _LINUX_STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    kib = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kib) / 2**10


def _part(trial: Trial, n_items: int) -> Trial:
    """The first items and who labelled them, nobody else."""
    ann = trial.annotations[:n_items]
    few = Annotations.from_arrays(
        ann.items[ann.item],
        ann.annotators[ann.annotator],
        ann.classes[ann.label],
        items=ann.items,
        classes=ann.classes,
    )
    return Trial(trial.features[:n_items], few)


def _train(trial: Trial, design: str, run: Mapping[str, Any], epochs: int, seed: int) -> None:
    if design == DENSE:
        train_dense(trial.features, trial.annotations, epochs=epochs, seed=seed, **run)
        return
    training = {**run.get("training", {}), "epochs": epochs, "validation_fraction": 0.0}
    fit_method(trial, design, seed, {**run, "training": training})


def draw_cost(contents: Mapping[str, Content]) -> Figure:
    """A line per design: seconds left, memory right."""
    points = sorted(contents.values(), key=lambda content: content["n_annotators"])
    first = points[0]
    figure = new_figure(9.6, 4.2, "Cost of training against the size of the crowd")
    left, right = figure.subplots(1, 2)
    _draw_lines(left, points, "seconds", "processor seconds per epoch")
    _draw_lines(right, points, "mib", "MiB that training adds to the peak")
    left.set_title(f"{first['n_items']} items, about {first['n_labels'] / first['n_items']:.0f} "
                   "labels each, whatever the crowd", fontsize=9)  # fmt: skip
    right.set_title(f"{first['epochs']} epochs, one thread, a process each", fontsize=9)
    left.legend(fontsize=8, frameon=False, loc="upper left")
    return figure


def _draw_lines(axes: Axes, points: list[Content], what: str, words: str) -> None:
    crowd = [point["n_annotators"] for point in points]
    for design in sorted(points[0][what], key=lambda design: design != DENSE):
        axes.plot(crowd, [point[what].get(design) for point in points], "o-", markersize=4,
                  color=_SHADES.get(design), label=_NAMES.get(design, design))  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    tidy(axes, across="annotators T", up=words)
