"""The optimiser factory, and a step: plain or sharpness-aware, clipped or not."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from manyhands.engine.processes import Processes
from manyhands.engine.row_optimisers import RowAdam, RowSGD, summed_rows
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule
from manyhands.noise import AnnotatorModel

_TINY = 1e-12


def make_optimisers(
    module: CrowdModule,
    settings: TrainingSettings,
    processes: Processes = Processes(),  # noqa: B008 - it is frozen
) -> list[torch.optim.Optimizer]:
    """One optimiser for the parameters with dense gradients, one for tables with sparse ones.

    Network and noise model have their own learning rates and decays, and may have their own
    optimisers; what a module has beyond them learns like the network. A part of a noise model, or
    of a network, may learn slower than the rest (`learning_rate_multipliers`). `start` is the
    initial learning rate of a group. Several processes divide the moments of sparse tables.
    """
    tables = sparse_tables(module)
    network = list(module.network.parameters())
    groups = _network_groups(module.network, settings, tables)
    noise_groups = _noise_groups(module.noise, settings, tables)
    held = {id(each) for each in (*network, *module.noise.parameters())}
    own = [each for each in module.parameters() if id(each) not in held]
    own_group = _group(own, settings.learning_rate, settings.weight_decay)
    name, noise_name = settings.optimizer, settings.noise_optimizer or settings.optimizer
    if name == noise_name:
        parts = {name: [*groups, *noise_groups, own_group]}
    else:
        parts = {name: [*groups, own_group], noise_name: noise_groups}
    fused = next(module.parameters()).device.type in {"cpu", "cuda"}
    made = []
    for each, some in parts.items():
        filled = [group for group in some if group["params"]]
        dense = [group for group in filled if id(group["params"][0]) not in tables]
        sparse = [group for group in filled if id(group["params"][0]) in tables]
        made += [_dense_optimiser(each, dense, settings, fused)] if dense else []
        made += [_row_optimiser(each, sparse, settings, processes)] if sparse else []
    return made


def _dense_optimiser(
    name: str, groups: list[dict[str, Any]], settings: TrainingSettings, fused: bool
) -> torch.optim.Optimizer:
    if name == "sgd":
        # Not fused: its kernel fails where some parameters get their first gradient later.
        momentum = settings.sgd_momentum
        return torch.optim.SGD(groups, momentum=momentum, nesterov=settings.nesterov)
    if name == "radam":  # torch has no fused kernel for it
        return torch.optim.RAdam(groups, decoupled_weight_decay=True)
    make = torch.optim.Adam if name == "adam" else torch.optim.AdamW
    return make(groups, fused=fused)


def _row_optimiser(
    name: str, groups: list[dict[str, Any]], settings: TrainingSettings, processes: Processes
) -> torch.optim.Optimizer:
    if name == "sgd":
        return RowSGD(
            groups,
            momentum=settings.sgd_momentum,
            nesterov=settings.nesterov,
            processes=processes,
        )
    # Also for RAdam: rows occur too rarely.
    return RowAdam(groups, decoupled=name != "adam", processes=processes)


def _network_groups(
    network: nn.Module, settings: TrainingSettings, tables: set[int]
) -> list[dict[str, Any]]:
    """One group per learning rate, and one per sparse table."""
    factor_of: dict[int, float] = {}
    for part in network.modules():
        factors = getattr(part, "learning_rate_multipliers", None) or {}
        own = dict(part.named_parameters()) if factors else {}
        factor_of |= {id(own[name]): factor for name, factor in factors.items()}
    split: dict[Any, tuple[float, list[nn.Parameter]]] = {}
    for parameter in network.parameters():
        factor = factor_of.get(id(parameter), 1.0)
        key = ("table", id(parameter)) if id(parameter) in tables else ("rate", factor)
        split.setdefault(key, (factor, []))[1].append(parameter)
    ordered = sorted(split.items(), key=lambda each: each[0][0] == "table")  # dense ones first
    return [
        _group(some, settings.learning_rate * factor, settings.weight_decay)
        for _, (factor, some) in ordered
    ]


def _noise_groups(
    noise: AnnotatorModel, settings: TrainingSettings, tables: set[int]
) -> list[dict[str, Any]]:
    """One group per learning rate, and one per sparse table: few groups make a fast step."""
    rate = settings.noise_learning_rate or settings.learning_rate
    split: dict[Any, tuple[float, list[nn.Parameter]]] = {}
    for name, parameter in noise.named_parameters():
        own = rate * noise.learning_rate_multipliers.get(name.split(".")[0], 1.0)
        key = id(parameter) if id(parameter) in tables else own
        split.setdefault(key, (own, []))[1].append(parameter)
    return [_group(some, own, settings.noise_weight_decay) for own, some in split.values()]


def sparse_tables(module: CrowdModule) -> set[int]:
    """The ids of the parameters with sparse gradients."""
    return {id(each) for each in table_parameters(module).values()}


def table_parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters with sparse gradients by name."""
    tables = {
        f"{name}.weight".lstrip("."): getattr(each, "weight", None)
        for name, each in module.named_modules()
        if getattr(each, "sparse", False) is True
    }
    return {name: each for name, each in tables.items() if isinstance(each, nn.Parameter)}


class Stepper:
    """One optimiser step: gradients of a batch, the second pass of SAM, clipping, the update.

    `backward` computes the loss of the batch and its gradients, and returns the loss. The first
    axis of all parameters is that of `n_stacked` runs, if given: each has a norm of its own.
    """

    def __init__(
        self,
        module: nn.Module,
        optimisers: Sequence[Any],
        settings: TrainingSettings,
        n_stacked: int | None = None,
    ) -> None:
        self.module, self.optimisers, self.settings = module, optimisers, settings
        self.n_stacked = n_stacked
        self.parameters = [each for each in module.parameters() if each.requires_grad]

    def __call__(self, backward: Callable[[], Tensor]) -> Tensor:
        """Make the step and return the loss before it."""
        self._zero_grad()
        loss = backward()
        if self.settings.sam_rho > 0:
            self._second_pass(backward)
        if self.settings.max_grad_norm is not None:
            self._clip(self.settings.max_grad_norm)
        for optimiser in self.optimisers:
            optimiser.step()
        return loss

    def _zero_grad(self) -> None:
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)

    @torch.no_grad()
    def _second_pass(self, backward: Callable[[], Tensor]) -> None:
        """The gradient at the sharpest point within the radius: w + rho g / ||g||.

        Source: Foret et al. 2020. Batch statistics are those of the first pass.
        """
        reach = self.settings.sam_rho / (self._gradient_norm() + _TINY)
        moved = [
            (each, each.grad * _along(reach, each.grad))
            for each in self.parameters
            if each.grad is not None
        ]
        before = [(each, *_touched(each, by)) for each, by in moved]
        for each, by in moved:
            each.add_(by)
        self._zero_grad()
        with torch.enable_grad(), _frozen_statistics(self.module):
            backward()
        for each, rows, value in before:  # exact, where subtracting would leave a rounding behind
            each[rows] = value

    @torch.no_grad()
    def _clip(self, max_norm: float) -> None:
        shrink = (max_norm / (self._gradient_norm() + _TINY)).clamp(max=1.0)
        for each in self.parameters:
            if each.grad is not None:
                each.grad.mul_(_along(shrink, each.grad))

    def _gradient_norm(self) -> Tensor:
        # In 32 bits at least: the square of a small number of 16 bits may be lost.
        grads = [_values(each.grad) for each in self.parameters if each.grad is not None]
        wide = [each.float() if each.itemsize < 4 else each for each in grads]
        if self.n_stacked is None:
            norms = [each.norm() for each in wide]
        else:
            norms = [each.reshape(self.n_stacked, -1).norm(dim=1) for each in wide]
        norm: Tensor = torch.stack(norms).norm(dim=0)
        return norm


def _group(parameters: Any, rate: float, decay: float) -> dict[str, Any]:
    trained = [each for each in parameters if each.requires_grad]
    return {"params": trained, "lr": rate, "start": rate, "weight_decay": decay}


def _along(factor: Tensor, gradient: Tensor) -> Tensor:
    """One factor for all, or one for each run of a stack, in a shape that multiplies a gradient."""
    return factor if factor.dim() == 0 else factor.reshape(-1, *[1] * (gradient.dim() - 1))


def _values(gradient: Tensor) -> Tensor:
    # An annotator may occur in a batch more than once: the parts are summed first.
    if not gradient.is_sparse:
        return gradient
    values: Tensor = summed_rows(gradient)[1]
    return values


def _touched(parameter: Tensor, change: Tensor) -> tuple[Any, Tensor]:
    """The rows that a change touches, and a copy of their values."""
    rows = change.coalesce().indices()[0] if change.is_sparse else ...
    return rows, parameter.detach()[rows].clone()


@contextmanager
def _frozen_statistics(module: nn.Module) -> Iterator[None]:
    """Let batch normalisation use its batch without updating its running statistics."""
    layers = [each for each in module.modules() if isinstance(each, _BatchNorm)]
    layers = [each for each in layers if each.track_running_stats]
    for layer in layers:
        layer.track_running_stats = False
    try:
        yield
    finally:
        for layer in layers:
            layer.track_running_stats = True
