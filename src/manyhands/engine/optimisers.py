"""The optimiser factory, the schedule, and a step: plain or sharpness-aware, clipped or not."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.row_adam import RowAdam, summed_rows
from manyhands.engine.settings import TrainingSettings
from manyhands.noise import AnnotatorModel

_TINY = 1e-12


def make_optimisers(module: CrowdModule, settings: TrainingSettings) -> list[torch.optim.Optimizer]:
    """Adam for what has dense gradients, `RowAdam` for tables with sparse ones.

    Network and noise model have rates and decays of their own; a part of a noise model may be
    slower than the rest (`AnnotatorModel.learning_rate_multipliers`). The rate a group starts with
    is its `start`.
    """
    tables = sparse_tables(module)
    network = list(module.network.parameters())
    split = [[each for each in network if id(each) not in tables]]
    split += [[each] for each in network if id(each) in tables]
    groups = [_group(some, settings.learning_rate, settings.weight_decay) for some in split]
    groups += _noise_groups(module.noise, settings, tables)
    groups = [group for group in groups if group["params"]]
    dense = [group for group in groups if id(group["params"][0]) not in tables]
    sparse = [group for group in groups if id(group["params"][0]) in tables]
    fused = next(module.parameters()).device.type in {"cpu", "cuda"}
    made: list[torch.optim.Optimizer] = [torch.optim.AdamW(dense, fused=fused)] if dense else []
    return [*made, RowAdam(sparse)] if sparse else made


def _noise_groups(
    noise: AnnotatorModel, settings: TrainingSettings, tables: set[int]
) -> list[dict[str, Any]]:
    """Parameters of one rate in one group, a sparse table in one of its own: few are quick."""
    rate = settings.noise_learning_rate or settings.learning_rate
    split: dict[Any, tuple[float, list[nn.Parameter]]] = {}
    for name, parameter in noise.named_parameters():
        own = rate * noise.learning_rate_multipliers.get(name.split(".")[0], 1.0)
        key = id(parameter) if id(parameter) in tables else own
        split.setdefault(key, (own, []))[1].append(parameter)
    return [_group(some, own, settings.noise_weight_decay) for own, some in split.values()]


def sparse_tables(module: CrowdModule) -> set[int]:
    """Which parameters get sparse gradients."""
    tables = [each for each in module.modules() if getattr(each, "sparse", False) is True]
    return {id(each.weight) for each in tables if isinstance(each.weight, nn.Parameter)}


def set_rates(optimisers: Sequence[Any], settings: TrainingSettings, epoch: int) -> None:
    """Set every group to its rate for this epoch (0, 1, 2 ...)."""
    if settings.schedule == "constant":
        return
    share = 0.5 * (1.0 + math.cos(math.pi * epoch / settings.epochs))
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = group["start"] * share


class Stepper:
    """One optimiser step: gradients of a batch, the second pass of SAM, clipping, the update.

    `backward` computes the loss of the batch at hand, leaves its gradients, and returns it.
    """

    def __init__(
        self, module: nn.Module, optimisers: Sequence[Any], settings: TrainingSettings
    ) -> None:
        self.module, self.optimisers, self.settings = module, optimisers, settings
        self.parameters = [each for each in module.parameters() if each.requires_grad]

    def __call__(self, backward: Callable[[], Tensor]) -> Tensor:
        """Make the step; the loss before it."""
        self._forget()
        loss = backward()
        if self.settings.sam_rho > 0:
            self._second_pass(backward)
        if self.settings.max_grad_norm is not None:
            self._clip(self.settings.max_grad_norm)
        for optimiser in self.optimisers:
            optimiser.step()
        return loss

    def _forget(self) -> None:
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)

    @torch.no_grad()
    def _second_pass(self, backward: Callable[[], Tensor]) -> None:
        """The gradient at the sharpest point near by: w + radius g / ||g||.

        Source: Foret et al. 2020. Batch statistics stay those of the first pass.
        """
        reach = self.settings.sam_rho / (self._gradient_norm() + _TINY)
        moved = [(each, each.grad * reach) for each in self.parameters if each.grad is not None]
        before = [(each, *_touched(each, by)) for each, by in moved]
        for each, by in moved:
            each.add_(by)
        self._forget()
        with torch.enable_grad(), _frozen_statistics(self.module):
            backward()
        for each, rows, value in before:  # exact, where subtracting would leave a rounding behind
            each[rows] = value

    @torch.no_grad()
    def _clip(self, longest: float) -> None:
        shrink = (longest / (self._gradient_norm() + _TINY)).clamp(max=1.0)
        for each in self.parameters:
            if each.grad is not None:
                each.grad.mul_(shrink)

    def _gradient_norm(self) -> Tensor:
        norms = [_values(each.grad).norm() for each in self.parameters if each.grad is not None]
        norm: Tensor = torch.stack(norms).norm()
        return norm


def _group(parameters: Any, rate: float, decay: float) -> dict[str, Any]:
    trained = [each for each in parameters if each.requires_grad]
    return {"params": trained, "lr": rate, "start": rate, "weight_decay": decay}


def _values(gradient: Tensor) -> Tensor:
    # The same annotator stands in a batch more than once: their shares are summed first.
    if not gradient.is_sparse:
        return gradient
    values: Tensor = summed_rows(gradient)[1]
    return values


def _touched(parameter: Tensor, change: Tensor) -> tuple[Any, Tensor]:
    """The rows that a change touches, and a copy of what stands there now."""
    rows = change.coalesce().indices()[0] if change.is_sparse else ...
    return rows, parameter.detach()[rows].clone()


@contextmanager
def _frozen_statistics(module: nn.Module) -> Iterator[None]:
    """Batch normalisation uses its batch but remembers nothing of it."""
    layers = [each for each in module.modules() if isinstance(each, _BatchNorm)]
    layers = [each for each in layers if each.track_running_stats]
    for layer in layers:
        layer.track_running_stats = False
    try:
        yield
    finally:
        for layer in layers:
            layer.track_running_stats = True
