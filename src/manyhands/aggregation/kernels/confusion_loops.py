"""The compiled loops of confusion models.

Some items at a time, three short loops follow each other while their labels are in cache. The first
adds the rows of log-confusions of an item's labels. The second turns these sums into posteriors.
The third adds an item's posterior to the rows of counts of its labels. Each is made of vector
instructions; one loop for all three would not be.
"""

import numpy as np

from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets
from manyhands.core.kernels import kernel
from manyhands.core.prefetch import prefetch
from manyhands.core.row_vectors import Columns, add_to_rows, multiply_rows, sum_rows
from manyhands.core.vector_math import fast_exp, fast_log

TINY = 1e-300  # log(0) would turn sums into NaN; no real probability is this small
_AHEAD = 20  # labels between the prefetch of a row and its use
_ITEMS = 32  # at a time
_LARGE = 1e200  # products of sums stay below: one logarithm for many of them
_FAR = 1e4  # below the largest log-score: no probability is left
_CELLS = 1024  # of tables that are worked on at a time


@kernel
def normalise_scores(score: Floats, known: int) -> float:
    """Turn log-scores into a posterior in place, and return the log of their sum.

    A known class (not -1) gets probability 1, and its own log-score is returned.
    """
    if known >= 0:
        log_sum = score[known]
        score[:] = 0.0
        score[known] = 1.0
        return float(log_sum)
    top = score[0]
    for k in range(1, len(score)):
        top = max(top, score[k])
    total = 0.0
    for k in range(len(score)):
        score[k] = fast_exp(score[k] - top)
        total += score[k]
    for k in range(len(score)):
        score[k] /= total
    return float(top + np.log(total))


def rows_of_labels(
    annotator_n: Codes, label_n: Codes, n_annotators: int, n_classes: int
) -> AnyArray:
    """The row of every label in tables by annotator and label."""
    kind = np.int32 if n_annotators * n_classes < 1 << 31 else np.int64
    row_n = np.empty(len(annotator_n), dtype=kind)
    _find_rows(annotator_n, label_n, n_classes, row_n)
    return row_n


@kernel
def _find_rows(annotator: Codes, label: Codes, n_classes: int, row: AnyArray) -> None:
    for n in range(len(row)):
        row[n] = np.int64(annotator[n]) * n_classes + label[n]


@kernel(contract=True)
def expect_items(
    first: int,
    last: int,
    offsets: Offsets,
    row: AnyArray,
    known: Codes,
    n_subtypes: int,
    log_prior: Floats,
    log_rows: Floats,
    products: bool,
    posterior: Floats,
    counts: Floats,
    mass: Floats,
    columns: Columns,
) -> float:
    """Posterior, counts and mass of some items, and the log-likelihood of their labels.

    Tables are flat. An empty `posterior` is not written, and empty `counts` are not added to. With
    `products` prior and rows are probabilities, whose product over the labels of an item is a
    normal float; there are no subtypes then.
    """
    n_columns = len(columns)
    counts[:] = 0.0
    mass[:] = 0.0
    score = np.empty(_ITEMS * n_columns)
    own_prior = len(log_prior) > n_columns
    final = offsets[last] - 1
    total = 0.0
    for begin in range(first, last, _ITEMS):
        end = min(begin + _ITEMS, last)
        for i in range(begin, end):
            for n in range(offsets[i], offsets[i + 1]):
                ahead = np.int64(row[min(n + _AHEAD, final)]) * n_columns
                prefetch(log_rows, ahead)
                prefetch(log_rows, ahead + n_columns - 1)
                if len(counts):
                    prefetch(counts, ahead)
                    prefetch(counts, ahead + n_columns - 1)
            at, start = np.int64((i - begin) * n_columns), np.int64(i * n_columns * own_prior)
            some = (offsets[i], offsets[i + 1])
            if products:
                multiply_rows(score, at, log_prior, start, log_rows, row, some[0], some[1], columns)
            else:
                sum_rows(score, at, log_prior, start, log_rows, row, some[0], some[1], columns)
        if products:
            total += _normalise_products(begin, end, known, score, mass, columns)
        else:
            total += _normalise_items(begin, end, known, n_subtypes, score, mass, columns)
        if len(counts):
            for i in range(begin, end):
                at = np.int64((i - begin) * n_columns)
                add_to_rows(counts, row, offsets[i], offsets[i + 1], score, at, columns)
        if len(posterior):
            for cell in range((end - begin) * n_columns):
                posterior[begin * n_columns + cell] = score[cell]
    return total


@kernel(contract=True)
def _normalise_items(
    first: int,
    last: int,
    known: Codes,
    n_subtypes: int,
    score: Floats,
    mass: Floats,
    columns: Columns,
) -> float:
    """Turn the log-scores of items into posteriors, and return the sum of the logs of their sums.

    The columns of a known class are the only ones that are probable.
    """
    n_columns = len(columns)
    total, product = 0.0, 1.0
    for i in range(first, last):
        here = (i - first) * n_columns
        if len(known) and known[i] >= 0:
            _keep_class(score[here : here + n_columns], known[i] * n_subtypes, n_subtypes)
        top = score[here]
        for k in range(1, n_columns):
            top = max(top, score[here + k])
        for k in range(n_columns):
            score[here + k] -= top
        total += top
    for cell in range((last - first) * n_columns):
        score[cell] = fast_exp(score[cell])
    for i in range(first, last):
        here = (i - first) * n_columns
        sum_k = 0.0
        for k in range(n_columns):
            sum_k += score[here + k]
        inverse = 1.0 / sum_k
        for k in range(n_columns):
            score[here + k] *= inverse
        for k in range(n_columns):
            mass[k] += score[here + k]
        product *= sum_k
        if product > _LARGE:
            total += np.log(product)
            product = 1.0
    return float(total + np.log(product))


@kernel(contract=True)
def _normalise_products(
    first: int, last: int, known: Codes, score: Floats, mass: Floats, columns: Columns
) -> float:
    """The same of products of probabilities."""
    n_columns = len(columns)
    sums = np.empty(_ITEMS)
    for i in range(first, last):
        here = (i - first) * n_columns
        if len(known) and known[i] >= 0:
            for k in range(n_columns):
                score[here + k] *= 1.0 if k == known[i] else 0.0
        sum_k = 0.0
        for k in range(n_columns):
            sum_k += score[here + k]
        sums[i - first] = sum_k
        inverse = 1.0 / sum_k
        for k in range(n_columns):
            score[here + k] *= inverse
        for k in range(n_columns):
            mass[k] += score[here + k]
    for place in range(last - first):
        sums[place] = fast_log(sums[place])
    return float(sums[: last - first].sum())


@kernel
def _keep_class(score: Floats, first: int, n_subtypes: int) -> None:
    """Make all columns improbable but those of the subtypes of a class."""
    top = score[first]
    for k in range(first, first + n_subtypes):
        top = max(top, score[k])
    score[:first] = top - _FAR
    score[first + n_subtypes :] = top - _FAR


@kernel
def count_items(
    first: int,
    last: int,
    offsets: Offsets,
    row: AnyArray,
    posterior: Floats,
    counts: Floats,
    mass: Floats,
    columns: Columns,
) -> None:
    """Counts and mass of a posterior that is given; all tables are flat."""
    n_columns = len(columns)
    counts[:] = 0.0
    mass[:] = 0.0
    for i in range(first, last):
        at = np.int64(i * n_columns)
        for k in range(n_columns):
            mass[k] += posterior[at + k]
        add_to_rows(counts, row, offsets[i], offsets[i + 1], posterior, at, columns)


@kernel
def add_blocks(first: int, last: int, counts: Floats) -> None:
    """Add the counts (block, cell) of all blocks to those of the first one."""
    for begin in range(first, last, _CELLS):
        end = min(begin + _CELLS, last)
        for block in range(1, len(counts)):
            for cell in range(begin, end):
                counts[0, cell] += counts[block, cell]


@kernel(contract=True)
def normalise_counts(
    first: int,
    last: int,
    n_labels: int,
    counts: Floats,
    pseudo: Floats,
    log_confusion: Floats,
    columns: Columns,
) -> float:
    """Log-confusions of some annotators, and the sum of pseudo x log-confusion.

    Tables are flat. Annotators are taken some at a time, so that their logarithms are one loop.
    """
    n_classes = len(columns)
    n_cells = n_labels * n_classes
    own = n_cells if len(pseudo) > n_cells else 0
    together = max(1, _CELLS // max(n_cells, 1))
    scale, even, prior_terms = np.empty(n_classes), np.empty(n_classes), np.zeros(n_cells)
    for begin in range(first, last, together):
        end = min(begin + together, last)
        for a in range(begin, end):
            at, prior = a * n_cells, a * own
            _scale_classes(counts, pseudo, at, prior, n_labels, scale, even, columns)
            for label in range(n_labels):
                for k in range(n_classes):
                    cell = label * n_classes + k
                    share = (counts[at + cell] + pseudo[prior + cell]) * scale[k] + even[k]
                    log_confusion[at + cell] = max(share, TINY)
        log_cell = log_confusion[begin * n_cells : end * n_cells]
        for cell in range(len(log_cell)):
            log_cell[cell] = fast_log(log_cell[cell])
        for a in range(begin, end):
            for cell in range(n_cells):
                prior_terms[cell] += pseudo[a * own + cell] * log_confusion[a * n_cells + cell]
    return float(prior_terms.sum())


@kernel(contract=True)
def _scale_classes(
    counts: Floats,
    pseudo: Floats,
    at: int,
    prior: int,
    n_labels: int,
    scale: Floats,
    even: Floats,
    columns: Columns,
) -> None:
    """What the raised counts of an annotator are multiplied by, and what replaces empty ones."""
    n_classes = len(columns)
    for k in range(n_classes):
        scale[k] = 0.0
    for label in range(n_labels):
        for k in range(n_classes):
            cell = label * n_classes + k
            scale[k] += counts[at + cell] + pseudo[prior + cell]
    for k in range(n_classes):
        even[k] = 0.0 if scale[k] > 0.0 else 1.0 / n_labels
        scale[k] = 1.0 / scale[k] if scale[k] > 0.0 else 0.0
