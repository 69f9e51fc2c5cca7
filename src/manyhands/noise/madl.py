"""MaDL: confusions that depend on annotator and item, and less weight for annotators alike."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.noise.annotator_table import AnnotatorTable, diagonal_logit, log_mixture
from manyhands.noise.base import NoiseModel
from manyhands.noise.batch import AnnotationBatch, Features

_MOST = 1024  # annotators that a density is estimated from


@dataclass(eq=False, repr=False, kw_only=True)
class MaDL(NoiseModel):
    """A confusion matrix for every pair of annotator and item, made by a network of both.

    ::

        P(y) = sum_k f_k C[k, y],    C = row softmax(B_a + U relu(W [v, u_a, vec(v u_a')] + c))

    u_a is an embedding of the annotator, v = relu(V x) one of the item x, and v u_a' their outer
    product. B_a is fixed: `accuracy` on the diagonal and errors alike, or given confusions. All
    embeddings u_a and U are 0 at the start, where C is the softmax of B_a.

    With `weighted` labels count by how few annotators are like their own:

    ::

        loss = -1/N sum_n w_a(n) log P(y_n) - log Gamma(gamma | shape, rate)
        w_a ~ 1 / mean_j exp(-gamma ||u_a - u_j||^2),    mean_a w_a = 1

    so that a group of copies weighs as one annotator would. gamma > 0 is learnt under a Gamma
    prior. Embeddings are taken as they are: gradients of w reach gamma alone. Where there are more
    than 1024 annotators, as many of them, evenly spaced, stand for all.

    `confusion` is the mean of C over the pairs that `update_statistics` saw, by annotator; without
    any it is that of v = 0. Without `items`, C depends on u_a alone, and no features are needed.

    Settings
    --------
    n_features:
        numbers in the features of one item.
    accuracy:
        probability of a right label at the start, for any number of classes.
    n_dimensions:
        of both embeddings.
    n_hidden:
        hidden units of the network.
    items:
        whether C depends on the item.
    weighted:
        whether labels have weights.
    shape, rate:
        of the prior of gamma, whose mode is (shape - 1) / rate.
    sparse, device, dtype:
        as in `NoiseModel`.

    Source: Herde, Huseljic and Sick 2023 (MaDL), whose v is computed from the hidden layer of the
    classifier.

    >>> layer = MaDL(n_annotators=100, n_classes=3, n_features=5)
    >>> log_class, row, annotator = torch.zeros(2, 3).log_softmax(-1), [0, 0, 1], [7, 9, 7]
    >>> layer(log_class, torch.tensor(row), torch.tensor(annotator), torch.ones(2, 5)).shape
    torch.Size([3, 3])
    """

    stacks = True
    n_features: int | None = None
    accuracy: float = 0.8
    n_dimensions: int = 16
    n_hidden: int = 64
    items: bool = True
    weighted: bool = True
    shape: float = 1.25
    rate: float = 0.25

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        require(0 < self.accuracy < 1, "accuracy", "between 0 and 1", self.accuracy)
        self.needs_features, n_features = self.items, self.n_features or 0
        require(n_features >= 1 or not self.items, "n_features", ">= 1", self.n_features)
        require(self.n_dimensions >= 1, "n_dimensions", ">= 1", self.n_dimensions)
        require(self.n_hidden >= 1, "n_hidden", ">= 1", self.n_hidden)
        require(self.shape > 1, "shape", "> 1", self.shape)
        require(self.rate > 0, "rate", "> 0", self.rate)
        n_classes, n_dimensions = self.n_classes, self.n_dimensions
        zeros = torch.zeros(n_dimensions, **factory)
        self.embedding = AnnotatorTable(self.n_annotators, zeros, sparse=sparse)
        n_joint = n_dimensions
        if self.items:
            self.item = nn.Linear(n_features, n_dimensions, **factory)
            n_joint += n_dimensions + n_dimensions**2
        self.hidden = nn.Linear(n_joint, self.n_hidden, **factory)
        self.out = nn.Linear(self.n_hidden, n_classes**2, **factory)
        self._forget_items()
        if self.weighted:
            mode = math.log((self.shape - 1) / self.rate)
            self.log_gamma = nn.Parameter(torch.full((1,), mode, **factory))
        start_kl = diagonal_logit(self.accuracy, n_classes) * torch.eye(n_classes, **factory)
        base_akl = start_kl.log_softmax(dim=-1).repeat(self.n_annotators, 1, 1)
        self.base: Tensor
        self.register_buffer("base", base_akl)
        self.confusion_sum: Tensor
        self.n_seen: Tensor
        if self.items:
            self.register_buffer("confusion_sum", torch.zeros_like(base_akl))
            counts_a = torch.zeros(self.n_annotators, dtype=torch.int64, device=base_akl.device)
            self.register_buffer("n_seen", counts_a)

    def loss(self, outputs: Tensor, batch: AnnotationBatch) -> Tensor:
        """See `AnnotatorModel.loss`."""
        if not self.weighted or len(batch) == 0:
            return super().loss(outputs, batch)
        weight_n = self.label_weights(batch.annotator)
        if batch.weight is not None:
            weight_n = weight_n * batch.weight
        return super().loss(outputs, replace(batch, weight=weight_n))

    def label_weights(self, annotator_n: Tensor) -> Tensor:
        """The weights w_a of some annotators, shape (n,)."""
        step = -(-self.n_annotators // _MOST)
        some = slice(None, None, step)
        u_jd = self.embedding.weight[some].detach()
        present_j = (self.embedding.count_a[some] > 0).to(u_jd.dtype)
        present_j = torch.where(present_j.sum() > 0, present_j, torch.ones_like(present_j))
        gamma = self.log_gamma.exp()

        def rarity(u_nd: Tensor) -> Tensor:
            square_nj = u_nd.square().sum(1, keepdim=True) + u_jd.square().sum(1)
            square_nj = (square_nj - 2 * u_nd @ u_jd.T).clamp_min(0.0)
            likeness_n = (torch.exp(-gamma * square_nj) * present_j).sum(1) / present_j.sum()
            return 1 / likeness_n.clamp_min(1e-12)

        mean = (rarity(u_jd) * present_j).sum() / present_j.sum()
        own_nd = self.embedding.weight.detach().index_select(0, annotator_n)
        return rarity(own_nd) / mean

    def penalty(self, annotator_n: Tensor | None = None, mask_n: Tensor | None = None) -> Tensor:
        """-log Gamma(gamma | shape, rate); see `AnnotatorModel.penalty`."""
        if not self.weighted:
            return super().penalty(annotator_n, mask_n)
        constant = math.lgamma(self.shape) - self.shape * math.log(self.rate)
        log_gamma = self.log_gamma.sum()
        return constant - (self.shape - 1) * log_gamma + self.rate * log_gamma.exp()

    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.forward`; without features an annotator has the mean confusion."""
        if features_b is not None and len(features_b) != len(log_class_bk):
            raise DataError(
                f"features of {len(features_b)} items and class probabilities of "
                f"{len(log_class_bk)}; both must be of the same items"
            )
        log_confusion_nkl = self.log_given_class(annotator_n, row_n, features_b)
        return log_mixture(log_class_bk.index_select(0, row_n), log_confusion_nkl)

    @property
    def cells_per_label(self) -> int:
        """See `NoiseModel.cells_per_label`."""
        return self.n_classes**2 + self.n_dimensions**2

    def log_given_class(
        self, annotator_n: Tensor, row_n: Tensor | None = None, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.log_given_class`: log C."""
        u_nd, base_nkl = self.embedding(annotator_n), self.base.index_select(0, annotator_n)
        if row_n is None or features_b is None or not self.items:
            log_nkl = self.log_confusion(u_nd, base_nkl)
            return self._mean_over_items(annotator_n, log_nkl) if self.items else log_nkl
        v_nd = self.item(features_b.flatten(1)).relu().index_select(0, row_n)
        return self.log_confusion(u_nd, base_nkl, v_nd)

    def log_confusion(self, u_nd: Tensor, base_nkl: Tensor, v_nd: Tensor | None = None) -> Tensor:
        """Log C of embeddings of annotators and items (0 by default), shape (n, k, l)."""
        joint = u_nd
        if self.items:
            v_nd = torch.zeros_like(u_nd) if v_nd is None else v_nd
            product_nd = (v_nd.unsqueeze(2) * u_nd.unsqueeze(1)).flatten(1)
            joint = torch.cat([v_nd, u_nd, product_nd], dim=1)
        logit_nkl = self.out(self.hidden(joint).relu()).view_as(base_nkl)
        log_nkl: Tensor = (base_nkl + logit_nkl).log_softmax(dim=-1)
        return log_nkl

    def _mean_over_items(self, annotator_n: Tensor, log_nkl: Tensor) -> Tensor:
        """Log of the mean confusion of annotators; as given where no pair of theirs was seen."""
        seen_n = self.n_seen.index_select(0, annotator_n)[:, None, None]
        mean_nkl = self.confusion_sum.index_select(0, annotator_n) / seen_n.clamp_min(1)
        return torch.where(seen_n > 0, mean_nkl.clamp_min(1e-30).log(), log_nkl)

    def statistics(self) -> list[Tensor]:
        """The sum of C over the pairs of every annotator, and their number."""
        return [self.confusion_sum, self.n_seen] if self.items else []

    @torch.no_grad()
    def update_statistics(self, log_class_bk: Tensor, batch: AnnotationBatch) -> None:
        """Add a batch to the mean confusions of its annotators."""
        if not self.items:
            return
        self.require_features(batch)
        log_nkl = self.log_given_class(batch.annotator, batch.row, batch.features)
        confusion_nkl = log_nkl.exp().to(self.confusion_sum)
        self.confusion_sum.index_add_(0, batch.annotator, confusion_nkl)
        self.n_seen.index_add_(0, batch.annotator, torch.ones_like(batch.annotator))

    @torch.no_grad()
    def _forget_items(self) -> None:
        """C is the softmax of B_a for every item."""
        self.out.weight.zero_()
        self.out.bias.zero_()

    def _init_from(self, confusion_akl: Tensor) -> None:
        self._forget_items()
        self.base.copy_(confusion_akl.log())
