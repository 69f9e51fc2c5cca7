"""A network that gives a number, and the annotators behind it."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from manyhands.aggregation import Gaussian, GaussianSteps, NetworkedParameters, aggregate
from manyhands.aggregation.numbers import summarise
from manyhands.aggregation.sums import item_sums
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.crowd_module import CrowdModule, network_outputs
from manyhands.engine.intercept import best_shift, best_size, expected_error
from manyhands.networks import rescale_output
from manyhands.noise import RegressionLayer, annotation_loss
from manyhands.noise.regression import LEAST_VARIANCE

_PASSES, _GAIN = 30, 1e-5  # over the labels for portraits; what one must gain per label
# Its prior holds biases for about as large as noise: a strong one takes the biased for noisy.
_PORTRAYED = Gaussian(bias_strength=1.0)
_FEW = 64  # items that show whether a network ends in a linear layer
_LEAST = 1e-30  # of a precision: its inverse is a 32-bit float


class RegressionModule(CrowdModule):
    """A network that gives one number, and a `RegressionLayer`; numbers are standardised.

    `targets` (i, 1) hold a number for every item; they are learnt by squared error. At the end the
    network's intercept is put where the loss is least: the last steps leave the level of all its
    predictions to chance. Likewise its size, which people's scales can make up for. Annotators
    that had no part in training are then portrayed beside it.
    """

    noise: RegressionLayer

    def __init__(
        self,
        network: nn.Module,
        noise: RegressionLayer,
        targets: Tensor,
        *,
        on_targets: bool = False,
    ) -> None:
        super().__init__(network, noise, targets, on_targets=on_targets)

    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """See `CrowdModule.log_said`; the log density of the standardised labels."""
        value_b = self.network(batch.inputs).float().squeeze(1)
        return self.noise.label_log_prob(value_b, batch.annotations)

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """See `CrowdModule.portray`."""
        ann, value_i = crowd.annotations[crowd.labelled], self.settle(crowd)
        if self.on_targets:
            crowd_variance = float(self.noise.crowd_variance)
            steps = GaussianSteps(ann, _PORTRAYED, crowd_variance=crowd_variance)
            take_over(
                self.noise, steps.profile_annotators(value_i, max_iter=_PASSES, tol=_GAIN).state
            )
        elif self.noise.precision == "equal":
            _share_noise(self.noise, ann, value_i)

    def best_shift(self, crowd: CrowdData, value_i: Floats) -> float:
        """What to add to f(x_i) of every labelled item for the loss to be least."""
        if self.on_targets:
            target_i = self.targets[crowd.labelled].squeeze(1).cpu().double().numpy()
            return float((target_i - value_i).mean())
        return best_shift(self.noise, crowd.annotations[crowd.labelled], value_i)

    def error_on(self, crowd: CrowdData) -> float:
        """The variance of the network's error on the items of a crowd, by their labels."""
        value_i = network_values(self.network, crowd)
        return expected_error(self.noise, crowd.annotations[crowd.labelled], value_i)

    @torch.no_grad()
    def settle(self, crowd: CrowdData) -> Floats:
        """Put level and size of the network at their best; f(x_i) of every labelled item."""
        value_i = network_values(self.network, crowd)
        few = next(crowd.batches(crowd.labelled[:_FEW], _FEW)).inputs
        shift = self.best_shift(crowd, value_i)
        if rescale_output(self.network, few, shift=shift):
            value_i = value_i + shift
        size = 1.0 if self.on_targets else best_size(self.noise, crowd.annotations)
        if size != 1.0 and rescale_output(self.network, few, scale=size):
            value_i = size * value_i
            self.noise.rescale(size, crowd.annotations.labels_per_annotator > 0)
        return value_i

    def _loss(self, given: Tensor, batch: CrowdBatch, warming_up: bool) -> Tensor:
        if len(batch.items) == 0:  # a step of fewer items than processes
            return given.sum() * 0.0
        if self.on_targets or warming_up:
            return mse_loss(given, self.targets[batch.items]) * batch.item_weight
        return annotation_loss(self.noise, given, batch.annotations) * batch.label_weight


def network_values(network: nn.Module, crowd: CrowdData) -> Floats:
    """f(x_i) of every labelled item, (i,)."""
    return np.asarray(network_outputs(network, crowd).squeeze(1).cpu().double().numpy())


def label_means(annotations: Annotations) -> Tensor:
    """The mean label of every item, (i, 1); 0 for those without labels."""
    mean_i = aggregate(annotations, "mean").values
    assert mean_i is not None, "labels are numbers here"
    return as_targets(np.where(annotations.labels_per_item > 0, mean_i, 0.0))


def as_targets(value_i: Floats) -> Tensor:
    """Numbers as targets, (i, 1)."""
    return torch.from_numpy(np.ascontiguousarray(value_i)).float().unsqueeze(1)


def started(
    layer: RegressionLayer, annotations: Annotations, *, consensus: bool
) -> RegressionLayer:
    """The layer with its priors, at the aggregator `Gaussian`'s annotators or at average ones.

    Where people may have biases, these are taken off before the variance within items is taken for
    that of an average annotator's noise.
    """
    found = Gaussian().fit(annotations).parameters
    bias_a = found.bias_a if "B" in layer.kind else np.zeros(layer.n_annotators)
    unbiased = replace(annotations, label=annotations.label - bias_a[annotations.annotator])
    noise = max(summarise(unbiased).within, LEAST_VARIANCE)
    layer.set_prior(noise, annotations.labels_per_annotator)
    own = consensus and layer.precision == "own"
    return layer.init_from_profile(
        precision_a=np.minimum(found.precision_a, 1.0 / LEAST_VARIANCE) if own else 1.0 / noise,
        error_variance=max(found.between, LEAST_VARIANCE),
        bias_a=bias_a if consensus else 0.0,
    )


def train_on_values(
    network: nn.Module, annotations: Annotations, target_i: Floats
) -> RegressionModule:
    """A learner of one number per item; its annotators are portraits."""
    layer = started(RegressionLayer(annotations.n_annotators), annotations, consensus=True)
    return RegressionModule(network, layer, as_targets(target_i), on_targets=True)


def take_over(layer: RegressionLayer, found: NetworkedParameters) -> None:
    """Put annotators and the precision of the network into a layer."""
    layer.init_from_profile(
        precision_a=found.annotators.precision_a,
        error_variance=1.0 / max(found.network_precision, _LEAST),
        bias_a=found.annotators.bias_a,
    )


def _share_noise(layer: RegressionLayer, annotations: Annotations, value_i: Floats) -> None:
    """One noise for everybody, and the network's error, from what the labels of an item share.

    With r_n = y_n - scale_a f - bias_a: v = sum of r_n r_m over pairs of labels of an item / that
    of scale_n scale_m, between 0 and the mean square; noise is what v leaves of the mean square.
    Where no item has two labels, half of it is the network's.
    """
    scale_a, bias_a = layer.profile["scale"], layer.profile["bias"]
    item, who = annotations.item, annotations.annotator
    off_n = annotations.label - scale_a[who] * value_i[item] - bias_a[who]
    pairs = [
        float((item_sums(annotations, each_n) ** 2).sum() - (each_n**2).sum())
        for each_n in (off_n, scale_a[who])
    ]
    square, scale2 = float((off_n**2).mean()), float((scale_a[who] ** 2).mean())
    error = pairs[0] / pairs[1] if pairs[1] > 0 else square / 2 / scale2
    error = min(max(error, 0.0), square / scale2)
    layer.init_from_profile(
        precision_a=1.0 / max(square - scale2 * error, LEAST_VARIANCE),
        error_variance=max(error, LEAST_VARIANCE),
        bias_a=bias_a,
        scale_a=scale_a,
    )
