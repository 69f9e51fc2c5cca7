"""Labels on a GPU: moved there once, and shared by all passes of a fit."""

from functools import cached_property
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch

from manyhands.aggregation import device
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.sum_plan import SumPlan, narrow, plan_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats

_HELD: "WeakValueDictionary[int, DeviceLabels]" = WeakValueDictionary()


class DeviceLabels:
    """The codes of some annotations on a device, and how to add values by annotator.

    `steps` is the module of passes for this device: `triton_steps`, or `torch_steps`.
    """

    def __init__(self, annotations: Annotations, place: str, steps: ModuleType) -> None:
        self.annotations = annotations  # also keeps their id from being used again
        self.place, self.steps = place, steps
        self.annotator = self.move(annotations.annotator)
        self.label = self.move(annotations.label)
        self.offsets = narrow(self.move(annotations.item_offsets), annotations.n_annotations)

    def move(self, array: AnyArray) -> torch.Tensor:
        """An array on the device."""
        own = array if array.flags.writeable else array.copy()  # torch warns of read-only arrays
        return torch.from_numpy(np.ascontiguousarray(own)).to(self.place)

    def known(self, evidence: Evidence) -> torch.Tensor | None:
        """The known classes of items, -1 for unknown; None if no truth is known."""
        return self.move(evidence.known) if len(evidence.known) else None

    @property
    def item(self) -> torch.Tensor:
        """The item of every label."""
        n_i = (self.offsets[1:] - self.offsets[:-1]).long()
        return torch.arange(len(n_i), device=self.place).repeat_interleave(n_i)

    @cached_property
    def row(self) -> torch.Tensor:
        """The row of every label in tables (annotator, label) x class."""
        ann = self.annotations
        row = self.annotator.long() * ann.n_classes + self.label
        return narrow(row, ann.n_annotators * ann.n_classes**2)

    @cached_property
    def by_row(self) -> SumPlan:
        """How to add rows of a posterior (i, k) to the counts of (annotator, label)."""
        ann = self.annotations
        return plan_sums(self.row, self.item, ann.n_annotators * ann.n_classes, ann.n_classes)

    @cached_property
    def by_annotator(self) -> SumPlan:
        """How to add the posterior of what annotators said, from a posterior in one column."""
        ann = self.annotations
        cell = self.item * ann.n_classes + self.label
        return plan_sums(self.annotator, cell, ann.n_annotators, 1)

    def sums(self, plan: SumPlan, values: torch.Tensor) -> torch.Tensor:
        """The sums of a plan; see `SumPlan`."""
        found: torch.Tensor = self.steps.gather_sums(plan, values)
        return found

    def empty(self, *shape: int) -> torch.Tensor:
        """A table of numbers on the device, not filled yet."""
        return torch.empty(*shape, dtype=torch.float64, device=self.place)

    def majority(self, evidence: Evidence, overall_k: Floats | None = None) -> torch.Tensor:
        """`majority_posterior` on the device: label distributions of items."""
        ann = self.annotations
        shape = (ann.n_items, ann.n_classes)
        cell = self.item * ann.n_classes + self.label
        counts_ik = torch.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).double()
        n_i = counts_ik.sum(dim=1, keepdim=True)
        said_k = counts_ik.sum(dim=0) / max(ann.n_annotations, 1)
        other_k = said_k if overall_k is None else self.move(overall_k)
        posterior_ik = torch.where(n_i > 0, counts_ik / n_i.clamp(min=1.0), other_k)
        known = self.known(evidence)
        if known is not None:
            rows = torch.nonzero(known >= 0)[:, 0]
            posterior_ik[rows] = 0.0
            posterior_ik[rows, known[rows].long()] = 1.0
        return posterior_ik


def device_labels(annotations: Annotations) -> DeviceLabels:
    """The labels on the GPU; the same object as before while something still uses it."""
    found = _HELD.get(id(annotations))
    if found is None:
        found = DeviceLabels(annotations, *device.open_device())
        _HELD[id(annotations)] = found
    return found


def to_host(values: Any) -> Floats:
    """A tensor as an array of numpy."""
    return np.asarray(values.cpu().numpy(), dtype=np.float64)


class DevicePosterior:
    """The posterior of a pass, which stays on the device until somebody reads it as an array.

    `sums` are those of the posterior over items, and the log-likelihood at the end.
    """

    def __init__(self, posterior_ik: torch.Tensor, sums: torch.Tensor) -> None:
        self.posterior, self._sums = posterior_ik, sums

    @cached_property
    def _host_sums(self) -> Floats:
        return to_host(self._sums)

    @property
    def mass_k(self) -> Floats:
        """The posterior summed over items."""
        return self._host_sums[:-1]

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the labels."""
        return float(self._host_sums[-1])

    @cached_property
    def posterior_ik(self) -> Floats:
        """The posterior of items."""
        return to_host(self.posterior)
