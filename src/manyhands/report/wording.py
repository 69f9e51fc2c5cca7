"""The summary of a report in words: what there is, how far annotators agree, whom to trust."""

from typing import Any

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.agreement import AgreementSummary
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.io.tool_imports import RELABEL_BELOW
from manyhands.report.items import ItemLists
from manyhands.report.profiles import UNTRUSTED, Profiles
from manyhands.report.shown import shown

MAX_NAMES = 8
MAX_SENTENCE = 400  # characters of a sentence from elsewhere, which may hold any names
MAX_LEFT_OUT = 40  # names of annotators whose labels should be left out
_FLAGGED = {
    "adversarial": (
        "gives labels against what the items are",
        "give labels against what the items are",
    ),
    "random": (
        "gives labels that do not depend on the items",
        "give labels that do not depend on the items",
    ),
    "constant": ("nearly always gives the same label", "nearly always give the same label"),
}


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "item"), counted(1200, "item"), counted(2, "class")
    ('1 item', '1,200 items', '2 classes')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def names_of(names: Any, codes: Any, most: int = MAX_NAMES) -> str:
    """Some names in a sentence.

    >>> names_of(["a", "b"], [1, 0])
    'b and a'
    """
    listed = [shown(names[code], 40) for code in codes[:most]]
    more = len(codes) - len(listed)
    if more:
        return f"{', '.join(listed)} and {more:,} more"
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]])) if listed else ""


def percent(share: float) -> str:
    """A share in whole per cent.

    >>> percent(0.127), percent(0.999), percent(0.004), percent(0.0)
    ('13 %', '99 %', 'less than 1 %', '0 %')
    """
    if 0.0 < share < 0.01:
        return "less than 1 %"
    rounded = round(100 * share)
    return f"{min(rounded, 99) if share < 1.0 else rounded} %"


def what_we_have(consensus: Consensus) -> list[str]:
    """Sizes, and how many labels an item has."""
    ann = consensus.annotations
    n_i = ann.labels_per_item
    what = "numbers" if ann.kind == "numbers" else counted(ann.n_classes, "class")
    what = f"sets of {what}" if ann.kind == "multilabel" else what
    lines = [
        f"{counted(ann.n_annotations, 'label')} of {counted(ann.n_items, 'item')} by "
        f"{counted(ann.n_annotators, 'annotator')}; labels are {what}."
    ]
    if n_i.min() == n_i.max():
        lines.append(f"Every item has {counted(int(n_i.max()), 'label')}.")
    else:
        lines.append(
            f"Items have {n_i.min()} to {n_i.max()} labels, half of them {np.median(n_i):g} or more"
            "."
        )
    single = int((n_i <= 1).sum())
    if single:
        lines.append(
            f"{counted(single, 'item')} ({percent(single / len(n_i))}) "
            f"{'has' if single == 1 else 'have'} at most one label: nobody can confirm it."
        )
    return lines


def whom_to_trust(profiles: Profiles) -> list[str]:
    """How many annotators can be trusted, and who cannot, by kind of flag."""
    ann, quality = profiles.consensus.annotations, profiles.consensus.annotator_quality
    flagged = {flag.annotator for flag in profiles.flags}
    fine = np.array([a for a in range(ann.n_annotators) if a not in flagged], dtype=int)
    share = ann.labels_per_annotator[fine].sum() / max(ann.n_annotations, 1)
    lines = []
    if len(fine) == ann.n_annotators:
        lines.append(f"Nothing speaks against any of the {counted(len(fine), 'annotator')}.")
    elif len(fine):
        lines.append(
            f"Nothing speaks against {len(fine):,} of {counted(ann.n_annotators, 'annotator')}, "
            f"who gave {percent(share)} of the labels."
        )
    if len(fine) and ann.kind == "classes":
        low, middle, high = np.quantile(quality[fine], [0.1, 0.5, 0.9])
        lines.append(
            f"Half of these are right in {percent(middle)} of the cases or more; most are between "
            f"{percent(low)} and {percent(high)}."
        )
    if len(fine) and ann.kind == "multilabel":
        middle = f"{np.median(quality[fine]):.2f}"
        lines.append(f"Half of these have a quality (F1 of the classes said) of {middle} or more.")
    for kind, (one, many) in _FLAGGED.items():
        codes = codes_of(profiles, kind)
        if codes:
            verb = one if len(codes) == 1 else many
            lines.append(f"{len(codes):,} {verb}: {names_of(ann.annotators, codes)}.")
    pairs = copying_pairs(profiles)
    if pairs:
        lines.append(
            f"{counted(len(pairs), 'pair')} are not independent (one copies, or both are the same "
            f"person): {_pair_names(ann.annotators, pairs)}."
        )
    few = codes_of(profiles, "few-labels")
    if few:
        lines.append(f"{counted(len(few), 'annotator')} gave too few labels to say.")
    return lines


def codes_of(profiles: Profiles, kind: str) -> list[int]:
    """The annotators with a flag of this kind, the surest first, each once."""
    return list(dict.fromkeys(flag.annotator for flag in profiles.flags if flag.kind == kind))


def copying_pairs(profiles: Profiles) -> list[tuple[int, int]]:
    """The pairs with a flag that one copies, each once."""
    pairs = [
        (min(flag.annotator, flag.other), max(flag.annotator, flag.other))
        for flag in profiles.flags
        if flag.other is not None
    ]
    return list(dict.fromkeys(pairs))


def _pair_names(names: Any, pairs: list[tuple[int, int]], most: int = MAX_NAMES) -> str:
    listed = [f"{shown(names[one], 40)} and {shown(names[two], 40)}" for one, two in pairs[:most]]
    more = f"; and {len(pairs) - most:,} more" if len(pairs) > most else ""
    return "; ".join(listed) + more


def how_far(found: AgreementSummary) -> list[str]:
    """The first coefficient, and what it means."""
    first = []
    if found.coefficients:
        one = found.coefficients[0]
        first = [f"{one}." if one.is_defined else f"{one.title}: undefined."]
    return [*first, *(shown(text, MAX_SENTENCE) for text in found.words)]


def what_to_do(
    profiles: Profiles,
    lists: ItemLists,
    agreement: AgreementSummary,
    file: str | None,
    first: list[dict[str, Any]],
) -> list[str]:
    """The next steps, the most useful first; with commands if the name of a file is given.

    `first` are the first items to relabel.
    """
    consensus, ann = profiles.consensus, profiles.consensus.annotations
    steps = _removals(profiles)
    pairs = copying_pairs(profiles)
    if pairs:
        steps.append(
            f"Find out who copies, and keep one of each of {counted(len(pairs), 'pair')}: "
            f"{_pair_names(ann.annotators, pairs, MAX_LEFT_OUT)}."
        )
    steps += _looks(profiles)
    steps += _too_few(ann.labels_per_item)
    if lists.n_relabel:
        steps.append(_relabel(lists.n_relabel, ann, file, first))
    steps += _unclear_class(agreement)
    steps += [f"Beware: {shown(text, MAX_SENTENCE)}." for text in consensus.warnings]
    return steps or ["Nothing has to be done: use the consensus."]


def _too_few(n_i: AnyArray) -> list[str]:
    """A step if most items have one label: it can neither be confirmed nor compared."""
    n, share = int((n_i <= 1).sum()), float((n_i <= 1).mean())
    if share <= 0.5:
        return []
    return [
        f"Let two annotators or more label the same items: {counted(n, 'item')} ({percent(share)}) "
        f"{'has' if n == 1 else 'have'} at most one label, which nobody can confirm."
    ]


def _removals(profiles: Profiles) -> list[str]:
    """A step for every kind of flag whose labels should be removed."""
    ann, steps = profiles.consensus.annotations, []
    for kind in UNTRUSTED:
        codes = codes_of(profiles, kind)
        if codes:
            share = ann.labels_per_annotator[codes].sum() / max(ann.n_annotations, 1)
            verb = _FLAGGED[kind][0 if len(codes) == 1 else 1]
            steps.append(
                f"Remove {counted(len(codes), 'annotator')} who {verb} ({kind}, "
                f"{percent(share)} of all labels), after a look at some of the labels: "
                f"{names_of(ann.annotators, codes, MAX_LEFT_OUT)}."
            )
    return steps


def _looks(profiles: Profiles) -> list[str]:
    """Steps about annotators whose labels got worse, or who are unusually fast and no more."""
    names, steps = profiles.consensus.annotations.annotators, []
    if profiles.trend is not None:
        worse = profiles.trend.is_significant_a & (profiles.trend.change_a < 0)
        worse &= ~profiles.untrusted
        codes = np.flatnonzero(worse).tolist()
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
                f"Look at some labels of {names_of(names, codes)}, who are unusually fast; to be "
                "fast alone is no fault, and nothing else speaks against them."
            )
    return steps


def _relabel(n: int, ann: Annotations, file: str | None, first: list[dict[str, Any]]) -> str:
    n_items, is_sets = ann.n_items, ann.kind == "multilabel"
    share = n / max(n_items, 1)
    unsure = f"consensus with a confidence below {RELABEL_BELOW:g}"
    if share > 0.5:
        what = (
            f"Collect more labels: {n:,} of {counted(n_items, 'item')} ({percent(share)}) have a "
        )
        what += f"{unsure}."
    else:
        what = f"Relabel {counted(n, 'item')} ({percent(share)}) that have a {unsure}."
    names = [row["item"] for row in first]
    what += f" Begin with {names_of(names, range(min(3, len(names))))}"
    what += ", for the reasons under “Which items to relabel first”."
    if file is None:
        return what
    kind = " --kind multilabel" * (is_sets and "--kind" not in file)
    labels = shown(file, MAX_SENTENCE) + kind
    command = f"manyhands aggregate {labels} --out consensus.csv --relabel relabel.csv"
    return f"{what} All of them: {command}"


def _unclear_class(agreement: AgreementSummary) -> list[str]:
    classes = agreement.classes
    if "confused_with" not in classes or len(classes["class"]) < 2:
        return []
    share = np.nan_to_num(classes["confused"]) * (classes["n_labels"] >= 10)
    k = int(np.argmax(share))
    if share[k] < 0.1 or classes["confused_with"][k] is None:
        return []
    one, two = shown(classes["class"][k], 40), shown(classes["confused_with"][k], 40)
    return [
        f"Make clear what separates “{one}” from “{two}”: where one annotator says “{one}”, "
        f"another says “{two}” in {percent(float(share[k]))} of the cases."
    ]
