"""E- and M-steps of confusion models on a GPU: `ConfusionPass` for `device="cuda"`.

Tables stay on the device between steps, and are copied when somebody reads them as arrays.
"""

import math
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch

from manyhands.aggregation.cost import require_confusions
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, ConfusionStep, Expectation
from manyhands.aggregation.kernels.device_labels import DevicePosterior, device_labels, to_host
from manyhands.aggregation.kernels.sum_plan import SumPlan, narrow, plan_sums
from manyhands.core.arrays import AnyArray, Floats


class DeviceTable:
    """A table on the device that numpy copies when it reads it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.shape = tuple(tensor.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.asarray(to_host(self.tensor), dtype=dtype)

    def __len__(self) -> int:
        return self.shape[0]


class DeviceExpectation(DevicePosterior):
    """The `Expectation` of a pass on the device; the posterior and the counts stay there."""

    def __init__(
        self, posterior_ik: torch.Tensor, counts_alk: torch.Tensor, sums: torch.Tensor
    ) -> None:
        super().__init__(posterior_ik, sums)
        self.counts = counts_alk

    @cached_property
    def counts_alk(self) -> Floats:
        """The soft counts of annotators."""
        return to_host(self.counts)


class DeviceConfusionPass(ConfusionPass):
    """The E-step of confusion models on a GPU. The class prior is one for all items."""

    def __init__(self, evidence: Evidence, n_subtypes: int = 1) -> None:
        ann = evidence.annotations
        require_confusions(ann, copies=2 * n_subtypes)
        self.evidence = evidence
        self._labels = device_labels(ann)
        self._known, self._n_subtypes = self._labels.known(evidence), n_subtypes
        n_columns = ann.n_classes * n_subtypes
        self._shape_alk = (ann.n_annotators, ann.n_classes, n_columns)
        self._posterior = self._labels.empty(ann.n_items, n_columns)

    @cached_property
    def _row(self) -> torch.Tensor:
        return narrow(self._labels.row, math.prod(self._shape_alk))  # products index the table

    @cached_property
    def _by_row(self) -> SumPlan:
        if self._n_subtypes == 1:
            return self._labels.by_row
        n_annotators, n_classes, n_columns = self._shape_alk
        labels = self._labels
        return plan_sums(labels.row, labels.item, n_annotators * n_classes, n_columns)

    def __call__(self, log_prior_k: Floats, log_confusion_alk: Floats) -> Expectation:
        """Posterior, counts and log-likelihood under these parameters; buffers are reused."""
        labels = self._labels
        table = self._on_device(log_confusion_alk).reshape(-1, self._shape_alk[2])
        sums = labels.steps.expect_confusions(
            labels.offsets,
            self._row,
            self._known,
            labels.move(log_prior_k),
            table,
            self._n_subtypes,
            self._posterior,
        )
        return self._counted(sums)

    def count(self, posterior_ik: Floats) -> Expectation:
        """The counts of a given posterior, such as the initial one."""
        self._posterior.copy_(self._on_device(posterior_ik))
        sums = torch.cat([self._posterior.sum(dim=0), self._posterior.new_zeros(1)])
        return self._counted(sums)

    def majority(self) -> Floats:
        """Label distributions of items: where iterative models start."""
        return cast(Floats, DeviceTable(self._labels.majority(self.evidence)))

    def fit_confusions(self, expected: Expectation, pseudo_alk: Floats) -> ConfusionStep:
        """The M-step; see `fit_confusions`. The log-confusions stay on the device."""
        counts_alk = cast(DeviceExpectation, expected).counts
        pseudo = self._labels.move(pseudo_alk)
        raised_alk = counts_alk + pseudo
        total_ak = raised_alk.sum(dim=1, keepdim=True)
        even = 1.0 / raised_alk.shape[1]
        share_alk = torch.where(total_ak > 0, raised_alk / total_ak, even)
        log_confusion_alk = share_alk.clamp_(min=TINY).log_()
        log_prior = float((pseudo * log_confusion_alk).sum())
        return ConfusionStep(cast(Floats, DeviceTable(log_confusion_alk)), log_prior)

    def _counted(self, sums: torch.Tensor) -> Expectation:
        counts_rk = self._labels.sums(self._by_row, self._posterior)
        counts_alk = counts_rk.reshape(self._shape_alk)
        return DeviceExpectation(self._posterior, counts_alk, sums)

    def _on_device(self, table: Any) -> torch.Tensor:
        tensor: torch.Tensor | None = getattr(table, "tensor", None)  # of a `DeviceTable`
        return self._labels.move(np.asarray(table, dtype=np.float64)) if tensor is None else tensor
