"""The summary of a report in words: what there is, how far annotators agree, whom to trust."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.agreement import AgreementSummary
from manyhands.agreement.standouts import annotator_words, class_words
from manyhands.core.arrays import AnyArray
from manyhands.report.profiles import Profiles
from manyhands.report.removal import Removal, expected_accuracy
from manyhands.report.shown import percent, shown

ITEM, TOKEN = "item", "token"  # what is labelled, in words
MAX_NAMES = 8
FEW_MORE = 4  # names beyond the most that are listed rather than counted
MAX_SENTENCE = 400  # characters of a sentence from elsewhere, which may hold any names
MAX_LEFT_OUT = 40  # names of annotators whose labels should be left out
FLAGGED = {
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
FIRST_LOOK = {
    "adversarial": "First check whether they swapped classes or the scale.",
    "random": "First look at some of the labels.",
    "constant": "First look at some of the labels.",
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
    most = len(codes) if len(codes) <= most + FEW_MORE else most
    listed = [shown(names[code], 40) for code in codes[:most]]
    more = len(codes) - len(listed)
    if more:
        return f"{', '.join(listed)} and {more:,} more"
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]])) if listed else ""


def what_we_have(consensus: Consensus, n_sentences: int | None = None) -> list[str]:
    """Sizes, and how many labels an item has; items are tokens if there are sentences."""
    ann = consensus.annotations
    n_i = ann.labels_per_item
    what = "numbers" if ann.kind == "numbers" else counted(ann.n_classes, "class")
    said = f"each label is one of {what}" if ann.kind == "classes" else f"labels are {what}"
    said = f"labels are sets of {what}" if ann.kind == "multilabel" else said
    noun, where = ITEM, ""
    if n_sentences is not None:
        noun, where = TOKEN, f" in {counted(n_sentences, 'sentence')}"
    lines = [
        f"{counted(ann.n_annotations, 'label')} of {counted(ann.n_items, noun)}{where} by "
        f"{counted(ann.n_annotators, 'annotator')}; {said}."
    ]
    if ann.kind == "numbers" and len(ann.label):
        low, first, third, high = np.quantile(ann.label, [0.0, 0.25, 0.75, 1.0])
        lines.append(f"They are {low:.4g} to {high:.4g}, half of them {first:.4g} to {third:.4g}.")
    if n_i.min() == n_i.max():
        lines.append(f"Every {noun} has {counted(int(n_i.max()), 'label')}.")
    else:
        lines.append(
            f"{noun.capitalize()}s have {n_i.min()} to {n_i.max()} labels, half of them "
            f"{np.median(n_i):g} or more."
        )
    single = int((n_i <= 1).sum())
    if single:
        lines.append(
            f"{counted(single, noun)} ({percent(single / len(n_i))}) "
            f"{'has' if single == 1 else 'have'} at most one label: nobody can confirm it."
        )
    return lines


def how_right(removal: Removal, scores: Mapping[str, Any] | None, noun: str = ITEM) -> list[str]:
    """How right the consensus is expected to be, and what that rests on; nothing for numbers."""
    expected = expected_accuracy(removal.profiles.consensus)
    if expected is None:
        return []
    text = f"The consensus is expected to be right for {percent(expected)} of the {noun}s"
    if removal.profiles.level_errors is not None:
        text += f" ({removal.profiles.level_errors.of_consensus})"
    after = None if removal.after is None else expected_accuracy(removal.after)
    if after is not None:
        text += f", and for {percent(after)} without the annotators to leave out"
    accuracy = {} if scores is None else scores["scores"]
    right = accuracy.get("accuracy", accuracy.get("exact_match"))
    if right is None:
        return [f"{text}. This is its mean confidence; it rests on the labels alone."]
    n = int(accuracy["n_items"])
    return [f"{text}; of the {counted(n, noun)} with a truth it is right for {percent(right)}."]


def whom_to_trust(profiles: Profiles) -> list[str]:
    """How many annotators can be trusted, and who cannot, by kind of flag."""
    ann, quality = profiles.consensus.annotations, profiles.consensus.annotator_quality
    doubtful = profiles.weak | profiles.worse
    doubtful[[flag.annotator for flag in profiles.flags]] = True
    fine = np.flatnonzero(~doubtful)
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
            f"Half of these have a quality (expected share of right labels) of {percent(middle)} "
            f"or more; eight of ten are between {percent(low)} and {percent(high)}."
        )
    if len(fine) and ann.kind == "multilabel":
        middle = f"{np.median(quality[fine]):.2f}"
        lines.append(f"Half of these have a quality (F1 of the classes said) of {middle} or more.")
    for kind, (one, many) in FLAGGED.items():
        codes = codes_of(profiles, kind)
        if codes:
            verb = one if len(codes) == 1 else many
            lines.append(f"{len(codes):,} {verb}: {names_of(ann.annotators, codes)}.")
    if profiles.pairs:
        be = "is" if len(profiles.pairs) == 1 else "are"
        lines.append(
            f"{counted(len(profiles.pairs), 'pair')} {be} not independent (one copies, or both "
            f"are the same person): {pair_names(ann.annotators, profiles.pairs)}. The consensus "
            "counts one opinion of such a pair twice."
        )
    lines += _doubtful(profiles)
    few = codes_of(profiles, "few-labels")
    if few:
        lines.append(f"{counted(len(few), 'annotator')} gave too few labels to say.")
    return lines


def _doubtful(profiles: Profiles) -> list[str]:
    """Sentences on annotators without a flag who should be looked at."""
    names, quality = profiles.consensus.annotations.annotators, profiles.consensus.quality.value
    weak, lines = np.flatnonzero(profiles.weak), []
    if len(weak):
        weak = weak[np.argsort(quality[weak], kind="stable")].tolist()
        lines.append(
            f"{len(weak):,} {'is' if len(weak) == 1 else 'are'} {profiles.why_weak()}: "
            f"{names_of(names, weak)}."
        )
    worse = np.flatnonzero(profiles.worse & ~profiles.weak).tolist()
    if worse:
        lines.append(f"{len(worse):,} got worse: {names_of(names, worse)}.")
    return lines


def codes_of(profiles: Profiles, kind: str) -> list[int]:
    """The annotators with a flag of this kind, the surest first, each once."""
    return list(dict.fromkeys(flag.annotator for flag in profiles.flags if flag.kind == kind))


def pair_names(names: Any, pairs: list[tuple[int, int]], most: int = MAX_NAMES) -> str:
    """Some pairs of names in a sentence."""
    most = len(pairs) if len(pairs) <= most + FEW_MORE else most
    listed = [f"{shown(names[one], 40)} and {shown(names[two], 40)}" for one, two in pairs[:most]]
    more = f"; and {len(pairs) - most:,} more" if len(pairs) > most else ""
    return "; ".join(listed) + more


def how_far(found: AgreementSummary, classes: Mapping[str, AnyArray]) -> list[str]:
    """The first coefficient and what it means, and the class that annotators agree on least.

    `classes` is the agreement by class without the annotators to leave out. Annotators who agree
    little are among those to remove or to look at.
    """
    first = []
    if found.coefficients:
        one = found.coefficients[0]
        first = [f"{one}." if one.is_defined else f"{one.title}: undefined."]
    own = {*class_words(found.classes), *annotator_words(found.annotators)}
    words = [text for text in found.words if text not in own]
    if "confused_with" in classes or "kappa" in classes:
        words += class_words(classes)
    return [*first, *(shown(text, MAX_SENTENCE) for text in words)]
