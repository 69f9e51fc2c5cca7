"""Time and memory of training against the number of annotators: figure 3 of the mixture paper.

The figure compares this library, whose cost follows the number of labels, with a crowd layer as
public codes implement it. There labels are an array of items x annotators with missing entries, and
a step computes the output of every annotator for every item of the batch and masks the missing
ones, so that its cost follows the size of the crowd.
"""

import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.settings import seed_for
from manyhands.engine.randomness import own_random_numbers
from manyhands.experiments import drawing
from manyhands.experiments.data import ExperimentData
from manyhands.experiments.figure import Content, Settings
from manyhands.experiments.runs import fit_method, peak_mib
from manyhands.networks import MLP
from manyhands.selection import Trial

DENSE = "dense crowd layer"
MISSING = -1
_SHADES = {
    DENSE: drawing.ORANGE, "crowd-layer-mw": drawing.BLUE, "mixture-e2e": drawing.GREEN,
    "mixture": drawing.GREEN, "em": drawing.RED,
}  # fmt: skip
_NAMES = {
    DENSE: "crowd layer, dense as in public codes",
    "crowd-layer-mw": "crowd layer, sparse as here",
}
_WARM_UP_ITEMS = 64


def collect_cost(data: ExperimentData, seed: int, settings: Settings) -> Content:
    """Processor seconds per epoch and MiB of every design, each in a process of its own.

    `settings` holds `designs`, which maps a method or `DENSE` to the settings of its run, and the
    number of `epochs`.
    """
    trial = data.trial
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
    """Processor seconds per epoch, and the MiB that training adds to the peak of this process.

    With one thread, processor time does not depend on other programs. A few items are trained on
    first, so that imports and compilation are not counted.
    """
    torch.set_num_threads(1)
    _train(_part(trial, _WARM_UP_ITEMS), design, run, 1, seed)
    before, began = peak_mib(), time.process_time()
    _train(trial, design, run, epochs, seed)
    seconds, after = (time.process_time() - began) / epochs, peak_mib()
    return seconds, float("nan") if before is None or after is None else after - before


def _part(trial: Trial, n_items: int) -> Trial:
    """The first items and their annotators only."""
    ann = trial.annotations[:n_items]
    item, annotator = ann.items[ann.item], ann.annotators[ann.annotator]
    label = ann.classes[ann.label]
    few = Annotations.from_arrays(item, annotator, label, items=ann.items, classes=ann.classes)
    return Trial(trial.features[:n_items], few)


def _train(trial: Trial, design: str, run: Mapping[str, Any], epochs: int, seed: int) -> None:
    if design == DENSE:
        train_dense(trial.features, trial.annotations, epochs=epochs, seed=seed, **run)
        return
    training = {**run.get("training", {}), "epochs": epochs, "validation_fraction": 0.0}
    fit_method(trial, design, seed, {**run, "training": training})


class DenseCrowdLayer(nn.Module):
    """softmax(W_a f) of every annotator a, shape (b, a, l)."""

    def __init__(self, n_annotators: int, n_classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(n_classes).repeat(n_annotators, 1, 1))

    def forward(self, class_bk: Tensor) -> Tensor:
        """Log-probabilities of the labels."""
        return torch.einsum("alk,bk->bal", self.weight, class_bk).log_softmax(dim=-1)


def masked_loss(log_label_bal: Tensor, label_ba: Tensor) -> Tensor:
    """The mean negative log-likelihood of the labels that are not missing."""
    flat_loss: Tensor = functional.nll_loss(
        log_label_bal.flatten(0, 1), label_ba.flatten(), ignore_index=MISSING
    )
    return flat_loss


def train_dense(
    features: AnyArray, annotations: Annotations, *, epochs: int, batch_size: int, seed: int
) -> DenseCrowdLayer:
    """Train the usual network with a dense crowd layer; returns the layer."""
    label_ia = torch.from_numpy(annotations.to_dense(missing=MISSING).astype(np.int64))
    inputs = torch.from_numpy(np.asarray(features, dtype=np.float32))
    draw = torch.Generator().manual_seed(seed_for(seed, "dense design"))
    with own_random_numbers(seed_for(seed, "start of the weights")):
        network = MLP(inputs.shape[1], annotations.n_classes, hidden=(128,), dropout=0.5)
        layer = DenseCrowdLayer(annotations.n_annotators, annotations.n_classes)
        optimiser = torch.optim.Adam([*network.parameters(), *layer.parameters()], lr=1e-3)
        for _ in range(epochs):
            for rows in torch.split(torch.randperm(len(inputs), generator=draw), batch_size):
                class_bk = network(inputs[rows]).softmax(dim=-1)
                loss = masked_loss(layer(class_bk), label_ia[rows])
                optimiser.zero_grad()
                torch.autograd.backward(loss)
                optimiser.step()
    return layer


def draw_cost(contents: Mapping[str, Content]) -> drawing.Figure:
    """A line per design: seconds left, memory right."""
    points = sorted(contents.values(), key=lambda content: content["n_annotators"])
    first = points[0]
    figure = drawing.new_figure(9.6, 4.2, "Cost of training against the size of the crowd")
    left, right = figure.subplots(1, 2)
    _draw_lines(left, points, "seconds", "processor seconds per epoch")
    _draw_lines(right, points, "mib", "MiB that training adds to the peak")
    left.set_title(f"{first['n_items']} items, about {first['n_labels'] / first['n_items']:.0f} "
                   "labels each, whatever the crowd", fontsize=9)  # fmt: skip
    right.set_title(f"{first['epochs']} epochs, one thread, a process each", fontsize=9)
    left.legend(fontsize=8, frameon=False, loc="upper left")
    return figure


def _draw_lines(axes: drawing.Axes, points: list[Content], cost: str, label: str) -> None:
    crowd = [point["n_annotators"] for point in points]
    for design in sorted(points[0][cost], key=lambda design: design != DENSE):
        axes.plot(crowd, [point[cost].get(design) for point in points], "o-", markersize=4,
                  color=_SHADES.get(design), label=_NAMES.get(design, design))  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    drawing.tidy(axes, across="annotators T", up=label)
