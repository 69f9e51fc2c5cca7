"""Annotators who give sets of classes: two rates for each class, behind sigmoid outputs."""

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.noise.annotator_table import AnnotatorTable
from manyhands.noise.base import AnnotatorModel
from manyhands.noise.batch import AnnotationBatch, weighted

_LEAST = 1e-6  # a probability of 0 would put a parameter at minus infinity


class MultilabelLayer(AnnotatorModel):
    """How often annotators are right about each class, for networks that give a logit per class.

    With s the sigmoid of the network's output f for class k of an item, ::

        P(y_nk = 1) = s(f_k) s(r_ak1) + s(-f_k) s(-r_ak0)
        r_akz = u_az + d_akz,   u_a ~ Normal(start, 1 / prior_precision)
                                d_ak ~ Normal(start, 1 / class_precision)

    s(r_ak1) is the sensitivity of annotator a for class k, s(r_ak0) the specificity. u is what is
    usual for the annotator, which all classes share, and d how far a class is from it: an annotator
    with few labels of a class is taken to be as good at it as at the others. The loss is the mean
    over labels of minus the log-probability of the whole set, the sum over classes.

    Batches have labels (n, k), 1 where a set has the class: `AnnotatedDataset` and `collate` make
    them of labels that are sets.

    Arguments
    ---------
    accuracy:
        sensitivity and specificity of everyone at the start.
    prior_precision, class_precision:
        of the normal priors around the start (`AnnotatorTable`).
    sparse, device, dtype:
        as in `NoiseModel`.

    >>> from manyhands.noise import annotation_loss
    >>> layer = MultilabelLayer(n_annotators=100, n_classes=3)
    >>> row, annotator = torch.tensor([0, 0]), torch.tensor([7, 9])
    >>> sets = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    >>> annotation_loss(layer, torch.zeros(1, 3), AnnotationBatch(row, annotator, sets)).item()
    2.0794...
    """

    task = "multilabel"
    settings = ("accuracy", "prior_precision", "class_precision")

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        accuracy: float = 0.9,
        prior_precision: float = 1.0,
        class_precision: float = 4.0,
        sparse: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n_annotators)
        require(n_classes >= 1, "n_classes", ">= 1", n_classes)
        require(0 < accuracy < 1, "accuracy", "above 0 and below 1", accuracy)
        self.n_classes = n_classes
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        usual_z = torch.full((2,), accuracy, **factory).logit()
        self.usual = AnnotatorTable(
            n_annotators, usual_z, prior_precision=prior_precision, sparse=sparse
        )
        self.by_class = AnnotatorTable(
            n_annotators, torch.zeros((n_classes, 2), **factory),
            prior_precision=class_precision, sparse=sparse,
        )  # fmt: skip

    @torch.no_grad()
    def usual_rates(self) -> Tensor:
        """What is usual for every annotator: specificity and sensitivity, shape (a, 2)."""
        everyone = torch.arange(self.n_annotators, device=self.usual.weight.device)
        usual_az: Tensor = self.usual(everyone).sigmoid()
        return usual_az

    def logit_right(self, annotator_n: Tensor) -> Tensor:
        """The logits r of being right, specificity first, of some annotators, shape (n, k, 2)."""
        rates: Tensor = self.usual(annotator_n)[:, None, :] + self.by_class(annotator_n)
        return rates

    def forward(self, outputs: Tensor, row_n: Tensor, annotator_n: Tensor) -> Tensor:
        """Log P(class not said) and log P(class said), shape (n, k, 2)."""
        logit_nk = outputs.index_select(0, row_n)
        log_p_nkz = torch.stack([logsigmoid(-logit_nk), logsigmoid(logit_nk)], dim=-1)
        right_nkz = self.logit_right(annotator_n)
        log_right, log_wrong = logsigmoid(right_nkz), logsigmoid(-right_nkz)
        not_said = torch.stack([log_right[..., 0], log_wrong[..., 1]], dim=-1)
        said = torch.stack([log_wrong[..., 0], log_right[..., 1]], dim=-1)
        return torch.stack(
            [torch.logsumexp(log_p_nkz + each, dim=-1) for each in (not_said, said)], dim=-1
        )

    def label_log_prob(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """See `AnnotatorModel.label_log_prob`; the outputs are logits of classes (b, k)."""
        log_nky = self(outputs, batch.row, batch.annotator)
        said_nk = batch.label.to(log_nky.dtype)
        log_nk: Tensor = said_nk * log_nky[..., 1] + (1 - said_nk) * log_nky[..., 0]
        return log_nk.sum(dim=-1)

    def loss(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """See `AnnotatorModel.loss`; the outputs are logits of classes (b, k)."""
        if outputs.shape[-1] != self.n_classes or batch.label.shape[1:] != (self.n_classes,):
            raise DataError(
                f"expected a logit and a label for each of {self.n_classes} classes; got outputs "
                f"of shape {tuple(outputs.shape)} and labels of shape {tuple(batch.label.shape)}"
            )
        if len(batch) == 0 and batch.share is None:
            return outputs.sum() * 0.0
        penalty = self.penalty(batch.step_annotators)
        if len(batch) == 0:  # a step of fewer items than processes: the others have its labels
            return penalty + outputs.sum() * 0.0
        term_n = weighted(self.label_log_prob(outputs, batch), batch.weight)
        return penalty - batch.mean(term_n)

    @torch.no_grad()
    def confusion(self) -> Tensor:
        """P(y | z) of every annotator and class, z = 1 where it applies, shape (a, k, z, y)."""
        everyone = torch.arange(self.n_annotators, device=self.usual.weight.device)
        right_akz = self.logit_right(everyone).sigmoid()
        absent = torch.stack([right_akz[..., 0], 1 - right_akz[..., 0]], dim=-1)
        present = torch.stack([1 - right_akz[..., 1], right_akz[..., 1]], dim=-1)
        return torch.stack([absent, present], dim=-2)

    @torch.no_grad()
    def posterior(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """The probability that classes apply, given network and labels, shape (b, k)."""
        right_nkz = self.logit_right(batch.annotator)
        said_nk = batch.label.to(outputs.dtype)
        sign_nk = 2 * said_nk - 1
        log_present = logsigmoid(sign_nk * right_nkz[..., 1])
        log_absent = logsigmoid(-sign_nk * right_nkz[..., 0])
        return outputs.index_add(0, batch.row, log_present - log_absent).sigmoid()

    @torch.no_grad()
    def init_from_confusions(self, confusion_akzy: Floats) -> Self:
        """Set the annotators from their confusions, as `SetConsensus.confusion` has them."""
        shape = (self.n_annotators, self.n_classes, 2, 2)
        if np.shape(confusion_akzy) != shape:
            raise DataError(f"confusions must have shape {shape}; got {np.shape(confusion_akzy)}")
        right_akz = torch.from_numpy(np.einsum("akzz->akz", np.asarray(confusion_akzy)).copy())
        logit_akz = right_akz.clamp(_LEAST, 1 - _LEAST).logit()
        usual_az = logit_akz.mean(dim=1)
        self.usual.restart(usual_az)
        self.by_class.restart(logit_akz - usual_az[:, None, :])
        return self
