"""What further comparisons would bring: simulated outcomes, chosen as `next_comparisons` does."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from manyhands.aggregation import Ranking, aggregate
from manyhands.aggregation.pairs import as_comparisons
from manyhands.aggregation.pairs.outcomes import outcome_probabilities
from manyhands.annotations import Comparisons, Vocabulary
from manyhands.core.arrays import AnyArray, Floats, read_only
from manyhands.core.errors import DataError
from manyhands.core.settings import generator, require
from manyhands.evaluation import pair_accuracy
from manyhands.selection.budget_curve import BudgetCurve, summarize_curve
from manyhands.selection.next_pairs import (
    PairBatch,
    People,
    choose_comparisons,
    choose_people,
    expected_order,
)


def comparison_curve(
    comparisons: Any,
    *,
    ranking: Ranking | None = None,
    method: str = "information",
    budget: float = 100,
    batches: int = 3,
    costs: Mapping[Any, float] | None = None,
    per_annotator: int | None = None,
    repeats: int = 10,
    seed: int = 0,
) -> BudgetCurve:
    """The expected share of pairs of items in the right order after further comparisons.

    Every repeat draws true scores from what is known of them. Comparisons are chosen as
    `next_comparisons` does, their outcomes are drawn, and all are ranked anew after every batch:
    the simulation takes repeats x batches fits. It holds as far as the model does.

    >>> pairs = Comparisons.from_arrays(list("xxy"), list("yzz"), ["u", "u", "v"], list("xxy"))
    >>> comparison_curve(pairs, budget=2, batches=1, repeats=2).cost.tolist()
    [0.0, 2.0]
    """
    pairs = as_comparisons(comparisons)
    require(np.isfinite(budget) and budget > 0, "budget", "above 0", budget)
    require(batches >= 1, "batches", ">= 1", batches)
    require(repeats >= 2, "repeats", ">= 2", repeats)
    ranking = aggregate(pairs) if ranking is None else ranking
    if ranking.covariance is None:
        raise DataError(f"{pairs.n_items} items are too many to simulate their comparisons")
    people = choose_people(ranking, costs)
    batches = min(batches, max(1, int(budget / people.cost_r.min())))
    until = budget * np.arange(1, batches + 1) / batches
    runs = [
        _simulate(
            ranking, people, method, until, per_annotator, generator(seed, f"comparisons {each}")
        )
        for each in range(repeats)
    ]
    return summarize_curve(expected_order(ranking), np.array(runs), pairs.backend)


def _simulate(
    ranking: Ranking,
    people: People,
    method: str,
    until: Floats,
    per_annotator: int | None,
    rng: np.random.Generator,
) -> Floats:
    """Cost, comparisons and accuracy after every batch, shape (batches + 1, 3)."""
    assert ranking.covariance is not None, "it was checked"
    truth_i = rng.multivariate_normal(ranking.scores, ranking.covariance, method="eigh")
    now, spent, n_more = ranking, 0.0, 0
    found = [(spent, n_more, pair_accuracy(now.scores, truth_i))]
    for limit in until:
        left = float(limit) - spent
        seed = int(rng.integers(2**31))
        if left < people.cost_r.min():
            found.append((spent, n_more, found[-1][2]))
            continue
        batch = choose_comparisons(now, people, method, left, per_annotator, seed)
        drawn = _drawn(ranking, people, batch, truth_i, rng)
        now = ranking.method.fit(_joined(now.comparisons, people, batch, drawn))
        spent, n_more = spent + float(people.cost_r[batch.asked].sum()), n_more + len(batch.left)
        found.append((spent, n_more, pair_accuracy(now.scores, truth_i)))
    return np.array(found)


def _drawn(
    ranking: Ranking, people: People, batch: PairBatch, truth_i: Floats, rng: np.random.Generator
) -> AnyArray:
    """The outcome of every comparison."""
    difference = truth_i[batch.left] - truth_i[batch.right]
    follows = people.follows_r[batch.asked]
    p_no = outcome_probabilities(difference, np.zeros_like(difference), ranking.tie_weight, follows)
    point = rng.random((len(p_no), 1)) * p_no.sum(axis=1, keepdims=True)
    return np.asarray((p_no.cumsum(axis=1) <= point).sum(axis=1).clip(max=2))


def _joined(pairs: Comparisons, people: People, batch: PairBatch, outcome: AnyArray) -> Comparisons:
    """The comparisons, and those that were drawn."""
    asked = dict.fromkeys(people.names[batch.asked].tolist())
    names = pairs.annotator_vocabulary.extended(Vocabulary.of(asked))
    who = names.codes(people.names[batch.asked].tolist())
    columns = zip(
        (pairs.left, pairs.right, pairs.annotator, pairs.outcome),
        (batch.left, batch.right, who, outcome), strict=True,
    )  # fmt: skip
    joined = [np.concatenate([one, more]).astype(np.int32) for one, more in columns]
    left, right, annotator, said = joined
    order = np.lexsort((said, annotator, right, left))
    left, right, annotator, said = (read_only(each[order]) for each in joined)
    return replace(
        pairs, left=left, right=right, annotator=annotator, outcome=said,
        annotator_vocabulary=names, source=None,
    )  # fmt: skip
