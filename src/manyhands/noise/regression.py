"""The crowd layer for numbers: a scale, a bias and a precision per annotator."""

import math
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation.gaussian_steps import NETWORK_SHARE, NETWORK_STRENGTH
from manyhands.core.arrays import Bools, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.settings import require, require_choice
from manyhands.noise.annotator_table import AnnotatorTable
from manyhands.noise.base import AnnotatorModel
from manyhands.noise.batch import AnnotationBatch, weighted

KINDS = ("none", "S", "B", "SB")
PRECISIONS = ("own", "equal", "none")
LEAST_VARIANCE = 1e-3  # at the start of training: 32-bit floats are too coarse for less


class RegressionLayer(AnnotatorModel):
    """Labels that are numbers: a linear function of the true value, plus noise, per annotator.

    ::

        z_i = f(x_i) + error of variance v
        y_n = scale_a z_i + bias_a + noise of variance 1 / precision_a

    f(x_i) is the output of the network, v its `error_variance`. All labels of an item share its
    error, so `joint_log_prob` takes them together. Labels should be standardised: a scale is then
    around the centre of the labels.

    Scales, biases and the network are only identified up to each other. The penalty draws every
    annotator towards scale 1 and bias 0. It is minus the log-prior, per label, of ::

        bias_a ~ N(0, w / bias_strength)
        scale_a ~ N(1, w / scale_strength)
        log p(precision_a) = s / 2 (log precision_a - w precision_a) + constant

    with s the `prior_strength` and w the noise variance of an average annotator. The prior of 1 / v
    has the last form, with `error_strength` and w / 100. Unlike in the aggregator `Gaussian`, the
    prior of a bias does not depend on the noise of the annotator, so an annotator with a large but
    steady bias is not taken for a noisy one.

    Settings
    --------
    kind:
        what annotators have of their own: "S" a scale, "B" a bias, "SB" both, "none" neither.
        Scales start at 1, biases at 0.
    precision:
        "own", or "equal" to give all labels the same weight and to leave out v in training. "none"
        is the layer of the source: the loss is the mean squared error of the labels, without
        precisions and without priors.
    prior_strength, bias_strength, scale_strength, error_strength:
        strengths of the priors, in labels.
    sparse:
        whether gradients are sparse (`AnnotatorTable`).
    device, dtype:
        of the parameters, as in torch's modules.

    Source: Rodrigues and Pereira 2018, crowd layers S, B and S+B.

    >>> from manyhands.noise import annotation_loss
    >>> layer = RegressionLayer(n_annotators=100, kind="SB")
    >>> row, annotator = torch.tensor([0, 0]), torch.tensor([7, 9])
    >>> batch = AnnotationBatch(row, annotator, label=torch.tensor([1.0, 0.5]))
    >>> annotation_loss(layer, torch.zeros(1, 1), batch).shape
    torch.Size([])
    """

    task = "regression"
    labels_a: Tensor
    crowd_variance: Tensor
    validation_variance: Tensor

    def __init__(
        self,
        n_annotators: int,
        *,
        kind: str = "B",
        precision: str = "own",
        prior_strength: float = 50.0,
        bias_strength: float = 5.0,
        scale_strength: float = 5.0,
        error_strength: float = NETWORK_STRENGTH,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n_annotators)
        require_choice("kind", kind, KINDS)
        require_choice("precision", precision, PRECISIONS)
        self.kind, self.precision = kind, precision
        self.strengths = {
            "prior_strength": prior_strength,
            "bias_strength": bias_strength,
            "scale_strength": scale_strength,
            "error_strength": error_strength,
        }
        for name, value in self.strengths.items():
            require(0 <= value < math.inf, name, ">= 0", value)
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        one, zero = torch.ones((), **factory), torch.zeros((), **factory)
        self.scale = AnnotatorTable(n_annotators, one, sparse=sparse)
        self.bias = AnnotatorTable(n_annotators, zero, sparse=sparse)
        self.log_precision = AnnotatorTable(n_annotators, zero, sparse=sparse)
        own = precision == "own"
        self.log_error = nn.Parameter(zero.clone(), requires_grad=own)  # log v
        self.scale.requires_grad_("S" in kind)
        self.bias.requires_grad_("B" in kind)
        self.log_precision.requires_grad_(own)
        self.register_buffer("labels_a", torch.ones(n_annotators, **factory))
        self.register_buffer("crowd_variance", one.clone())
        self.register_buffer("validation_variance", zero.clone())

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, except for its size and its parameters."""
        return {"kind": self.kind, "precision": self.precision, **self.strengths}

    @property
    def error_variance(self) -> float:
        """The variance of the network's error."""
        return float(self.log_error.detach().double().exp())

    @property
    def new_error_variance(self) -> float:
        """The variance of the network's error on new items: at least that on validation items."""
        return max(self.error_variance, float(self.validation_variance))

    @property
    def profile(self) -> dict[str, Floats]:
        """Scale, bias and precision of every annotator."""
        tables = {"scale": self.scale, "bias": self.bias, "precision": self.log_precision}
        columns = {
            name: table.weight.detach().cpu().double().numpy()[:, 0]
            for name, table in tables.items()
        }
        return columns | {"precision": np.exp(columns["precision"])}

    @torch.no_grad()
    def init_from_profile(
        self,
        *,
        precision_a: Floats | float,
        error_variance: float,
        bias_a: Floats | float = 0.0,
        scale_a: Floats | float = 1.0,
    ) -> Self:
        """Set the annotators, by one number for all or one each, and the network's error."""
        for table, value_a in (
            (self.scale, scale_a),
            (self.bias, bias_a),
            (self.log_precision, np.log(np.asarray(precision_a))),
        ):
            whole_a = np.broadcast_to(np.asarray(value_a, dtype=np.float64), self.n_annotators)
            table.restart(torch.from_numpy(whole_a.copy()))
        self.log_error.fill_(math.log(error_variance))
        return self

    @torch.no_grad()
    def rescale(self, factor: float, is_known_a: Bools | None = None) -> Self:
        """Adapt the annotators to a network whose output was multiplied by a factor.

        Scales are divided by it, those of the known annotators only if `is_known_a` is given.
        """
        known_a = slice(None) if is_known_a is None else torch.from_numpy(is_known_a)
        self.scale.weight[known_a] /= factor
        self.log_error.add_(2.0 * math.log(factor))
        return self

    @torch.no_grad()
    def set_prior(self, crowd_variance: float, labels_a: Offsets) -> Self:
        """Set the noise variance of an average annotator, and the labels of each annotator."""
        self.crowd_variance.fill_(max(crowd_variance, LEAST_VARIANCE))
        return self.set_label_counts(labels_a)

    @torch.no_grad()
    def set_label_counts(self, labels_a: Offsets) -> Self:
        """See `AnnotatorModel.set_label_counts`."""
        self.labels_a.copy_(torch.from_numpy(np.maximum(labels_a, 1)))
        return self

    def loss(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """See `AnnotatorModel.loss`; the outputs are values (b, 1)."""
        if outputs.shape[1:] != (1,):
            raise DataError(
                f"the network gives {tuple(outputs.shape)} for a batch of {len(outputs)} items "
                f"where one number each is expected, in shape ({len(outputs)}, 1)"
            )
        if len(batch) == 0:  # perhaps a step of fewer items than processes
            nothing = outputs.sum() * 0.0
            return nothing if batch.share is None else nothing + self.penalty(batch.step_annotators)
        if self.precision == "none":
            residual_n = self._residuals(outputs.flatten(), batch)[1]
            return batch.mean(weighted(residual_n.square(), batch.weight))
        joint_b = self.joint_log_prob(outputs, batch)
        if batch.weight is not None:  # annotations of an item have one weight
            weight_b = torch.ones_like(joint_b).index_copy(0, batch.row, batch.weight)
            joint_b = joint_b * weight_b
        log_likelihood: Tensor = joint_b.sum() / len(batch)
        if batch.share is not None:
            log_likelihood = log_likelihood * batch.share.labels
        return self.penalty(batch.step_annotators) - log_likelihood

    def joint_log_prob(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """Log density of the labels of every item, all its labels together, shape (b,).

        With r_n = y_n - scale_a f - bias_a and e the most probable error of the network, ::

            sum_n log N(r_n; scale_a e, 1 / precision_a) - e^2 / 2v - log(1 + v S) / 2
            e = v sum_n precision_a scale_a r_n / (1 + v S),  S = sum_n precision_a scale_a^2

        The outputs are the values f, shape (b,) or (b, 1).
        """
        value_b = outputs.flatten()
        scale_n, residual_n, log_precision_n = self._residuals(value_b, batch)
        variance = self.log_error.exp() if self.precision == "own" else self.log_error.new_zeros(())
        precision_n = log_precision_n.exp()
        weight_b = 1 + variance * _item_sums(precision_n * scale_n.square(), batch.row, value_b)
        score_b = _item_sums(precision_n * scale_n * residual_n, batch.row, value_b)
        error_b = variance * score_b / weight_b
        remaining_n = residual_n - scale_n * error_b.index_select(0, batch.row)
        log_n = _log_normal(remaining_n, log_precision_n)
        shared_b = error_b * score_b / weight_b + weight_b.log()  # e^2 / v, also where v is 0
        return _item_sums(log_n, batch.row, value_b) - shared_b / 2

    def label_log_prob(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """See `AnnotatorModel.label_log_prob`; the variance includes the network's error.

        The outputs are values, shape (b,) or (b, 1).
        """
        scale_n, residual_n, log_precision_n = self._residuals(outputs.flatten(), batch)
        variance_n = (-log_precision_n).exp() + scale_n.square() * self.log_error.exp()
        return _log_normal(residual_n, -variance_n.log())

    def penalty(self, annotator_n: Tensor | None = None, mask_n: Tensor | None = None) -> Tensor:
        """Minus the log-prior per label; a sum over annotators is estimated on the given ones."""
        if self.precision == "none":
            return self.log_error.new_zeros(())
        who = annotator_n
        if who is None:
            who = torch.arange(self.n_annotators, device=self.labels_a.device)
        s, w = self.strengths["prior_strength"], self.crowd_variance
        log_precision_n = self.log_precision(who)
        square_n = self.strengths["bias_strength"] * self.bias(who).square()
        square_n = square_n + self.strengths["scale_strength"] * (self.scale(who) - 1).square()
        minus_log_n = (square_n / w + s * (w * log_precision_n.exp() - log_precision_n)) / 2
        n_labels = self.labels_a.sum()
        if annotator_n is None:
            mean = minus_log_n.sum() / n_labels
        else:
            share_n = minus_log_n / self.labels_a[who]
            masked = share_n if mask_n is None else share_n * mask_n
            mean = masked.sum() / (max(len(who), 1) if mask_n is None else mask_n.sum())
        network = NETWORK_SHARE * w * (-self.log_error).exp() + self.log_error
        whole: Tensor = mean + self.strengths["error_strength"] / 2 * network / n_labels
        return whole

    def _residuals(self, value_b: Tensor, batch: AnnotationBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Scale, y - scale f - bias, and log-precision of every label."""
        scale_n = self.scale(batch.annotator)
        predicted_n = scale_n * value_b.index_select(0, batch.row)
        residual_n = batch.label - predicted_n - self.bias(batch.annotator)
        return scale_n, residual_n, self.log_precision(batch.annotator)


def _log_normal(residual_n: Tensor, log_precision_n: Tensor) -> Tensor:
    square_n = log_precision_n.exp() * residual_n.square()
    return (log_precision_n - math.log(2 * math.pi) - square_n) / 2


def _item_sums(value_n: Tensor, row_n: Tensor, like_b: Tensor) -> Tensor:
    """Sums over the labels of each item."""
    return torch.zeros_like(like_b).index_add(0, row_n, value_n)
