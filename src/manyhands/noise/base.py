"""What every noise model is: from the class of an item to the label an annotator gives it."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.core.settings import require

_PORTRAITS = 4096  # annotators portrayed at a time


class NoiseModel(nn.Module, ABC):
    """P(label | class probabilities of the item, annotator), for observed pairs only.

    `forward(log_class_bk, row_n, annotator_n, features_b)` takes the class log-probabilities of a
    batch of items and, for each of its annotations, the row of the item and the code of the
    annotator; it gives log P(label) of shape (n, l). Cost follows the annotations of the batch.
    A model that `needs_features` is only whole when it sees those of the items.
    """

    needs_features = False

    def __init__(self, n_annotators: int, n_classes: int) -> None:
        super().__init__()
        require(n_annotators >= 1, "n_annotators", ">= 1", n_annotators)
        require(n_classes >= 1, "n_classes", ">= 1", n_classes)
        self.n_annotators, self.n_classes = n_annotators, n_classes
        self.seen_logits = False

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

    @torch.no_grad()
    def confusion(self, annotator: Tensor | None = None) -> Tensor:
        """The portrait, shape (a, k, l): what is said when the class is certain."""
        like = next(self.parameters())
        device = like.device
        who = torch.arange(self.n_annotators) if annotator is None else annotator
        certain_kk = torch.eye(self.n_classes, device=device, dtype=like.dtype).log()
        parts = []
        for some in torch.split(who.to(device), _PORTRAITS):  # a look-up holds K x K cells per row
            row_n = torch.arange(self.n_classes, device=device).repeat(len(some))
            annotator_n = some.repeat_interleave(self.n_classes)
            parts.append(self(certain_kk, row_n, annotator_n, None).exp())
        return torch.cat(parts).reshape(len(who), self.n_classes, self.n_classes)


class AnnotatorTable(nn.Module):
    """One block of parameters per annotator, looked up by code.

    With `sparse=True` the gradient holds only the annotators of the batch, which an optimiser for
    sparse gradients needs for a step to cost the same whatever the size of the crowd.
    """

    def __init__(self, n_annotators: int, start: Tensor, *, sparse: bool = False) -> None:
        super().__init__()
        self.shape, self.sparse = start.shape, sparse
        self.weight = nn.Parameter(start.reshape(1, -1).repeat(n_annotators, 1))

    def forward(self, annotator_n: Tensor) -> Tensor:
        """The blocks of some annotators, shape (n, ...)."""
        rows = functional.embedding(annotator_n, self.weight, sparse=self.sparse)
        return rows.reshape(len(annotator_n), *self.shape)


def distinct(annotator_n: Tensor | None, n_annotators: int, device: torch.device) -> Tensor:
    """The different annotators of a batch; all of them when none are given."""
    if annotator_n is None or len(annotator_n) == 0:
        return torch.arange(n_annotators, device=device)
    found: Tensor = torch.unique(annotator_n)
    return found


def log_mixture(log_class_nk: Tensor, log_confusion_nkl: Tensor) -> Tensor:
    """Log p(y) = logsumexp_k [log p(k) + log C[k, y]], shape (n, l)."""
    return torch.logsumexp(log_class_nk.unsqueeze(-1) + log_confusion_nkl, dim=-2)
