"""What was found about a panel of judges, in sentences."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from manyhands.annotations import Annotations
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import Floats
from manyhands.selection.judges.certify import Certificate
from manyhands.selection.judges.judge_labels import Gold, JudgeLabels

if TYPE_CHECKING:
    from manyhands.selection.judges.panel import JudgePanel

_FEW_GOLD = 50


def verdict_warnings(judges: JudgeLabels) -> list[str]:
    """A sentence about judges without a verdict, if there are any."""
    ann = judges.annotations
    silent = ann.annotators[ann.labels_per_annotator == 0].tolist()
    if not silent:
        return []
    return [f"no verdict was given by {join_names(silent)}: nothing is known of their errors"]


def gold_warnings(ann: Annotations, known: Gold, gold: Mapping[Any, Any]) -> list[str]:
    """Sentences about gold that cannot be used, or whose classes no judge used."""
    assert ann.class_vocabulary is not None, "labels are classes"
    texts = []
    n_unknown = len(gold) - len(known)
    if n_unknown:
        texts.append(
            f"{n_unknown} of {len(gold)} gold items {'has' if n_unknown == 1 else 'have'} no label "
            "of a judge and cannot be used"
        )
    items = ann.item_vocabulary.names[known.row_g].tolist()
    truths = list(dict.fromkeys(gold[item] for item in items if item in gold))
    unused = [
        truth for truth, code in zip(truths, ann.class_vocabulary.codes(truths), strict=True)
        if code < 0
    ]  # fmt: skip
    if unused:
        texts.append(f"the gold says {join_names(unused)}, which no judge used")
    return texts


def gold_words(panel: "JudgePanel") -> list[str]:
    """Sentences about a panel with gold."""
    n_judges, n_gold = int((panel.annotations.labels_per_annotator > 0).sum()), panel.n_gold
    effective, accuracy = panel.effective_judges, panel.accuracy
    assert effective is not None, "there is gold"
    assert accuracy is not None, "there is gold"
    texts = [
        f"{n_judges} judges count as {effective.value:.1f} independent ones "
        f"({effective.low:.1f} to {effective.high:.1f}), by their errors on {n_gold} gold "
        f"item{'' if n_gold == 1 else 's'}"
    ]
    for group in panel.groups:
        names = ", ".join(str(name) for name in group.judges)
        texts.append(
            f"{names} share errors: on {group.sharing:.0%} of the items a judge says what the "
            "group says"
        )
    if not panel.groups:
        texts.append("no judges were found to share errors")
    texts += [
        f"the consensus is right on {accuracy.value:.1%} of the gold items "
        f"({accuracy.low:.1%} to {accuracy.high:.1%}), and with 95 % confidence on more than "
        f"{panel.accuracy_bound:.1%} of all; its mean confidence is "
        f"{panel.consensus.confidence.mean():.1%}",
        _enough(panel),
        _certifying(panel.certificate),
    ]
    if n_gold < _FEW_GOLD:
        few = "1 gold item is" if n_gold == 1 else f"{n_gold} gold items are"
        texts.append(f"{few} few: with 100 or more the confidence is better")
    return texts


def plain_words(ann: Annotations, implied_a: Floats, certificate: Certificate) -> list[str]:
    """Sentences about a panel without gold."""
    return [
        f"if the {ann.n_annotators} judges erred independently, they would be right on "
        f"{implied_a.min():.1%} to {implied_a.max():.1%} of the items; if you know that they are "
        "worse, they share errors",
        _certifying(certificate),
    ]


def _enough(panel: "JudgePanel") -> str:
    n_chosen, n_judges = len(panel.chosen), panel.annotations.n_annotators
    if n_chosen == n_judges:
        return "no fewer judges give the same consensus"
    names = ", ".join(str(name) for name in panel.chosen)
    sizes = panel.subsets["n_judges"].tolist()
    place = next(
        i for i, judges in enumerate(panel.subsets["judges"].tolist())
        if sizes[i] == n_chosen and judges == names
    )  # fmt: skip
    same, cost = (float(panel.subsets[name][place]) for name in ("same", "cost"))
    return (
        f"{names} alone give{'s' if n_chosen == 1 else ''} the same consensus on {same:.1%} of the "
        f"items, at a cost of {cost:g} instead of {panel.judges['cost'].sum():g} per item"
    )


def _certifying(certificate: Certificate) -> str:
    target, sure = f"{certificate.target:.0%}", f"{certificate.confidence:.0%}"
    if certificate.n_labels == 0:
        return (
            f"the panel cannot be certified to be right on {target} of the items: it is right on "
            f"{certificate.accuracy:.1%} of the gold"
        )
    errors = f"at most {certificate.max_errors}" if certificate.max_errors else "none"
    return (
        f"to certify with {sure} confidence that it is right on {target} of the items, people must "
        f"label {certificate.n_labels} items drawn at random, {errors} of which may be wrong"
        + (
            f" (a panel that is right on {certificate.accuracy:.1%} passes with a probability of "
            f"{certificate.power:.0%})"
            if certificate.accuracy < 1
            else ""
        )
    )
