"""Check comparisons of two items: rows that cannot be used, sides, annotators, and coverage."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from manyhands.aggregation.pairs.components import (
    comparison_groups,
    group_lines,
    unbounded_items,
)
from manyhands.agreement.comparisons import (
    PairLabels,
    agreement_with_others,
    side_excess,
    sides,
)
from manyhands.annotations.comparison_rows import ComparisonRows
from manyhands.annotations.comparisons import TIE, Comparisons
from manyhands.checks.agreement_with_others import significant
from manyhands.checks.label_table import MAX_EXAMPLES, MAX_PLACES, Finding, Severity, percent
from manyhands.core.arrays import AnyArray
from manyhands.core.settings import Registry

_FEW = 3  # comparisons of an item
_TESTED = 10  # comparisons of an annotator
_BIASED = 3.0  # standard errors


@dataclass(frozen=True, eq=False)
class ComparisonTable:
    """The rows of a table of comparisons as they were read; every view is computed once."""

    rows: ComparisonRows

    @cached_property
    def comparisons(self) -> Comparisons:
        """The rows that can be used."""
        return Comparisons.from_rows(self.rows.only_usable())

    @cached_property
    def labels(self) -> PairLabels:
        """Which of two items annotators preferred, whatever the sides."""
        return PairLabels.of(self.comparisons)

    def finding(
        self,
        severity: Severity,
        message: str,
        remedy: str,
        count: int,
        *,
        rows: AnyArray | None = None,
        names: Iterable[Any] = (),
    ) -> Finding:
        """A finding with examples: positions in the table, and names."""
        examples = [] if rows is None else rows[:MAX_EXAMPLES].tolist()
        return Finding(
            severity, message, remedy, int(count), tuple(row + 1 for row in examples),
            tuple(str(name) for name in list(names)[:MAX_EXAMPLES]),
            tuple(self.rows.place(row) for row in examples[:MAX_PLACES]),
        )  # fmt: skip


PairCheck = Callable[[ComparisonTable], Iterable[Finding]]


def blank_cell(table: ComparisonTable) -> list[Finding]:
    """Rows without an item, an annotator or a winner."""
    return _unusable(
        table, "blank", "rows have no item, no annotator or no winner",
        "fill them in; drop rows without a winner with --missing \"\"",
    )  # fmt: skip


def self_comparison(table: ComparisonTable) -> list[Finding]:
    """Rows in which an item is compared with itself."""
    return _unusable(
        table, "self", "rows compare an item with itself", "remove them: they tell nothing"
    )


def unknown_winner(table: ComparisonTable) -> list[Finding]:
    """Rows whose winner is neither of the two items, nor a side, nor a tie."""
    rows = table.rows.problems().get("unknown", np.zeros(0, dtype=int))
    said = sorted({table.rows.said[row] for row in rows.tolist()})
    found = _unusable(
        table, "unknown", "rows have a winner that is neither of the two items, a side or a tie",
        "correct them, or say what the words mean with --outcome WORD=left",
    )  # fmt: skip
    return [Finding(**(vars(each) | {"names": tuple(said[:MAX_EXAMPLES])})) for each in found]


def no_comparison(table: ComparisonTable) -> list[Finding]:
    """Tables without a single comparison that can be used."""
    if len(table.comparisons):
        return []
    return [table.finding("error", "no row can be used", "correct the rows", len(table.rows))]


def contradictory_rows(table: ComparisonTable) -> list[Finding]:
    """Annotators who judged a pair more than once, and not in the same way."""
    pairs = table.comparisons
    turned = pairs.left > pairs.right
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    winner = np.where(pairs.outcome == TIE, -1, np.where((pairs.outcome == 0) != turned, 0, 1))
    key = (low.astype(np.int64) * pairs.n_items + high) * pairs.n_annotators + pairs.annotator
    _, group, size = np.unique(key, return_inverse=True, return_counts=True)
    highest = np.full(len(size), -2)
    lowest = np.full(len(size), 2)
    np.maximum.at(highest, group, winner)
    np.minimum.at(lowest, group, winner)
    differs = (size > 1) & (highest != lowest)
    found = []
    if differs.any():
        people = np.bincount(pairs.annotator[differs[group]], minlength=pairs.n_annotators)
        worst = np.argsort(-people, kind="stable")[: np.count_nonzero(people)]
        found.append(
            table.finding(
                "note",
                f"{differs.sum()} of {(size > 1).sum()} pairs that one annotator judged more than "
                "once were judged in different ways",
                "look at these annotators; all rows count",
                int(differs.sum()),
                names=pairs.annotators[worst],
            )
        )
    return found


def disconnected_items(table: ComparisonTable) -> list[Finding]:
    """Groups of items that no comparison connects."""
    pairs = table.comparisons
    if len(pairs) == 0:
        return []
    group_i = comparison_groups(pairs)
    return [
        table.finding(
            "warning", line, "compare some items of one group with some of another",
            int(group_i.max()) + 1,
        )
        for line in group_lines(pairs, group_i)
    ]  # fmt: skip


def side_bias(table: ComparisonTable) -> list[Finding]:
    """A side that wins more often than chance explains."""
    pairs = table.comparisons
    left, decided = (int(each.sum()) for each in sides(pairs))
    if not pairs.has_sides or decided == 0 or abs(side_excess(pairs)) < _BIASED:
        return []
    always = " (every time: are these columns the winner and the loser?)"
    return [
        table.finding(
            "warning",
            f"the left item won {percent(left, decided)} of the comparisons that are no tie"
            + (always if left in (0, decided) else ""),
            "show items in random order; estimate the advantage with --set position_bias=shared",
            decided,
        )
    ]


def one_sided_annotator(table: ComparisonTable) -> list[Finding]:
    """Annotators who nearly always choose the same side."""
    pairs = table.comparisons
    left, decided = sides(pairs)
    if not pairs.has_sides or decided.sum() == 0:
        return []
    tested = np.flatnonzero(decided >= _TESTED)
    rarer = np.minimum(left, decided - left)[tested]
    p_value = 2.0 * special.bdtr(rarer, decided[tested], 0.5)
    found = tested[significant(np.minimum(p_value, 1.0)) & (rarer <= 0.1 * decided[tested])]
    return _about_annotators(
        table, found, "annotator chose the same side 9 of 10 times or more",
        "annotators chose the same side 9 of 10 times or more",
        "leave them out, or estimate a side for everyone with --set position_bias=annotator",
    )  # fmt: skip


def against_others(table: ComparisonTable) -> list[Finding]:
    """Annotators who disagree with the others more often than by chance."""
    pairs, labels = table.comparisons, table.labels
    shared, agreed = agreement_with_others(labels, pairs.n_annotators)
    if shared.sum() == 0:
        return []
    ties = float((labels.label == TIE).mean())
    chance = (1.0 - ties) ** 2 / 2.0 + ties**2
    tested = np.flatnonzero(shared >= _TESTED)
    spread = np.sqrt(chance * (1.0 - chance) / shared[tested])
    p_value = special.ndtr((agreed[tested] / shared[tested] - chance) / spread)
    return _about_annotators(
        table, tested[significant(p_value)],
        "annotator disagrees with the others more often than by chance",
        "annotators disagree with the others more often than by chance",
        "check whether they mixed up the two sides; crowd-bt turns such answers around",
    )  # fmt: skip


def items_without_limit(table: ComparisonTable) -> list[Finding]:
    """Items that won or lost everything: the data set no limit to their scores."""
    pairs = table.comparisons
    if len(pairs) == 0:
        return []
    found = np.flatnonzero(unbounded_items(pairs, comparison_groups(pairs)))
    return _about_items(
        table, found,
        "item won or lost everything against the others: a prior limits the score",
        "items won or lost everything against the others: a prior limits their scores",
        "compare them with items that are nearly as good, or as bad",
    )  # fmt: skip


def few_comparisons(table: ComparisonTable) -> list[Finding]:
    """Items that were hardly compared."""
    counts = table.comparisons.counts()["n_comparisons"]
    return _about_items(
        table, np.flatnonzero(counts < _FEW), f"item was compared fewer than {_FEW} times",
        f"items were compared fewer than {_FEW} times",
        "compare them more often before their ranks are used",
    )  # fmt: skip


def unshared_pairs(table: ComparisonTable) -> list[Finding]:
    """Tables in which no pair was judged twice: annotators cannot be compared directly."""
    counts = np.bincount(table.labels.pair)
    if len(counts) == 0 or (counts > 1).any():
        return []
    return [
        table.finding(
            "note", "no pair was judged by two annotators, so their agreement is not known",
            "let two or more annotators judge some pairs", len(counts),
        )
    ]  # fmt: skip


# The worst first: findings of one severity keep this order.
PAIR_CHECKS: Registry[PairCheck] = Registry(
    "check of comparisons",
    {
        "no-comparison": no_comparison,
        "blank-cell": blank_cell,
        "self-comparison": self_comparison,
        "unknown-winner": unknown_winner,
        "disconnected-items": disconnected_items,
        "side-bias": side_bias,
        "one-sided-annotator": one_sided_annotator,
        "against-others": against_others,
        "contradictory-rows": contradictory_rows,
        "items-without-limit": items_without_limit,
        "few-comparisons": few_comparisons,
        "unshared-pairs": unshared_pairs,
    },
)


def _unusable(table: ComparisonTable, problem: str, message: str, remedy: str) -> list[Finding]:
    rows = table.rows.problems().get(problem)
    if rows is None:
        return []
    return [table.finding("error", f"{len(rows)} {message}", remedy, len(rows), rows=rows)]


def _about_annotators(
    table: ComparisonTable, codes: AnyArray, one: str, many: str, remedy: str
) -> list[Finding]:
    return _about(table, "warning", table.comparisons.annotators[codes], (one, many), remedy)


def _about_items(
    table: ComparisonTable, codes: AnyArray, one: str, many: str, remedy: str
) -> list[Finding]:
    return _about(table, "note", table.comparisons.items[codes], (one, many), remedy)


def _about(
    table: ComparisonTable, severity: Severity, names: AnyArray, words: tuple[str, str], remedy: str
) -> list[Finding]:
    """A finding on the items or annotators with these names; `words` are for one and for many."""
    n = len(names)
    if n == 0:
        return []
    message = f"{n} {words[0] if n == 1 else words[1]}"
    return [table.finding(severity, message, remedy, n, names=names)]
