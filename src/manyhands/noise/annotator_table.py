"""The parameters of annotators: tables with a normal prior, and logits for given confusions."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.core.limits import product, require_memory
from manyhands.core.settings import require

_MIN_PROBABILITY = 1e-6  # a probability of 0 would put a parameter at minus infinity
_COPIES = 4  # of parameters: themselves, their gradient, and two moments of the optimiser
_ROUNDING = 1e-4  # how far the sum of a row may be from 1


class AnnotatorTable(nn.Embedding):
    """One block of parameters per annotator, looked up by code.

    With `sparse=True` the gradient holds only the annotators of the batch. An optimiser for sparse
    gradients then makes a step at the same cost for any number of annotators.

    With `prior_precision` > 0 every parameter has a normal prior with mean at its start and
    variance 1 / prior_precision. `penalty` is minus the log-prior per label, up to a constant::

        penalty = prior_precision / 2N sum_a ||block_a - start_a||^2,  N labels in all

    On a batch it is the mean over the annotations of prior_precision / 2 ||block_a - start_a||^2 /
    n_a. n_a is the number of labels of annotator a, which is 1 until `set_label_counts` sets it.

    Arguments: `start`, the block (...) that every annotator starts from; its dtype and device are
    those of the table.

    >>> table = AnnotatorTable(100, torch.eye(3), prior_precision=1.0)
    >>> table(torch.tensor([7, 9])).shape, table.penalty().item()
    (torch.Size([2, 3, 3]), 0.0)
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
        require_memory(
            "training",
            _COPIES * n_annotators * start.nbytes,
            product(n_annotators, *start.shape, of="parameters of annotators"),
            "merge rare classes, or choose a noise model with fewer parameters such as speelfc-d",
        )
        # On the meta device `nn.Embedding` draws no random numbers.
        super().__init__(n_annotators, start.numel(), sparse=sparse, device="meta")
        self.weight = nn.Parameter(start.reshape(1, -1).repeat(n_annotators, 1))
        self.shape, self.prior_precision = start.shape, prior_precision
        has_prior = prior_precision > 0
        self.start: Tensor | None
        self.register_buffer("start", self.weight.detach().clone() if has_prior else None)
        # Weighs sums over annotators in training; files need not hold it.
        self.count_a: Tensor
        self.register_buffer("count_a", self.weight.new_ones(n_annotators), persistent=False)
        self.labels_a: Tensor | None
        self.register_buffer("labels_a", self.weight.new_ones(n_annotators) if has_prior else None)

    @torch.no_grad()
    def restart(self, start_a: Tensor) -> None:
        """Set the parameters and the means of their prior to one block per annotator, (a, ...)."""
        self.weight.copy_(start_a.reshape(self.weight.shape))
        if self.start is not None:
            self.start.copy_(self.weight)

    @torch.no_grad()
    def set_label_counts(self, labels_a: Tensor) -> None:
        """Set how many labels each annotator gave, which weighs the prior against them."""
        self.count_a.copy_(labels_a)
        if self.labels_a is not None:
            self.labels_a.copy_(labels_a.clamp_min(1))

    def summands(self, annotator_n: Tensor | None) -> tuple[Tensor, Tensor]:
        """Annotators and weights w for a sum over all who gave labels, sum_a term_a.

        ::

            all of them, w = 1;    with sparse gradients those of a batch of B labels,
            w_n = N / (B n_a), N labels in all, n_a those of the annotator of label n

        The second sum equals the first on average over batches: an annotator with many labels
        comes more often and counts less each time.
        """
        count_a = self.count_a
        if annotator_n is None or len(annotator_n) == 0 or not self.sparse:
            who = torch.arange(self.num_embeddings, device=count_a.device)
            return who, (count_a > 0).to(count_a.dtype)
        return annotator_n, count_a.sum() / (len(annotator_n) * count_a[annotator_n])

    def forward(self, annotator_n: Tensor) -> Tensor:
        """The blocks of some annotators, shape (n, ...)."""
        return self.flat(annotator_n).reshape(len(annotator_n), *self.shape)

    def flat(self, annotator_n: Tensor) -> Tensor:
        """The blocks of some annotators, each flattened to a row."""
        return super().forward(annotator_n)

    def penalty(self, annotator_n: Tensor | None = None, mask_n: Tensor | None = None) -> Tensor:
        """Minus the log-prior per label, of all labels or estimated on the given annotations.

        Annotations with a mask of 0 only pad a batch.
        """
        if self.start is None or self.labels_a is None:
            return self.weight.new_zeros(())
        if annotator_n is None:
            square_a = (self.weight - self.start).square().sum(dim=1)
            whole: Tensor = self.prior_precision / 2 * square_a.sum() / self.labels_a.sum()
            return whole
        square_n = (self.flat(annotator_n) - self.start[annotator_n]).square().sum(dim=1)
        share_n = square_n / self.labels_a[annotator_n]
        if mask_n is not None:
            return self.prior_precision / 2 * (share_n * mask_n).sum() / mask_n.sum()
        part: Tensor = self.prior_precision / 2 * share_n.sum()
        return part / max(len(annotator_n), 1)


def unique_annotators(
    annotator_n: Tensor | None,
    n_annotators: int,
    device: torch.device,
    mask_n: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The distinct annotators of a batch and the labels of each in it; without a batch, all.

    With a mask they are all annotators, with a count of 0 for those who are not in the batch: the
    number of the others depends on the data, and so has no shape under `torch.func.vmap`.
    """
    if annotator_n is None or len(annotator_n) == 0:
        return torch.arange(n_annotators, device=device), None
    if mask_n is not None:
        nobody = torch.zeros(n_annotators, dtype=mask_n.dtype, device=device)
        return torch.arange(n_annotators, device=device), nobody.index_add(0, annotator_n, mask_n)
    who, count_a = torch.unique(annotator_n, return_counts=True)
    return who, count_a


def mean_over_present(term_a: Tensor, count_a: Tensor | None) -> Tensor:
    """The mean of a term over the annotators with labels in a batch; None counts all."""
    if count_a is None:
        return term_a.mean()
    present_a = (count_a > 0).to(term_a.dtype)
    return (term_a * present_a).sum() / present_a.sum()


def as_confusions(confusion_akl: Floats, n_annotators: int, n_classes: int) -> Tensor:
    """The confusions as a tensor of positive probabilities; raise if a row is no distribution."""
    confusion_akl = np.asarray(confusion_akl, dtype=np.float64)
    expected = (n_annotators, n_classes, n_classes)
    if confusion_akl.shape != expected:
        raise DataError(
            f"confusions of shape {confusion_akl.shape} where {n_annotators} annotators and "
            f"{n_classes} classes need {expected}: annotator, true class, label"
        )
    total_ak = confusion_akl.sum(axis=2)
    valid_ak = (np.abs(total_ak - 1.0) <= _ROUNDING) & (confusion_akl >= 0).all(axis=2)
    if not valid_ak.all():
        annotator, true_class = np.argwhere(~valid_ak)[0].tolist()
        raise DataError(
            f"row {true_class} of the confusion of annotator {annotator} is no distribution: "
            f"it sums to {total_ak[annotator, true_class]:.6g}, with "
            f"{confusion_akl[annotator, true_class].min():.6g} the least; give rows that are >= 0 "
            "and sum to 1"
        )
    positive = torch.from_numpy(confusion_akl).clamp_min(_MIN_PROBABILITY)
    return positive / positive.sum(dim=2, keepdim=True)


def diagonal_logit(accuracy: float, n_classes: int) -> float:
    """The logit that a softmax over it and K - 1 zeros turns into this probability.

    >>> torch.tensor([diagonal_logit(0.8, 3), 0.0, 0.0]).softmax(0)[0].item()  # doctest: +ELLIPSIS
    0.8...
    """
    return math.log(accuracy * max(n_classes - 1, 1) / (1 - accuracy))


def matrix_logits(confusion_kl: Tensor) -> Tensor:
    """W[l, k] = log C[k, l] - mean_l log C[k, l], so that softmax(W e_k) = C[k], shape (..., l, k).

    A constant added to a column of W adds the same to every logit of W f and changes no
    probability. With columns of mean zero W has the smallest norm.
    """
    log_lk = confusion_kl.log().transpose(-1, -2)
    return log_lk - log_lk.mean(dim=-2, keepdim=True)


def log_mixture(log_class_nk: Tensor, log_confusion_nkl: Tensor) -> Tensor:
    """Log p(y) = logsumexp_k [log p(k) + log C[k, y]], shape (n, l)."""
    return torch.logsumexp(log_class_nk.unsqueeze(-1) + log_confusion_nkl, dim=-2)
