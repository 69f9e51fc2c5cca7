"""The annotations of a batch of items, as annotator models take them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

Features = Tensor | None  # of the items of a batch, shape (b, ...), where they are known


@dataclass(frozen=True)
class StepShare:
    """Which part of a step a batch is, if a step is made in several parts.

    The gradients of the parts are averaged. `labels` is labels here x parts / labels of the step,
    by which a mean over labels is multiplied, and `items` the same for items. `annotator` are the
    annotators of all labels of the step. `gather` returns the rows of a tensor of all processes.
    """

    labels: float
    items: float
    annotator: Tensor
    gather: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class AnnotationBatch:
    """The annotations of a batch of items: row of the item, annotator and label, each (n,).

    Annotators are codes; labels are class codes, numbers for a `RegressionLayer`, or 0 and 1, shape
    (n, k), for a `MultilabelLayer`. `features` (b, ...) are those of the items, for models that
    need them. `weight` (n,) is how often an annotation counts in the loss; once by default. `mask`
    (n,) is 1, or 0 for annotations that only pad the batch to a size. `share` tells that the batch
    is a part of a step.

    >>> AnnotationBatch(torch.tensor([0, 0]), torch.tensor([3, 5]), torch.tensor([1, 1])).label
    tensor([1, 1])
    """

    row: Tensor
    annotator: Tensor
    label: Tensor
    features: Features = None
    weight: Tensor | None = None
    mask: Tensor | None = None
    share: StepShare | None = None

    def __len__(self) -> int:
        return len(self.row)

    def to(self, device: torch.device | str) -> "AnnotationBatch":
        """The same batch on another device."""
        names = ("row", "annotator", "label", "features", "weight", "mask")
        tensors = {name: getattr(self, name) for name in names}
        moved: dict[str, Any] = {
            name: None if each is None else each.to(device) for name, each in tensors.items()
        }
        return replace(self, **moved)

    def weighted(self, weight_b: Tensor) -> "AnnotationBatch":
        """The same batch in which every annotation has the weight of its item."""
        return replace(self, weight=weight_b[self.row])

    def sum(self, term_n: Tensor) -> Tensor:
        """The sum of a term over the annotations that are no padding."""
        return term_n.sum() if self.mask is None else (term_n * self.mask).sum()

    def mean(self, term_n: Tensor) -> Tensor:
        """The mean of a term over the annotations that are no padding.

        Of a part of a step it is what the part adds to the mean of the step.
        """
        if self.mask is not None:
            return (term_n * self.mask).sum() / self.mask.sum()
        return term_n.mean() if self.share is None else term_n.mean() * self.share.labels

    @property
    def step_annotators(self) -> Tensor:
        """The annotators of all labels of the step."""
        return self.annotator if self.share is None else self.share.annotator


def weighted(terms: Tensor, weight: Tensor | None) -> Tensor:
    """Terms of a loss times their weights; None is once."""
    return terms if weight is None else terms * weight
