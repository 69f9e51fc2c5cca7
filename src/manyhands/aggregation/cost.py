"""What a fit needs at most, told from the size of a label table: it is refused if that is too much.

A consensus of classes holds a probability per item and class, and most models a confusion per
annotator. Memory is counted in such tables, time in cells of confusions that a step of EM visits.
"""

from dataclasses import dataclass

from manyhands.annotations import Annotations
from manyhands.core.limits import product, require_memory, require_time

_CELL = 8  # bytes
_OTHERS = "try one-coin or majority"
_OF_LABELS = "merge rare classes, or check that the column of labels is the right one"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Tables that are in memory at the same time, and the seconds of all steps.

    `item_tables` have shape (i, k), `annotator_tables` (a, k, l); `n_other` counts other cells.
    """

    item_tables: float
    annotator_tables: float = 0.0
    n_other: float = 0.0
    seconds: float = 0.0


def confusion_cost(
    annotations: Annotations,
    *,
    tables: float,
    more: float,
    steps: int,
    nanoseconds: float,
    item_tables: float = 4.2,
) -> Cost:
    """The cost of a model with a confusion per annotator.

    `tables` are in memory for every annotator, `more` besides. A cell takes `nanoseconds` per step.
    """
    n_cells = annotations.n_classes**2
    return Cost(
        item_tables=item_tables,
        annotator_tables=tables,
        n_other=more * n_cells,
        seconds=1e-9 * nanoseconds * steps * annotations.n_annotators * n_cells,
    )


def require_affordable(who: str, cost: Cost, annotations: Annotations, cheaper: str) -> None:
    """Raise a `TooLargeError` if a fit takes more memory or time than the limits allow.

    `cheaper` names settings that would make it faster.
    """
    n_items, n_annotators = annotations.n_items, annotations.n_annotators
    k = annotations.n_classes
    items = product(n_items, k, of="items x classes")
    require_memory(who, _CELL * cost.item_tables * n_items * k, items, _OF_LABELS)
    confusions = product(n_annotators, k, k, of="annotators x classes x classes")
    cells = cost.item_tables * n_items * k + cost.annotator_tables * n_annotators * k * k
    require_memory(who, _CELL * (cells + cost.n_other), confusions, _OTHERS)
    require_time(who, cost.seconds, confusions, f"{_OTHERS}, set {cheaper} lower")


def require_confusions(annotations: Annotations, copies: float = 1.0) -> None:
    """Raise a `TooLargeError` if the confusions of all annotators take too much memory."""
    n_annotators, k = annotations.n_annotators, annotations.n_classes
    need = product(n_annotators, k, k, of="annotators x classes x classes")
    n_bytes = _CELL * copies * n_annotators * k * k
    require_memory("a confusion per annotator", n_bytes, need, "merge rare classes")
