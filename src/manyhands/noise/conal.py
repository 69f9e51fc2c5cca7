"""CoNAL: a label comes from the crowd's common confusion or from the annotator's own."""

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.core.settings import require, require_choice
from manyhands.noise.annotator_table import AnnotatorTable, matrix_logits
from manyhands.noise.base import REDUCTIONS, NoiseModel
from manyhands.noise.batch import AnnotationBatch, Features
from manyhands.noise.mixture import JITTER, group_annotators

_MIN_MEMBERSHIP = 0.01  # a membership of 0 would get no gradient
MIXES = ("probabilities", "logits")


@dataclass(eq=False, repr=False, kw_only=True)
class CoNAL(NoiseModel):
    """A mixture of a confusion that all annotators share and one per annotator.

    ::

        P(y) = omega softmax(W_g f) + (1 - omega) softmax(W_a f),    omega of the `Gate`
        penalty = -strength sum_a ||W_g - W_a||

    The penalty moves the confusions of the annotators away from the common one. It has no lower
    bound: monitor it when training for long. In `confusion`, omega is the mean of the annotator
    over the pairs given to `update_statistics`, and 1/2 without any. `init_from_confusions` sets
    the common confusion to the mean of all.

    Settings
    --------
    n_features:
        numbers in the features of one item.
    scale:
        all matrices start at the identity x scale.
    strength:
        weight of the penalty.
    mix:
        "probabilities" as in the formula; "logits" mixes W_g f and W_a f before one softmax, as
        public code does.
    omega:
        a fixed omega in place of the gate: 0 is the crowd layer, 1 one matrix for all.
    prior_precision:
        of a normal prior around the start of every W_a (`AnnotatorTable`).
    reduction:
        "labels", or "items" for the loss of the paper: a sum over the labels of an item, averaged
        over items.
    n_dimensions, temperature, annotator_features:
        of the `Gate`.
    sparse, device, dtype:
        as in `NoiseModel`.

    Source: Chu, Ma and Wang 2021.

    >>> layer = CoNAL(n_annotators=100, n_classes=3, n_features=5)
    >>> log_class, row, annotator = torch.zeros(2, 3).log_softmax(-1), [0, 0, 1], [7, 9, 7]
    >>> layer(log_class, torch.tensor(row), torch.tensor(annotator), torch.ones(2, 5)).shape
    torch.Size([3, 3])
    """

    stacks = True
    n_features: int
    scale: float = 2.0
    strength: float = 1e-5
    mix: Literal["probabilities", "logits"] = "probabilities"
    omega: float | None = None
    prior_precision: float = 0.0
    reduction: Literal["labels", "items"] = "labels"
    n_dimensions: int = 20
    temperature: float = 1.0
    annotator_features: Tensor | None = None

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        require_choice("mix", self.mix, MIXES)
        require_choice("reduction", self.reduction, REDUCTIONS)
        require(self.strength >= 0, "strength", ">= 0", self.strength)
        given = self.omega is None or 0 <= self.omega <= 1
        require(given, "omega", "None or in 0..1", self.omega)
        self.needs_features = self.omega is None
        start = self.scale * torch.eye(self.n_classes, **factory)
        self.common = nn.Parameter(start.clone())
        self.own = AnnotatorTable(
            self.n_annotators, start, prior_precision=self.prior_precision, sparse=sparse
        )
        self.gate = Gate(
            self.n_annotators,
            self.n_features,
            n_dimensions=self.n_dimensions,
            temperature=self.temperature,
            annotator_features=self.annotator_features,
            sparse=sparse,
            factory=factory,
        )

    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        f_bk = log_class_bk.exp()
        common_nl = self._common(f_bk, annotator_n, row_n)
        f_nk1 = f_bk.index_select(0, row_n).unsqueeze(2)
        own_nl = torch.bmm(self.own(annotator_n), f_nk1).squeeze(2)
        log_omega, log_rest = self._log_omega(row_n, annotator_n, features_b)
        return self._mixed(log_omega, log_rest, common_nl, own_nl)

    @property
    def cells_per_label(self) -> int:
        """See `NoiseModel.cells_per_label`."""
        return self.n_classes**2

    def log_given_class(
        self, annotator_n: Tensor, row_n: Tensor | None = None, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.log_given_class`: the columns of the matrices are the classes."""
        own_nkl = self.own(annotator_n).transpose(1, 2)
        features_b = None if row_n is None else features_b
        log_omega, log_rest = self._log_omega(
            annotator_n if row_n is None else row_n, annotator_n, features_b
        )
        common_nkl = self._common_columns(annotator_n)
        return self._mixed(log_omega.unsqueeze(2), log_rest.unsqueeze(2), common_nkl, own_nkl)

    def _mixed(self, log_omega: Tensor, log_rest: Tensor, common: Tensor, own: Tensor) -> Tensor:
        """Log-probabilities of labels, the last axis, from the logits of both sources."""
        if self.mix == "logits":
            return (log_omega.exp() * common + log_rest.exp() * own).log_softmax(dim=-1)
        return torch.logaddexp(
            log_omega + common.log_softmax(dim=-1), log_rest + own.log_softmax(dim=-1)
        )

    def penalty(self, annotator_n: Tensor | None = None, mask_n: Tensor | None = None) -> Tensor:
        """-strength sum_a ||W_g - W_a|| over all annotators, minus the log-prior."""
        prior = self.own.penalty(annotator_n, mask_n)
        if self.strength == 0:
            return prior
        who, weight_a = self.own.summands(annotator_n)
        distance_a: Tensor = (self.own.flat(who) - self._common_flat(who)).norm(dim=1)
        return prior - self.strength * (weight_a * distance_a).sum()

    @property
    def n_layer_parameters(self) -> int:
        """See `AnnotatorModel.n_layer_parameters`: those of W_g and of all W_a."""
        gate = sum(each.numel() for each in self.gate.parameters())
        return super().n_layer_parameters - gate

    def statistics(self) -> list[Tensor]:
        """The sum of omega, and the number of pairs, of every annotator."""
        return [self.gate.omega_sum_a, self.gate.n_seen_a]

    def update_statistics(self, log_class_bk: Tensor, batch: AnnotationBatch) -> None:
        """Add a batch to the mean omega of its annotators."""
        self.require_features(batch)
        if self.omega is None and batch.features is not None:
            self.gate.update_statistics(batch.row, batch.annotator, batch.features)

    def _init_from(self, confusion_akl: Tensor) -> None:
        self.own.restart(matrix_logits(confusion_akl))
        self._init_common_from(confusion_akl)

    def _init_common_from(self, confusion_akl: Tensor) -> None:
        self.common.copy_(matrix_logits(confusion_akl.mean(dim=0)))

    def _common(self, f_bk: Tensor, annotator_n: Tensor, row_n: Tensor) -> Tensor:
        return (f_bk @ self.common.T).index_select(0, row_n)

    def _common_columns(self, annotator_n: Tensor) -> Tensor:
        """The logits of the common part for every class, shape (n or 1, k, l)."""
        return self.common.T.unsqueeze(0)

    def _common_flat(self, who: Tensor) -> Tensor:
        """The common matrix of each annotator, or that of all, flattened to rows."""
        return self.common.flatten()

    def _log_omega(
        self, row_n: Tensor, annotator_n: Tensor, features_b: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Log omega and log(1 - omega), shape (n, 1)."""
        if self.omega is not None:
            omega_n1 = self.common.new_full((len(row_n), 1), self.omega)
            return omega_n1.log(), torch.log1p(-omega_n1)
        logit_n1 = self.gate(row_n, annotator_n, features_b).unsqueeze(1)
        log_omega_n1 = functional.logsigmoid(logit_n1)
        return log_omega_n1, log_omega_n1 - logit_n1  # log(1 - sigmoid(x)) = log sigmoid(x) - x


@dataclass(eq=False, repr=False, kw_only=True)
class CoNALGroups(CoNAL):
    """CoNAL with several common confusions; every annotator is a soft member of all groups.

    ::

        common part of annotator a = softmax(sum_m s_am W_m f),    s_a = softmax of free logits

    With one group it is CoNAL. `init_from_confusions` finds the groups by k-means over the
    confusions.

    Settings
    --------
    n_groups:
        number of common confusions.
    n_features, scale, strength, omega, prior_precision, temperature, sparse, device, dtype:
        as in `CoNAL`, and so is `reduction`.

    >>> layer = CoNALGroups(n_annotators=100, n_classes=3, n_features=5, n_groups=2)
    >>> layer.common.shape, layer.member(torch.tensor([7])).shape
    (torch.Size([2, 3, 3]), torch.Size([1, 2]))
    """

    stacks = True
    n_groups: int = 3
    mix: Literal["probabilities", "logits"] = field(init=False, default="probabilities")
    n_dimensions: int = field(init=False, default=20)
    annotator_features: Tensor | None = field(init=False, default=None)

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        super()._make_parameters(sparse, factory)
        n_groups, n_classes = self.n_groups, self.n_classes
        require(n_groups >= 1, "n_groups", ">= 1", n_groups)
        start = self.scale * torch.eye(n_classes, **factory).repeat(n_groups, 1, 1)
        if n_groups > 1:  # equal groups would stay equal
            start = start + JITTER * torch.randn(n_groups, n_classes, n_classes, **factory)
        self.common = nn.Parameter(start)
        zeros = torch.zeros(n_groups, **factory)
        self.member = AnnotatorTable(self.n_annotators, zeros, sparse=sparse)

    def _common(self, f_bk: Tensor, annotator_n: Tensor, row_n: Tensor) -> Tensor:
        member_nm = self.member(annotator_n).softmax(dim=-1)
        n_groups, n_classes = self.common.shape[:2]
        by_group_bml = (f_bk @ self.common.flatten(0, 1).T).view(-1, n_groups, n_classes)
        by_group_nml = by_group_bml.index_select(0, row_n)
        return torch.bmm(member_nm.unsqueeze(1), by_group_nml).squeeze(1)

    def _common_columns(self, annotator_n: Tensor) -> Tensor:
        member_nm = self.member(annotator_n).softmax(dim=-1)
        return torch.einsum("nm,mlk->nkl", member_nm, self.common)

    def _common_flat(self, who: Tensor) -> Tensor:
        flat_ac: Tensor = self.member(who).softmax(dim=-1) @ self.common.flatten(1)
        return flat_ac

    def _init_common_from(self, confusion_akl: Tensor) -> None:
        groups = group_annotators(confusion_akl, len(self.common))
        self.common.copy_(matrix_logits(groups.confusion_mkl))
        self.member.restart(groups.log_fit_am.softmax(dim=1).clamp_min(_MIN_MEMBERSHIP).log())


class Gate(nn.Module):
    """The probability omega that an annotation of CoNAL comes from the common confusion.

    ::

        omega = sigmoid(u_a . v_x / temperature),    u and v L2-normalised linear embeddings

    Because u and v are unit vectors, omega is between 0.27 and 0.73 at temperature 1. Annotators
    are embedded by code or, with `annotator_features` (a, ...), from their features. Without
    features of the items, omega is the annotator's mean over the pairs of `update_statistics`.
    """

    def __init__(
        self,
        n_annotators: int,
        n_features: int,
        *,
        n_dimensions: int,
        temperature: float,
        annotator_features: Tensor | None,
        sparse: bool,
        factory: dict[str, Any],
    ) -> None:
        super().__init__()
        require(temperature > 0, "temperature", "> 0", temperature)
        self.temperature = temperature
        self.item = nn.Linear(n_features, n_dimensions, **factory)
        if annotator_features is not None:
            annotator_features = annotator_features.to(**factory)
        self.annotator_features: Tensor | None
        self.register_buffer("annotator_features", annotator_features)
        self.annotator: nn.Module
        if annotator_features is None:
            self.annotator = nn.Embedding(n_annotators, n_dimensions, sparse=sparse, **factory)
        else:
            self.annotator = nn.Linear(annotator_features.shape[1], n_dimensions, **factory)
        self.omega_sum_a: Tensor
        self.register_buffer("omega_sum_a", torch.zeros(n_annotators, **factory))
        self.n_seen_a: Tensor
        count_a = torch.zeros(n_annotators, dtype=torch.int64, device=factory["device"])
        self.register_buffer("n_seen_a", count_a)

    def forward(self, row_n: Tensor, annotator_n: Tensor, features_b: Tensor | None) -> Tensor:
        """The logit of omega for every annotation."""
        if features_b is None:
            return self.mean_omega(annotator_n).logit()
        features = self.annotator_features
        who = annotator_n if features is None else features[annotator_n]
        u_n = functional.normalize(self.annotator(who), dim=-1)
        v_b = functional.normalize(self.item(features_b.flatten(1)), dim=-1)
        cosine_n = (u_n * v_b.index_select(0, row_n)).sum(dim=-1)
        return cosine_n if self.temperature == 1.0 else cosine_n / self.temperature

    @torch.no_grad()
    def update_statistics(self, row_n: Tensor, annotator_n: Tensor, features_b: Tensor) -> None:
        """Add the omega of every pair to the mean of its annotator."""
        omega_n = self(row_n, annotator_n, features_b).sigmoid()
        self.omega_sum_a.index_add_(0, annotator_n, omega_n.to(self.omega_sum_a))
        self.n_seen_a.index_add_(0, annotator_n, torch.ones_like(annotator_n))

    def mean_omega(self, annotator_n: Tensor) -> Tensor:
        """The mean omega of annotators, shape (n,).

        An annotator without pairs has the mean of all pairs; without any pairs it is 1/2.
        """
        n_pairs = self.n_seen_a.sum()
        overall = torch.where(n_pairs > 0, self.omega_sum_a.sum() / n_pairs, 0.5)
        n_seen = self.n_seen_a[annotator_n]
        return torch.where(n_seen > 0, self.omega_sum_a[annotator_n] / n_seen, overall)
