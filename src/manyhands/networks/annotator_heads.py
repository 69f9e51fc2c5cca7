"""Doctor net: a head per annotator on a shared trunk."""

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from manyhands.core.errors import SettingError
from manyhands.core.settings import require
from manyhands.networks.last_layer import last_linear
from manyhands.noise.base import AnnotatorTable

_MOST_CELLS = 1 << 22  # label probabilities held at a time, items x annotators x classes: 16 MiB


class AnnotatorHeads(nn.Module):
    """One head per annotator on what a network gives its last linear layer.

    ::

        p_a(k | x) = softmax_k(W_a h(x) + b_a)
        log p(k | x) = log sum_a w_a p_a(k | x)

    h is the trunk, the network without its last `nn.Linear`, and all heads start where that layer
    did. A head says what its annotator would; called as a network, all are averaged, and the
    log-probabilities of the classes are the logits. Weights w are equal for all but those
    `left_out`, who gave no labels, until `weigh` tells others (`weighted`).

    Averaging costs a head per annotator and item. It takes annotators in parts, so that memory
    beside the heads is a few times `most_cells` numbers, or one head's for the items at hand.

    Source: Guan et al. 2018 (Who said what).

    >>> net = DoctorNet(nn.Linear(4, 3), n_annotators=100, n_classes=3)
    >>> net(torch.zeros(2, 4)).shape, net.heads.weight.shape
    (torch.Size([2, 3]), torch.Size([100, 15]))
    """

    log_weight: Tensor

    def __init__(
        self,
        network: nn.Module,
        n_annotators: int,
        n_classes: int,
        *,
        weighted: bool = False,
        left_out: Sequence[int] = (),
        most_cells: int = _MOST_CELLS,
    ) -> None:
        super().__init__()
        require(n_annotators >= 1, "n_annotators", ">= 1", n_annotators)
        self.asked_for, self.n_classes = type(network).__name__, n_classes
        self.weighted, self.most_cells = weighted, most_cells
        self.tap = _Tap()
        self.trunk, last = _cut(copy.deepcopy(network), n_classes, self.tap)
        start_kh = last.weight.detach()
        bias_k = start_kh.new_zeros(n_classes) if last.bias is None else last.bias.detach()
        start_kh = torch.cat([start_kh, bias_k.unsqueeze(1)], dim=1)
        self.heads = AnnotatorTable(n_annotators, start_kh)
        # Equal weights are no news to a file of weights; those that were learnt are.
        self.register_buffer("log_weight", torch.zeros(n_annotators), persistent=weighted)
        self.leave_out(left_out)

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the same of the network asked for, but for the weights."""
        left_out = torch.nonzero(self.log_weight.isneginf()).flatten().tolist()
        return {"weighted": self.weighted, "left_out": left_out}

    def leave_out(self, annotators: Sequence[int]) -> None:
        """Average all heads equally, except those of these annotators."""
        count = self.log_weight.numel() - len(annotators)
        require(count >= 1, "left_out", "fewer than all annotators", len(annotators))
        self.log_weight.fill_(-math.log(count))
        self.log_weight[torch.as_tensor(annotators, dtype=torch.long)] = -math.inf

    def weigh(self, log_weight_a: Tensor) -> None:
        """Average the heads with these weights from now on; they exp-sum to 1."""
        self.log_weight.copy_(log_weight_a)

    def features(self, inputs_b: Tensor) -> Tensor:
        """What the heads see of every item, h(x) and a one for the bias, shape (b, h + 1)."""
        given: Tensor = self.trunk(inputs_b)
        reached, self.tap.reached = self.tap.reached, None
        if reached is None or given is not reached or reached.dim() != 2:
            raise SettingError(
                "network must give what its last linear layer gives, unchanged and one row per "
                f"item, for every annotator to have a head; {self.asked_for} does more with it"
            )
        features_bh = reached.float()
        return torch.cat([features_bh, features_bh.new_ones(len(features_bh), 1)], dim=1)

    def log_labels(self, features_bh: Tensor, row_n: Tensor, annotator_n: Tensor) -> Tensor:
        """Log p_a(l | x) of some pairs of item and annotator, shape (n, l)."""
        head_nlh = self.heads(annotator_n)
        logits_nl = torch.bmm(head_nlh, features_bh.index_select(0, row_n).unsqueeze(2)).squeeze(2)
        return logits_nl.log_softmax(dim=-1)

    def log_said(self, features_bh: Tensor, row_n: Tensor, label_n: Tensor) -> Tensor:
        """Log p_a(label | x) of every head for some labels of the items, shape (n, a)."""
        return torch.cat(
            [log_bal[row_n, :, label_n] for _, log_bal in self._all_heads(features_bh)], dim=1
        )

    def forward(self, inputs_b: Tensor) -> Tensor:
        """Log-probabilities of the classes, averaged over the heads, shape (b, k)."""
        return self.average(self.features(inputs_b))

    def average(self, features_bh: Tensor) -> Tensor:
        """Log sum_a w_a p_a(k | x) of what the heads see, shape (b, k)."""
        log_bk = features_bh.new_full((len(features_bh), self.n_classes), -math.inf)
        for part, log_bak in self._all_heads(features_bh):
            weighed_bak = log_bak + self.log_weight[part].unsqueeze(1)
            log_bk = torch.logaddexp(log_bk, weighed_bak.logsumexp(dim=1))
        return log_bk

    def _all_heads(self, features_bh: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Log p_a(k | x), shape (b, a, k), for a part of the annotators at a time."""
        at_once = max(self.most_cells // max(len(features_bh) * self.n_classes, 1), 1)
        for first in range(0, self.heads.num_embeddings, at_once):
            part = slice(first, first + at_once)
            head_ah = self.heads.weight[part].reshape(-1, features_bh.shape[1])
            shape = (len(features_bh), len(head_ah) // self.n_classes, self.n_classes)
            yield part, linear(features_bh, head_ah).reshape(shape).log_softmax(dim=-1)


class _Tap(nn.Module):
    """Stands where the last linear layer was, and tells what reached it."""

    def __init__(self) -> None:
        super().__init__()
        self.reached: Tensor | None = None

    def forward(self, features: Tensor) -> Tensor:
        self.reached = features
        return features


def _cut(network: nn.Module, n_classes: int, tap: _Tap) -> tuple[nn.Module, nn.Linear]:
    """The network with the tap in the place of its last linear layer, and that layer."""
    found = last_linear(network, n_classes)
    if found is None:
        raise SettingError(
            f"network must end in an nn.Linear of known size with {n_classes} outputs, "
            f"{'one per class' if n_classes > 1 else 'the number'}, in the place of which every "
            f"annotator gets a head; {type(network).__name__} has none"
        )
    path, layer = found
    if path == "":
        return tap, layer
    home, _, name = path.rpartition(".")
    setattr(network.get_submodule(home), name, tap)
    return network, layer
