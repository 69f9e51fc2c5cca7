"""Annotator models: from the output of a network to the labels that annotators give."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, InitVar, dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import Floats, Offsets, symmetric_confusions
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.noise.annotator_table import AnnotatorTable, as_confusions
from manyhands.noise.batch import AnnotationBatch, Features, weighted

REDUCTIONS = ("labels", "items")
_MAX_CELLS = 1 << 24  # of `confusion`, which holds K x K x K numbers per annotator


class AnnotatorModel(nn.Module, ABC):
    """A model of the annotators, placed behind a network while the network is trained.

    It maps the output of the network for an item to the distribution of the labels of every
    annotator. `NoiseModel` is the base for classes, `RegressionLayer` the model for numbers.

    Attributes: `task`, "classification", "regression" or "multilabel"; `reduction`, whether the
    loss is a mean over labels, or the sum over the labels of an item, averaged over items;
    `label_smoothing`, the share s of the loss of classes in which all labels count alike, whichever
    was given: a term is (1 - s) log P(y_n) + s / K sum_l log P(l);
    `learning_rate_multipliers`, for the submodules that need a learning rate other than that of the
    rest, by name; `stacks`, which a class sets itself if `forward` works under `torch.func.vmap`
    and `penalty` takes a mask, so that several seeds can be trained as one program.
    """

    task: ClassVar[Literal["classification", "regression", "multilabel"]]
    stacks: ClassVar[bool] = False
    reduction: Literal["labels", "items"] = "labels"
    label_smoothing: float = 0.0
    learning_rate_multipliers: Mapping[str, float] = MappingProxyType({})

    def __init__(self, n_annotators: int) -> None:
        super().__init__()
        require(n_annotators >= 1, "n_annotators", ">= 1", n_annotators)
        self.n_annotators = n_annotators
        self.outputs_checked = False  # whether the outputs of the network were checked for mistakes

    @abstractmethod
    def loss(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """The training loss of a batch; see `annotation_loss`."""

    @abstractmethod
    def label_log_prob(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """Log-probability or log density of every label by itself, shape (n,)."""

    def penalty(self, annotator_n: Tensor | None = None, mask_n: Tensor | None = None) -> Tensor:
        """The term added to the loss: minus the log-prior per label (`AnnotatorTable.penalty`).

        A sum over annotators is estimated on the given ones, whose mask is not 0.
        """
        total = next(self.parameters()).new_zeros(())
        for table in self._tables():
            total = total + table.penalty(annotator_n, mask_n)
        return total

    @property
    def n_layer_parameters(self) -> int:
        """How many parameters map classes to labels; a gate between such maps is not one."""
        return sum(each.numel() for each in self.parameters())

    @torch.no_grad()
    def set_label_counts(self, labels_a: Offsets) -> Self:
        """Set how many labels each annotator gave, which weighs the priors against them."""
        count_a = torch.from_numpy(np.asarray(labels_a))
        for table in self._tables():
            table.set_label_counts(count_a)
        return self

    @torch.no_grad()
    def continue_from(self, fitted: Self, labels_a: Offsets) -> Self:
        """Take over a fitted model whose annotators are the first ones here.

        New annotators keep their own parameters. `labels_a` are the labels that each annotator of
        this model has given since; they add to those that the fitted model has seen.
        """
        fitted_state = fitted.state_dict()
        for name, each in self.state_dict().items():
            known = fitted_state[name].to(each)
            if name.split(".")[-1] == "labels_a":
                known = known + torch.from_numpy(labels_a[: len(known)]).to(each)
            part = each if each.shape == known.shape else each[: len(known)]
            part.copy_(known)
        return self

    def _tables(self) -> list[AnnotatorTable]:
        return [each for each in self.modules() if isinstance(each, AnnotatorTable)]


@dataclass(eq=False, repr=False)
class NoiseModel(AnnotatorModel):
    """P(label | class probabilities of the item, annotator), for the observed pairs only.

    `forward(log_class_bk, row_n, annotator_n, features_b)` returns log P(label), shape (n, l), for
    n annotations of b items. Its cost depends on the annotations of the batch, not on the number
    of annotators. A model with `needs_features` depends on the features of the items as well.

    The confusions of some models depend on the labelled items. For these, call
    `reset_statistics()` after training and then `update_statistics` on every training batch.

    A model declares its settings as dataclass fields and makes its parameters of them in
    `_make_parameters`, or has an `__init__` of its own. All models take whether gradients are
    `sparse` (`AnnotatorTable`), and `device` and `dtype` of the parameters, as torch's modules do.
    """

    n_annotators: int
    n_classes: int
    _: KW_ONLY
    sparse: InitVar[bool] = False
    device: InitVar[torch.device | str | None] = None
    dtype: InitVar[torch.dtype | None] = None

    task = "classification"
    needs_features = False
    penalises_classes: ClassVar[bool] = False  # whether `class_penalty` is a number

    def __post_init__(
        self, sparse: bool, device: torch.device | str | None, dtype: torch.dtype | None
    ) -> None:
        super().__init__(self.n_annotators)
        require(self.n_classes >= 1, "n_classes", ">= 1", self.n_classes)
        self._make_parameters(sparse, {"device": device, "dtype": dtype})

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        """Check the settings and make the parameters; `factory` holds their device and dtype."""

    @abstractmethod
    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """Log-probability of every label, shape (n, l); the probabilities of a row sum to 1.

        Arguments: class log-probabilities `log_class_bk` (b, k) of the items; for every annotation
        the row of its item `row_n` (n,) and the code of its annotator `annotator_n` (n,);
        `features_b` (b, ...) of the items.
        """

    def loss(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """See `AnnotatorModel.loss`; the outputs are class logits (b, k)."""
        if outputs.shape[-1] != self.n_classes:
            raise DataError(
                f"the network gives {outputs.shape[-1]} classes where the labels have "
                f"{self.n_classes}"
            )
        if batch.label.ndim > 1:
            raise DataError(
                "labels are sets of classes, and this model is for single classes; use "
                "MultilabelLayer"
            )
        self.require_features(batch)
        if len(batch) == 0 and batch.share is None:
            return outputs.sum() * 0.0
        if not self.outputs_checked:
            warn_of_probabilities(outputs)
            self.outputs_checked = True  # once is enough: the check waits for the device
        log_class_bk = outputs.log_softmax(dim=-1)
        loss = self._batch_penalty(batch) - self._batch_likelihood(log_class_bk, batch)
        class_penalty = self._step_class_penalty(log_class_bk, batch)
        return loss if class_penalty is None else loss + class_penalty

    def _batch_likelihood(self, log_class_bk: Tensor, batch: AnnotationBatch) -> Tensor:
        if len(batch) == 0:  # a step of fewer items than processes: the others have its labels
            return log_class_bk.sum() * 0.0
        log_label_nl = self(log_class_bk, batch.row, batch.annotator, batch.features)
        term_n = weighted(self._smoothed(log_label_nl, batch.label), batch.weight)
        if self.reduction == "labels":
            return batch.mean(term_n)
        by_items = batch.sum(term_n) / len(log_class_bk)
        return by_items if batch.share is None else by_items * batch.share.items

    def _smoothed(self, log_label_nl: Tensor, label_n: Tensor) -> Tensor:
        term_n, share = self.log_likelihood(log_label_nl, label_n), self.label_smoothing
        return term_n if share == 0 else (1 - share) * term_n + share * log_label_nl.mean(dim=-1)

    def _batch_penalty(self, batch: AnnotationBatch) -> Tensor:
        if batch.mask is None:  # a model of your own may have a penalty without a mask
            return self.penalty(batch.step_annotators)
        return self.penalty(batch.annotator, batch.mask)

    def _step_class_penalty(self, log_class_bk: Tensor, batch: AnnotationBatch) -> Tensor | None:
        own = type(self).class_penalty is not NoiseModel.class_penalty
        if batch.share is not None and own:  # it need not be a mean over items
            log_class_bk = batch.share.gather(log_class_bk)
        return self.class_penalty(log_class_bk)

    def label_log_prob(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """See `AnnotatorModel.label_log_prob`; the outputs are class logits (b, k)."""
        log_class_bk = outputs.log_softmax(dim=-1)
        log_label_nl = self(log_class_bk, batch.row, batch.annotator, batch.features)
        return _at_label(log_label_nl, batch.label)

    def log_likelihood(self, log_label_nl: Tensor, label_n: Tensor) -> Tensor:
        """The term of every annotation that training maximises: log P of its label, shape (n,)."""
        return _at_label(log_label_nl, label_n)

    def class_penalty(self, log_class_bk: Tensor) -> Tensor | None:
        """The term added to the loss for the class probabilities of a batch; None for most."""
        return None

    @torch.no_grad()
    def init_from_confusions(self, confusion_akl: Floats) -> Self:
        """Set the parameters so that `confusion()` is as near to these confusions as possible.

        Rows are true classes, columns labels, as in `Consensus.confusion`. The confusions also
        become the means of the priors. Collected statistics are reset.
        """
        confusions = as_confusions(confusion_akl, self.n_annotators, self.n_classes)
        self.reset_statistics()
        if self.n_classes > 1:  # with one class there is only one confusion
            self._init_from(confusions)
        return self

    @abstractmethod
    def _init_from(self, confusion_akl: Tensor) -> None:
        """Set the parameters from positive confusions, in double precision on the CPU."""

    def init_from_accuracy(self, accuracy: float | Floats) -> Self:
        """`init_from_confusions` with a probability of a right label, and errors uniform.

        `accuracy` is one number for all annotators or an array (a,).
        """
        right = np.asarray(accuracy, dtype=np.float64)
        if right.shape not in {(), (self.n_annotators,)}:
            raise DataError(
                f"accuracies of shape {right.shape} for {self.n_annotators} annotators; "
                "give one number, or one per annotator"
            )
        require(bool(((right >= 0) & (right <= 1)).all()), "accuracy", "in 0..1", accuracy)
        return self.init_from_confusions(
            symmetric_confusions(np.full(self.n_annotators, right), self.n_classes)
        )

    def statistics(self) -> list[Tensor]:
        """The buffers that `update_statistics` adds to; sums, so several processes add theirs."""
        return []

    def reset_statistics(self) -> None:
        """Set the collected statistics to zero."""
        for sums in self.statistics():
            sums.zero_()

    def update_statistics(self, log_class_bk: Tensor, batch: AnnotationBatch) -> None:
        """Add a batch of the training data to the statistics of `confusion`; most have none."""

    @property
    def confusion_is_complete(self) -> bool:
        """Whether P(label | true class, annotator) is `confusion()` for every item."""
        return not self.needs_features and not self.statistics()

    def require_features(self, batch: AnnotationBatch) -> None:
        """Raise a `DataError` if the model needs the features of the items and has none."""
        if self.needs_features and batch.features is None:
            name = type(self).__name__
            raise DataError(f"{name} needs the items: give the batch their features")

    @torch.no_grad()
    def confusion(self, annotator: Tensor | None = None) -> Tensor:
        """P(label l | true class k) of every annotator, or of the given ones, shape (a, k, l)."""
        who = torch.arange(self.n_annotators) if annotator is None else annotator
        device = next(self.parameters()).device
        some = torch.split(who.to(device), max(_MAX_CELLS // self.cells_per_label, 1))
        return torch.cat([self.log_given_class(each_n).exp() for each_n in some])

    @property
    def cells_per_label(self) -> int:
        """Numbers that `log_given_class` takes for a label: a matrix for every class."""
        return self.n_classes**3

    def log_given_class(
        self, annotator_n: Tensor, row_n: Tensor | None = None, features_b: Features = None
    ) -> Tensor:
        """Log P(label l | true class k) of some annotations, shape (n, k, l).

        With the features of the items, `row_n` are the items of the annotations.
        """
        n_classes, like = self.n_classes, next(self.parameters())
        certain_kk = torch.eye(n_classes, device=annotator_n.device, dtype=like.dtype).log()
        row = torch.arange(n_classes, device=annotator_n.device).repeat(len(annotator_n))
        if row_n is not None and features_b is not None:  # a row for every item and class
            certain_kk = certain_kk.repeat(len(features_b), 1)
            row = row + n_classes * row_n.repeat_interleave(n_classes)
            features_b = features_b.repeat_interleave(n_classes, dim=0)
        who = annotator_n.repeat_interleave(n_classes)
        log_label: Tensor = self(certain_kk, row, who, features_b)
        return log_label.reshape(len(annotator_n), n_classes, n_classes)


def annotation_loss(layer: AnnotatorModel, logits: Tensor, batch: AnnotationBatch) -> Tensor:
    """Mean negative log-likelihood of the annotations of a batch, plus the penalties of the layer.

    ::

        loss = -mean_n log P(y_n | softmax(logits of the item), a_n) + penalty + class_penalty

    Every label counts once, or as its weight says. A batch without labels has loss 0. Arguments:
    `logits` (b, k), the output of any network for the items. For a `RegressionLayer` they are the
    predicted values (b, 1), and the labels of an item are taken together
    (`RegressionLayer.joint_log_prob`).

    >>> from manyhands.noise import SpeeLFC
    >>> row, annotator = torch.tensor([0, 0, 1]), torch.tensor([7, 9, 7])
    >>> batch = AnnotationBatch(row, annotator, label=torch.tensor([1, 1, 0]))
    >>> logits = torch.zeros(2, 3, requires_grad=True)
    >>> annotation_loss(SpeeLFC(n_annotators=10, n_classes=3), logits, batch).backward()
    >>> logits.grad.shape
    torch.Size([2, 3])
    """
    return layer.loss(logits, batch)


@torch.no_grad()
def warn_of_probabilities(logits: Tensor) -> None:
    """Warn if logits look like probabilities: none is below 0 and every row sums to 1."""
    if logits.shape[-1] < 2 or logits.numel() == 0 or logits.min() < 0:
        return
    if torch.allclose(logits.sum(dim=-1), torch.ones_like(logits[..., 0]), atol=1e-4):
        warnings.warn(
            "the network seems to give probabilities where logits are expected; "
            "remove the softmax at its end",
            stacklevel=4,
        )


def _at_label(log_label_nl: Tensor, label_n: Tensor) -> Tensor:
    return log_label_nl.gather(1, label_n.unsqueeze(1)).squeeze(1)
