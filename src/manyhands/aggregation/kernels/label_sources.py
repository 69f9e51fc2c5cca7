"""Soft counts split by the source of labels: a shared confusion, or the annotator's own."""

from dataclasses import dataclass

import numpy as np

from manyhands.aggregation.kernels.confusion_loops import TINY
from manyhands.core.arrays import Floats
from manyhands.core.kernels import even_ranges, kernel, run_blocks

_N_BLOCKS = 16


@dataclass(frozen=True)
class SourceCounts:
    """Counts from the shared confusion (l, k) and from own ones (a, l, k), and annotators' sums.

    `common_a` counts the labels of each annotator that came from the shared one, of `total_a`.
    """

    common_lk: Floats
    own_alk: Floats
    common_a: Floats
    total_a: Floats


def even_mistakes(crowd_lk: Floats) -> Floats:
    """A confusion with the crowd's accuracy in every class, and equally frequent mistakes.

    >>> even_mistakes(np.array([[0.6, 0.0, 0.0], [0.4, 1.0, 0.0], [0.0, 0.0, 1.0]]))[:, 0].tolist()
    [0.6, 0.2, 0.2]
    """
    right_k = np.diagonal(crowd_lk)
    wrong_lk = np.repeat((1.0 - right_k)[None] / max(len(right_k) - 1, 1), len(right_k), axis=0)
    np.fill_diagonal(wrong_lk, right_k)
    return wrong_lk


def split_sources(
    counts_alk: Floats,
    pseudo_lk: Floats,
    log_common_lk: Floats,
    log_mixed_alk: Floats,
    share_a: Floats,
) -> SourceCounts:
    """(counts + pseudo) r and (counts + pseudo) (1 - r) with r[a,k,l] = share_a G[k,l] / P[a,k,l].

    `pseudo_lk` holds the pseudo-counts of every annotator.
    """
    chunks = even_ranges(len(counts_alk), _N_BLOCKS)
    own_alk = np.empty_like(counts_alk)
    common_a, total_a = np.zeros((2, len(counts_alk)))
    common_blk = np.zeros((len(chunks), *log_common_lk.shape))

    def work(chunk: int) -> None:
        _split(
            *chunks[chunk],
            counts_alk,
            pseudo_lk,
            log_common_lk,
            log_mixed_alk,
            share_a,
            own_alk,
            common_a,
            total_a,
            common_blk[chunk],
        )

    run_blocks(work, range(len(chunks)))
    return SourceCounts(common_blk.sum(axis=0), own_alk, common_a, total_a)


def mix_sources(log_common_lk: Floats, log_own_alk: Floats, share_a: Floats) -> Floats:
    """Log P[a,k,l] with P = share_a G + (1 - share_a) C_a."""
    log_mixed_alk = np.empty_like(log_own_alk)

    def work(chunk: tuple[int, int]) -> None:
        _mix(*chunk, log_common_lk, log_own_alk, share_a, log_mixed_alk)

    run_blocks(work, even_ranges(len(log_own_alk), _N_BLOCKS))
    return log_mixed_alk


@kernel
def _split(
    first: int,
    last: int,
    counts: Floats,
    pseudo: Floats,
    log_common: Floats,
    log_mixed: Floats,
    share: Floats,
    own: Floats,
    common_sum: Floats,
    total_sum: Floats,
    common: Floats,
) -> None:
    n_labels, n_classes = log_common.shape
    for a in range(first, last):
        for label in range(n_labels):
            for k in range(n_classes):
                count = counts[a, label, k] + pseudo[label, k]
                log_ratio = log_common[label, k] - log_mixed[a, label, k]
                from_common = count * min(share[a] * np.exp(log_ratio), 1.0)
                own[a, label, k] = count - from_common
                common[label, k] += from_common
                common_sum[a] += from_common
                total_sum[a] += count


@kernel
def _mix(
    first: int,
    last: int,
    log_common: Floats,
    log_own: Floats,
    share: Floats,
    log_mixed: Floats,
) -> None:
    n_labels, n_classes = log_common.shape
    for a in range(first, last):
        for label in range(n_labels):
            for k in range(n_classes):
                mixed = share[a] * np.exp(log_common[label, k])
                mixed += (1.0 - share[a]) * np.exp(log_own[a, label, k])
                log_mixed[a, label, k] = np.log(max(mixed, TINY))
