"""Crowd layer for numbers: a scale, a bias and a precision per annotator."""

import math
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation.gaussian_steps import NETWORK_SHARE, NETWORK_STRENGTH
from manyhands.core.arrays import Bools, Floats, Offsets
from manyhands.core.settings import require, require_choice
from manyhands.noise.base import AnnotatorModel, AnnotatorTable
from manyhands.noise.batch import AnnotationBatch

KINDS = ("none", "S", "B", "SB")
PRECISIONS = ("own", "equal")
LEAST_VARIANCE = 1e-3  # at the start of training: 32-bit floats are too coarse for less


class RegressionLayer(AnnotatorModel):
    """Labels that are numbers: what is true, seen by the network with an error, told with another.

    ::

        z_i = f(x_i) + error of variance v
        y_n = scale_a z_i + bias_a + noise of variance 1 / precision_a

    with v the network's `error_variance`. `kind` says what annotators have of their own: "S" a
    scale, "B" a bias, "SB" both, "none" neither; all start at scale 1 and bias 0. Labels of an
    item share its error, so `log_likelihood` takes them together. With `precision="equal"` all
    labels weigh alike and v is 0 in training: the likelihood is the squared error of the source.

    Scale, bias and network are only known up to each other, so the penalty draws annotators to
    (1, 0): it is minus the log-prior, per label, of

    ::

        bias_a ~ N(0, w / bias_strength)
        scale_a ~ N(1, w / scale_strength)
        log p(precision_a) = s / 2 (log precision_a - w precision_a) + constant

    and of the last for 1 / v as well, with strengths in labels, s = `prior_strength`, and w the
    variance of an average annotator's noise; for v they are `error_strength` and w / 100. Unlike
    that of the aggregator `Gaussian`, the prior of a bias knows nothing of its owner's noise: who
    is far off but steady is not taken for noisy.

    Source: Rodrigues and Pereira 2018, crowd layers S, B and S+B. Numbers are meant to be
    standardised, so that a scale is around the centre of the labels.

    >>> layer = RegressionLayer(100, kind="SB")
    >>> row, annotator, label = torch.tensor([0, 0]), torch.tensor([7, 9]), torch.tensor([1.0, 0.5])
    >>> batch = AnnotationBatch(row, annotator, label)
    >>> regression_loss(layer, torch.zeros(1, 1), batch).shape
    torch.Size([])
    """

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
        own = precision == "own"
        self.scale = AnnotatorTable(n_annotators, torch.ones(()), sparse=sparse)
        self.bias = AnnotatorTable(n_annotators, torch.zeros(()), sparse=sparse)
        self.log_precision = AnnotatorTable(n_annotators, torch.zeros(()), sparse=sparse)
        self.log_error = nn.Parameter(torch.zeros(()), requires_grad=own)  # log v
        self.scale.requires_grad_("S" in kind)
        self.bias.requires_grad_("B" in kind)
        self.log_precision.requires_grad_(own)
        self.register_buffer("labels_a", torch.ones(n_annotators))
        self.register_buffer("crowd_variance", torch.ones(()))
        self.register_buffer("validation_variance", torch.zeros(()))

    @property
    def settings(self) -> dict[str, Any]:
        """What makes a layer like this one, but for its size and parameters."""
        return {"kind": self.kind, "precision": self.precision, **self.strengths}

    @property
    def error_variance(self) -> float:
        """The variance of the network's error."""
        return float(self.log_error.detach().double().exp())

    @property
    def new_error_variance(self) -> float:
        """The same for items that nothing was learnt from: not below what those aside showed."""
        return max(self.error_variance, float(self.validation_variance))

    @property
    def profile(self) -> dict[str, Floats]:
        """Everybody's scale, bias and precision."""
        tables = {"scale": self.scale, "bias": self.bias, "precision": self.log_precision}
        columns = {
            name: table.weight.detach().cpu().double().numpy()[:, 0]
            for name, table in tables.items()
        }
        return columns | {"precision": np.exp(columns["precision"])}

    @torch.no_grad()
    def start_from(
        self,
        *,
        precision_a: Floats | float,
        error_variance: float,
        bias_a: Floats | float = 0.0,
        scale_a: Floats | float = 1.0,
    ) -> Self:
        """Set the annotators, one number for all or one each, and the network's error."""
        for table, value_a in (
            (self.scale, scale_a),
            (self.bias, bias_a),
            (self.log_precision, np.log(np.asarray(precision_a))),
        ):
            whole_a = np.broadcast_to(np.asarray(value_a, dtype=np.float64), self.n_annotators)
            table.start_at(torch.from_numpy(whole_a.copy()))
        self.log_error.fill_(math.log(error_variance))
        return self

    @torch.no_grad()
    def rescale(self, times: float, is_known_a: Bools | None = None) -> Self:
        """The same annotators behind a network that gives so many times as much.

        Of those who are not known the scales stay where they are.
        """
        known_a = slice(None) if is_known_a is None else torch.from_numpy(is_known_a)
        self.scale.weight[known_a] /= times
        self.log_error.add_(2.0 * math.log(times))
        return self

    @torch.no_grad()
    def expect(self, crowd_variance: float, labels_a: Offsets) -> Self:
        """Set the priors: an average annotator's noise, and how many labels everybody gave."""
        self.crowd_variance.fill_(max(crowd_variance, LEAST_VARIANCE))
        self.labels_a.copy_(torch.from_numpy(np.maximum(labels_a, 1)))
        return self

    def log_likelihood(self, value_b: Tensor, batch: AnnotationBatch) -> Tensor:
        """Log density of the labels of every item, all its labels together, shape (b,).

        With r_n = y_n - scale_a f - bias_a and e the most probable error of the network, ::

            sum_n log N(r_n; scale_a e, 1 / precision_a) - e^2 / 2v - log(1 + v S) / 2
            e = v sum_n precision_a scale_a r_n / (1 + v S),  S = sum_n precision_a scale_a^2
        """
        scale_n, off_n, log_precision_n = self._parts(value_b, batch)
        variance = self.log_error.exp() if self.precision == "own" else self.log_error.new_zeros(())
        precision_n = log_precision_n.exp()
        weigh_b = 1 + variance * _summed(precision_n * scale_n.square(), batch.row, value_b)
        pull_b = _summed(precision_n * scale_n * off_n, batch.row, value_b)
        error_b = variance * pull_b / weigh_b
        log_n = _log_normal(off_n - scale_n * error_b.index_select(0, batch.row), log_precision_n)
        known_b = error_b * pull_b / weigh_b + weigh_b.log()  # e^2 / v, also where v is 0
        return _summed(log_n, batch.row, value_b) - known_b / 2

    def label_log_prob(self, value_b: Tensor, batch: AnnotationBatch) -> Tensor:
        """Log density of every label by itself, shape (n,): the network's error counts in full."""
        scale_n, off_n, log_precision_n = self._parts(value_b, batch)
        variance_n = (-log_precision_n).exp() + scale_n.square() * self.log_error.exp()
        return _log_normal(off_n, -variance_n.log())

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """Minus the log-prior per label; a sum over annotators is estimated on those given."""
        who = annotator_n
        if who is None:
            who = torch.arange(self.n_annotators, device=self.labels_a.device)
        s, w = self.strengths["prior_strength"], self.crowd_variance
        log_precision_n = self.log_precision(who)
        square_n = self.strengths["bias_strength"] * self.bias(who).square()
        square_n = square_n + self.strengths["scale_strength"] * (self.scale(who) - 1).square()
        minus_log_n = (square_n / w + s * (w * log_precision_n.exp() - log_precision_n)) / 2
        every = self.labels_a.sum()
        if annotator_n is None:
            mean = minus_log_n.sum() / every
        else:
            mean = (minus_log_n / self.labels_a[who]).sum() / max(len(who), 1)
        network = NETWORK_SHARE * w * (-self.log_error).exp() + self.log_error
        whole: Tensor = mean + self.strengths["error_strength"] / 2 * network / every
        return whole

    def _parts(self, value_b: Tensor, batch: AnnotationBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Scale, y - scale f - bias, and log-precision of every label."""
        scale_n = self.scale(batch.annotator)
        off_n = (
            batch.label - scale_n * value_b.index_select(0, batch.row) - self.bias(batch.annotator)
        )
        return scale_n, off_n, self.log_precision(batch.annotator)


def regression_loss(layer: RegressionLayer, value_b1: Tensor, batch: AnnotationBatch) -> Tensor:
    """Minus the mean log density of a batch's labels, plus the layer's penalty.

    `value_b1` (b, 1) come from any network; a batch of items without labels costs nothing.
    """
    value_b = value_b1.squeeze(1)
    if len(batch) == 0:
        return value_b.sum() * 0.0
    said: Tensor = layer.log_likelihood(value_b, batch).sum() / len(batch)
    return layer.penalty(batch.annotator) - said


def _log_normal(off_n: Tensor, log_precision_n: Tensor) -> Tensor:
    square_n = log_precision_n.exp() * off_n.square()
    return (log_precision_n - math.log(2 * math.pi) - square_n) / 2


def _summed(value_n: Tensor, row_n: Tensor, like_b: Tensor) -> Tensor:
    """Sums over the labels of each item."""
    return torch.zeros_like(like_b).index_add(0, row_n, value_n)
