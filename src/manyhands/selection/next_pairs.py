"""Which two items to compare next, and whom to ask."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from manyhands.aggregation import Ranking, aggregate
from manyhands.aggregation.pairs import as_comparisons
from manyhands.aggregation.pairs.outcomes import outcome_probabilities
from manyhands.annotations import Comparisons
from manyhands.core.arrays import AnyArray, Bools, Floats, object_array
from manyhands.core.errors import DataError
from manyhands.core.settings import generator, require, require_choice
from manyhands.selection.label_pool import MAX_ASKED, checked_costs
from manyhands.selection.next_labels import AskedTable

PAIR_METHODS = ("information", "random")
_MAX_PAIRS = 100_000  # that are weighed; with more, neighbours in the ranking
_PEOPLE = 10  # annotators among whom a batch is divided at least, if there are so many
_UNCONNECTED = 2.0  # standard deviation of the difference between groups, without a prior
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_ROUNDING = 1e-9  # of sums of costs


@dataclass(frozen=True, eq=False)
class NextComparisons(AskedTable):
    """Comparisons to ask for, best first: the result of `next_comparisons`.

    `p_left` is the probability that the left item is truly above the right one, as far as is known.
    `expected_accuracy` is the mean probability that two items are in the right order.
    """

    left: AnyArray
    right: AnyArray
    annotator: AnyArray
    gain: Floats
    cost: Floats
    p_left: Floats
    method: str
    expected_accuracy: float
    backend: str = "pandas"

    shown = ("left", "right", "annotator", "gain", "cost", "p_left")

    def __repr__(self) -> str:
        return f"NextComparisons({len(self)} comparisons by {self.method})"


class People(NamedTuple):
    """Annotators who may be asked: names, codes (-1 for new people), costs, how often they follow.

    `follows` is how often an annotator judges by the scores, and not against them.
    """

    names: AnyArray
    person_r: AnyArray
    cost_r: Floats
    follows_r: Floats


class PairBatch(NamedTuple):
    """Comparisons to ask for, best first: codes of items, places of annotators, gains."""

    left: AnyArray
    right: AnyArray
    asked: AnyArray
    gain: Floats


def next_comparisons(
    comparisons: Any,
    *,
    ranking: Ranking | None = None,
    method: str = "information",
    budget: float = 100,
    costs: Mapping[Any, float] | None = None,
    per_annotator: int | None = None,
    seed: int = 0,
) -> NextComparisons:
    """The comparisons to ask for next, each with the annotator to ask, by gain per cost.

    "information" ranks them by the bits that an outcome is expected to tell about the difference of
    the two scores: items whose order is open, and annotators who follow the scores. Items of groups
    that no comparison connects come first. "random" is for comparison. `ranking` is `aggregate`'s
    by default.

    `budget`, `costs` and `per_annotator` are those of `next_labels`. An item is in one comparison
    of a batch until all are, because the next one is better chosen when that has arrived, and
    nobody is asked about two items that they have compared.

    >>> pairs = Comparisons.from_arrays(list("xxy"), list("yzz"), ["u", "u", "v"], list("xxy"))
    >>> asked = next_comparisons(pairs, budget=1)
    >>> sorted([asked.left[0], asked.right[0]])
    ['y', 'z']
    """
    pairs = as_comparisons(comparisons)
    require_choice("method", method, PAIR_METHODS)
    require(np.isfinite(budget) and budget > 0, "budget", "above 0", budget)
    require(per_annotator is None or per_annotator >= 1, "per_annotator", ">= 1", per_annotator)
    ranking = aggregate(pairs) if ranking is None else ranking
    if ranking.covariance is None:
        raise DataError(
            f"{pairs.n_items} items are too many to weigh their comparisons; give some of them"
        )
    people = choose_people(ranking, costs)
    batch = choose_comparisons(ranking, people, method, budget, per_annotator, seed)
    chance = ranking_chances(ranking, batch.left, batch.right)
    return NextComparisons(
        left=pairs.items[batch.left], right=pairs.items[batch.right],
        annotator=people.names[batch.asked], gain=batch.gain, cost=people.cost_r[batch.asked],
        p_left=chance, method=method, expected_accuracy=expected_order(ranking),
        backend=pairs.backend,
    )  # fmt: skip


def choose_people(ranking: Ranking, costs: Mapping[Any, float] | None) -> People:
    """The annotators who follow the scores most per cost; new people are as good as the average."""
    pairs = ranking.comparisons
    cost = checked_costs(costs, pairs.annotators)
    person_r = pairs.annotator_vocabulary.codes(cost)
    names = pairs.annotators if costs is None else object_array(list(cost))
    cost_r = np.array(list(cost.values()), dtype=np.float64)
    follows_r = np.where(person_r >= 0, ranking.follows[person_r], ranking.follows.mean())
    worth_r = np.abs(2.0 * follows_r - 1.0) / cost_r
    best = np.sort(np.argsort(-worth_r, kind="stable")[:MAX_ASKED])
    return People(names[best], person_r[best], cost_r[best], follows_r[best])


def choose_comparisons(
    ranking: Ranking,
    people: People,
    method: str,
    budget: float,
    per_annotator: int | None,
    seed: int,
) -> PairBatch:
    """The best comparisons, greedily by gain per cost."""
    one_p, other_p = _candidates(ranking)
    rng = generator(seed, "next comparisons")
    if method == "random":
        gain_pr = rng.random((len(one_p), len(people.names)))
    else:
        mean_p, variance_p = _differences(ranking, one_p, other_p)
        gain_pr = np.stack(
            [
                information_of_comparison(mean_p, variance_p, ranking.tie_weight, follows)
                for follows in people.follows_r
            ],
            axis=1,
        )
    free = _may_compare(ranking.comparisons, people, one_p, other_p)
    worth = np.where(free, gain_pr / people.cost_r, -np.inf).ravel()
    order = np.argsort(-worth, kind="stable")[: int(free.sum())]
    taken = _take(order, one_p, other_p, people, budget, per_annotator, len(ranking.scores))
    place, asked = np.divmod(np.array(taken, dtype=np.int64), len(people.names))
    turned = rng.random(len(place)) < 0.5  # who is on the left should tell nothing
    left = np.where(turned, other_p[place], one_p[place])
    right = np.where(turned, one_p[place], other_p[place])
    return PairBatch(left, right, asked, gain_pr[place, asked])


def information_of_comparison(
    mean_p: Floats, variance_p: Floats, tie_weight: float, follows: float
) -> Floats:
    """The mutual information, in bits, of an outcome and a normal difference of two scores.

    ::

        I = H(E p(o | d)) - E H(p(o | d)),  d ~ Normal(mean, variance)

    It is 0 for an annotator who follows the scores half of the time.

    >>> found = information_of_comparison(np.array([0.0, 5.0]), np.ones(2), -np.inf, 1.0)
    >>> bool(found[0] > 5 * found[1])
    True
    """
    weight_m = _WEIGHTS / _WEIGHTS.sum()
    d_pm = mean_p[:, None] + np.sqrt(variance_p)[:, None] * _NODES
    flat = d_pm.ravel()
    p_pmo = outcome_probabilities(
        flat, np.zeros_like(flat), tie_weight, np.full(len(flat), follows)
    ).reshape(*d_pm.shape, 3)
    known_p = special.entr(p_pmo).sum(axis=2) @ weight_m
    told_p = special.entr(np.einsum("pmo,m->po", p_pmo, weight_m)).sum(axis=1)
    return np.asarray(np.maximum(told_p - known_p, 0.0) / np.log(2.0))


def expected_order(ranking: Ranking) -> float:
    """The mean probability that two items are in the right order; 0.5 for unconnected ones."""
    chance = ranking.chance_above[np.triu_indices(len(ranking.scores), 1)]
    return float(np.where(np.isnan(chance), 0.5, np.maximum(chance, 1.0 - chance)).mean())


def ranking_chances(ranking: Ranking, left: AnyArray, right: AnyArray) -> Floats:
    """The chance that the left items are truly above the right ones."""
    chance = ranking.chance_above[left, right]
    return np.where(np.isnan(chance), 0.5, chance)


def _candidates(ranking: Ranking) -> tuple[AnyArray, AnyArray]:
    """All pairs of items, or neighbours in the ranking where there are too many."""
    n = len(ranking.scores)
    if n * (n - 1) // 2 <= _MAX_PAIRS:
        return np.triu_indices(n, 1)
    order = np.argsort(-ranking.scores, kind="stable")
    steps = range(1, max(2, _MAX_PAIRS // n))
    one = np.concatenate([order[:-step] for step in steps])
    other = np.concatenate([order[step:] for step in steps])
    return one, other


def _differences(ranking: Ranking, one_p: AnyArray, other_p: AnyArray) -> tuple[Floats, Floats]:
    """The mean and the variance of the difference of two scores."""
    assert ranking.covariance is not None, "it was checked"
    variance = np.diag(ranking.covariance)
    spread = variance[one_p] + variance[other_p] - 2.0 * ranking.covariance[one_p, other_p]
    apart = ranking.group[one_p] != ranking.group[other_p]
    scale = min(ranking.method.prior_scale, _UNCONNECTED)
    mean = np.where(apart, 0.0, ranking.scores[one_p] - ranking.scores[other_p])
    return mean, np.maximum(np.where(apart, spread + 2.0 * scale**2, spread), 0.0)


def _may_compare(pairs: Comparisons, people: People, one_p: AnyArray, other_p: AnyArray) -> Bools:
    """Which annotators have not compared these items yet, shape (p, r)."""
    n = pairs.n_items
    key_p = np.minimum(one_p, other_p) * n + np.maximum(one_p, other_p)
    order = np.argsort(key_p, kind="stable")
    key_n = np.minimum(pairs.left, pairs.right).astype(np.int64) * n
    key_n += np.maximum(pairs.left, pairs.right)
    place_n = np.searchsorted(key_p[order], key_n).clip(max=len(key_p) - 1)
    row_n = order[place_n]
    place_a = np.full(pairs.n_annotators + 1, -1)
    place_a[people.person_r] = np.arange(len(people.names))
    place_a[-1] = -1  # new people
    column_n = place_a[pairs.annotator]
    known = (key_p[row_n] == key_n) & (column_n >= 0)
    free = np.ones((len(one_p), len(people.names)), dtype=bool)
    free[row_n[known], column_n[known]] = False
    return free


def _take(
    order: AnyArray,
    one_p: AnyArray,
    other_p: AnyArray,
    people: People,
    budget: float,
    per_annotator: int | None,
    n_items: int,
) -> list[int]:
    """Cells (pair, r) in this order that are within the budget, one per pair."""
    cost, n_asked = people.cost_r.tolist(), len(people.names)
    left, cheapest = budget + _ROUNDING, min(cost)
    n_labels = budget / cheapest
    cap = per_annotator or max(1, math.ceil(n_labels / min(n_asked, _PEOPLE)))
    most = max(1, math.ceil(2 * n_labels / n_items))  # comparisons of one item
    used, n_r, n_i, taken = set[int](), [0] * n_asked, [0] * n_items, list[int]()
    for cell in map(int, order):
        if left < cheapest:
            break
        place, r = divmod(cell, n_asked)
        i, j = int(one_p[place]), int(other_p[place])
        full = n_r[r] >= cap or max(n_i[i], n_i[j]) >= most
        if place in used or full or cost[r] > left:
            continue
        used.add(place)
        n_r[r] += 1
        n_i[i] += 1
        n_i[j] += 1
        left -= cost[r]
        taken.append(cell)
    return taken
