"""Annotations grouped by how far they agree with the other labels of their item."""

from collections.abc import Iterator

import numpy as np

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.majority import majority_posterior
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.seeds import generator

_DECIMALS = 3  # so that there are at most a thousand different shares


def group_counts(evidence: Evidence, n_groups: int, n_starts: int, seed: int) -> Iterator[Floats]:
    """Soft counts (m, l, k) of groups of annotations, again and again from other starts.

    An annotation stands where its label's share of its item's labels puts it, and k-means finds
    groups of them, the most agreeing first; who gave a label plays no part. The first start has its
    centres at even quantiles, the others at random ones; centres that came before are left out, so
    there may be fewer than `n_starts`. A group may be empty. Nothing depends on the names or the
    order of items, annotators or classes.
    """
    share_v, n_v, counts_vlk = _by_share(evidence)
    rng = generator(seed, "groups of annotations")
    reached_v = np.cumsum(n_v) / n_v.sum()
    level_m = (np.arange(n_groups) + 0.5) / n_groups
    tried: set[bytes] = set()
    for _ in range(n_starts):
        centre = np.unique(np.searchsorted(reached_v, level_m))
        level_m = rng.random(n_groups)
        if centre.tobytes() in tried:
            continue
        tried.add(centre.tobytes())
        counts_mlk = np.zeros((n_groups, *counts_vlk.shape[1:]))
        np.add.at(counts_mlk, _nearest(share_v, n_v, centre), counts_vlk)
        yield counts_mlk


def _by_share(evidence: Evidence) -> tuple[Floats, Floats, Floats]:
    """The shares that labels have in their items, largest first, how often, and soft counts."""
    ann = evidence.annotations
    posterior_ik = majority_posterior(evidence)
    share_n = np.round(posterior_ik[ann.item, ann.label], _DECIMALS)
    share_v, place_n, n_v = np.unique(-share_n, return_inverse=True, return_counts=True)
    cell_n = place_n.reshape(-1) * ann.n_classes + ann.label
    shape = (len(share_v), ann.n_classes)
    counts_vlk: Floats = np.stack(
        [
            np.bincount(cell_n, posterior_ik[ann.item, k], shape[0] * shape[1]).reshape(shape)
            for k in range(ann.n_classes)
        ],
        axis=2,
    )
    return -share_v, n_v.astype(np.float64), counts_vlk.astype(np.float64, copy=False)


def _nearest(share_v: Floats, n_v: Floats, centre: AnyArray) -> Codes:
    """The group of every share, by weighted k-means with these shares as the first centres."""
    from sklearn.cluster import KMeans

    means = KMeans(len(centre), init=share_v[centre, None], n_init=1)
    group_v = means.fit(share_v[:, None], sample_weight=n_v).labels_
    rank_m = np.argsort(np.argsort(-means.cluster_centers_[:, 0]))
    return np.asarray(rank_m[group_v].astype(np.int32))
