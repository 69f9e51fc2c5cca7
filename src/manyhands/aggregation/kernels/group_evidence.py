"""How well each group's confusion explains each annotator's labels."""

import numpy as np

from manyhands.aggregation.kernels.confusion_pass import TINY
from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, kernel, run_blocks

_N_BLOCKS = 16


def group_log_likelihoods(
    annotations: Annotations, posterior_ik: Floats, confusion_mlk: Floats
) -> Floats:
    """sum_n log sum_k q_ik beta_m[k, y_n] over the labels n of annotator a, shape (a, m)."""
    ann = annotations
    confusion_lmk = confusion_mlk.transpose(1, 0, 2).copy()
    blocks = even_blocks(ann.item_offsets, _N_BLOCKS)
    log_likelihood_bam = np.zeros((len(blocks), ann.n_annotators, len(confusion_mlk)))

    def work(block: int) -> None:
        _add_block(
            *blocks[block],
            ann.item_offsets,
            ann.annotator,
            ann.label,
            posterior_ik,
            confusion_lmk,
            log_likelihood_bam[block],
        )

    run_blocks(work, range(len(blocks)))
    return np.asarray(log_likelihood_bam.sum(axis=0))


@kernel
def _add_block(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    posterior: Floats,
    confusion: Floats,
    log_likelihood: Floats,
) -> None:
    n_groups, n_classes = confusion.shape[1], confusion.shape[2]
    for i in range(first, last):
        for n in range(offsets[i], offsets[i + 1]):
            for m in range(n_groups):
                p_label = 0.0
                for k in range(n_classes):
                    p_label += posterior[i, k] * confusion[label[n], m, k]
                log_likelihood[annotator[n], m] += np.log(max(p_label, TINY))
