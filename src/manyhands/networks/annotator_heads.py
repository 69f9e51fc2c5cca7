"""Networks with one output head per annotator on a shared trunk."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from manyhands.core.errors import SettingError
from manyhands.core.settings import require
from manyhands.networks.calling import call_network
from manyhands.networks.last_layer import last_linear
from manyhands.noise.annotator_table import AnnotatorTable

_MAX_CELLS = 1 << 22  # label probabilities held at a time, items x annotators x classes: 16 MiB


class AnnotatorHeads(nn.Module, ABC):
    """A trunk h(x) and one linear head per annotator; the prediction averages the heads.

    The trunk is a copy of the given network without its last `nn.Linear`. Every head starts as
    that layer. A head predicts the labels of its annotator; `forward` averages all heads.

    The weights w_a of the average are equal, and 0 for the annotators of `exclude`. With
    `weighted`, a method sets parameters of the average, and these are saved with the network.

    Attributes: `task`, "classification" or "regression".

    Source: Guan et al. 2018 (Who said what).
    """

    task: ClassVar[Literal["classification", "regression"]]
    log_weight: Tensor

    def __init__(
        self,
        network: nn.Module,
        n_annotators: int,
        n_classes: int,
        *,
        weighted: bool = False,
        excluded: Sequence[int] = (),
        max_cells: int = _MAX_CELLS,
    ) -> None:
        super().__init__()
        self.network_class = type(network).__name__
        require(n_annotators >= 1, "n_annotators", ">= 1", n_annotators)
        self.n_outputs = n_outputs = n_classes or 1
        self.weighted, self.max_cells = weighted, max_cells
        self.tap = _Tap()
        self.trunk, last = _replace_last(copy.deepcopy(network), n_outputs, self.tap)
        weight_kh = last.weight.detach()
        bias_k = weight_kh.new_zeros(n_outputs) if last.bias is None else last.bias.detach()
        self.heads = AnnotatorTable(n_annotators, torch.cat([weight_kh, bias_k.unsqueeze(1)], 1))
        # Equal weights follow from the settings; only learnt ones belong into a file.
        self.register_buffer("log_weight", torch.zeros(n_annotators), persistent=weighted)
        self.exclude(excluded)

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments that make the same network again, except for its weights."""
        excluded = torch.nonzero(self.log_weight.isneginf()).flatten().tolist()
        return {"weighted": self.weighted, "excluded": excluded}

    def exclude(self, annotators: Sequence[int]) -> None:
        """Average all heads with equal weights, except those of these annotators."""
        count = self.log_weight.numel() - len(annotators)
        require(count >= 1, "excluded", "fewer than all annotators", len(annotators))
        self.log_weight.fill_(-math.log(count))
        self.log_weight[torch.as_tensor(annotators, dtype=torch.long)] = -math.inf

    def features(self, inputs_b: Tensor) -> Tensor:
        """The input of the heads for every item, h(x) and a 1 for the bias, shape (b, h + 1)."""
        output: Tensor = call_network(self.trunk, inputs_b)
        reached, self.tap.reached = self.tap.reached, None
        if reached is None or output is not reached or reached.dim() != 2:
            raise SettingError(
                "network must return the output of its last linear layer, unchanged and one row "
                "per item, so that every annotator can have a head; "
                f"{self.network_class} does more with it"
            )
        features_bh = reached.float()
        return torch.cat([features_bh, features_bh.new_ones(len(features_bh), 1)], dim=1)

    def forward(self, inputs_b: Tensor) -> Tensor:
        """The average of the heads: log-probabilities of the classes (b, k), or values (b, 1)."""
        return self.average(self.features(inputs_b))

    @abstractmethod
    def average(self, features_bh: Tensor) -> Tensor:
        """The average of the heads for `features` of some items."""

    @abstractmethod
    def predict_labels(self, features_bh: Tensor, row_n: Tensor, annotator_n: Tensor) -> Tensor:
        """The prediction of the annotator's head for some pairs of item and annotator."""


class ClassificationHeads(AnnotatorHeads):
    """One head of class logits per annotator.

    ::

        p_a(k | x) = softmax_k(W_a h(x) + b_a)
        log p(k | x) = log sum_a w_a p_a(k | x)

    With `weighted`, a method sets the weights w_a (`set_weights`). The average needs every head of
    every item. It is computed for some annotators at a time, so that it holds about `max_cells`
    numbers, or those of one head.

    >>> net = ClassificationHeads(nn.Linear(4, 3), n_annotators=100, n_classes=3)
    >>> net(torch.zeros(2, 4)).shape, net.heads.weight.shape
    (torch.Size([2, 3]), torch.Size([100, 15]))
    """

    task = "classification"

    def set_weights(self, log_weight_a: Tensor) -> None:
        """Set the log-weights of the heads in the average; the weights sum to 1."""
        self.log_weight.copy_(log_weight_a)

    def predict_labels(self, features_bh: Tensor, row_n: Tensor, annotator_n: Tensor) -> Tensor:
        """Log p_a(l | x) of some pairs of item and annotator, shape (n, l)."""
        head_nlh = self.heads(annotator_n)
        logits_nl = torch.bmm(head_nlh, features_bh.index_select(0, row_n).unsqueeze(2)).squeeze(2)
        return logits_nl.log_softmax(dim=-1)

    def label_log_prob_by_head(self, features_bh: Tensor, row_n: Tensor, label_n: Tensor) -> Tensor:
        """Log p_a(label | x) of every head for some labels of the items, shape (n, a)."""
        return torch.cat(
            [log_bal[row_n, :, label_n] for _, log_bal in self._all_heads(features_bh)], dim=1
        )

    def average(self, features_bh: Tensor) -> Tensor:
        """Log sum_a w_a p_a(k | x), shape (b, k)."""
        log_bk = features_bh.new_full((len(features_bh), self.n_outputs), -math.inf)
        for part, log_bak in self._all_heads(features_bh):
            weighted_bak = log_bak + self.log_weight[part].unsqueeze(1)
            log_bk = torch.logaddexp(log_bk, weighted_bak.logsumexp(dim=1))
        return log_bk

    def _all_heads(self, features_bh: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Log p_a(k | x), shape (b, a, k), for a part of the annotators at a time."""
        at_once = max(self.max_cells // max(len(features_bh) * self.n_outputs, 1), 1)
        for first in range(0, self.heads.num_embeddings, at_once):
            part = slice(first, first + at_once)
            head_ah = self.heads.weight[part].reshape(-1, features_bh.shape[1])
            shape = (len(features_bh), len(head_ah) // self.n_outputs, self.n_outputs)
            yield part, linear(features_bh, head_ah).reshape(shape).log_softmax(dim=-1)


class RegressionHeads(AnnotatorHeads):
    """One head with a single output per annotator.

    ::

        mu_a(x) = W_a h(x) + b_a
        f(x) = sum_a w_a mu_a(x) + shift

    The average of linear heads is one linear head, so the cost of a prediction does not depend on
    the number of annotators. With `weighted`, a method sets the shift (`set_shift`), else it is 0.
    Numbers have no classes: `n_classes` is ignored, so that all heads are made in the same way.

    >>> net = RegressionHeads(nn.Linear(4, 1), n_annotators=100)
    >>> net(torch.zeros(2, 4)).shape, net.heads.weight.shape
    (torch.Size([2, 1]), torch.Size([100, 5]))
    """

    task = "regression"
    shift: Tensor

    def __init__(
        self,
        network: nn.Module,
        n_annotators: int,
        n_classes: int = 0,
        *,
        weighted: bool = False,
        excluded: Sequence[int] = (),
    ) -> None:
        super().__init__(network, n_annotators, 0, weighted=weighted, excluded=excluded)
        self.register_buffer("shift", torch.zeros(()), persistent=weighted)

    def set_shift(self, shift: float) -> None:
        """Set the number that is added to the average of the heads."""
        self.shift.fill_(shift)

    def predict_labels(self, features_bh: Tensor, row_n: Tensor, annotator_n: Tensor) -> Tensor:
        """mu_a(x) of some pairs of item and annotator, shape (n,)."""
        head_nh: Tensor = self.heads(annotator_n).squeeze(1)
        return (head_nh * features_bh.index_select(0, row_n)).sum(dim=1)

    def average(self, features_bh: Tensor) -> Tensor:
        """f(x), shape (b, 1)."""
        head_h = self.log_weight.exp() @ self.heads.weight
        return (features_bh @ head_h + self.shift).unsqueeze(1)


class _Tap(nn.Module):
    """Takes the place of the last linear layer and records its input."""

    def __init__(self) -> None:
        super().__init__()
        self.reached: Tensor | None = None

    def forward(self, features: Tensor) -> Tensor:
        self.reached = features
        return features


def _replace_last(network: nn.Module, n_outputs: int, tap: _Tap) -> tuple[nn.Module, nn.Linear]:
    """The network with the tap in the place of its last linear layer, and that layer."""
    last = last_linear(network, n_outputs)
    if last is None:
        raise SettingError(
            f"network must end in an nn.Linear of known size with {n_outputs} outputs, "
            f"{'one per class' if n_outputs > 1 else 'the number'}, which every annotator's head "
            f"replaces; {type(network).__name__} has none"
        )
    path, layer = last
    if path == "":
        return tap, layer
    parent, _, name = path.rpartition(".")
    setattr(network.get_submodule(parent), name, tap)
    return network, layer
