"""Whom to remove or look at, and which items to relabel first, each with the reason."""

from collections.abc import Callable
from typing import Any

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.core.arrays import AnyArray
from manyhands.report.items import ItemLists, describe_items
from manyhands.report.profiles import UNTRUSTED, Profiles
from manyhands.report.removal import Removal
from manyhands.report.shown import number, percent, shown

MAX_ANNOTATORS = 60
MAX_FIRST_ITEMS = 10
MAX_SAID = 4  # labels of an item, in a sentence
REMOVE, ONE_OF_TWO, LOOK = "remove", "keep one of the two", "look at some labels"


def annotators_to_act_on(profiles: Profiles) -> dict[str, Any]:
    """A row per annotator, or per pair that copies: what to do, why, and how sure that is.

    Those to remove come first. Annotators who are only weak or unusually fast, or who only got
    worse, come last: that alone is no reason to remove anyone.
    """
    rows = [*_flagged(profiles), *_copying(profiles), *_to_look_at(profiles)]
    return {"n": len(rows), "rows": rows[:MAX_ANNOTATORS]}


def _flagged(profiles: Profiles) -> list[dict[str, Any]]:
    flags = [flag for flag in profiles.flags if flag.kind in UNTRUSTED]
    return [
        _row(profiles, [flag.annotator], REMOVE, flag.kind, flag.meaning, flag.evidence, flag.sure)
        for flag in flags
    ]


def _copying(profiles: Profiles) -> list[dict[str, Any]]:
    rows, seen = [], set()
    for flag in profiles.flags:
        pair = frozenset([flag.annotator, flag.other])
        if flag.other is None or pair in seen:
            continue
        seen.add(pair)
        meaning = "they are not independent: one copies the other, or both are the same person"
        both = [flag.annotator, flag.other]
        rows.append(_row(profiles, both, ONE_OF_TWO, flag.kind, meaning, flag.evidence, flag.sure))
    return rows


def _to_look_at(profiles: Profiles) -> list[dict[str, Any]]:
    rows = []
    named = {flag.annotator for flag in profiles.flags if flag.kind != "few-labels"}
    quality = profiles.consensus.quality
    for a in np.flatnonzero(profiles.weak)[np.argsort(quality.value[profiles.weak])].tolist():
        text = (
            f"{profiles.why_weak(a)}: quality {percent(quality.value[a])}, "
            f"{percent(quality.low[a])} to {percent(quality.high[a])}; the labels depend on the "
            "items, so they help a little"
        )
        rows.append(_row(profiles, [a], LOOK, "weak", "", text))
    for a in range(profiles.consensus.annotations.n_annotators):
        if a in named:
            continue
        if profiles.trend is not None and profiles.trend.change_a[a] < 0:
            text = profiles.trend.text(a)
            if text:
                rows.append(_row(profiles, [a], LOOK, "got worse", "", text))
        if profiles.pace is not None and profiles.pace.is_fast_a[a]:
            text = f"{profiles.pace.evidence(a)}; nothing else speaks against these labels"
            rows.append(_row(profiles, [a], LOOK, "fast", "", text))
    return rows


def _row(
    profiles: Profiles,
    codes: list[int],
    action: str,
    kind: str,
    meaning: str,
    evidence: str,
    sure: float | None = None,
) -> dict[str, Any]:
    ann = profiles.consensus.annotations
    return {
        "names": [shown(ann.annotators[a], 60) for a in codes],
        "labels": [int(n) for n in ann.labels_per_annotator[codes]],
        "action": action,
        "kind": kind,
        "meaning": meaning,
        "evidence": shown(evidence, 400),
        "sure": None if sure is None else number(sure, 3),
    }


def items_to_relabel(
    removal: Removal, lists: ItemLists, context: Callable[[AnyArray], AnyArray] | None = None
) -> list[dict[str, Any]]:
    """The first items to relabel, the least certain first, with the reason in words.

    `context` gives the words around tokens, if items are tokens.
    """
    consensus, codes = removal.profiles.consensus, lists.relabel[:MAX_FIRST_ITEMS]
    words = None if context is None else context(codes)
    described = describe_items(consensus, codes, judged=removal.judged, words=words)
    that_count = describe_items(removal.judged, codes)
    rows = []
    for code, row, counting in zip(codes.tolist(), described, that_count, strict=True):
        why = _why(removal.judged, counting, code) + _of_left_out(removal, code)
        if counting["n_labels"] == 0 and row["n_labels"]:
            why = f"no label is left{_of_left_out(removal, code)}"
        if row["now"] is not None:
            why += f"; with all labels the consensus is “{row['now']}”"
        rows.append({"item": row["item"], "text": row["text"], "why": why})
    return rows


def _of_left_out(removal: Removal, code: int) -> str:
    """The labels of an item by annotators to leave out, and whether the reason counts them."""
    profiles, ann = removal.profiles, removal.profiles.consensus.annotations
    who = ann.annotator[int(ann.item_offsets[code]) : int(ann.item_offsets[code + 1])]
    n, parts = int(profiles.untrusted[who].sum()), []
    if n:
        parts.append("one label of an annotator to remove" if n == 1 else
                     f"{n} labels of annotators to remove")  # fmt: skip
    name = {a: shown(ann.annotators[a], 40) for group in profiles.copying for a in group}
    for group in profiles.copying:
        parts += [
            f"the label of {name[a]}, who is not independent of {name[group[0]]}"
            for a in group[1:]
            if a in who
        ]
    if not parts:
        return ""
    return f"; {'not counted' if removal.relabels else 'among them'}: {', '.join(parts[:MAX_SAID])}"


def _why(consensus: Consensus, row: dict[str, Any], code: int) -> str:
    """Why an item should be labelled again."""
    ann = consensus.annotations
    n = row["n_labels"]
    if n == 0:
        return "nobody labelled it"
    believed = ""
    if row["confidence"] is not None:
        believed = (
            f"; the consensus “{row['consensus']}” has a probability of {row['confidence']:.2f}"
        )
    if consensus.probabilities is None:
        at = slice(int(ann.item_offsets[code]), int(ann.item_offsets[code + 1]))
        low, high = float(np.min(ann.label[at])), float(np.max(ann.label[at]))
        said = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        unsure = "" if row["confidence"] is None else f"; confidence {row['confidence']:.2f}"
        return f"{n} {'label' if n == 1 else 'labels'}: {said}{unsure}"
    counts = [(len(each["annotators"]) + each["more"], each["label"]) for each in row["labels"]]
    if n == 1:
        return f"only one label, “{counts[0][1]}”{believed}"
    parts = [
        f"{count} of {n} {'says' if count == 1 else 'say'} “{label}”"
        for count, label in counts[:MAX_SAID]
    ]
    others = n - sum(count for count, _ in counts[:MAX_SAID])
    if others:
        parts.append(f"{others} of {n} something else")
    return f"{', '.join(parts)}{believed}"
