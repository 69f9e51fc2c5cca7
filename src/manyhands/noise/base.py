"""What every noise model is: from the class of an item to the label an annotator gives it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import Floats, Offsets
from manyhands.core.confusions import symmetric_confusions
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.noise.batch import AnnotationBatch
from manyhands.noise.starts import as_confusions

_MOST_CELLS = 1 << 24  # of a portrait's look-up, K x K x K for each annotator


class AnnotatorModel(nn.Module):
    """What stands behind a network while it learns: what people make of what it says."""

    relative_rates: ClassVar[
        Mapping[str, float]
    ] = {}  # parts that want to learn slower than the rest

    def __init__(self, n_annotators: int) -> None:
        super().__init__()
        require(n_annotators >= 1, "n_annotators", ">= 1", n_annotators)
        self.n_annotators = n_annotators
        self.seen_logits = False  # whether what the network gives was looked at for slips


class NoiseModel(AnnotatorModel, ABC):
    """P(label | class probabilities of the item, annotator), for observed pairs only.

    `forward(log_class_bk, row_n, annotator_n, features_b)` takes the class log-probabilities of a
    batch of items and, for each of its annotations, the row of the item and the code of the
    annotator; it gives log P(label) of shape (n, l). Cost follows the annotations of the batch.
    A model that `needs_features` is only whole when it sees those of the items.

    Some portraits rest on what was labelled: once the parameters are settled, `begin_observing()`
    and then `observe` every batch of the training data.
    """

    needs_features = False

    def __init__(self, n_annotators: int, n_classes: int) -> None:
        super().__init__(n_annotators)
        require(n_classes >= 1, "n_classes", ">= 1", n_classes)
        self.n_classes = n_classes

    @abstractmethod
    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """Log-probability of every label, shape (n, l); rows exp-sum to 1."""

    def log_likelihood(self, log_label_nl: Tensor, label_n: Tensor) -> Tensor:
        """Log P of the label said, for every annotation."""
        return log_label_nl.gather(1, label_n.unsqueeze(1)).squeeze(1)

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """What is added to the loss; a sum over annotators is estimated on those given."""
        return torch.zeros((), device=next(self.parameters()).device)

    def class_penalty(self, log_class_bk: Tensor) -> Tensor | None:
        """What is added to the loss for the network's class probabilities; most add nothing."""
        return None

    @torch.no_grad()
    def start_from(self, confusion_akl: Floats) -> Self:
        """Start where the portrait is as near to these confusions as the model allows.

        Row = true class, column = label said, such as `Consensus.confusion`. What was observed is
        forgotten.
        """
        confusions = as_confusions(confusion_akl, self.n_annotators, self.n_classes)
        self.begin_observing()
        if self.n_classes > 1:  # of one class there is one portrait only
            self._start_at(confusions)
        return self

    @abstractmethod
    def _start_at(self, confusion_akl: Tensor) -> None:
        """Set the parameters from positive confusions, in double precision on the CPU."""

    def start_by_accuracy(self, accuracy: float | Floats) -> Self:
        """Start with everybody right this often, one number or one each; mistakes are alike."""
        right = np.asarray(accuracy, dtype=np.float64)
        if right.shape not in {(), (self.n_annotators,)}:
            raise DataError(
                f"accuracies of shape {right.shape} for {self.n_annotators} annotators; "
                "give one number, or one for each"
            )
        require(bool(((right >= 0) & (right <= 1)).all()), "accuracy", "in 0..1", accuracy)
        return self.start_from(
            symmetric_confusions(np.full(self.n_annotators, right), self.n_classes)
        )

    @torch.no_grad()
    def count_labels(self, labels_a: Offsets) -> Self:
        """Tell how many labels everybody gave, which says how much a `pull` weighs beside them."""
        for table in self.modules():
            if isinstance(table, AnnotatorTable) and table.labels_a is not None:
                table.labels_a.copy_(torch.from_numpy(np.maximum(labels_a, 1)))
        return self

    def observations(self) -> list[Tensor]:
        """The buffers that `observe` adds to: sums, so several processes add theirs up."""
        return []

    def begin_observing(self) -> None:
        """Forget what was observed."""
        for sums in self.observations():
            sums.zero_()

    def observe(self, log_class_bk: Tensor, batch: AnnotationBatch) -> None:
        """Add a batch of the training data to what the portraits rest on; most need nothing."""

    def require_features(self, batch: AnnotationBatch) -> None:
        """Raise a `DataError` where the model looks at items and the batch does not show them."""
        if self.needs_features and batch.features is None:
            name = type(self).__name__
            raise DataError(f"{name} looks at the items: give the batch their features")

    @torch.no_grad()
    def confusion(self, annotator: Tensor | None = None) -> Tensor:
        """The portrait, shape (a, k, l): what is said when the class is certain."""
        like = next(self.parameters())
        device = like.device
        who = torch.arange(self.n_annotators) if annotator is None else annotator
        certain_kk = torch.eye(self.n_classes, device=device, dtype=like.dtype).log()
        parts = []
        at_once = max(_MOST_CELLS // self.n_classes**3, 1)
        for some in torch.split(who.to(device), at_once):
            row_n = torch.arange(self.n_classes, device=device).repeat(len(some))
            annotator_n = some.repeat_interleave(self.n_classes)
            parts.append(self(certain_kk, row_n, annotator_n, None).exp())
        return torch.cat(parts).reshape(len(who), self.n_classes, self.n_classes)


class AnnotatorTable(nn.Embedding):
    """One block of parameters per annotator, looked up by code.

    With `sparse=True` the gradient holds only the annotators of the batch, which an optimiser for
    sparse gradients needs for a step to cost the same whatever the size of the crowd.

    With `pull` > 0 a normal prior of variance 1 / pull stands around the start of every parameter.
    `penalty` is minus its log density per label: pull / 2N sum_a ||block_a - start_a||^2 with N
    labels in all. On a batch that is the mean over its annotations of
    pull / 2 ||block_a - start_a||^2 / n_a, where n_a, the labels of annotator a, are 1 unless
    `count_labels` tells them.
    """

    def __init__(
        self,
        n_annotators: int,
        start: Tensor,
        *,
        prior_precision: float = 0.0,
        sparse: bool = False,
    ) -> None:
        require(prior_precision >= 0, "prior_precision", ">= 0", prior_precision)
        weight = start.reshape(1, -1).repeat(n_annotators, 1)
        super().__init__(n_annotators, weight.shape[1], sparse=sparse, _weight=weight)
        self.shape, self.prior_precision = start.shape, prior_precision
        self.start: Tensor | None
        self.register_buffer("start", self.weight.detach().clone() if prior_precision else None)
        self.labels_a: Tensor | None
        self.register_buffer("labels_a", torch.ones(n_annotators) if prior_precision else None)

    @torch.no_grad()
    def start_at(self, start_a: Tensor) -> None:
        """Start anew from one block per annotator, shape (a, ...)."""
        self.weight.copy_(start_a.reshape(self.weight.shape))
        if self.start is not None:
            self.start.copy_(self.weight)

    def forward(self, annotator_n: Tensor) -> Tensor:
        """The blocks of some annotators, shape (n, ...)."""
        return self.flat(annotator_n).reshape(len(annotator_n), *self.shape)

    def flat(self, annotator_n: Tensor) -> Tensor:
        """The blocks of some annotators, a row of numbers each."""
        return super().forward(annotator_n)

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """Minus the log-prior per label, estimated on the annotations given."""
        if self.start is None or self.labels_a is None:
            return torch.zeros((), device=self.weight.device)
        if annotator_n is None:
            off_a = (self.weight - self.start).square().sum(dim=1)
            whole: Tensor = self.prior_precision / 2 * off_a.sum() / self.labels_a.sum()
            return whole
        off_n = (self.flat(annotator_n) - self.start[annotator_n]).square().sum(dim=1)
        part: Tensor = self.prior_precision / 2 * (off_n / self.labels_a[annotator_n]).sum()
        return part / max(len(annotator_n), 1)

    def penalty_of(self, flat_ac: Tensor, who: Tensor, count_a: Tensor | None) -> Tensor:
        """`penalty` by the rows of these annotators, who gave so many labels of the batch."""
        if self.start is None or self.labels_a is None:
            return torch.zeros((), device=self.weight.device)
        if count_a is None:
            return self.penalty()
        off_a = (flat_ac - self.start.index_select(0, who)).square().sum(dim=1)
        weight_a = (
            (self.prior_precision / 2 / count_a.sum())
            * count_a
            / self.labels_a.index_select(0, who)
        )
        return off_a @ weight_a


def distinct(
    annotator_n: Tensor | None, n_annotators: int, device: torch.device
) -> tuple[Tensor, Tensor | None]:
    """The different annotators of a batch and their labels in it; all, and None, without any."""
    if annotator_n is None or len(annotator_n) == 0:
        return torch.arange(n_annotators, device=device), None
    found, count = torch.unique(annotator_n, return_counts=True)
    return found, count


def log_mixture(log_class_nk: Tensor, log_confusion_nkl: Tensor) -> Tensor:
    """Log p(y) = logsumexp_k [log p(k) + log C[k, y]], shape (n, l)."""
    return torch.logsumexp(log_class_nk.unsqueeze(-1) + log_confusion_nkl, dim=-2)
