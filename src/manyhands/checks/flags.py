"""Flags of annotators: who labels at random, always the same, against the truth, or copies.

An annotator may be a person, a model or an LLM judge. Every flag has its evidence in words, the
probability that it is right, and what to do. How often flags find planted annotators is measured in
`benchmarks/flags.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from manyhands.annotations import Annotations, Labels, as_annotations
from manyhands.checks.agreement_with_others import LEVEL
from manyhands.checks.annotators import constant_annotators, most_frequent_labels
from manyhands.checks.copies import suspect_pairs
from manyhands.checks.copying import find_copying
from manyhands.checks.knowledge import (
    Knowledge,
    knowledge_of_classes,
    knowledge_of_numbers,
    knowledge_of_sets,
)
from manyhands.checks.label_table import LabelTable
from manyhands.checks.pace import annotator_pace
from manyhands.checks.posterior_of_others import OthersPosterior
from manyhands.core.arrays import Bools, Floats

SURE = 0.8  # the probability from which on a flag is given
MIN_COMPARED = 10  # labels of items that others labelled too
MOSTLY = 0.9  # the share of one label from which on labels are called constant

# What each flag means, and what to do; the gravest first.
FLAGS = {
    "adversarial": (
        "labels are against what the items are",
        "leave the labels out, unless classes or the scale were swapped: check that first",
    ),
    "random": (
        "labels do not depend on the items",
        "leave the labels out, and check what this annotator was told",
    ),
    "constant": (
        "nearly always the same label, although the items differ",
        "leave the labels out: they carry no information",
    ),
    "copies": (
        "this annotator and another are not independent: one copies, or both are the same person",
        "keep one of the two; the labels do not show who copies",
    ),
    "few-labels": (
        "too few labels to say",
        "collect more labels of items that others labelled before trusting or rejecting",
    ),
}


@dataclass(frozen=True)
class Flag:
    """A flag of one annotator: what it says, how sure that is, and why.

    `annotator` and `other` are codes; `other` is the second of a pair that copies.
    """

    annotator: int
    kind: str
    sure: float
    evidence: str
    other: int | None = None

    @property
    def meaning(self) -> str:
        """What the flag says, in words."""
        return FLAGS[self.kind][0]

    @property
    def advice(self) -> str:
        """What to do."""
        return FLAGS[self.kind][1]


def flag_annotators(annotations: Labels) -> list[Flag]:
    """All flags of all annotators, the gravest kind first and the surest first.

    Where the times of labels are known, the evidence says who is unusually fast; that alone is no
    flag, and does not make a flag surer. Sets of classes count class by class.

    >>> import manyhands as mh
    >>> crowd = mh.SCENARIOS["spammers"](mh.simulation.CrowdSettings(lowest=0.6, share=0.2))
    >>> flags = flag_annotators(crowd.annotations)
    >>> sorted({(flag.kind, str(crowd.behaviour[flag.annotator])) for flag in flags})
    [('constant', 'constant'), ('random', 'random')]
    """
    given = as_annotations(annotations)
    is_sets = given.kind == "multilabel"
    table = LabelTable((given.as_wholes() if is_sets else given).to_rows())
    if table.rows.classes is None:
        knowledge = knowledge_of_numbers(table.first_labels)
        unusable = list(_unusable_numbers(table, knowledge))
        copying = _copied_numbers(table)
    else:
        knowledge, others = (
            knowledge_of_sets(given) if is_sets else knowledge_of_classes(table.first_labels)
        )
        unusable = list(_unusable_classes(table, knowledge))
        copying = _copied_classes(others, _mask(unusable, table.first_labels))
    flags = [*unusable, *copying]
    flags += _few_labels(knowledge, _mask(flags, table.first_labels))
    flags = _with_pace(flags, table.first_labels)
    kinds = list(FLAGS)
    return sorted(flags, key=lambda flag: (kinds.index(flag.kind), -flag.sure, flag.annotator))


def _mask(flags: list[Flag], ann: Annotations) -> Bools:
    mask = np.zeros(ann.n_annotators, dtype=bool)
    mask[[flag.annotator for flag in flags]] = True
    return mask


def _unusable_classes(table: LabelTable, knowledge: Knowledge) -> Iterator[Flag]:
    ann, n_a = table.first_labels, table.first_labels.labels_per_annotator
    if ann.n_classes < 2:
        return
    p_bad = knowledge.p_random + knowledge.p_adversarial
    favourite, top = most_frequent_labels(table)
    crowd = _crowd_mean(knowledge.agreement_a, knowledge.n_compared_a)
    for a in np.flatnonzero((p_bad >= SURE) & (knowledge.n_compared_a >= MIN_COMPARED)):
        confirmed = _percent(knowledge.agreement_a[a])
        chance = _percent(knowledge.chance_a[a])
        n = f"{int(knowledge.n_compared_a[a])} labels"
        evidence = (
            f"the others confirm {confirmed} of {n}; they would confirm {chance} of random labels, "
            f"and confirm {_percent(crowd)} of the labels of all annotators"
        )
        if knowledge.p_adversarial[a] > knowledge.p_random[a]:
            kind = "adversarial"
        elif top[a] >= MOSTLY * n_a[a]:
            kind, said = "constant", f"“{ann.classes[favourite[a]]}”"
            evidence = (
                f"{_percent(top[a] / n_a[a])} of {n_a[a]} labels are {said}; "
                f"the others say so of {confirmed} of these items"
            )
        else:
            kind = "random"
        yield Flag(int(a), kind, float(p_bad[a]), evidence)


def _unusable_numbers(table: LabelTable, knowledge: Knowledge) -> Iterator[Flag]:
    ann = table.first_labels
    constant = constant_annotators(table)
    for a in constant:
        own = ann.label[ann.annotator == a]
        same = own.min() == own.max()
        said = f"all {own.min():g}" if same else f"{own.min():g} to {own.max():g}"
        evidence = f"the {len(own)} labels are {said}, while the items vary"
        yield Flag(int(a), "constant", 1.0 - LEVEL, evidence)
    p_bad = knowledge.p_random + knowledge.p_adversarial
    p_bad[constant] = 0.0
    crowd = _crowd_mean(knowledge.agreement_a, knowledge.n_compared_a)
    for a in np.flatnonzero((p_bad >= SURE) & (knowledge.n_compared_a >= MIN_COMPARED)):
        evidence = (
            f"the {int(knowledge.n_compared_a[a])} labels follow the order of items by the others "
            f"to {knowledge.agreement_a[a]:.2f}, where 1 is fully and 0 not at all; the crowd has "
            f"{crowd:.2f}"
        )
        worse = knowledge.p_adversarial[a] > knowledge.p_random[a]
        yield Flag(int(a), "adversarial" if worse else "random", float(p_bad[a]), evidence)


def _copied_classes(others: OthersPosterior, left_out: Bools) -> Iterator[Flag]:
    pairs = find_copying(others, left_out)
    for n in np.flatnonzero(pairs.probability >= SURE):
        evidence = (
            f"the same label on {pairs.agreed[n]} of {pairs.shared[n]} shared items, where "
            f"{pairs.expected[n]:.0f} are expected of independent annotators"
        )
        ends = int(pairs.first[n]), int(pairs.second[n])
        for own, other in (ends, ends[::-1]):
            yield Flag(own, "copies", float(pairs.probability[n]), evidence, other)


def _copied_numbers(table: LabelTable) -> Iterator[Flag]:
    tests, suspect = suspect_pairs(table)
    for n in suspect:
        evidence = (
            f"labels correlate {tests.agreement[n]:.2f} over {tests.shared[n]} shared items, where "
            f"{tests.predicted[n]:.2f} is expected of independent annotators"
        )
        ends = int(tests.first[n]), int(tests.second[n])
        for own, other in (ends, ends[::-1]):
            yield Flag(own, "copies", 1.0 - LEVEL, evidence, other)


def _few_labels(knowledge: Knowledge, flagged: Bools) -> Iterator[Flag]:
    p_bad = knowledge.p_random + knowledge.p_adversarial
    few = knowledge.n_compared_a < MIN_COMPARED
    for a in np.flatnonzero((few | (p_bad > 1.0 - SURE)) & ~flagged):
        n = int(knowledge.n_compared_a[a])
        evidence = f"{n} labels can be compared with those of others"
        if not few[a]:
            evidence += f"; with probability {p_bad[a]:.2f} they do not depend on the items"
        yield Flag(int(a), "few-labels", 1.0, evidence)


def _with_pace(flags: list[Flag], ann: Annotations) -> list[Flag]:
    """The flags, with the pace of annotators who are unusually fast among the evidence."""
    pace = annotator_pace(ann)
    if pace is None:
        return flags
    return [
        replace(flag, evidence=f"{flag.evidence}; {pace.evidence(flag.annotator)}")
        if pace.is_fast_a[flag.annotator]
        else flag
        for flag in flags
    ]


def _crowd_mean(value_a: Floats, n_a: Floats) -> float:
    return float((value_a * n_a).sum() / max(float(n_a.sum()), 1.0))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
