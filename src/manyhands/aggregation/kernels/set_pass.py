"""E- and M-step of models of sets: one pass over labels for all classes of a set.

Arrays (a, k, z, y) are about annotator a and class k: z is 1 where the class applies to the item,
y is 1 where the label has it. A label reads and adds K rows of four numbers.
"""

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, Offsets
from manyhands.core.kernels import kernel


@kernel
def sum_evidence(
    offsets: Offsets, annotator: Codes, label: Codes, member_sk: Bools, log_said_akzy: Floats
) -> Floats:
    """Log p(labels of item i about class k | z), shape (i, k, z)."""
    n_items, n_classes = len(offsets) - 1, member_sk.shape[1]
    log_p = np.zeros((n_items, n_classes, 2))
    for i in range(n_items):
        for n in range(offsets[i], offsets[i + 1]):
            a, s = annotator[n], label[n]
            for k in range(n_classes):
                y = 1 if member_sk[s, k] else 0
                log_p[i, k, 0] += log_said_akzy[a, k, 0, y]
                log_p[i, k, 1] += log_said_akzy[a, k, 1, y]
    return log_p


@kernel
def count_said(
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    member_sk: Bools,
    posterior_ik: Floats,
    n_annotators: int,
) -> Floats:
    """Expected numbers of labels (a, k, z, y): whether the class applied, and was said."""
    n_items, n_classes = len(offsets) - 1, member_sk.shape[1]
    counts = np.zeros((n_annotators, n_classes, 2, 2))
    for i in range(n_items):
        for n in range(offsets[i], offsets[i + 1]):
            a, s = annotator[n], label[n]
            for k in range(n_classes):
                y = 1 if member_sk[s, k] else 0
                counts[a, k, 1, y] += posterior_ik[i, k]
                counts[a, k, 0, y] += 1.0 - posterior_ik[i, k]
    return counts


@kernel
def count_confirmed_sets(
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    is_known: Bools,
    member_sk: Bools,
    posterior_ik: Floats,
    n_annotators: int,
) -> AnyArray:
    """Expected right classes, and the mean of said and true ones, of labels that can be confirmed.

    Shape (2, a). That a set has no class counts as a class of its own, said and true.
    """
    n_classes = member_sk.shape[1]
    found = np.zeros((2, n_annotators))
    for i in range(len(offsets) - 1):
        begin, end = offsets[i], offsets[i + 1]
        if begin == end or (annotator[begin] == annotator[end - 1] and not is_known[i]):
            continue
        none, expected = 1.0, 0.0
        for k in range(n_classes):
            none *= 1.0 - posterior_ik[i, k]
            expected += posterior_ik[i, k]
        for n in range(begin, end):
            right, said = 0.0, 0
            for k in range(n_classes):
                if member_sk[label[n], k]:
                    right += posterior_ik[i, k]
                    said += 1
            if said == 0:
                right, said = none, 1
            found[0, annotator[n]] += right
            found[1, annotator[n]] += 0.5 * (said + expected + none)
    return found
