"""`CoinPass` and `GladPass` on a GPU."""

from functools import cached_property
from typing import cast

import numpy as np
import torch
from torch.nn.functional import logsigmoid

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.coin_pass import CoinExpectation, CoinPass
from manyhands.aggregation.kernels.device_labels import (
    DeviceLabels,
    DevicePosterior,
    device_labels,
    to_host,
)
from manyhands.aggregation.kernels.glad_steps import HALVINGS, GladPass
from manyhands.aggregation.kernels.sum_plan import SumPlan, plan_sums
from manyhands.core.arrays import Floats


class DeviceCoinExpectation(DevicePosterior):
    """The `CoinExpectation` of a pass on the device; the posterior stays there."""

    def __init__(
        self, labels: DeviceLabels, posterior_ik: torch.Tensor, sums: torch.Tensor
    ) -> None:
        super().__init__(posterior_ik, sums)
        self._labels = labels

    @cached_property
    def right_a(self) -> Floats:
        """Each annotator's expected number of right labels."""
        in_one_column = self.posterior.view(-1, 1)
        return to_host(self._labels.sums(self._labels.by_annotator, in_one_column)[:, 0])


class DeviceCoinPass(CoinPass):
    """The E-step of models in which annotators are right or wrong, on a GPU."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self._labels = device_labels(evidence.annotations)
        self._known = self._labels.known(evidence)

    def __call__(
        self, log_prior_k: Floats, logit_a: Floats, ease_i: Floats | None = None
    ) -> CoinExpectation:
        """Posterior, expected right labels and log-likelihood."""
        labels, ann = self._labels, self.evidence.annotations
        posterior_ik = labels.empty(ann.n_items, ann.n_classes)
        sums = labels.steps.expect_coins(
            labels.offsets,
            labels.annotator,
            labels.label,
            self._known,
            labels.move(log_prior_k),
            labels.move(logit_a),
            None if ease_i is None else labels.move(ease_i),
            posterior_ik,
        )
        return DeviceCoinExpectation(labels, posterior_ik, sums)

    def majority(self, overall_k: Floats | None = None) -> CoinExpectation:
        """The expectation under the label distributions of items."""
        posterior_ik = self._labels.majority(self.evidence)
        sums = torch.cat([posterior_ik.sum(dim=0), posterior_ik.new_zeros(1)])
        return DeviceCoinExpectation(self._labels, posterior_ik, sums)


class DeviceGladPass(DeviceCoinPass, GladPass):
    """The M-step of GLAD on a GPU, with numbers per label as long vectors."""

    @cached_property
    def _by_item(self) -> SumPlan:
        labels, ann = self._labels, self.evidence.annotations
        return plan_sums(labels.item, self._each_label, ann.n_items, 1)

    @cached_property
    def _by_annotator(self) -> SumPlan:
        labels, ann = self._labels, self.evidence.annotations
        return plan_sums(labels.annotator, self._each_label, ann.n_annotators, 1)

    @property
    def _each_label(self) -> torch.Tensor:
        return torch.arange(self.evidence.annotations.n_annotations, device=self._labels.place)

    def _right_n(self, expected: CoinExpectation) -> torch.Tensor:
        """The posterior probability that each label is right."""
        posterior_ik = cast(DeviceCoinExpectation, expected).posterior
        cell = self._labels.item * posterior_ik.shape[1] + self._labels.label
        return posterior_ik.view(-1)[cell]

    def ability_slopes(
        self, expected: CoinExpectation, ability_a: Floats, ease_i: Floats
    ) -> tuple[Floats, Floats]:
        """Slope in each ability of the expected log-likelihood, and its tangent bound's bend."""
        labels = self._labels
        ease_n = labels.move(ease_i)[labels.item]
        x_n = labels.move(ability_a)[labels.annotator.long()] * ease_n
        half_tanh_n = 0.5 * torch.tanh(0.5 * x_n)  # sigmoid(x) - 1/2
        slope_n = ease_n * (self._right_n(expected) - 0.5 - half_tanh_n)
        bend_n = ease_n**2 * torch.where(x_n.abs() > 1e-6, half_tanh_n / x_n, 0.25)
        slope_a, bend_a = (
            to_host(labels.sums(self._by_annotator, each[:, None])[:, 0])
            for each in (slope_n, bend_n)
        )
        return slope_a, bend_a

    def improve_easiness(
        self, expected: CoinExpectation, ability_a: Floats, log_ease_i: Floats, precision: float
    ) -> Floats:
        """Each item's log-easiness after one Newton step, halved until nothing falls."""
        labels = self._labels
        item_n, right_n = labels.item, self._right_n(expected)
        ability_n = labels.move(ability_a)[labels.annotator.long()]
        here_i = labels.move(np.asarray(log_ease_i, dtype=np.float64))

        def item_sums(value_n: torch.Tensor) -> torch.Tensor:
            return labels.sums(self._by_item, value_n[:, None])[:, 0]

        def objective(log_ease: torch.Tensor) -> torch.Tensor:
            x_n = ability_n * log_ease.exp()[item_n]
            return item_sums(right_n * x_n + logsigmoid(-x_n)) - 0.5 * precision * log_ease**2

        x_n = ability_n * here_i.exp()[item_n]
        sigmoid_n = 0.5 + 0.5 * torch.tanh(0.5 * x_n)
        slope_n = x_n * (right_n - sigmoid_n)
        slope_i = item_sums(slope_n) - precision * here_i
        bend_i = item_sums(slope_n - x_n**2 * sigmoid_n * (1.0 - sigmoid_n)) - precision
        move_i = (slope_i / (-bend_i).clamp(min=precision)).clamp(-1.0, 1.0)
        value_i, better_i = objective(here_i), here_i.clone()
        open_i = torch.ones_like(here_i, dtype=torch.bool)
        for _ in range(HALVINGS):
            there_i = here_i + move_i
            reached_i = open_i & (objective(there_i) >= value_i)
            better_i = torch.where(reached_i, there_i, better_i)
            open_i &= ~reached_i
            if not bool(open_i.any()):
                break
            move_i = 0.5 * move_i
        return to_host(better_i)
