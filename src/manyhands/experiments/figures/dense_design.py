"""A crowd layer as public codes lay it out: every annotator's output for every item.

Labels are an array of items x annotators with holes. A step computes what all annotators would say
of the batch and masks those who said nothing, so its cost follows the size of the crowd. It is here
to be measured beside the design of this library, whose cost follows the labels.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.seeds import seed_for
from manyhands.networks import MLP

MISSING = -1


class DenseCrowdLayer(nn.Module):
    """softmax(W_a f) of every annotator a, shape (b, a, l)."""

    def __init__(self, n_annotators: int, n_classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(n_classes).repeat(n_annotators, 1, 1))

    def forward(self, class_bk: Tensor) -> Tensor:
        """Log-probabilities of the labels."""
        return torch.einsum("alk,bk->bal", self.weight, class_bk).log_softmax(dim=-1)


def masked_loss(log_label_bal: Tensor, label_ba: Tensor) -> Tensor:
    """The mean of minus log P of the labels that are there."""
    flat_loss: Tensor = functional.nll_loss(
        log_label_bal.flatten(0, 1), label_ba.flatten(), ignore_index=MISSING
    )
    return flat_loss


def train_dense(
    features: AnyArray, annotations: Annotations, *, epochs: int, batch_size: int, seed: int
) -> DenseCrowdLayer:
    """Train the usual network with a dense crowd layer on top; the layer."""
    label_ia = torch.from_numpy(annotations.to_dense(missing=MISSING).astype(np.int64))
    inputs = torch.from_numpy(np.asarray(features, dtype=np.float32))
    draw = torch.Generator().manual_seed(seed_for(seed, "dense design"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "start of the weights"))
        network = MLP(inputs.shape[1], annotations.n_classes, hidden=(128,), dropout=0.5)
        layer = DenseCrowdLayer(annotations.n_annotators, annotations.n_classes)
        optimiser = torch.optim.Adam([*network.parameters(), *layer.parameters()], lr=1e-3)
        for _ in range(epochs):
            for rows in torch.split(torch.randperm(len(inputs), generator=draw), batch_size):
                class_bk = network(inputs[rows]).softmax(dim=-1)
                loss = masked_loss(layer(class_bk), label_ia[rows])
                optimiser.zero_grad()
                torch.autograd.backward(loss)
                optimiser.step()
    return layer
