"""Items that a person should look at: those to relabel, those that are hard, those in dispute."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations
from manyhands.annotations.set_cells import EMPTY_SET
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import DataError
from manyhands.io.tool_imports import RELABEL_BELOW
from manyhands.report.cells import NOTHING, disagreement
from manyhands.report.shown import MISSING, shown

MAX_ITEMS = 100  # in a list
MAX_LABELS = 12  # shown of an item
MAX_TEXT = 300  # characters


@dataclass(frozen=True)
class ItemLists:
    """Codes of items, the most urgent first, and how many there are in all."""

    relabel: AnyArray
    hard: AnyArray
    contested: AnyArray
    n_relabel: int
    n_hard: int
    n_contested: int


def choose_items(consensus: Consensus, untrusted: Bools, most: int = MAX_ITEMS) -> ItemLists:
    """The lists of a report.

    Items to relabel have a confidence below 0.7, or no label. Hard items are those about which
    annotators who can be trusted disagree. Contested items are those whose labels disagree most,
    whoever gave them.
    """
    ann = consensus.annotations
    confidence = np.nan_to_num(consensus.confidence, nan=0.0)
    unlabelled = ann.labels_per_item == 0
    relabel = (confidence < RELABEL_BELOW) | unlabelled
    against_all = _against(consensus, np.ones(ann.n_annotations, dtype=bool))
    against_trusted = _against(consensus, ~untrusted[ann.annotator])
    return ItemLists(
        relabel=_first(relabel, confidence, -against_all, most),
        hard=_first(against_trusted > 0, -against_trusted, confidence, most),
        contested=_first(against_all > 0, -against_all, confidence, most),
        n_relabel=int(relabel.sum()),
        n_hard=int((against_trusted > 0).sum()),
        n_contested=int((against_all > 0).sum()),
    )


def _against(consensus: Consensus, used_n: Bools) -> Floats:
    """The share of an item's labels that are not its consensus; 0 with fewer than two labels.

    For numbers, the mean squared distance from the consensus in variances of all labels; for sets
    the mean of 1 - MASI. A share is shrunk by one label that agrees: one of two is less of a
    dispute than four of eight.
    """
    ann = consensus.annotations
    item = ann.item[used_n]
    n_i = np.bincount(item, minlength=ann.n_items)
    off_i = np.bincount(item, weights=disagreement(consensus, used_n), minlength=ann.n_items)
    return np.where(n_i >= 2, off_i / (n_i + 1.0), 0.0)


def _first(chosen: Bools, key: Floats, tie: Floats, most: int) -> AnyArray:
    """The codes of the chosen items with the smallest keys."""
    codes = np.flatnonzero(chosen)
    return codes[np.lexsort((codes, tie[codes], key[codes]))[:most]]


def describe_items(
    consensus: Consensus,
    codes: AnyArray,
    *,
    words: AnyArray | None = None,
    network: AnyArray | None = None,
) -> Iterator[dict[str, Any]]:
    """A row for every item: name, text, consensus, confidence, and who said what.

    `words` are those of all items, if these are tokens; `network` are the labels of a network.
    """
    ann = consensus.annotations
    names, labels, confidence = ann.items, consensus.labels, consensus.confidence
    for code in codes.tolist():
        yield {
            "item": shown(names[code]),
            "text": item_text(ann.source, names[code]) if words is None else shown(words[code]),
            "consensus": _label_text(ann, labels[code]),
            "confidence": None if np.isnan(confidence[code]) else round(float(confidence[code]), 3),
            "labels": _labels_of(consensus, code),
            "n_labels": int(ann.labels_per_item[code]),
            "network": None if network is None else _label_text(ann, network[code]),
        }


def _labels_of(consensus: Consensus, code: int) -> list[dict[str, Any]]:
    """Labels of an item with their annotators, the most frequent label first."""
    ann = consensus.annotations
    at = slice(int(ann.item_offsets[code]), int(ann.item_offsets[code + 1]))
    classes = ann.class_vocabulary
    said = ann.label[at] if classes is None else classes.names[ann.label[at]]
    by_label: dict[str, list[str]] = {}
    for label, who in zip(said.tolist(), ann.annotator[at], strict=True):
        by_label.setdefault(_label_text(ann, label), []).append(shown(ann.annotators[who], 40))
    ranked = sorted(by_label.items(), key=lambda each: -len(each[1]))[:MAX_LABELS]
    believed = _label_text(ann, consensus.labels[code])
    return [
        {"label": label, "annotators": who[:MAX_LABELS], "more": max(len(who) - MAX_LABELS, 0),
         "agrees": label == believed}
        for label, who in ranked
    ]  # fmt: skip


def _label_text(ann: Annotations, label: Any) -> str:
    if isinstance(label, float | np.floating):
        return MISSING if np.isnan(label) else f"{label:.4g}"
    if ann.kind == "multilabel" and label == EMPTY_SET:
        return NOTHING
    return MISSING if label is None else shown(label, 60)


def item_text(source: Any, name: Any) -> str:
    """What the file has of an item beside labels, as one short text; empty if nothing."""
    content = getattr(source, "content", None)
    if content is None:
        return ""
    try:
        data: Mapping[str, Any] = content.data.get(content.name_of(name)) or {}
    except DataError:  # the items are tokens of what the file has
        return ""
    parts = [str(value) for value in data.values() if isinstance(value, str) and value.strip()]
    return shown(max(parts, key=len), MAX_TEXT) if parts else ""
