"""EM with a network for numbers: what it and the labels believe of an item is learnt next."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from manyhands.aggregation import GaussianSteps, NetworkedParameters
from manyhands.core.arrays import Floats
from manyhands.engine.batches import CrowdData
from manyhands.engine.intercept import best_shift
from manyhands.engine.regression_module import RegressionModule, network_values, take_over
from manyhands.noise import RegressionLayer


class EMRegressionModule(RegressionModule):
    """A network trained on the mean of what it and the labels believe together.

    Before an epoch the E-step makes the targets and the M-step the precisions, and biases if any;
    the epoch is the network's part of the M-step.
    """

    def __init__(
        self, network: nn.Module, noise: RegressionLayer, targets: Tensor, steps: GaussianSteps
    ) -> None:
        super().__init__(network, noise, targets, on_targets=True)
        self.steps = steps

    @torch.no_grad()
    def begin_epoch(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.begin_epoch`."""
        value_i = self._step(crowd)
        self.targets[crowd.labelled] = torch.from_numpy(value_i).unsqueeze(1).to(self.targets)

    def best_shift(self, crowd: CrowdData, value_i: Floats) -> float:
        """See `RegressionModule.best_shift`: targets move with the network, labels do not."""
        return best_shift(self.noise, crowd.annotations[crowd.labelled], value_i)

    def profile_annotators(self, crowd: CrowdData) -> None:
        """One M-step more, for the network as it is at the end."""
        self.settle(crowd)
        self._step(crowd)

    def _step(self, crowd: CrowdData) -> Floats:
        """E- and M-step for the network as it is; the mean of what is believed of every item."""
        value_i = network_values(self.network, crowd)
        held, fixed = self.noise.profile, self.steps.fixed_precision
        annotators = replace(
            self.steps.first.annotators, bias_a=held["bias"], precision_a=held["precision"]
        )
        precision = 1.0 / self.noise.error_variance if fixed is None else fixed
        before = NetworkedParameters(annotators, precision)
        values = self.steps.values(value_i, before)
        take_over(self.noise, self.steps.parameters(value_i, values, before))
        return values.mean_i
