"""CoNAL: a label comes from the crowd's common confusion or from the annotator's own."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.core.settings import require, require_choice
from manyhands.noise.base import AnnotatorTable, NoiseModel, distinct
from manyhands.noise.batch import AnnotationBatch
from manyhands.noise.gate import Gate
from manyhands.noise.groups import PUSH, group_annotators
from manyhands.noise.starts import matrix_logits

_LEAST_MEMBER = 0.01  # a membership of 0 would get no gradient
MIXES = ("probabilities", "logits")


class CoNAL(NoiseModel):
    """omega softmax(W_g f) + (1 - omega) softmax(W_a f), omega by the gate.

    The penalty -`strength` sum_a ||W_g - W_a|| drives the own confusions away from the common one;
    it has no lower bound, so watch it when training long. `mix="logits"` mixes W_g f and W_a f
    before one softmax, as public code does; the formula mixes probabilities. `omega` fixes the
    gate: 0 is the crowd layer, 1 one matrix for all; else a portrait has an annotator's mean omega
    over the pairs observed, 1/2 before. `pull` draws the own matrices towards their
    start (`AnnotatorTable`). `start_from` makes the common confusion the crowd's mean.

    Source: Chu, Ma and Wang 2021.
    """

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_features: int,
        scale: float = 2.0,
        strength: float = 1e-5,
        mix: Literal["probabilities", "logits"] = "probabilities",
        omega: float | None = None,
        prior_precision: float = 0.0,
        n_dimensions: int = 20,
        temperature: float = 1.0,
        annotator_features: Tensor | None = None,
        sparse: bool = False,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require_choice("mix", mix, MIXES)
        require(strength >= 0, "strength", ">= 0", strength)
        require(omega is None or 0 <= omega <= 1, "omega", "None or in 0..1", omega)
        self.strength, self.mix, self.omega = strength, mix, omega
        self.needs_features = omega is None
        start = scale * torch.eye(n_classes)
        self.common = nn.Parameter(start.clone())
        self.own = AnnotatorTable(
            n_annotators, start, prior_precision=prior_precision, sparse=sparse
        )
        self.gate = Gate(
            n_annotators,
            n_features,
            n_dimensions=n_dimensions,
            temperature=temperature,
            annotator_features=annotator_features,
            sparse=sparse,
        )

    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        f_bk = log_class_bk.exp()
        common_nl = self._common(f_bk, annotator_n, row_n)
        f_nk1 = f_bk.index_select(0, row_n).unsqueeze(2)
        own_nl = torch.bmm(self.own(annotator_n), f_nk1).squeeze(2)
        log_omega, log_rest = self._log_shares(row_n, annotator_n, features_b)
        if self.mix == "logits":
            omega, rest = log_omega.exp(), log_rest.exp()
            return (omega * common_nl + rest * own_nl).log_softmax(dim=-1)
        return torch.logaddexp(
            log_omega + common_nl.log_softmax(dim=-1), log_rest + own_nl.log_softmax(dim=-1)
        )

    def penalty(self, annotator_n: Tensor | None = None) -> Tensor:
        """-strength sum_a ||W_g - W_a||, estimated on the annotators given, plus the pull."""
        who, count_a = distinct(annotator_n, self.n_annotators, self.common.device)
        own_ac = self.own.flat(who)
        apart_a: Tensor = (own_ac - self._common_flat(who)).norm(dim=1)
        prior_precision = self.own.penalty_of(own_ac, who, count_a)
        return prior_precision - self.strength * self.n_annotators * apart_a.mean()

    def observations(self) -> list[Tensor]:
        """The sum of omega, and the number of pairs, of every annotator."""
        return [self.gate.omega_sum_a, self.gate.n_seen_a]

    def observe(self, log_class_bk: Tensor, batch: AnnotationBatch) -> None:
        """Add a batch to the mean omega of its annotators."""
        self.require_features(batch)
        if self.omega is None and batch.features is not None:
            self.gate.observe(batch.row, batch.annotator, batch.features)

    def _start_at(self, confusion_akl: Tensor) -> None:
        self.own.start_at(matrix_logits(confusion_akl))
        self._start_common_at(confusion_akl)

    def _start_common_at(self, confusion_akl: Tensor) -> None:
        self.common.copy_(matrix_logits(confusion_akl.mean(dim=0)))

    def _common(self, f_bk: Tensor, annotator_n: Tensor, row_n: Tensor) -> Tensor:
        return (f_bk @ self.common.T).index_select(0, row_n)

    def _common_flat(self, who: Tensor) -> Tensor:
        """The common matrices of annotators, or the one of all, as rows of numbers."""
        return self.common.flatten()

    def _log_shares(
        self, row_n: Tensor, annotator_n: Tensor, features_b: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        if self.omega is not None:
            omega_n1 = torch.full((len(row_n), 1), self.omega, device=self.common.device)
            return omega_n1.log(), torch.log1p(-omega_n1)
        logit_n1 = self.gate(row_n, annotator_n, features_b).unsqueeze(1)
        log_omega_n1 = functional.logsigmoid(logit_n1)
        return log_omega_n1, log_omega_n1 - logit_n1  # log(1 - sigmoid(x)) = log sigmoid(x) - x


class CoNALGroups(CoNAL):
    """CoNAL with several common confusions; annotators belong softly to groups.

    The common part of annotator a is softmax(sum_m s_am W_m f), s_a the softmax of free logits.
    With one group this is CoNAL. `start_from` finds the groups by k-means over the confusions.
    """

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_features: int,
        n_groups: int = 3,
        scale: float = 2.0,
        strength: float = 1e-5,
        omega: float | None = None,
        prior_precision: float = 0.0,
        temperature: float = 1.0,
        sparse: bool = False,
    ) -> None:
        super().__init__(
            n_annotators,
            n_classes,
            n_features=n_features,
            scale=scale,
            strength=strength,
            omega=omega,
            prior_precision=prior_precision,
            temperature=temperature,
            sparse=sparse,
        )
        require(n_groups >= 1, "n_groups", ">= 1", n_groups)
        start = scale * torch.eye(n_classes).repeat(n_groups, 1, 1)
        # Equal groups would stay equal for ever: a small random push tells them apart.
        push = PUSH * torch.randn(n_groups, n_classes, n_classes) if n_groups > 1 else 0.0
        self.common = nn.Parameter(start + push)
        self.member = AnnotatorTable(n_annotators, torch.zeros(n_groups), sparse=sparse)

    def _common(self, f_bk: Tensor, annotator_n: Tensor, row_n: Tensor) -> Tensor:
        share_nm = self.member(annotator_n).softmax(dim=-1)
        n_groups, n_classes = self.common.shape[:2]
        by_group_bml = (f_bk @ self.common.flatten(0, 1).T).view(-1, n_groups, n_classes)
        by_group_nml = by_group_bml.index_select(0, row_n)
        return torch.bmm(share_nm.unsqueeze(1), by_group_nml).squeeze(1)

    def _common_flat(self, who: Tensor) -> Tensor:
        flat_ac: Tensor = self.member(who).softmax(dim=-1) @ self.common.flatten(1)
        return flat_ac

    def _start_common_at(self, confusion_akl: Tensor) -> None:
        groups = group_annotators(confusion_akl, len(self.common))
        self.common.copy_(matrix_logits(groups.confusion_mkl))
        self.member.start_at(groups.log_fit_am.softmax(dim=1).clamp_min(_LEAST_MEMBER).log())
