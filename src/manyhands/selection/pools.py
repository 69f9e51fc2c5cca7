"""The pool of items and annotators that further labels are chosen from, by the kind of labels."""

from collections.abc import Mapping
from typing import Any

from manyhands.aggregation import Consensus
from manyhands.annotations import Labels, as_annotations
from manyhands.core.errors import DataError
from manyhands.selection.label_pool import Pool, class_pool
from manyhands.selection.set_pool import set_pool

_POOLS: dict[str, Any] = {"classes": class_pool, "multilabel": set_pool}


def make_pool(
    annotations: Labels,
    probabilities: Any = None,
    *,
    consensus: Consensus | None = None,
    costs: Mapping[Any, float] | None = None,
    fewest_first: bool = False,
) -> Pool:
    """The pool of all items, and of annotators by quality per cost, or with the fewest labels."""
    ann = as_annotations(annotations)
    if ann.kind not in _POOLS:
        raise DataError(
            "what to label next is chosen for classes, sets and comparisons; these labels are "
            "numbers"
        )
    if ann.n_annotations == 0:
        raise DataError("there is not a single label; label some items of each class first")
    found: Pool = _POOLS[ann.kind](ann, probabilities, consensus, costs, fewest_first)
    return found
