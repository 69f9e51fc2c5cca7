"""Which judges are enough: subsets of a panel that give the same consensus."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.evaluation.scores import accuracy_interval
from manyhands.selection.judges.group_model import LabelColumns, class_log_likelihood
from manyhands.selection.judges.judge_tables import Columns, table_of
from manyhands.selection.judges.panel_fit import PanelFit

MOST_FOR_ALL = 8  # judges up to which all subsets are tried
_MAX_ITEMS = 2000  # compared; of more items every second (third, ...) one


@dataclass(frozen=True)
class Subset:
    """Some judges, what a label of each costs together, and on how many items they say the same."""

    judges: Bools
    cost: float
    n_same: int
    n_items: int
    n_right: int


def compare_subsets(fit: PanelFit, cost_a: Floats) -> list[Subset]:
    """The subsets that are worth their cost, the cheapest first.

    A subset is left out if another costs no more and gives the consensus of the whole panel on as
    many items. With more than eight judges not all subsets are tried: from all judges, one after
    the other is left out, the one without whom the consensus stays the same most often.
    """
    compared = _Compared.of(fit)
    n_judges = len(cost_a)
    if n_judges <= MOST_FOR_ALL:
        masks = [_mask(bits, n_judges) for bits in range(1, 2**n_judges)]
        found = [compared.subset(mask, cost_a) for mask in masks]
    else:
        found = _one_by_one(compared, cost_a)
    return _worth_their_cost(found)


def _mask(bits: int, n_judges: int) -> Bools:
    return np.array([bool(bits >> a & 1) for a in range(n_judges)])


def _one_by_one(compared: "_Compared", cost_a: Floats) -> list[Subset]:
    best = compared.subset(np.ones(len(cost_a), dtype=bool), cost_a)
    found = [best]
    while best.judges.sum() > 1:
        tried = []
        for a in np.flatnonzero(best.judges):
            mask = best.judges.copy()
            mask[a] = False
            tried.append(compared.subset(mask, cost_a))
        best = max(tried, key=lambda each: (each.n_same, -each.cost))
        found.append(best)
    return found


def _worth_their_cost(found: list[Subset]) -> list[Subset]:
    order = sorted(found, key=lambda each: (each.cost, -each.n_same, -each.n_right))
    kept: list[Subset] = []
    for each in order:
        if not kept or each.n_same > kept[-1].n_same:
            kept.append(each)
    return kept


@dataclass(frozen=True, eq=False)
class _Compared:
    """The items on which subsets are compared with the whole panel, and the gold."""

    fit: PanelFit
    said: LabelColumns
    label_i: AnyArray

    @classmethod
    def of(cls, fit: PanelFit) -> "_Compared":
        ann: Annotations = fit.annotations
        rows = np.flatnonzero(ann.labels_per_item > 0)
        part = ann[rows[:: -(-len(rows) // _MAX_ITEMS)]]
        said = LabelColumns(part.item, part.annotator, part.label, part.n_items)
        every = np.ones(ann.n_annotators, dtype=bool)
        return cls(fit, said, _labels(fit, said, every))

    def subset(self, judges: Bools, cost_a: Floats) -> Subset:
        """How these judges do."""
        label_i = _labels(self.fit, self.said, judges)
        gold = self.fit.gold
        right_g = self.fit.gold_posterior(judges).argmax(axis=1) == gold.truth_g
        n_same = int((label_i == self.label_i).sum())
        return Subset(judges, float(cost_a[judges].sum()), n_same, len(label_i), int(right_g.sum()))


def _labels(fit: PanelFit, said: LabelColumns, judges: Bools) -> AnyArray:
    log_ik = class_log_likelihood(
        said.of(judges[said.judge]), fit.grouping, fit.log_prior_k, fit.confusion_akl
    )
    return np.asarray(log_ik.argmax(axis=1))


def subset_columns(subsets: list[Subset], ann: Annotations, n_gold: int) -> Columns:
    """The table of subsets: judges, cost, share of same labels, and accuracy on the gold."""
    rows = []
    for each in subsets:
        people = ", ".join(str(name) for name in ann.annotators[each.judges])
        same = each.n_same / each.n_items, *accuracy_interval(each.n_same, each.n_items)
        right = each.n_right / n_gold, *accuracy_interval(each.n_right, n_gold)
        rows.append((people, int(each.judges.sum()), each.cost, *same, *right))
    names = (
        "judges", "n_judges", "cost", "same", "same_low", "same_high", "accuracy", "accuracy_low",
        "accuracy_high",
    )  # fmt: skip
    return table_of(names, rows)
