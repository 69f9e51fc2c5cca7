"""The processes that train one model together, and what they tell each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed


@dataclass(frozen=True)
class Processes:
    """The processes of a run, of which this one has number `rank`; one alone has nobody to tell.

    All of them call the same methods in the same order. Sums and rows have gradients. As the
    gradients of all processes are averaged in the end, a loss that every process computes from the
    same sums and rows has the gradient that it has in one process.
    """

    rank: int = 0
    n: int = 1

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all processes, the same bits in each."""
        if self.n == 1:
            return tensor
        total: Tensor = _Sum.apply(tensor)  # type: ignore[no-untyped-call]
        return total

    def gather(self, rows: Tensor, counts: Sequence[int] | None = None) -> Tensor:
        """The rows of all processes, those of the first come first; each may have its number.

        `counts` are these numbers, if they are known.
        """
        if self.n == 1:
            return rows
        known = tuple(counts) if counts is not None else self.counts(len(rows), rows.device)
        gathered: Tensor = _Gather.apply(rows, self.rank, known)  # type: ignore[no-untyped-call]
        return gathered

    def counts(self, count: int, device: torch.device) -> tuple[int, ...]:
        """The number that each process gives."""
        found = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(self.n)]
        distributed.all_gather(found, torch.tensor([count], device=device))
        return tuple(int(each) for each in torch.cat(found).tolist())

    def objects(self, given: Any) -> list[Any]:
        """What each process gives, which may be anything that can be pickled."""
        found: list[Any] = [given] * self.n
        if self.n > 1:
            distributed.all_gather_object(found, given)
        return found

    @torch.no_grad()
    def copy_first(self, tensor: Tensor) -> None:
        """Replace a tensor by that of the first process."""
        if self.n > 1:
            distributed.broadcast(tensor, 0)

    def share(self, n_parts: int) -> slice:
        """Which of these parts are for this process, if the work is divided."""
        return slice(n_parts * self.rank // self.n, n_parts * (self.rank + 1) // self.n)


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return _summed(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _summed(gradient)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, rank: int, counts: tuple[int, ...]) -> Tensor:
        ctx.first, ctx.count = sum(counts[:rank]), counts[rank]
        padded = rows.new_zeros(max(counts), *rows.shape[1:])  # not every backend takes any size
        padded[: len(rows)] = rows
        found = [torch.empty_like(padded) for _ in counts]
        distributed.all_gather(found, padded)
        return torch.cat([each[:count] for each, count in zip(found, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _summed(gradient)[ctx.first : ctx.first + ctx.count], None, None


def _summed(tensor: Tensor) -> Tensor:
    total = tensor.clone(memory_format=torch.contiguous_format)
    distributed.all_reduce(total)
    return total
