"""Which items can be compared at all: groups that comparisons connect; winners of everything."""

from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from manyhands.annotations.comparisons import LEFT, TIE, Comparisons
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import AnyArray, Codes

_SHOWN = 3


def comparison_groups(comparisons: Comparisons) -> Codes:
    """The group of every item; items of one group are connected by comparisons.

    Groups are numbered by size, the largest first, and by their first item where sizes are equal.

    >>> pairs = Comparisons.from_arrays(["a", "c"], ["b", "d"], None, ["a", "tie"])
    >>> comparison_groups(pairs).tolist()
    [0, 0, 1, 1]
    """
    _, group_i = _components(comparisons, comparisons.left, comparisons.right, "weak")
    _, first, sizes = np.unique(group_i, return_index=True, return_counts=True)
    rank = np.empty(len(sizes), dtype=np.int32)
    rank[np.lexsort((first, -sizes))] = np.arange(len(sizes), dtype=np.int32)
    return np.asarray(rank[group_i], dtype=np.int32)


def unbounded_items(comparisons: Comparisons, group_i: Codes) -> AnyArray:
    """Items whose scores have no limit without a prior, as a mask.

    Those are sets of items that won or lost everything against the rest of their group.
    """
    won = np.where(comparisons.outcome == LEFT, comparisons.left, comparisons.right)
    lost = np.where(comparisons.outcome == LEFT, comparisons.right, comparisons.left)
    tied = comparisons.outcome == TIE
    ends = np.concatenate([won, lost[tied]]), np.concatenate([lost, won[tied]])
    _, strong_i = _components(comparisons, *ends, "strong")
    largest = np.bincount(strong_i).argsort(kind="stable")[::-1]
    size = np.bincount(strong_i)
    split = [len(set(strong_i[group_i == group])) > 1 for group in range(group_i.max() + 1)]
    main = {int(group_i[strong_i == each][0]): each for each in largest[::-1] if size[each]}
    inside = np.array(
        [strong_i[i] == main[int(group_i[i])] for i in range(comparisons.n_items)], dtype=bool
    )
    return np.asarray(np.array(split)[group_i] & ~inside)


def group_lines(comparisons: Comparisons, group_i: Codes) -> list[str]:
    """What to say about groups that were never compared with each other."""
    n_groups = int(group_i.max()) + 1 if len(group_i) else 0
    if n_groups < 2:
        return []
    shown = [
        f"{{{join_names(comparisons.items[group_i == group], limit=4)}}}"
        for group in range(min(n_groups, _SHOWN))
    ]
    more = f" and {n_groups - _SHOWN} more" if n_groups > _SHOWN else ""
    return [
        f"{n_groups} groups of items cannot be compared, as no comparison connects them: "
        f"{', '.join(shown)}{more}; ranks hold within a group"
    ]


def _components(
    comparisons: Comparisons, start: AnyArray, end: AnyArray, connection: Literal["weak", "strong"]
) -> tuple[int, AnyArray]:
    n = comparisons.n_items
    edges = coo_array((np.ones(len(start)), (start, end)), shape=(n, n))
    found: tuple[int, AnyArray] = connected_components(
        edges, directed=connection == "strong", connection=connection
    )
    return found
