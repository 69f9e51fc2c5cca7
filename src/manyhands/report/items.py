"""Items that a person should look at: those to relabel, those that are hard, those in dispute."""

from collections.abc import Iterable, Iterator, Mapping
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
from manyhands.report.shown import MISSING, n_bytes, shown

MAX_ITEMS = 100  # in a list
MAX_RELABEL = 3000  # in the list of items to relabel
MAX_MARKUP = 750_000  # bytes of that list on a page, about
UNUSUAL = 2.0  # standard deviations of disagreement above what is usual
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


def unsure_items(consensus: Consensus) -> Bools:
    """Items whose consensus has a confidence below 0.7, and those without a label."""
    unlabelled = consensus.annotations.labels_per_item == 0
    return np.asarray((np.nan_to_num(consensus.confidence) < RELABEL_BELOW) | unlabelled)


def choose_items(
    consensus: Consensus,
    left_out: Bools,
    *,
    judged: Consensus | None = None,
    most: int = MAX_ITEMS,
    most_relabel: int = MAX_RELABEL,
) -> ItemLists:
    """The lists of a report; `left_out` are annotators whose labels should not count.

    Items to relabel have a confidence below 0.7, or no label, in the consensus `judged`: that
    without these annotators, if it is known. Hard items are those with unusual disagreement among
    the others (see `_is_unusual`). Contested items are those whose labels disagree most, whoever
    gave them. All of them disagree with the consensus `judged`.
    """
    ann, judged = consensus.annotations, judged or consensus
    judged_confidence = np.nan_to_num(judged.confidence, nan=0.0)
    relabel = unsure_items(judged)
    kept_n = ~left_out[ann.annotator]
    against_all = _against(ann, judged, np.ones(ann.n_annotations, dtype=bool))
    against_kept = _against(ann, judged, kept_n)
    hard = _is_unusual(ann, judged, kept_n)
    contested = _first(against_all > 0, -against_all, judged_confidence, most)
    return ItemLists(
        relabel=_first(relabel, judged_confidence, -against_all, most_relabel),
        hard=_first(hard, -against_kept, judged_confidence, most),
        contested=contested,
        n_relabel=int(relabel.sum()),
        n_hard=int(hard.sum()),
        n_contested=len(contested),
    )


def _is_unusual(ann: Annotations, judged: Consensus, used_n: Bools) -> Bools:
    """Items whose labels are further from the consensus than is usual for as many labels.

    With the mean m and the variance v of the disagreement of all labels that are used, n labels of
    an item usually have n m, with a standard deviation of sqrt(n v); unusual is `UNUSUAL` of them
    above it. Items with one label are not.
    """
    item, off_n = ann.item[used_n], disagreement(ann, judged, used_n)
    if len(off_n) == 0:
        return np.zeros(ann.n_items, dtype=bool)
    n_i = np.bincount(item, minlength=ann.n_items)
    off_i = np.bincount(item, weights=off_n, minlength=ann.n_items)
    usual_i, deviation_i = n_i * np.mean(off_n), np.sqrt(n_i * np.var(off_n))
    above = off_i - usual_i >= UNUSUAL * deviation_i
    return np.asarray(above & (n_i >= 2) & (off_i > 0) & (deviation_i > 0))


def _against(ann: Annotations, judged: Consensus, used_n: Bools) -> Floats:
    """The share of an item's labels that are not its consensus; 0 with fewer than two labels.

    For numbers, the mean squared distance from the consensus in variances of all labels; for sets
    the mean of 1 - MASI. A share is shrunk by one label that agrees: one of two is less of a
    dispute than four of eight.
    """
    item = ann.item[used_n]
    n_i = np.bincount(item, minlength=ann.n_items)
    off_i = np.bincount(item, weights=disagreement(ann, judged, used_n), minlength=ann.n_items)
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
    judged: Consensus | None = None,
    marks: AnyArray | None = None,
) -> Iterator[dict[str, Any]]:
    """A row for every item: name, text, consensus, confidence, and who said what.

    `words` are those of all items, if these are tokens; `network` are the labels of a network.
    Consensus and confidence are those of `judged`, if it is given; `now` is then the label of the
    consensus itself where it differs. `marks` are signs beside the names of annotators.
    """
    ann, found = consensus.annotations, judged or consensus
    names, labels, confidence = ann.items, found.labels, found.confidence
    now = consensus.labels
    for code in codes.tolist():
        differs = consensus.probabilities is not None and labels[code] != now[code]
        yield {
            "item": shown(names[code]),
            "text": item_text(ann.source, names[code]) if words is None else shown(words[code]),
            "consensus": _label_text(ann, labels[code]),
            "confidence": None if np.isnan(confidence[code]) else round(float(confidence[code]), 3),
            "now": _label_text(ann, now[code]) if differs else None,
            "labels": _labels_of(consensus, code, labels[code], marks),
            "n_labels": int(ann.labels_per_item[code]),
            "network": None if network is None else _label_text(ann, network[code]),
        }


def rows_that_fit(rows: Iterable[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The first rows whose markup has about `most` bytes in all."""
    kept, size = [], 0
    for row in rows:
        size += 250 + n_bytes(row["item"]) + n_bytes(row["text"]) + n_bytes(row["consensus"])
        for each in row["labels"]:
            size += 80 + n_bytes(each["label"])
            size += sum(16 + n_bytes(who) for who in each["annotators"])
        if size > most:
            break
        kept.append(row)
    return kept


def _labels_of(
    consensus: Consensus, code: int, believed: Any, marks: AnyArray | None
) -> list[dict[str, Any]]:
    """Labels of an item with their annotators, the most frequent label first."""
    ann = consensus.annotations
    at = slice(int(ann.item_offsets[code]), int(ann.item_offsets[code + 1]))
    classes = ann.class_vocabulary
    said = ann.label[at] if classes is None else classes.names[ann.label[at]]
    by_label: dict[str, list[str]] = {}
    for label, who in zip(said.tolist(), ann.annotator[at], strict=True):
        sign = "" if marks is None else marks[who]
        by_label.setdefault(_label_text(ann, label), []).append(
            shown(ann.annotators[who], 40) + sign
        )
    ranked = sorted(by_label.items(), key=lambda each: -len(each[1]))[:MAX_LABELS]
    believed = _label_text(ann, believed)
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
