"""Regression: a network that gives one number per item, and the annotators behind it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import Consensus, Gaussian, aggregate
from manyhands.aggregation.gaussian_steps import GaussianSteps, NetworkedParameters
from manyhands.aggregation.regression import summarise
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.classification import known_truth
from manyhands.engine.inputs import Inputs
from manyhands.engine.regression_posterior import (
    best_shift,
    best_size,
    expected_error,
    regression_consensus,
    share_noise,
)
from manyhands.engine.task import (
    CrowdModule,
    FittedModel,
    Metrics,
    NoiseSpec,
    Scores,
    TargetScaler,
    Task,
    network_outputs,
    predict_outputs,
)
from manyhands.evaluation import regression_scores
from manyhands.networks.calling import call_network
from manyhands.networks.last_layer import rescale_output
from manyhands.noise import RegressionLayer
from manyhands.noise.regression import LEAST_VARIANCE

_MAX_ITER, _TOL = 30, 1e-5  # of the EM that estimates profiles; the gain per label to go on
# The default prior expects biases about as large as noise: a strong one takes bias for noise.
_PROFILES = Gaussian(bias_strength=1.0)
_FEW = 64  # items that show whether a network ends in a linear layer
_MIN_PRECISION = 1e-30  # its inverse is a 32-bit float
_MAX_LABEL = 1e100  # squares of labels are summed
_ROUNDING = 1e-14


class RegressionModule(CrowdModule):
    """A network that gives one number, and a `RegressionLayer`; labels are standardised.

    `targets` (i, 1) hold a number for every item, which the network learns by squared error. At the
    end the intercept of the network is set where the loss is least: the last steps of training
    leave the level of all predictions to chance. So is the scale of the network, where the scales
    of annotators can compensate for it. Annotators that took no part in training are profiled then.
    """

    noise: RegressionLayer

    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """See `CrowdModule.label_log_prob`: the log density of standardised labels."""
        value_b = call_network(self.network, batch.inputs).float().squeeze(1)
        return self.noise.label_log_prob(value_b, batch.annotations)

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """See `CrowdModule.profile_annotators`."""
        if self.continues:  # a few new labels do not tell the level of all
            return
        ann, value_i = crowd.annotations[crowd.labelled], self.fit_intercept(crowd)
        if self.on_targets:
            crowd_variance = float(self.noise.crowd_variance)
            steps = GaussianSteps(ann, _PROFILES, crowd_variance=crowd_variance)
            found = steps.profile_annotators(value_i, max_iter=_MAX_ITER, tol=_TOL)
            set_annotators(self.noise, found.state)
        elif self.noise.precision != "own":
            share_noise(self.noise, ann, value_i)

    def best_shift(self, crowd: CrowdData, value_i: Floats) -> float:
        """The number to add to f(x_i) of every labelled item to make the loss least."""
        if self.on_targets:
            target_i = self.targets[crowd.labelled].squeeze(1).cpu().double().numpy()
            return float(np.average(target_i - value_i, weights=self._weights_of(crowd)))
        ann = crowd.annotations[crowd.labelled]
        return best_shift(self.noise, ann, value_i, self._weights_of(crowd))

    def _weights_of(self, crowd: CrowdData) -> Floats | None:
        """The weights of the labelled items."""
        if self.item_weights is None:
            return None
        weight_i: Floats = self.item_weights[crowd.labelled].cpu().double().numpy()
        return weight_i

    def add_validation_error(self, searched: CrowdModule, crowd: CrowdData) -> None:
        """Keep the variance of the network's error on validation items, by their labels."""
        value_i = network_values(searched.network, crowd)
        labels = crowd.annotations[crowd.labelled]
        noise: Any = searched.noise
        self.noise.validation_variance.fill_(expected_error(noise, labels, value_i))

    @torch.no_grad()
    def fit_intercept(self, crowd: CrowdData) -> Floats:
        """Set intercept and scale where the loss is least; return f(x_i) of labelled items.

        Without `refit_intercept` they stay as training left them.
        """
        value_i = network_values(self.network, crowd)
        if not self.refit_intercept:
            return value_i
        few = next(crowd.batches(crowd.labelled[:_FEW], _FEW)).inputs
        shift = self.best_shift(crowd, value_i)
        if rescale_output(self.network, few, shift=shift):
            value_i = value_i + shift
        size = 1.0 if self.on_targets else best_size(self.noise, crowd.annotations)
        if size != 1.0 and rescale_output(self.network, few, scale=size):
            value_i = size * value_i
            self.noise.rescale(size, crowd.annotations.labels_per_annotator > 0)
        return value_i

    def target_loss(self, outputs: Tensor, target_b: Tensor) -> Tensor:
        """See `CrowdModule.target_loss`: the squared error."""
        return (outputs - target_b).square().squeeze(1)


class Regression(Task):
    """Labels are numbers; annotators have biases, scales and precisions."""

    name = "regression"
    kind = "numbers"
    default_method = "crowd-layer-b"
    defaults = {"validation_unit": "items"}  # noqa: RUF012 - a constant of the class
    module_class = RegressionModule
    metrics = Metrics(
        "mae",
        ("rmse", "r2"),
        "mean absolute error against the truth",
        "mean log density of validation labels (no truth was used)",
        greater_is_better=False,
    )

    def fit_scaler(self, annotations: Annotations) -> TargetScaler:
        """The mean and deviation of all labels; the deviation of equal labels is taken as 1.

        >>> Regression().fit_scaler(Annotations.from_arrays([1, 1], ["u", "v"], [2.5, 4.5]))
        TargetScaler(mean=3.5, scale=1.0)
        """
        largest = float(np.abs(annotations.label).max(initial=0.0))
        if largest > _MAX_LABEL:
            raise DataError(
                f"a label is {largest:g}; give numbers up to {_MAX_LABEL:g} in another unit"
            )
        scale = float(annotations.label.std())
        differ = scale > _ROUNDING * largest  # equal numbers have a deviation of rounding errors
        return TargetScaler(float(annotations.label.mean()), scale if differ else 1.0)

    def truth_values(self, truth: Any, annotations: Annotations) -> AnyArray | None:
        """Numbers; NaN where the truth of an item is not given."""
        if truth is None:
            return None
        if not isinstance(truth, Mapping):
            given = list(truth)
            if len(given) != annotations.n_items:
                raise DataError(f"{len(given)} truths for {annotations.n_items} items")
            return _finite(given)
        values = np.full(annotations.n_items, np.nan)
        row, given_i = annotations.item_vocabulary.codes(truth), _finite(list(truth.values()))
        values[row[row >= 0]] = given_i[row >= 0]
        return values

    def targets(self, annotations: Annotations) -> Tensor:
        """See `Task.targets`: the mean label of every item (i, 1), 0 for items without labels."""
        mean_i = aggregate(annotations, "mean").values
        assert mean_i is not None, "labels are numbers here"
        return _as_targets(np.where(annotations.labels_per_item > 0, mean_i, 0.0))

    def module_on_consensus(
        self, network: nn.Module, consensus: Consensus, *, hard: bool
    ) -> RegressionModule:
        """See `Task.module_on_consensus`."""
        return self.module_on_truth(network, consensus.annotations, consensus.labels)

    def module_on_truth(
        self, network: nn.Module, annotations: Annotations, truth: AnyArray
    ) -> RegressionModule:
        """See `Task.module_on_truth`."""
        layer = RegressionLayer(annotations.n_annotators)
        init_regression_layer(layer, annotations, consensus=True)
        target_i1 = _as_targets(np.nan_to_num(truth))
        return RegressionModule(network, layer, target_i1, on_targets=True)

    def annotator_model(self, annotations: Annotations, annotators: Any) -> RegressionLayer:
        """See `Task.annotator_model`; annotators are arguments of `init_from_profile`."""
        layer = RegressionLayer(annotations.n_annotators)
        init_regression_layer(layer, annotations, consensus=False)
        return layer.init_from_profile(**annotators)

    def noise_spec(self, spec: NoiseSpec, noise: Any) -> NoiseSpec:
        """See `Task.noise_spec`: the kind of the layer, and its other settings."""
        settings = dict(noise.settings)
        return settings.pop("kind"), settings

    def restore_noise(
        self, name: str, settings: Mapping[str, Any], crowd: Annotations, n_features: int
    ) -> RegressionLayer:
        """See `Task.restore_noise`."""
        return RegressionLayer(crowd.n_annotators, kind=name, **settings)

    def predictions(self, outputs: Tensor, scaler: TargetScaler) -> Floats:
        """See `Task.predictions`: a number per item, in the unit of the labels."""
        return scaler.inverse_transform(outputs.squeeze(1).numpy())

    def posterior(self, model: FittedModel, inputs: Inputs, annotations: Annotations) -> Consensus:
        """See `Task.posterior`."""
        noise: Any = model.noise
        outputs = predict_outputs(model.network, inputs, model.device, model.settings)
        return regression_consensus(noise, model.scaler, annotations, outputs.squeeze(1).numpy())

    def _scores(self, truth: AnyArray, predicted: Any, features: Any) -> Scores | None:
        known = known_truth(truth)
        return regression_scores(truth[known], predicted[known]) if known.any() else None

    def scored_consensus(self, consensus: Any) -> Any:
        """See `Task.scored_consensus`: values."""
        return consensus.labels


def network_values(network: nn.Module, crowd: CrowdData) -> Floats:
    """f(x_i) of every labelled item, (i,)."""
    return np.asarray(network_outputs(network, crowd).squeeze(1).cpu().double().numpy())


def init_regression_layer(
    layer: RegressionLayer, annotations: Annotations, *, consensus: bool
) -> RegressionLayer:
    """Set the priors of a layer, and its annotators: those of `Gaussian`, or average ones.

    Where annotators may have biases, these are removed before the variance within items is taken as
    the noise of an average annotator.
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


def set_annotators(layer: RegressionLayer, found: NetworkedParameters) -> None:
    """Set the annotators and the error of the network in a layer."""
    layer.init_from_profile(
        precision_a=found.annotators.precision_a,
        error_variance=1.0 / max(found.network_precision, _MIN_PRECISION),
        bias_a=found.annotators.bias_a,
    )


def _as_targets(value_i: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(value_i)).float().unsqueeze(1)


def _finite(given: list[Any]) -> Floats:
    try:
        values = np.array([float(value) for value in given], dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("truths must be numbers, as the labels are") from None
    if np.isinf(values).any():
        raise DataError("truths must be finite numbers")
    return values
