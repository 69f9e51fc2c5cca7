"""A small panel of annotators against the truth: who shares errors, and how many they count as."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Vocabulary
from manyhands.core.arrays import object_array, read_only
from manyhands.report.shown import number, shown
from manyhands.selection import judge_panel

MAX_ANNOTATORS = 12  # larger crowds have too many pairs to look at
MIN_GOLD = 20
_MOST_PAIRS = 10


def panel_of(
    annotations: Annotations, truth: Mapping[Any, Any] | None, names: Vocabulary
) -> dict[str, Any] | None:
    """What `judge_panel` finds, with these names of annotators; None for other labels and crowds.

    It needs classes, 2 to 12 annotators, and 20 items whose truth is known.
    """
    ann = annotations
    if truth is None or ann.kind != "classes" or not 2 <= ann.n_annotators <= MAX_ANNOTATORS:
        return None
    gold = _usable(ann, truth)
    if len(gold) < MIN_GOLD:
        return None
    texts = object_array([shown(name) for name in names.names.tolist()])
    panel = judge_panel(
        replace(ann, annotator_vocabulary=Vocabulary(read_only(texts), "annotator")), gold
    )
    order = np.argsort(-np.nan_to_num(panel.pairs["correlation"], nan=-2.0), kind="stable")
    return {
        "n_gold": panel.n_gold,
        "words": [*panel.words, *panel.warnings],
        "n_pairs": len(order),
        "pairs": [
            {name: _plain(column[row]) for name, column in panel.pairs.items()}
            for row in order[:_MOST_PAIRS].tolist()
        ],
    }


def _usable(ann: Annotations, truth: Mapping[Any, Any]) -> dict[Any, Any]:
    """The truths of labelled items that are classes of the labels."""
    assert ann.class_vocabulary is not None, "labels are classes"
    row = ann.item_vocabulary.codes(truth)
    code = ann.class_vocabulary.codes(truth.values())
    labelled = (row >= 0) & (ann.labels_per_item[row] > 0) & (code >= 0)
    return {item: truth[item] for item, keep in zip(truth, labelled.tolist(), strict=True) if keep}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return number(value) if isinstance(value, float) else int(value)
