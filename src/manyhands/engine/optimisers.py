"""The optimiser factory, schedules, and a step: plain or sharpness-aware, clipped or not."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule
from manyhands.noise import AnnotatorModel

_TINY = 1e-12


def make_optimisers(module: CrowdModule, settings: TrainingSettings) -> list[torch.optim.Optimizer]:
    """AdamW for parameters with dense gradients, `RowAdam` for tables with sparse gradients.

    Network and noise model have their own learning rates and decays; what a module has beyond them
    learns like the network. A part of a noise model may learn slower than the rest
    (`AnnotatorModel.learning_rate_multipliers`). `start` is the initial learning rate of a group.
    """
    tables = sparse_tables(module)
    network = list(module.network.parameters())
    split = [[each for each in network if id(each) not in tables]]
    split += [[each] for each in network if id(each) in tables]
    groups = [_group(some, settings.learning_rate, settings.weight_decay) for some in split]
    groups += _noise_groups(module.noise, settings, tables)
    held = {id(each) for each in (*network, *module.noise.parameters())}
    own = [each for each in module.parameters() if id(each) not in held]
    groups.append(_group(own, settings.learning_rate, settings.weight_decay))
    groups = [group for group in groups if group["params"]]
    dense = [group for group in groups if id(group["params"][0]) not in tables]
    sparse = [group for group in groups if id(group["params"][0]) in tables]
    fused = next(module.parameters()).device.type in {"cpu", "cuda"}
    made: list[torch.optim.Optimizer] = [torch.optim.AdamW(dense, fused=fused)] if dense else []
    return [*made, RowAdam(sparse)] if sparse else made


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
    tables = [each for each in module.modules() if getattr(each, "sparse", False) is True]
    return {id(each.weight) for each in tables if isinstance(each.weight, nn.Parameter)}


def set_rates(optimisers: Sequence[Any], settings: TrainingSettings, epoch: int) -> None:
    """Set the learning rate of every group for this epoch (0, 1, 2 ...)."""
    if settings.schedule == "constant":
        return
    share = 0.5 * (1.0 + math.cos(math.pi * epoch / settings.epochs))
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = group["start"] * share


class Stepper:
    """One optimiser step: gradients of a batch, the second pass of SAM, clipping, the update.

    `backward` computes the loss of the batch and its gradients, and returns the loss.
    """

    def __init__(
        self, module: nn.Module, optimisers: Sequence[Any], settings: TrainingSettings
    ) -> None:
        self.module, self.optimisers, self.settings = module, optimisers, settings
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
        moved = [(each, each.grad * reach) for each in self.parameters if each.grad is not None]
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
                each.grad.mul_(shrink)

    def _gradient_norm(self) -> Tensor:
        norms = [_values(each.grad).norm() for each in self.parameters if each.grad is not None]
        norm: Tensor = torch.stack(norms).norm()
        return norm


def _group(parameters: Any, rate: float, decay: float) -> dict[str, Any]:
    trained = [each for each in parameters if each.requires_grad]
    return {"params": trained, "lr": rate, "start": rate, "weight_decay": decay}


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


class RowAdam(torch.optim.Optimizer):
    """Adam on the rows that a sparse gradient holds; other rows and their moments do not change.

    ::

        m_r <- b1 m_r + (1 - b1) g_r,   v_r <- b2 v_r + (1 - b2) g_r^2
        w_r <- (1 - lr decay) w_r - lr sqrt(1 - b2^t) / (1 - b1^t) m_r / (sqrt(v_r) + eps)

    Without decay these are the steps of `torch.optim.SparseAdam`, where t counts all steps, in
    about half the time: rows are read once and written once. Unlike in Adam, the moments of a row
    do not change in steps in which the row does not occur.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step for every table that has a gradient."""
        assert closure is None, "the loop computes the loss"
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._step(table, group)

    def _step(self, table: Tensor, group: dict[str, Any]) -> None:
        state = self.state[table]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(table)
            state["exp_avg_sq"] = torch.zeros_like(table)
        state["step"] += 1
        (b1, b2), t = group["betas"], state["step"]
        row_r, g_r = summed_rows(table.grad)  # type: ignore[arg-type]
        m_r = state["exp_avg"].index_select(0, row_r).lerp_(g_r, 1.0 - b1)
        v_r = state["exp_avg_sq"].index_select(0, row_r).mul_(b2).addcmul_(g_r, g_r, value=1.0 - b2)
        state["exp_avg"].index_copy_(0, row_r, m_r)
        state["exp_avg_sq"].index_copy_(0, row_r, v_r)
        rate = group["lr"] * (1.0 - b2**t) ** 0.5 / (1.0 - b1**t)
        w_r = table.index_select(0, row_r)
        if group["weight_decay"]:
            w_r.mul_(1.0 - group["lr"] * group["weight_decay"])
        table.index_copy_(0, row_r, w_r.addcdiv_(m_r, v_r.sqrt_().add_(group["eps"]), value=-rate))


def summed_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows of a sparse gradient, and the sum of the parts of each."""
    index, values = gradient._indices()[0], gradient._values()
    row_r, place = torch.unique(index, return_inverse=True)
    summed = torch.zeros((len(row_r), values.shape[1]), dtype=values.dtype, device=values.device)
    return row_r, summed.index_add_(0, place, values)
