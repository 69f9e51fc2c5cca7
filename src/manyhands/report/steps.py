"""The next steps of a report in words: whom to remove, what to relabel, what to make clear."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from manyhands.agreement.standouts import confused_pair
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.io.tool_imports import RELABEL_BELOW
from manyhands.report.items import ItemLists
from manyhands.report.profiles import UNTRUSTED, Profiles
from manyhands.report.removal import EXCLUDED, Removal
from manyhands.report.shown import percent, shown
from manyhands.report.wording import (
    FIRST_LOOK,
    FLAGGED,
    ITEM,
    MAX_LEFT_OUT,
    MAX_SENTENCE,
    codes_of,
    counted,
    names_of,
    pair_names,
)


def what_to_do(
    removal: Removal,
    lists: ItemLists,
    classes: Mapping[str, AnyArray],
    first: list[dict[str, Any]],
    commands: Mapping[str, Any] | None,
    noun: str = ITEM,
) -> list[str]:
    """The next steps, the most useful first; with commands if there are some.

    `classes` is the agreement by class without the annotators to leave out, and `first` are the
    first items to relabel.
    """
    profiles = removal.profiles
    consensus, ann = profiles.consensus, profiles.consensus.annotations
    steps = _removals(profiles)
    if profiles.pairs:
        n = "one pair" if len(profiles.pairs) == 1 else f"{len(profiles.pairs):,} pairs"
        chosen = " Until then this report keeps the one with more labels." * bool(profiles.copying)
        steps.append(
            f"Keep one annotator of each pair that is not independent ({n}): "
            f"{pair_names(ann.annotators, profiles.pairs, MAX_LEFT_OUT)}. The labels do not show "
            f"who copies: ask them, or compare when they labelled the same items.{chosen}"
        )
    steps += _looks(profiles)
    steps += _too_few(ann.labels_per_item, noun)
    if lists.n_relabel:
        steps.append(_relabel(removal, lists.n_relabel, first, commands, noun))
        if commands is not None and commands["next"]:
            steps.append(
                "Ask annotators whom nothing speaks against; which items to give to whom, and what "
                f"accuracy that brings: {commands['next']}"
            )
    elif commands is not None and profiles.left_out.any():
        steps.append(f"Aggregate without them: {commands['aggregate']}")
    if ann.kind == "numbers" and lists.n_hard:
        some = names_of(ann.items, lists.hard.tolist(), 3)
        steps.append(
            f"Look at {counted(lists.n_hard, 'item')} with numbers that lie unusually far apart, "
            f"first {some}: see “Hard items”."
        )
    steps += _confused_classes(classes, ann)
    steps += [f"Beware: {shown(text, MAX_SENTENCE)}." for text in consensus.warnings]
    return steps or ["Nothing has to be done: use the consensus."]


def _too_few(n_i: AnyArray, noun: str) -> list[str]:
    """A step if most items have one label: it can neither be confirmed nor compared."""
    n, share = int((n_i <= 1).sum()), float((n_i <= 1).mean())
    if share <= 0.5:
        return []
    return [
        f"Let two annotators or more label the same {noun}s: {counted(n, noun)} ({percent(share)}) "
        f"{'has' if n == 1 else 'have'} at most one label, which nobody can confirm."
    ]


def _removals(profiles: Profiles) -> list[str]:
    """A step for every kind of flag whose labels should be removed."""
    ann, steps = profiles.consensus.annotations, []
    for kind in UNTRUSTED:
        codes = codes_of(profiles, kind)
        if codes:
            share = ann.labels_per_annotator[codes].sum() / max(ann.n_annotations, 1)
            verb = FLAGGED[kind][0 if len(codes) == 1 else 1]
            steps.append(
                f"Remove {counted(len(codes), 'annotator')} who {verb} ({kind}, "
                f"{percent(share)} of all labels): "
                f"{names_of(ann.annotators, codes, MAX_LEFT_OUT)}. {FIRST_LOOK[kind]}"
            )
    return steps


def _looks(profiles: Profiles) -> list[str]:
    """Steps about annotators whose labels got worse, or who are unusually fast and no more."""
    names, steps = profiles.consensus.annotations.annotators, []
    weak = np.flatnonzero(profiles.weak).tolist()
    if weak:
        steps.append(
            f"Look at some labels of {names_of(names, weak)}, who {_are(weak)} "
            f"{profiles.why_weak()}: explain the task to them, or ask others."
        )
    if profiles.trend is not None:
        codes = np.flatnonzero(profiles.worse).tolist()
        if codes:
            steps.append(
                f"Look at the later labels of {names_of(names, codes)}: they are right less often "
                "than the earlier ones, on comparable items."
            )
    if profiles.pace is not None:
        flagged = [flag.annotator for flag in profiles.flags if flag.kind != "few-labels"]
        codes = [a for a in np.flatnonzero(profiles.pace.is_fast_a).tolist() if a not in flagged]
        if codes:
            steps.append(
                f"Look at some labels of {names_of(names, codes)}, who {_are(codes)} unusually "
                "fast; to be "
                "fast alone is no fault, and nothing else speaks against them."
            )
    return steps


def _are(codes: list[int]) -> str:
    return "is" if len(codes) == 1 else "are"


def _relabel(
    removal: Removal,
    n: int,
    first: list[dict[str, Any]],
    commands: Mapping[str, Any] | None,
    noun: str,
) -> str:
    ann = removal.profiles.consensus.annotations
    share = n / max(ann.n_items, 1)
    unsure = f"consensus with a confidence below {RELABEL_BELOW:g}"
    after = "" if not removal.relabels else " without the annotators to leave out"
    if share > 0.5:
        what = (
            f"Collect more labels: {n:,} of {counted(ann.n_items, noun)} ({percent(share)}) have "
            f"a {unsure}{after}."
        )
    else:
        what = f"Relabel {counted(n, noun)} ({percent(share)}) that have a {unsure}{after}."
    names = [row["item"] for row in first]
    what += f" Begin with {names_of(names, range(min(3, len(names))))}; the reasons are under"
    what += " “Which items to relabel first”."
    if commands is None:
        return what
    if commands["names"]:
        what += f" The names for {EXCLUDED} are under “What changes without them”."
    return f"{what} To write the whole list to relabel.csv: {commands['aggregate']}"


def _confused_classes(classes: Mapping[str, AnyArray], ann: Annotations) -> list[str]:
    n_labelled = max(int((ann.labels_per_item > 0).sum()), 1)
    pair = confused_pair(classes, ann.n_annotations / n_labelled)
    if pair is None:
        return []
    one, two = (shown(classes["class"][k], 40) for k in (pair.said, pair.instead))
    return [
        f"Make clear what separates “{one}” from “{two}”: where one annotator says “{one}”, "
        f"another says “{two}” in {percent(pair.share)} of the cases; {percent(pair.usual)} would "
        "be usual."
    ]
