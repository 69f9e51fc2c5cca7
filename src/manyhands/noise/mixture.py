"""The Crowd Mixture Model, by gradient: annotations come from M groups, people need no names."""

import torch
from torch import Tensor, nn

from manyhands.core.settings import require
from manyhands.noise.base import NoiseModel
from manyhands.noise.batch import AnnotationBatch
from manyhands.noise.groups import group_annotators
from manyhands.noise.starts import diagonal_logit

_LABELS_EACH = 10  # labels per class that a given confusion is worth as evidence of the group


class Mixture(NoiseModel):
    """log P(y | x) = log sum_mk alpha_m f_k(x) beta_m[k, y].

    The likelihood depends on the counts of labels only: annotators are not told apart. With
    `experts` the shares depend on the item's features, alpha_m(x) = softmax(linear(x)). Groups
    start at different accuracies between `lowest` and `highest`.

    The portrait of an annotator is sum_m P(m | a) beta_m, with
    P(m | a) ~ alpha_m prod_n sum_k f_k(x_n) beta_m[k, y_n] over the annotations observed.

    Source: the likelihood (eq. 4) of Mena and Nanculef (Crowd Mixture Model), maximised directly.
    """

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_groups: int = 3,
        experts: bool = False,
        n_features: int | None = None,
        lowest: float = 0.4,
        highest: float = 0.9,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require(n_groups >= 1, "n_groups", ">= 1", n_groups)
        require(0 < lowest <= highest < 1, "lowest, highest", "in order within 0..1",
                (lowest, highest))  # fmt: skip
        accuracies = torch.linspace(highest, lowest, n_groups).tolist()
        diagonals = [diagonal_logit(p, n_classes) for p in accuracies]
        self.beta = nn.Parameter(torch.stack([d * torch.eye(n_classes) for d in diagonals]))
        self.alpha = nn.Parameter(torch.zeros(n_groups))
        self.needs_features, self.expert = experts, None
        if experts:
            require(n_features is not None, "n_features", "given for experts", n_features)
            self.expert = nn.Linear(n_features or 0, n_groups)
        self.log_evidence_am: Tensor
        self.register_buffer("log_evidence_am", torch.zeros(n_annotators, n_groups))

    def forward(
        self,
        log_class_bk: Tensor,
        row_n: Tensor,
        annotator_n: Tensor,
        features_b: Tensor | None = None,
    ) -> Tensor:
        """See `NoiseModel.forward`; who gave a label does not matter."""
        log_alpha_bm = self.log_shares(features_b)
        log_by_group_bml = self._log_by_group(log_class_bk)
        return torch.logsumexp(log_alpha_bm.unsqueeze(-1) + log_by_group_bml, dim=1).index_select(
            0, row_n
        )

    def log_shares(self, features_b: Tensor | None = None) -> Tensor:
        """Log alpha_m, shape (1, m), or (b, m) where the shares depend on the item."""
        logits = self.alpha.unsqueeze(0)
        if self.expert is not None and features_b is not None:
            logits = logits + self.expert(features_b.flatten(1))
        return logits.log_softmax(dim=-1)

    def observations(self) -> list[Tensor]:
        """The log-likelihood of every annotator's labels under every group."""
        return [self.log_evidence_am]

    @torch.no_grad()
    def observe(self, log_class_bk: Tensor, batch: AnnotationBatch) -> None:
        """Add log sum_k f_k beta_m[k, y] of every annotation to its annotator's evidence."""
        log_said_nm = self._log_by_group(log_class_bk)[batch.row, :, batch.label]
        self.log_evidence_am.index_add_(0, batch.annotator, log_said_nm.to(self.log_evidence_am))

    @torch.no_grad()
    def group_posterior(self, annotator: Tensor | None = None) -> Tensor:
        """P(m | a), shape (a, m); alpha where nothing was observed."""
        log_evidence = self.log_evidence_am
        if annotator is not None:
            log_evidence = log_evidence[annotator.to(log_evidence.device)]
        return (self.log_shares() + log_evidence).softmax(dim=-1)

    @torch.no_grad()
    def group_confusion(self) -> Tensor:
        """The confusion of every group, shape (m, k, l)."""
        return self.beta.softmax(dim=-1)

    @torch.no_grad()
    def confusion(self, annotator: Tensor | None = None) -> Tensor:
        """The portrait sum_m P(m | a) beta_m, shape (a, k, l)."""
        return torch.einsum("am,mkl->akl", self.group_posterior(annotator), self.group_confusion())

    def _log_by_group(self, log_class_bk: Tensor) -> Tensor:
        """Log sum_k f_k beta_m[k, l], shape (b, m, l)."""
        log_beta_mkl = self.beta.log_softmax(dim=-1)
        return torch.logsumexp(log_class_bk[:, None, :, None] + log_beta_mkl, dim=2)

    def _start_at(self, confusion_akl: Tensor) -> None:
        groups = group_annotators(confusion_akl, len(self.alpha))
        self.beta.copy_(groups.confusion_mkl.log())
        self.alpha.copy_(groups.share_m.log())
        self.log_evidence_am.copy_(_LABELS_EACH * groups.log_fit_am)
