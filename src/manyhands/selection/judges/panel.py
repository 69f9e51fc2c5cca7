"""A panel of judges: who is right, who errs together, and a calibrated consensus."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from manyhands.aggregation import Consensus, aggregate
from manyhands.annotations import Annotations, Labels
from manyhands.annotations.columns import make_frame
from manyhands.annotations.html import HtmlTable
from manyhands.core.arrays import AnyArray, Bools, object_array
from manyhands.core.settings import require, require_choice
from manyhands.evaluation.scores import LEVEL, accuracy_interval
from manyhands.selection.judges.certify import Certificate, accuracy_bound, labels_to_certify
from manyhands.selection.judges.dependence import Estimate, measure_dependence
from manyhands.selection.judges.independence import independence_warnings, measure_independence
from manyhands.selection.judges.judge_labels import (
    Abstentions,
    Gold,
    JudgeLabels,
    make_judge_labels,
    match_gold,
)
from manyhands.selection.judges.judge_tables import (
    Columns,
    bias_columns,
    confusion_columns,
    cost_of,
    gold_columns,
    judge_columns,
    pair_columns,
    strict_majority,
)
from manyhands.selection.judges.panel_fit import PanelFit, fit_panel
from manyhands.selection.judges.subsets import compare_subsets, subset_columns
from manyhands.selection.judges.words import (
    gold_warnings,
    gold_words,
    plain_words,
    verdict_warnings,
)

TABLES = ("judges", "confusions", "bias", "pairs", "subsets", "items")
_NO_GOLD = (
    "there is no gold: confidence is not calibrated, and it is never certainty, because labels do "
    "not show mistakes that all judges share"
)
_CANNOT_CONTINUE = (
    "the consensus of a panel of judges cannot be continued; call judge_panel with all labels"
)


@dataclass(frozen=True)
class JudgeGroup:
    """Judges who share errors, and the probability that one of them follows the group."""

    judges: tuple[Any, ...]
    sharing: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JudgePanel(HtmlTable):
    """What `judge_panel` found; every table is a dictionary of columns.

    Attributes
    ----------
    annotations : Annotations
        The labels after samples and abstentions were settled.
    consensus : Consensus
        Its confidence is calibrated if there is gold. Gold items are judged without their own gold.
    judges : dict
        Labels, abstentions, consistency of samples; with gold accuracy and Cohen's kappa.
    confusions, bias, pairs, subsets : dict
        Empty without gold. Labels by true class; over- and under-used classes; correlations of
        errors; judges who are enough.
    items : dict
        The consensus, the strict majority (empty where no label has more than half) and the gold.
    groups : tuple of JudgeGroup
        Judges who share errors; others are not listed.
    effective_judges, accuracy : Estimate or None
        The number of independent judges that the panel counts as; how often its consensus is right
        on the gold.
    accuracy_bound : float
        What the accuracy exceeds with 95 % confidence, exactly; NaN without gold.
    temperature : float
        What the confidence was calibrated with.
    chosen : tuple
        The cheapest judges whose consensus is nearly always that of all.
    certificate : Certificate
        How many labels of people certify the panel.
    warnings, words : tuple of str
        What to be careful with, and what was found.
    """

    annotations: Annotations
    consensus: Consensus
    judges: Columns
    items: Columns
    certificate: Certificate
    confusions: Columns = field(default_factory=dict)
    bias: Columns = field(default_factory=dict)
    pairs: Columns = field(default_factory=dict)
    subsets: Columns = field(default_factory=dict)
    groups: tuple[JudgeGroup, ...] = ()
    n_gold: int = 0
    effective_judges: Estimate | None = None
    accuracy: Estimate | None = None
    accuracy_bound: float = float("nan")
    temperature: float = 1.0
    chosen: tuple[Any, ...] = ()
    warnings: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def to_frame(self, table: str = "judges") -> Any:
        """A table of this name: judges, confusions, bias, pairs, subsets or items."""
        require_choice("table", table, TABLES)
        return make_frame(getattr(self, table), self.annotations.backend)

    def to_json(self) -> dict[str, Any]:
        """The facts without the tables, as plain values."""
        estimates = {
            name: None if value is None else dict(vars(value))
            for name, value in (
                ("effective_judges", self.effective_judges), ("accuracy", self.accuracy),
            )
        }  # fmt: skip
        return {
            "n_judges": self.annotations.n_annotators,
            "n_items": self.annotations.n_items,
            "n_gold": self.n_gold,
            **estimates,
            "accuracy_bound": self.accuracy_bound,
            "mean_confidence": float(self.consensus.confidence.mean()),
            "temperature": self.temperature,
            "groups": [dict(vars(group)) for group in self.groups],
            "chosen": list(self.chosen),
            "certificate": self.certificate.to_json(),
            "warnings": list(self.warnings),
            "words": list(self.words),
        }

    def _preview(self, n_rows: int) -> Columns:
        return self.judges

    def __repr__(self) -> str:
        gold = f"{self.n_gold} gold items" if self.n_gold else "no gold"
        return f"JudgePanel({self.annotations.n_annotators} judges, {gold})"


def judge_panel(
    labels: Labels,
    gold: Mapping[Any, Any] | None = None,
    *,
    samples: str | Mapping[Any, Any] | None = None,
    abstain: Any = None,
    abstentions: Abstentions = "missing",
    costs: Mapping[Any, float] | None = None,
    same: float = 0.98,
    target: float = 0.9,
    max_accuracy: float | None = None,
) -> JudgePanel:
    """Examine a panel of judges, models or people, with or without some gold.

    Models and language models make many of the same errors. Methods that take judges as independent
    are then far too certain. With gold, the errors that judges share are measured; judges who share
    errors are taken as a group that speaks with nearly one voice, and the confidence of the
    consensus is calibrated. Every gold item is judged by a model that has not counted its gold.

    Parameters
    ----------
    labels : Annotations, frame, matrix or dictionaries
        Labels that are classes, by 50 judges at most.
    gold : {item: class}, optional
        The truth of some items, best of items drawn at random.
    samples : str or {annotator: judge}, optional
        Which annotators are samples of one judge: a separator, such as "#" for "model#1" and
        "model#2", or their judges by name. The most frequent label of an item is that of the
        judge, and a tie is none. So repeated samples never count as several judges. An annotator
        who labelled an item several times is treated likewise.
    abstain : label or list, optional
        Labels that mean that a judge gave no verdict.
    abstentions : "missing" or "label"
        Whether abstentions are left out, or count as labels that say something about the item. The
        consensus never abstains.
    costs : {judge: cost}, optional
        What a label of a judge costs; 1 without.
    same : float
        Share of items on which fewer judges must give the consensus of all to be `chosen`.
    target : float
        The accuracy to certify.
    max_accuracy : float, optional
        The highest accuracy that you hold possible for a judge. Judges who agree so much that they
        would have to be better, if they were independent, are warned of.

    Examples
    --------
    >>> from manyhands.simulation import SCENARIOS
    >>> crowd = SCENARIOS["judge-panel"]()
    >>> gold = dict(list(crowd.truth_by_item.items())[:100])
    >>> panel = judge_panel(crowd.annotations, gold)
    >>> [group.judges for group in panel.groups]
    [(0, 1, 2), (3, 4, 5)]
    """
    _check_settings(costs, same, target, max_accuracy)
    judges = make_judge_labels(labels, samples=samples, abstain=abstain, abstentions=abstentions)
    independence = measure_independence(judges.annotations)
    warned = independence_warnings(judges.annotations, independence, max_accuracy)
    warned += verdict_warnings(judges)
    if not gold:
        return _without_gold(judges, warned, independence.implied_accuracy, target)
    given = judges.annotations
    judges, known = match_gold(judges, gold)
    warned += gold_warnings(given, known, gold)
    return _with_gold(judges, known, warned, cost_of(judges.annotations, costs), same, target)


def _check_settings(
    costs: Mapping[Any, float] | None, same: float, target: float, max_accuracy: float | None
) -> None:
    require(0 < same <= 1, "same", "above 0, up to 1", same)
    require(0 < target < 1, "target", "between 0 and 1", target)
    holds = max_accuracy is None or 0 < max_accuracy <= 1
    require(holds, "max_accuracy", "above 0, up to 1", max_accuracy)
    for name, cost in (costs or {}).items():
        require(np.isfinite(cost) and cost > 0, f"the cost of {name}", "above 0", cost)


def _without_gold(
    judges: JudgeLabels, warned: list[str], implied_a: AnyArray, target: float
) -> JudgePanel:
    ann = judges.annotations
    consensus = _possible(aggregate(ann), judges.no_verdict_k)
    certificate = labels_to_certify(target)
    panel = JudgePanel(
        annotations=ann,
        consensus=consensus,
        judges=judge_columns(judges) | {"implied_accuracy": implied_a},
        items=_item_columns(judges, consensus, None),
        certificate=certificate,
        warnings=(*warned, _NO_GOLD, *consensus.warnings),
    )
    return replace(panel, words=tuple(plain_words(panel.annotations, implied_a, certificate)))


def _possible(consensus: Consensus, no_verdict_k: Bools) -> Consensus:
    """The consensus without abstentions, which are no class of an item."""
    if not no_verdict_k.any():
        return consensus
    assert consensus.probabilities is not None, "labels are classes"
    p_ik = np.where(no_verdict_k, 0.0, np.maximum(consensus.probabilities, 1e-300))
    p_ik /= p_ik.sum(axis=1, keepdims=True)
    found = Consensus.from_probabilities(
        consensus.annotations, p_ik, confusion=consensus.confusion,
        cannot_continue=_CANNOT_CONTINUE,
    )  # fmt: skip
    return replace(found, warnings=consensus.warnings)


def _with_gold(
    judges: JudgeLabels,
    gold: Gold,
    warned: list[str],
    cost_a: AnyArray,
    same: float,
    target: float,
) -> JudgePanel:
    ann = judges.annotations
    dependence = measure_dependence(ann, gold)
    fit = fit_panel(ann, gold, judges.no_verdict_k)
    consensus = Consensus.from_probabilities(
        ann, fit.probabilities(), confusion=fit.confusion_akl, cannot_continue=_CANNOT_CONTINUE
    )
    right_g = fit.gold_posterior().argmax(axis=1) == gold.truth_g
    n_right, n_gold = int(right_g.sum()), len(gold)
    accuracy = Estimate(n_right / n_gold, *accuracy_interval(n_right, n_gold))
    subsets = compare_subsets(fit, cost_a)
    enough = next(each for each in subsets if each.n_same >= same * each.n_items)
    panel = JudgePanel(
        annotations=ann,
        consensus=consensus,
        judges=judge_columns(judges) | gold_columns(ann, gold) | {"cost": cost_a},
        items=_item_columns(judges, consensus, gold),
        certificate=labels_to_certify(target, accuracy=accuracy.value),
        confusions=confusion_columns(ann, gold),
        bias=bias_columns(ann, gold),
        pairs=pair_columns(ann, gold, dependence),
        subsets=subset_columns(subsets, ann, n_gold),
        groups=_groups(fit),
        n_gold=n_gold,
        effective_judges=dependence.effective_judges,
        accuracy=accuracy,
        accuracy_bound=accuracy_bound(n_right, n_gold, LEVEL),
        temperature=fit.temperature,
        chosen=tuple(ann.annotators[enough.judges].tolist()),
        warnings=tuple(warned),
    )
    return replace(panel, words=tuple(gold_words(panel)))


def _groups(fit: PanelFit) -> tuple[JudgeGroup, ...]:
    names, sharing = fit.annotations.annotators, fit.grouping.sharing_m
    members = fit.grouping.members
    return tuple(
        JudgeGroup(tuple(names[members[m]].tolist()), float(sharing[m]))
        for m in np.flatnonzero(sharing > 0)
    )


def _item_columns(judges: JudgeLabels, consensus: Consensus, gold: Gold | None) -> Columns:
    columns = consensus.item_columns()
    label_i, share_i = strict_majority(judges)
    names = consensus.annotations.classes
    columns["strict_majority"] = _names_or_empty(names, label_i)
    columns["largest_share"] = share_i
    if gold is not None:
        truth_i = np.full(consensus.annotations.n_items, -1)
        truth_i[gold.row_g] = gold.truth_g
        columns["gold"] = _names_or_empty(names, truth_i)
    return columns


def _names_or_empty(names: AnyArray, code_i: AnyArray) -> AnyArray:
    """Class names as texts, "" for the code -1."""
    texts = [str(name) for name in names]
    return object_array([texts[code] if code >= 0 else "" for code in code_i.tolist()])
