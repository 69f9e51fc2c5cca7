"""EM with a network for regression: the posterior mean of every item is what it learns next."""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import Gaussian
from manyhands.aggregation.gaussian_steps import GaussianSteps, NetworkedParameters
from manyhands.aggregation.sums import annotator_sums, item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require, require_choice
from manyhands.engine.batches import CrowdData
from manyhands.engine.regression import (
    RegressionModule,
    init_regression_layer,
    network_values,
    set_annotators,
)
from manyhands.engine.regression_posterior import best_shift
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.end_to_end import SEARCH
from manyhands.methods.network_method import NetworkMethod
from manyhands.noise import RegressionLayer
from manyhands.noise.regression import LEAST_VARIANCE

PRECISIONS = ("posterior", "residuals")


class EMRegressionModule(RegressionModule):
    """A network trained on the posterior mean of every item, given network and labels.

    Before an epoch the E-step computes the targets and the M-step the precisions and biases; the
    epoch is the network's part of the M-step.
    """

    def __init__(
        self, network: nn.Module, noise: RegressionLayer, targets: Tensor, steps: GaussianSteps
    ) -> None:
        super().__init__(network, noise, targets, on_targets=True)
        self.steps = steps

    @torch.no_grad()
    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.on_epoch_start`."""
        value_i = self._step(crowd)
        self.targets[crowd.labelled] = torch.from_numpy(value_i).unsqueeze(1).to(self.targets)

    def best_shift(self, crowd: CrowdData, value_i: Floats) -> float:
        """See `RegressionModule.best_shift`; targets move with the network, labels do not."""
        return best_shift(self.noise, crowd.annotations[crowd.labelled], value_i)

    def profile_annotators(self, crowd: CrowdData) -> None:
        """Make one more M-step, for the network at the end of training."""
        self.fit_intercept(crowd)
        self._step(crowd)

    def _step(self, crowd: CrowdData) -> Floats:
        """Make an E-step and an M-step; the posterior mean of every item."""
        value_i = network_values(self.network, crowd)
        profile, fixed = self.noise.profile, self.steps.fixed_precision
        annotators = replace(
            self.steps.first.annotators, bias_a=profile["bias"], precision_a=profile["precision"]
        )
        precision = 1.0 / self.noise.error_variance if fixed is None else fixed
        before = NetworkedParameters(annotators, precision)
        values = self.steps.values(value_i, before)
        set_annotators(self.noise, self.steps.parameters(value_i, values, before))
        return values.mean_i


class ResidualsModule(RegressionModule):
    """A network trained on the mean label of every item, labels weighted by their precision.

    The first epoch learns the plain mean. Before every other epoch (`residual_precisions`)::

        precision_a = n_a / sum_n (y_n - f(x_i))^2 over the labels of annotator a
        z_i = sum_n precision_a y_n / sum_n precision_a, which the network learns

    Source: Raykar et al. 2010, section 5; a network in place of linear regression.
    """

    @torch.no_grad()
    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.on_epoch_start`."""
        if number > 0:
            ann = crowd.annotations[crowd.labelled]
            precision_n = self._measure(crowd)[ann.annotator]
            value_i = item_sums(ann, precision_n * ann.label) / item_sums(ann, precision_n)
            self.targets[crowd.labelled] = torch.from_numpy(value_i).unsqueeze(1).to(self.targets)

    def profile_annotators(self, crowd: CrowdData) -> None:
        """Measure the precisions against the network at the end of training."""
        self.fit_intercept(crowd)
        self._measure(crowd)

    def _measure(self, crowd: CrowdData) -> Floats:
        """The precisions of all annotators, which the layer keeps."""
        value_i = network_values(self.network, crowd)
        before_a = self.noise.profile["precision"]
        precision_a = residual_precisions(crowd.annotations[crowd.labelled], value_i, before_a)
        self.noise.init_from_profile(
            precision_a=precision_a, error_variance=self.noise.error_variance, bias_a=0.0
        )
        return precision_a


def residual_precisions(annotations: Annotations, value_i: Floats, before_a: Floats) -> Floats:
    """n_a / sum_n (y_n - f(x_i))^2 of every annotator; without labels they stay as before."""
    count_a = annotations.labels_per_annotator
    off_n = annotations.label - value_i[annotations.item]
    least_a = LEAST_VARIANCE * count_a  # a single label may be met exactly
    square_a = np.maximum(annotator_sums(annotations, off_n**2), least_a)
    return np.asarray(np.divide(count_a, square_a, out=before_a.copy(), where=count_a > 0))


@dataclass(frozen=True)
class EMRegression(NetworkMethod):
    """EM with a network for regression: an E-step and an M-step before every epoch.

    `annotators` holds the priors (`Gaussian`); with `biases` every annotator has one. A
    `network_precision` that is given is not learnt; with 0 the network learns what the labels alone
    say. With `precisions="residuals"` annotators have neither priors nor biases, and their
    precisions are measured against the network (`ResidualsModule`), as the source does.
    """

    tasks = ("regression",)
    annotators: Gaussian = field(default_factory=Gaussian)
    biases: bool = False
    network_precision: float | None = None
    precisions: Literal["posterior", "residuals"] = "posterior"

    def __post_init__(self) -> None:
        require_choice("precisions", self.precisions, PRECISIONS)
        plain = self.precisions == "posterior" or not self.biases
        require(plain, "biases", "False with precisions='residuals'", self.biases)
        fine = self.network_precision is None or self.network_precision >= 0
        require(fine, "network_precision", ">= 0", self.network_precision)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        if self.precisions == "residuals":
            layer = RegressionLayer(ann.n_annotators, kind="none")
            init_regression_layer(layer, ann, consensus=False)
            return ResidualsModule(network, layer, problem.task.targets(ann), on_targets=True)
        steps = GaussianSteps(
            problem.labelled,  # others would count for the network's precision
            self.annotators,
            biases=self.biases,
            fixed_precision=self.network_precision,
        )
        layer = RegressionLayer(ann.n_annotators, kind="B" if self.biases else "none")
        init_regression_layer(layer, ann, consensus=False)
        return EMRegressionModule(network, layer, problem.task.targets(ann), steps)


ROWS: dict[str, Method] = {
    "em-regression": EMRegression(
        defaults=SEARCH,
        paper=Paper(
            preset="p0/reviews", model={"precisions": "residuals", "refit_intercept": False}
        ),
        about=About(
            source="DL-EM in Rodrigues and Pereira 2018, Raykar et al. 2010",
            equation="y ~ N(z, 1 / precision_a), z ~ N(f(x), v); f learns E[z], in turns",
            cost="a plain epoch + a pass of the network + a few numbers per label",
            when="numbers; several labels per item, annotators of different precision, none biased",
        ),
    ),
}
