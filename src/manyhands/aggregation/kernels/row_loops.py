"""The compiled M-step of tables that have only the rows that labels use.

Logarithms take most of an M-step. Confusions stay probabilities here, and the log-prior is made of
logarithms of products over several annotators.
"""

import numpy as np

from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets
from manyhands.core.kernels import kernel
from manyhands.core.row_vectors import Columns, multiply_rows, sum_rows
from manyhands.core.vector_math import fast_log


@kernel(contract=True)
def share_rows(
    first: int,
    last: int,
    together: int,
    starts: Offsets,
    number_r: AnyArray,
    label_r: Codes,
    counts: Floats,
    pseudo: Floats,
    share: Floats,
    total: Floats,
    columns: Columns,
) -> float:
    """Confusions of the rows (annotator, label) that occur, and the sum of pseudo x log-confusion.

    Annotator a has the rows from `starts[a]`, and `total` gets its counts + pseudo-counts of all
    labels. Rows that do not occur have no counts: their confusions are pseudo / `total`. Products
    of numbers of as many annotators as are taken `together` are normal floats. `number_r` counts
    the rows, and the annotators. Tables are flat; `pseudo` is one for all annotators, and above 0.
    """
    n_classes, n_labels, zero = len(columns), len(pseudo) // len(columns), np.int64(0)
    base, inverse = np.zeros(n_classes), np.empty(together * n_classes)
    for cell in range(len(pseudo)):
        base[cell % n_classes] += pseudo[cell]
    raised, log_raised = np.ones(len(pseudo)), np.zeros(len(pseudo))
    whole, log_whole = np.ones(n_classes), np.zeros(n_classes)
    absent = np.full(n_labels, last - first)
    for begin in range(first, last, together):
        end = min(begin + together, last)
        for a in range(begin, end):
            at = np.int64(a) * n_classes
            sum_rows(total, at, base, zero, counts, number_r, starts[a], starts[a + 1], columns)
        own = total[begin * n_classes : end * n_classes]
        for cell in range(len(own)):
            inverse[cell] = 1.0 / own[cell]
        multiply_rows(whole, zero, whole, zero, own, number_r, 0, end - begin, columns)
        for a in range(begin, end):
            at = np.int64(a - begin) * n_classes
            for r in range(starts[a], starts[a + 1]):
                here, of_label = np.int64(r) * n_classes, np.int64(label_r[r]) * n_classes
                sum_rows(share, here, pseudo, of_label, counts, number_r, r, r + 1, columns)
                multiply_rows(
                    raised, of_label, raised, of_label, share, number_r, r, r + 1, columns
                )
                multiply_rows(share, here, inverse, at, share, number_r, r, r + 1, columns)
                absent[label_r[r]] -= 1
        _take_logs(raised, log_raised)
        _take_logs(whole, log_whole)
    found = 0.0
    for cell in range(len(pseudo)):
        empty = absent[cell // n_classes] * np.log(pseudo[cell])
        found += pseudo[cell] * (log_raised[cell] + empty)
    for k in range(n_classes):
        found -= base[k] * log_whole[k]
    return found


@kernel
def _take_logs(products: Floats, logs: Floats) -> None:
    """Add the logs of products, which begin anew."""
    for cell in range(len(products)):
        logs[cell] += fast_log(products[cell])
        products[cell] = 1.0
