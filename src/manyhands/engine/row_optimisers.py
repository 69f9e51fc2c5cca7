"""Optimisers of tables with sparse gradients: a step costs as much as the rows that it changes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from manyhands.engine.processes import Processes

_ALONE = Processes()


class _RowOptimiser(torch.optim.Optimizer, ABC):
    """An optimiser of tables with sparse gradients, which are the same in all `processes`.

    The moments of row r are held by process r mod n alone, as its row r div n: it updates the row
    and tells the others. The state dict has the moments of all rows. All processes make it
    together, and any number of processes can load it.
    """

    def __init__(
        self, params: Iterable[Any], defaults: dict[str, Any], processes: Processes
    ) -> None:
        super().__init__(params, defaults)
        self.processes = processes

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step for every table that has a gradient."""
        assert closure is None, "the loop computes the loss"
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._step_table(table, group)

    def _step_table(self, table: Tensor, group: dict[str, Any]) -> None:
        row_r, g_r = summed_rows(table.grad)  # type: ignore[arg-type]
        n, rank = self.processes.n, self.processes.rank
        if n == 1:
            w_r = table.index_select(0, row_r)
            table.index_copy_(0, row_r, self._updated(table, group, row_r, w_r, g_r))
            return
        by_owner = [(row_r % n == each).nonzero().squeeze(1) for each in range(n)]
        own = by_owner[rank]
        own_r = row_r[own]
        w_r = self._updated(table, group, own_r // n, table.index_select(0, own_r), g_r[own])
        all_r = self.processes.gather(w_r, [len(each) for each in by_owner])
        table.index_copy_(0, row_r[torch.cat(by_owner)], all_r)

    @abstractmethod
    def _updated(
        self, table: Tensor, group: dict[str, Any], place_r: Tensor, w_r: Tensor, g_r: Tensor
    ) -> Tensor:
        """Rows of a table after a step, from their values and gradients; moments at `place_r`."""

    def _no_moments(self, table: Tensor) -> Tensor:
        n, rank = self.processes.n, self.processes.rank
        return table.new_zeros(len(range(rank, len(table), n)), *table.shape[1:])

    @torch.no_grad()
    def state_dict(self) -> dict[str, Any]:
        """See `torch.optim.Optimizer.state_dict`; with the moments of all rows."""
        found = super().state_dict()
        n = self.processes.n
        if n == 1:
            return found
        whole: dict[int, dict[str, Any]] = {}
        for place, table in enumerate(self._tables()):
            owned = [torch.arange(each, len(table), n) for each in range(n)]
            back = torch.cat(owned).argsort().to(table.device)
            counts = [len(each) for each in owned]
            for name, value in found["state"].get(place, {}).items():
                held = isinstance(value, Tensor)
                rows = self.processes.gather(value, counts)[back] if held else value
                whole.setdefault(place, {})[name] = rows
        return found | {"state": whole}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """See `torch.optim.Optimizer.load_state_dict`; keeps the moments of the rows held here."""
        n, rank = self.processes.n, self.processes.rank
        state = {
            place: {
                name: value[rank::n].clone() if isinstance(value, Tensor) and n > 1 else value
                for name, value in entries.items()
            }
            for place, entries in state_dict["state"].items()
        }
        super().load_state_dict(state_dict | {"state": state})

    def _tables(self) -> list[Tensor]:
        return [table for group in self.param_groups for table in group["params"]]


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
        processes: Processes = _ALONE,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"decoupled": decoupled}, processes)

    def _updated(
        self, table: Tensor, group: dict[str, Any], place_r: Tensor, w_r: Tensor, g_r: Tensor
    ) -> Tensor:
        state, decay = self.state[table], group["weight_decay"]
        if not state:
            state["step"] = 0
            state["exp_avg"] = self._no_moments(table)
            state["exp_avg_sq"] = self._no_moments(table)
        state["step"] += 1
        (b1, b2), t = group["betas"], state["step"]
        if decay and not group["decoupled"]:
            g_r.add_(w_r, alpha=decay)
        m_r = state["exp_avg"].index_select(0, place_r).lerp_(g_r, 1.0 - b1)
        v_r = state["exp_avg_sq"].index_select(0, place_r)
        v_r.mul_(b2).addcmul_(g_r, g_r, value=1.0 - b2)
        state["exp_avg"].index_copy_(0, place_r, m_r)
        state["exp_avg_sq"].index_copy_(0, place_r, v_r)
        rate = group["lr"] * (1.0 - b2**t) ** 0.5 / (1.0 - b1**t)
        if decay and group["decoupled"]:
            w_r.mul_(1.0 - group["lr"] * decay)
        return w_r.addcdiv_(m_r, v_r.sqrt_().add_(group["eps"]), value=-rate)


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
        processes: Processes = _ALONE,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"nesterov": nesterov}, processes)

    def _updated(
        self, table: Tensor, group: dict[str, Any], place_r: Tensor, w_r: Tensor, g_r: Tensor
    ) -> Tensor:
        momentum = group["momentum"]
        if group["weight_decay"]:
            g_r.add_(w_r, alpha=group["weight_decay"])
        if momentum:
            state = self.state[table]
            if not state:
                state["momentum_buffer"] = self._no_moments(table)
            m_r = state["momentum_buffer"].index_select(0, place_r).mul_(momentum).add_(g_r)
            state["momentum_buffer"].index_copy_(0, place_r, m_r)
            g_r = g_r.add_(m_r, alpha=momentum) if group["nesterov"] else m_r
        return w_r.sub_(g_r, alpha=group["lr"])


def summed_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows of a sparse gradient, and the sum of the parts of each."""
    index, values = gradient._indices()[0], gradient._values()
    row_r, place = torch.unique(index, return_inverse=True)
    summed = torch.zeros((len(row_r), values.shape[1]), dtype=values.dtype, device=values.device)
    return row_r, summed.index_add_(0, place, values)


@torch.no_grad()
def average_rows(tables: Iterable[Tensor], processes: Processes) -> None:
    """Replace the sparse gradients of tables by their means over all processes."""
    for table in tables:
        gradient = table.grad
        rows = torch.zeros(0, dtype=torch.int64, device=table.device)
        values = table.new_zeros(0, *table.shape[1:])
        if gradient is not None:
            rows, values = summed_rows(gradient)
        counts = processes.counts(len(rows) if gradient is not None else -1, table.device)
        if max(counts) < 0:  # the table has no part in this step
            continue
        counts = tuple(max(each, 0) for each in counts)
        index, parts = processes.gather(rows, counts), processes.gather(values, counts)
        table.grad = torch.sparse_coo_tensor(
            index.unsqueeze(0), parts / processes.n, table.shape, check_invariants=False
        )
