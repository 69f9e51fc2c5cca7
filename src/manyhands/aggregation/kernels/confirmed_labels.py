"""How many of each annotator's labels can be checked, and how many of these are right."""

import numpy as np

from manyhands.core.arrays import Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel


@kernel
def count_confirmed(
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    is_known: Bools,
    posterior: Floats,
    n_annotators: int,
) -> tuple[Floats, Floats]:
    """Expected right labels and all labels of each annotator that something can confirm."""
    right, seen = np.zeros(n_annotators), np.zeros(n_annotators)
    for i in range(len(offsets) - 1):
        begin, end = offsets[i], offsets[i + 1]
        # Labels of an item are sorted by annotator: compare the first annotator with the last.
        if begin == end or (annotator[begin] == annotator[end - 1] and not is_known[i]):
            continue
        for n in range(begin, end):
            right[annotator[n]] += posterior[i, label[n]]
            seen[annotator[n]] += 1.0
    return right, seen
