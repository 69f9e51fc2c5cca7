"""What a coefficient means, and what it hides, in sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from manyhands.agreement.estimate import Ends, IntervalSettings, Parts
from manyhands.agreement.result import Agreement
from manyhands.agreement.runs import LabelRuns
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray

FEW_ITEMS = 30
WIDE = 0.2
MOST_CLASSES = 12  # that are listed
MOST_CHARACTERS = 60  # of a name in a sentence
RELIABLE, TENTATIVE = 0.8, 2 / 3  # Krippendorff 2004, page 241
PREVALENT = 0.8  # share of one class above which chance agreement is high

TITLES = {
    "percent": "Per cent agreement",
    "alpha": "Krippendorff's alpha",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa",
    "scott": "Scott's pi",
    "gwet": "Gwet's AC1",
    "brennan-prediger": "Brennan-Prediger kappa",
    "icc": "ICC",
    "span-f1": "Span F1",
}

_HIDDEN = {
    "percent": "It takes nothing off for chance: annotators who always give the most frequent "
    "label agree fully.",
    "alpha": "It is one number for all annotators and labels: agreement by class and by annotator "
    "shows where they disagree.",
    "fleiss": "It is one number for all classes and annotators, and takes annotators for "
    "interchangeable.",
    "cohen": "Chance is computed from how often each annotator uses each class: two who use the "
    "classes differently are expected to agree less by chance.",
    "scott": "The two annotators are taken to use the classes equally often.",
    "gwet": "It stays high if almost all labels are of one class, even where annotators never "
    "agree on a rare class.",
    "brennan-prediger": "All classes are taken to be equally probable by chance, also those that "
    "are hardly used.",
}

_OF_NUMBERS = (
    "It is one number for all annotators and labels: agreement by annotator shows who is off."
)

# What the columns of a table hold, beside names and numbers of labels.
_SPANS = {
    "f1": "the share of the spans of one annotator that another marked too, with the same words",
    "f1_overlap": "the same for spans with a word in common",
}
_COLUMNS: dict[str, dict[str, str]] = {
    "classes": {
        "share": "of all labels",
        "agreement": "if one annotator says the class, how often another says it too, with its "
        "95 % interval",
        "kappa": "Fleiss' kappa of the class against all others",
        "confused": "how often another annotator says confused_with instead",
        **_SPANS,
    },
    "annotators": {
        "n_shared": "items that others labelled too",
        "agreement": "how often another annotator of the item gives the same label, with its "
        "95 % interval",
        "kappa": "the mean of Cohen's kappas with the others",
        "correlation": "with the mean of the others",
        "bias": "the mean difference to the others",
        "difference": "the mean absolute difference to the others",
        **_SPANS,
    },
    "pairs": {
        "n_shared": "items that both labelled",
        "agreement": "on how many of them both gave the same label",
        "kappa": "Cohen's kappa, with its 95 % interval",
        "correlation": "over the items that both labelled",
        "bias": "the mean of the first minus that of the second",
        **_SPANS,
    },
}
_NO_INTERVAL = "low and high: none where the items show no spread, as with full agreement"


def column_words(table: str, columns: Mapping[str, AnyArray]) -> tuple[str, ...]:
    """What a table of agreement by "classes", "annotators" or "pairs" holds.

    >>> column_words("pairs", {"n_shared": np.array([2]), "bias": np.array([0.1])})
    ('n_shared: items that both labelled', 'bias: the mean of the first minus that of the second')
    """
    parts = [f"{name}: {text}" for name, text in _COLUMNS[table].items() if name in columns]
    if "low" in columns and np.isnan(columns["low"]).any():
        parts.append(_NO_INTERVAL)
    return tuple(parts)


def per_cent(share: float) -> str:
    """A share in whole per cent.

    >>> per_cent(0.636)
    '64 %'
    """
    return f"{100 * share:.0f} %"


def name_in_words(name: object) -> str:
    """A name as a part of a sentence, shortened where it is a text of its own.

    >>> name_in_words("cat"), len(name_in_words("cat" * 1000))
    ('cat', 60)
    """
    text = str(name)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


@dataclass(frozen=True)
class Facts:
    """What the sentences are about."""

    n_labelled: int
    n_items: int
    n_annotators: int
    n_labels: int
    n_repeated: int = 0
    top_class: str = ""
    top_share: float = 0.0

    @classmethod
    def of(cls, runs: LabelRuns, given: Annotations | None = None) -> "Facts":
        """The facts of a count table; `given` are the annotations with repeated labels."""
        whole = runs.whole
        paired_i = whole.is_paired_i
        ann = runs.annotations
        is_used_n = paired_i[ann.item]
        top, share = "", 0.0
        if ann.kind == "classes" and is_used_n.any() and runs.n_codes == ann.n_classes:
            count_k = np.bincount(ann.label[is_used_n], minlength=ann.n_classes)
            top = name_in_words(ann.classes[count_k.argmax()])
            share = float(count_k.max() / count_k.sum())
        return cls(
            n_labelled=int((whole.labels_i > 0).sum()),
            n_items=int(paired_i.sum()),
            n_annotators=len(np.unique(ann.annotator[is_used_n])),
            n_labels=int(is_used_n.sum()),
            n_repeated=0 if given is None else given.n_annotations - ann.n_annotations,
            top_class=top,
            top_share=share,
        )

    def why_undefined(self) -> str:
        """Why no coefficient can be computed from such labels."""
        if self.n_items == 0:
            return (
                "No item has labels of two annotators, so nothing can be compared; let two "
                "annotators or more label the same items."
            )
        what = f" ({self.top_class})" if self.top_class else ""
        return (
            f"All labels of the {_counted(self.n_items, 'item')} are the same{what}: chance alone "
            "would give full agreement, so agreement above chance cannot be told."
        )

    def caveats(self, noun: str = "item") -> Iterable[str]:
        """What the data do not allow to conclude."""
        if self.n_items < FEW_ITEMS:
            yield (
                f"Only {_counted(self.n_items, noun)} with labels of two annotators or more: "
                "another sample may give another number."
            )
        n_single = self.n_labelled - self.n_items
        if n_single > self.n_labelled / 2:
            yield (
                f"{n_single} of {self.n_labelled} {noun}s have labels of one annotator only and "
                "say nothing about agreement."
            )
        if self.n_annotators == 2:
            yield "Only two annotators are compared: others may agree more, or less."
        if self.n_repeated:
            yield (
                f"{_counted(self.n_repeated, 'label')} of annotators who labelled an item again "
                "are left out: the last one counts."
            )


def describe(
    name: str,
    runs: LabelRuns,
    parts: Parts,
    ends: Ends,
    settings: IntervalSettings,
    *,
    title: str = "",
    level: str = "",
    of: Annotations | None = None,
    order: Iterable[object] = (),
    notes: Iterable[str] = (),
) -> Agreement:
    """The coefficient with its interval and its words."""
    facts = Facts.of(runs, None if level == "sets" else of)
    full = title or TITLES[name] + (f" ({level})" if level else "")
    words = list(_words(name, parts, ends, facts, level, [name_in_words(each) for each in order]))
    return make_result(name, full, parts, ends, settings, facts, [*words, *notes])


def make_result(
    name: str,
    title: str,
    parts: Parts,
    ends: Ends,
    settings: IntervalSettings,
    facts: Facts,
    words: Iterable[str],
) -> Agreement:
    """The coefficient as one object."""
    return Agreement(
        name=name, title=title, value=parts.value, low=ends.low, high=ends.high, interval=ends.how,
        confidence=settings.confidence, observed=parts.observed, expected=parts.expected,
        n_items=facts.n_items, n_annotators=facts.n_annotators, n_labels=facts.n_labels,
        words=tuple(words),
    )  # fmt: skip


def _words(
    name: str, parts: Parts, ends: Ends, facts: Facts, level: str, order: list[str]
) -> Iterable[str]:
    if np.isnan(parts.value):
        yield facts.why_undefined()
        return
    yield _meaning(name, parts, facts)
    if name != "percent":
        yield from _reading(parts.value)
    yield from _prevalence(name, parts, facts, level)
    if order:
        listed = order if len(order) <= MOST_CLASSES else [*order[:3], "...", *order[-3:]]
        yield f"The order of the classes is taken to be {' < '.join(listed)}."
    is_numeric = name == "alpha" and level in ("interval", "ratio")
    yield _OF_NUMBERS if is_numeric else _HIDDEN[name]
    yield from uncertainty(ends)
    yield from facts.caveats()


def _meaning(name: str, parts: Parts, facts: Facts) -> str:
    if name == "percent":
        return f"Two annotators of an item agree in {per_cent(parts.value)} of the cases."
    if parts.value >= 1.0:
        return "Annotators agree fully."
    if name == "alpha":
        if parts.value < 0:
            return "Annotators disagree more than labels at random would."
        return (
            f"Disagreement is {per_cent(1 - parts.value)} of that of random labels; full agreement "
            "would be 0 %."
        )
    who, where = "Two annotators of an item agree in", "of the cases"
    if name in ("cohen", "scott") and facts.n_annotators > 2:
        who, where = "The pairs that count agree on", "of the items that both labelled"
    found = (
        f"{who} {per_cent(parts.observed)} {where}; by chance it would be "
        f"{per_cent(parts.expected)}"
    )
    if parts.value < 0:
        return f"{found}, so they agree less than by chance."
    return f"{found}. On a scale from chance (0) to full agreement (1) that is {parts.value:.2f}."


def _reading(value: float) -> Iterable[str]:
    if value >= RELIABLE:
        yield "By the usual reading (0.8 or more) the labels of single annotators are reliable."
    elif value >= TENTATIVE:
        yield (
            "By the usual reading (0.67 to 0.8) labels of single annotators allow tentative "
            "conclusions only."
        )
    else:
        yield (
            "By the usual reading (below 0.67) labels of single annotators are not reliable; a "
            "consensus of several labels per item may still be."
        )


def _prevalence(name: str, parts: Parts, facts: Facts, level: str) -> Iterable[str]:
    above_chance = name in ("fleiss", "cohen", "scott") or (name == "alpha" and level == "nominal")
    if above_chance and facts.top_share >= PREVALENT and parts.value < RELIABLE:
        yield (
            f"The class {facts.top_class} has {per_cent(facts.top_share)} of the labels, so chance "
            "agreement is high and few disagreements make this number low: look at the agreement "
            "by class and at Gwet's AC1 beside it."
        )


def uncertainty(ends: Ends) -> Iterable[str]:
    """What the interval tells."""
    if ends.note:
        yield ends.note
    if ends.high - ends.low > WIDE:
        yield (
            f"The interval is wide ({ends.low:.2f} to {ends.high:.2f}): more items with several "
            "labels would narrow it."
        )


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
