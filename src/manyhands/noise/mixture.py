"""The Crowd Mixture Model, trained by gradient: annotations come from M groups."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import require
from manyhands.noise.annotator_table import diagonal_logit
from manyhands.noise.base import NoiseModel
from manyhands.noise.batch import AnnotationBatch, Features

JITTER = 0.1  # scale of the random logits that tell equal groups apart
_DECIMALS = 3  # confusions that agree this far are one point
_N_INIT = 4
_LABELS_PER_CLASS = 10  # labels that a given confusion counts for as evidence of the group


class Mixture(NoiseModel):
    """Every annotation comes from one of M groups, each with a confusion beta_m.

    ::

        P(y | x) = sum_mk alpha_m f_k(x) beta_m[k, y]

    The likelihood depends only on how often each item got each label, not on who labelled it. The
    confusion of an annotator is sum_m P(m | a) beta_m, with P(m | a) proportional to
    alpha_m prod_n sum_k f_k(x_n) beta_m[k, y_n] over the annotations of `update_statistics`.

    Settings
    --------
    n_groups:
        number of groups M.
    experts:
        whether the weights of the groups depend on the item, alpha_m(x) = softmax(linear(x)).
    n_features:
        numbers in the features of one item; only for `experts`.
    min_accuracy, max_accuracy:
        the groups start at accuracies that are spaced evenly between these.
    device, dtype:
        of the parameters, as in torch's modules.

    Source: the likelihood (eq. 4) of Mena and Nanculef (Crowd Mixture Model), maximised directly.

    >>> layer = Mixture(n_annotators=100, n_classes=3, n_groups=2)
    >>> layer.group_confusion().shape, layer.group_posterior().shape
    (torch.Size([2, 3, 3]), torch.Size([100, 2]))
    """

    stacks = True

    def __init__(
        self,
        n_annotators: int,
        n_classes: int,
        *,
        n_groups: int = 3,
        experts: bool = False,
        n_features: int | None = None,
        min_accuracy: float = 0.4,
        max_accuracy: float = 0.9,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(n_annotators, n_classes)
        require(n_groups >= 1, "n_groups", ">= 1", n_groups)
        in_order = 0 < min_accuracy <= max_accuracy < 1
        require(in_order, "min_accuracy, max_accuracy", "in order within 0..1",
                (min_accuracy, max_accuracy))  # fmt: skip
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        accuracies = torch.linspace(max_accuracy, min_accuracy, n_groups, device="cpu").tolist()
        diagonals = [diagonal_logit(p, n_classes) for p in accuracies]
        eye = torch.eye(n_classes, **factory)
        self.beta = nn.Parameter(torch.stack([diagonal * eye for diagonal in diagonals]))
        self.alpha = nn.Parameter(torch.zeros(n_groups, **factory))
        self.needs_features, self.expert = experts, None
        if experts:
            require(n_features is not None, "n_features", "given for experts", n_features)
            self.expert = nn.Linear(n_features or 0, n_groups, **factory)
        self.log_evidence_am: Tensor
        self.register_buffer("log_evidence_am", torch.zeros(n_annotators, n_groups, **factory))

    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.forward`; the result does not depend on the annotator."""
        log_alpha_bm = self.log_weights(features_b)
        log_by_group_bml = self._log_by_group(log_class_bk)
        return torch.logsumexp(log_alpha_bm.unsqueeze(-1) + log_by_group_bml, dim=1).index_select(
            0, row_n
        )

    def log_weights(self, features_b: Tensor | None = None) -> Tensor:
        """Log alpha_m, shape (1, m), or (b, m) if the weights depend on the item."""
        logits = self.alpha.unsqueeze(0)
        if self.expert is not None and features_b is not None:
            logits = logits + self.expert(features_b.flatten(1))
        return logits.log_softmax(dim=-1)

    def statistics(self) -> list[Tensor]:
        """The log-likelihood of the labels of every annotator under every group."""
        return [self.log_evidence_am]

    @torch.no_grad()
    def update_statistics(self, log_class_bk: Tensor, batch: AnnotationBatch) -> None:
        """Add log sum_k f_k beta_m[k, y] of every annotation to the evidence of its annotator."""
        log_label_nm = self._log_by_group(log_class_bk)[batch.row, :, batch.label]
        self.log_evidence_am.index_add_(0, batch.annotator, log_label_nm.to(self.log_evidence_am))

    @torch.no_grad()
    def group_posterior(self, annotator: Tensor | None = None) -> Tensor:
        """P(m | a), shape (a, m); alpha without statistics."""
        log_evidence = self.log_evidence_am
        if annotator is not None:
            log_evidence = log_evidence[annotator.to(log_evidence.device)]
        return (self.log_weights() + log_evidence).softmax(dim=-1)

    @torch.no_grad()
    def group_confusion(self) -> Tensor:
        """The confusion of every group, shape (m, k, l)."""
        return self.beta.softmax(dim=-1)

    @torch.no_grad()
    def confusion(self, annotator: Tensor | None = None) -> Tensor:
        """sum_m P(m | a) beta_m of every annotator, or of the given ones, shape (a, k, l)."""
        return torch.einsum("am,mkl->akl", self.group_posterior(annotator), self.group_confusion())

    @property
    def cells_per_label(self) -> int:
        """See `NoiseModel.cells_per_label`."""
        return len(self.alpha) * self.n_classes**2

    def log_given_class(
        self, annotator_n: Tensor, row_n: Tensor | None = None, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.log_given_class`: log sum_m alpha_m beta_m[k, l]."""
        log_weight_bm = self.log_weights(None if row_n is None else features_b)
        log_joint_bmkl = log_weight_bm[:, :, None, None] + self.beta.log_softmax(dim=-1)
        log_bkl = torch.logsumexp(log_joint_bmkl, dim=1)
        if len(log_bkl) == 1 or row_n is None:
            return log_bkl.expand(len(annotator_n), -1, -1)
        return log_bkl.index_select(0, row_n)

    def _log_by_group(self, log_class_bk: Tensor) -> Tensor:
        """Log sum_k f_k beta_m[k, l], shape (b, m, l)."""
        log_beta_mkl = self.beta.log_softmax(dim=-1)
        return torch.logsumexp(log_class_bk[:, None, :, None] + log_beta_mkl, dim=2)

    def _init_from(self, confusion_akl: Tensor) -> None:
        groups = group_annotators(confusion_akl, len(self.alpha))
        self.beta.copy_(groups.confusion_mkl.log())
        self.alpha.copy_(groups.weight_m.log())
        self.log_evidence_am.copy_(_LABELS_PER_CLASS * groups.log_fit_am)


class Groups(NamedTuple):
    """Confusions (m, k, l) and weights (m,) of groups; how annotators fit into them (a, m).

    `log_fit_am` is -sum_k KL(C_a[k] || group m[k]), the mean log-likelihood ratio of one label of
    annotator a for every class.
    """

    confusion_mkl: Tensor
    weight_m: Tensor
    log_fit_am: Tensor


def group_annotators(confusion_akl: Tensor, n_groups: int) -> Groups:
    """Groups by k-means over the confusions, the most accurate first.

    If the annotators have fewer distinct confusions than `n_groups`, the remaining groups are the
    mean of the crowd, jittered because equal groups would stay equal, with the weight of an average
    group.
    """
    group_a = torch.from_numpy(_nearest_groups(confusion_akl.flatten(1).numpy(), n_groups))
    n_distinct = int(group_a.max()) + 1
    size_m = torch.bincount(group_a, minlength=n_distinct).to(confusion_akl)
    total_mkl = torch.zeros(n_distinct, *confusion_akl.shape[1:]).to(confusion_akl)
    centre_mkl = total_mkl.index_add_(0, group_a, confusion_akl) / size_m[:, None, None]
    order_m = centre_mkl.diagonal(dim1=1, dim2=2).sum(dim=1).argsort(descending=True)
    spare_mkl = _jittered(confusion_akl.mean(dim=0), n_groups - n_distinct)
    mean_size = torch.full((len(spare_mkl),), len(confusion_akl) / n_groups).to(size_m)
    confusion_mkl = torch.cat([centre_mkl[order_m], spare_mkl])
    size_m = torch.cat([size_m[order_m], mean_size])
    return Groups(confusion_mkl, size_m / size_m.sum(), _log_fit(confusion_akl, confusion_mkl))


def _nearest_groups(point_ad: Floats, n_groups: int) -> AnyArray:
    """The group of every annotator, by weighted k-means over the distinct points.

    `np.unique` sorts the points, so the result does not depend on the order of the annotators.
    """
    from sklearn.cluster import KMeans

    point_pd, place_a, count_p = np.unique(
        point_ad.round(_DECIMALS), axis=0, return_inverse=True, return_counts=True
    )
    means = KMeans(min(n_groups, len(point_pd)), n_init=_N_INIT, random_state=0)
    group_p = means.fit(point_pd, sample_weight=count_p).labels_.astype(np.int64)
    group_a: AnyArray = group_p[place_a.reshape(-1)]
    return group_a


def _jittered(confusion_kl: Tensor, n_copies: int) -> Tensor:
    """Copies of a confusion with different random jitter, shape (m, k, l)."""
    jitter = torch.randn(n_copies, *confusion_kl.shape, generator=torch.Generator().manual_seed(0))
    return (confusion_kl.log() + JITTER * jitter.to(confusion_kl)).softmax(dim=-1)


def _log_fit(confusion_akl: Tensor, confusion_mkl: Tensor) -> Tensor:
    cross_am = torch.einsum("akl,mkl->am", confusion_akl, confusion_mkl.log())
    own_a = (confusion_akl * confusion_akl.log()).sum(dim=(1, 2))
    return cross_am - own_a.unsqueeze(1)
