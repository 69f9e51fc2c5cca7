"""Groups of annotators with similar confusions, from which models with groups start."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import AnyArray, Floats

JITTER = 0.1  # scale of the random logits that tell equal groups apart
_DECIMALS = 3  # confusions that agree this far are one point
_N_INIT = 4


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
