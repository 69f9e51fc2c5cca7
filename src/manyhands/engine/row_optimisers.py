"""Optimisers of tables with sparse gradients: a step costs as much as the rows that it changes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class _RowOptimiser(torch.optim.Optimizer, ABC):
    """An optimiser of tables with sparse gradients."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step for every table that has a gradient."""
        assert closure is None, "the loop computes the loss"
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._step(table, group)

    @abstractmethod
    def _step(self, table: Tensor, group: dict[str, Any]) -> None:
        """One step for the rows of a table that its gradient holds."""


class RowAdam(_RowOptimiser):
    """Adam on the rows that a sparse gradient holds; other rows and their moments do not change.

    ::

        m_r <- b1 m_r + (1 - b1) g_r,   v_r <- b2 v_r + (1 - b2) g_r^2
        w_r <- (1 - lr decay) w_r - lr sqrt(1 - b2^t) / (1 - b1^t) m_r / (sqrt(v_r) + eps)

    Without decay these are the steps of `torch.optim.SparseAdam`, where t counts all steps, in
    about half the time: rows are read once and written once. Unlike in Adam, the moments of a row
    do not change in steps in which the row does not occur. Without `decoupled`, the decay is
    added to the gradient, g_r + decay w_r, as in Adam.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled: bool = True,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"decoupled": decoupled})

    def _step(self, table: Tensor, group: dict[str, Any]) -> None:
        state = self.state[table]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(table)
            state["exp_avg_sq"] = torch.zeros_like(table)
        state["step"] += 1
        (b1, b2), t = group["betas"], state["step"]
        row_r, g_r = summed_rows(table.grad)  # type: ignore[arg-type]
        w_r, decay = table.index_select(0, row_r), group["weight_decay"]
        if decay and not group["decoupled"]:
            g_r.add_(w_r, alpha=decay)
        m_r = state["exp_avg"].index_select(0, row_r).lerp_(g_r, 1.0 - b1)
        v_r = state["exp_avg_sq"].index_select(0, row_r).mul_(b2).addcmul_(g_r, g_r, value=1.0 - b2)
        state["exp_avg"].index_copy_(0, row_r, m_r)
        state["exp_avg_sq"].index_copy_(0, row_r, v_r)
        rate = group["lr"] * (1.0 - b2**t) ** 0.5 / (1.0 - b1**t)
        if decay and group["decoupled"]:
            w_r.mul_(1.0 - group["lr"] * decay)
        table.index_copy_(0, row_r, w_r.addcdiv_(m_r, v_r.sqrt_().add_(group["eps"]), value=-rate))


class RowSGD(_RowOptimiser):
    """SGD with momentum on the rows that a sparse gradient holds; other rows do not change.

    ::

        g_r <- g_r + decay w_r,   m_r <- momentum m_r + g_r
        w_r <- w_r - lr m_r,      or with Nesterov's momentum  w_r - lr (g_r + momentum m_r)

    These are the steps of `torch.optim.SGD`, but the momentum of a row rests in steps in which the
    row does not occur.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"nesterov": nesterov})

    def _step(self, table: Tensor, group: dict[str, Any]) -> None:
        row_r, g_r = summed_rows(table.grad)  # type: ignore[arg-type]
        w_r, momentum = table.index_select(0, row_r), group["momentum"]
        if group["weight_decay"]:
            g_r.add_(w_r, alpha=group["weight_decay"])
        if momentum:
            state = self.state[table]
            if not state:
                state["momentum_buffer"] = torch.zeros_like(table)
            m_r = state["momentum_buffer"].index_select(0, row_r).mul_(momentum).add_(g_r)
            state["momentum_buffer"].index_copy_(0, row_r, m_r)
            g_r = g_r.add_(m_r, alpha=momentum) if group["nesterov"] else m_r
        table.index_copy_(0, row_r, w_r.sub_(g_r, alpha=group["lr"]))


def summed_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows of a sparse gradient, and the sum of the parts of each."""
    index, values = gradient._indices()[0], gradient._values()
    row_r, place = torch.unique(index, return_inverse=True)
    summed = torch.zeros((len(row_r), values.shape[1]), dtype=values.dtype, device=values.device)
    return row_r, summed.index_add_(0, place, values)
