"""Sets of classes as labels, compared by MASI (see `evaluation.set_scores`)."""

from dataclasses import replace

import numpy as np

from manyhands.annotations import Annotations
from manyhands.annotations.annotations import from_rows_like
from manyhands.annotations.label_sets import SetVocabulary
from manyhands.annotations.set_cells import parse_set
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats, read_only
from manyhands.core.limits import product, require_memory
from manyhands.core.settings import require
from manyhands.evaluation import masi

_CELLS = 4_000_000  # pairs of labels x classes that are compared at a time


def as_sets(annotations: Annotations, separator: str | None = None) -> Annotations:
    """The labels as sets: all labels that an annotator gave to an item are one set.

    With a separator, a label such as a|b is a set itself.
    """
    is_read = annotations.kind == "multilabel"
    require(
        separator is None or not is_read, "separator", "left out where labels are sets already",
        separator,
    )  # fmt: skip
    if separator is None or is_read:
        return annotations.as_kind("multilabel")
    classes = annotations.as_kind("classes")
    sets = [parse_set(name, separator) for name in classes.classes.tolist()]
    vocabulary = SetVocabulary.of_sets(sets, separator=separator)
    label = read_only(vocabulary.codes(sets)[classes.label])
    found = replace(classes, label=label, class_vocabulary=vocabulary)
    return from_rows_like(found, found.to_rows())


def masi_of_codes(member_sk: Bools, one_n: Codes, two_n: Codes) -> Floats:
    """MASI of pairs of labels that are given by the codes of their sets."""
    found = np.empty(len(one_n))
    step = max(1, _CELLS // max(member_sk.shape[1], 1))
    for begin in range(0, len(one_n), step):
        rows = slice(begin, begin + step)
        found[rows] = masi(member_sk[one_n[rows]], member_sk[two_n[rows]])
    return found


def masi_distances(member_sk: AnyArray) -> Floats:
    """The distance 1 - MASI of every pair of sets, of which each is there once.

    >>> masi_distances(np.array([[True, False], [True, True]])).round(3).tolist()
    [[0.0, 0.667], [0.667, 0.0]]
    """
    n_sets = len(member_sk)
    require_memory(
        "alpha of sets", 32.0 * n_sets**2, product(n_sets, n_sets, of="distinct sets"),
        "merge classes that are rarely used",
    )  # fmt: skip
    member = member_sk.astype(np.float64)
    both = member @ member.T
    size = member.sum(axis=1)
    either = size[:, None] + size[None, :] - both
    smaller = np.minimum(size[:, None], size[None, :])
    monotonic = np.where(both == smaller, 2 / 3, 1 / 3)
    similar = monotonic * both / np.maximum(either, 1.0)
    np.fill_diagonal(similar, 1.0)
    return np.asarray(1.0 - similar)
