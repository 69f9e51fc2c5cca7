"""Sets of classes as labels, compared by MASI (Passonneau 2006).

MASI is J x M with J = |A and B| / |A or B|, and M is 1 if A = B, 2/3 if one contains the other,
1/3 if they overlap, and 0 if they do not.
"""

from typing import Any

import numpy as np
from scipy import sparse

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import duplicated_pairs
from manyhands.core.arrays import Codes, Floats
from manyhands.core.limits import product, require_memory

Sets = list[frozenset[Any]]


def collect_sets(
    annotations: Annotations, separator: str | None
) -> tuple[Annotations, Codes, Sets]:
    """One annotation per item and annotator, the code of its set, and the distinct sets.

    All labels that an annotator gave to an item are one set. With a separator, a label such as
    a|b is a set itself.
    """
    names = [_parts(name, separator) for name in annotations.label_names().tolist()]
    first_n = ~duplicated_pairs(annotations.item, annotations.annotator)
    group_n = np.cumsum(first_n) - 1
    members: list[set[Any]] = [set() for _ in range(int(first_n.sum()))]
    for group, parts in zip(group_n.tolist(), names, strict=True):
        members[group].update(parts)
    frozen = [frozenset(each) for each in members]
    ordered = sorted(set(frozen), key=lambda each: (len(each), sorted(map(str, each))))
    code_of = {each: code for code, each in enumerate(ordered)}
    code_n = np.array([code_of[each] for each in frozen], dtype=np.int32)
    return annotations.only(first_n), code_n, ordered


def _parts(name: Any, separator: str | None) -> list[Any]:
    if separator is None:
        return [name]
    return [part.strip() for part in str(name).split(separator) if part.strip()]


def masi_distances(sets: Sets) -> Floats:
    """The distance 1 - MASI of every pair of sets; two empty sets are equal.

    >>> masi_distances([frozenset("a"), frozenset("ab")]).round(3).tolist()
    [[0.0, 0.667], [0.667, 0.0]]
    """
    n_sets = len(sets)
    require_memory(
        "alpha of sets", 32.0 * n_sets**2, product(n_sets, n_sets, of="distinct sets"),
        "merge classes that are rarely used",
    )  # fmt: skip
    classes = {name: code for code, name in enumerate(dict.fromkeys(x for s in sets for x in s))}
    row = [code for code, each in enumerate(sets) for _ in each]
    column = [classes[name] for each in sets for name in each]
    shape = (n_sets, max(len(classes), 1))
    member = sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
    both = (member @ member.T).toarray()
    size = np.array([len(each) for each in sets], dtype=np.float64)
    either = size[:, None] + size[None, :] - both
    smaller = np.minimum(size[:, None], size[None, :])
    monotonic = np.where(both == smaller, 2 / 3, 1 / 3)
    masi = monotonic * both / np.maximum(either, 1.0)
    np.fill_diagonal(masi, 1.0)
    return np.asarray(1.0 - masi)
