"""The pass that biases of annotators depend on each other by: items that both labelled."""

import numpy as np

from manyhands.aggregation.evidence import Evidence
from manyhands.core.arrays import Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel, label_blocks, run_blocks


def shared_shifts(
    evidence: Evidence, precision_a: Floats, weighted_a: Floats, own_precision: float
) -> Floats:
    """Sums over annotators of how far the items that they labelled move with all biases.

    ::

        shift_i = sum_n weighted_a / (own_precision + sum_n precision_a),  n over the labels of i

    A known item does not move.
    """
    ann, is_known = evidence.annotations, evidence.is_known
    blocks = label_blocks(ann.item_offsets)
    shared_ba = np.zeros((len(blocks), ann.n_annotators))

    def work(block: int) -> None:
        _add_shifts(
            *blocks[block],
            ann.item_offsets,
            ann.annotator,
            is_known,
            precision_a,
            weighted_a,
            own_precision,
            shared_ba[block],
        )

    run_blocks(work, range(len(blocks)))
    return np.asarray(shared_ba.sum(axis=0))


@kernel
def _add_shifts(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    is_known: Bools,
    precision: Floats,
    weighted: Floats,
    own_precision: float,
    shared: Floats,
) -> None:
    for i in range(first, last):
        if is_known[i]:
            continue
        weight, total = own_precision, 0.0
        for n in range(offsets[i], offsets[i + 1]):
            weight += precision[annotator[n]]
            total += weighted[annotator[n]]
        for n in range(offsets[i], offsets[i + 1]):
            shared[annotator[n]] += total / weight
