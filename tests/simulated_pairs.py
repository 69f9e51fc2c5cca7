"""Comparisons that are drawn from the model of Crowd-BT, for tests."""

import numpy as np

from manyhands.aggregation.pairs.outcomes import NO_TIES, outcome_probabilities
from manyhands.annotations import Comparisons


def simulate_pairs(
    seed=0, n_items=12, n_annotators=8, n=1500, *, follows=1.0, side=0.0, tie=NO_TIES
):
    """Comparisons and the true scores; `follows` and `side` are numbers or one per annotator."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n_items)
    score -= score.mean()
    left = rng.integers(n_items, size=n)
    right = (left + 1 + rng.integers(n_items - 1, size=n)) % n_items
    who = rng.integers(n_annotators, size=n)
    follows, side = np.broadcast_to(follows, n_annotators), np.broadcast_to(side, n_annotators)
    p = outcome_probabilities(score[left] - score[right], side[who], tie, follows[who])
    drawn = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    winner = np.array(["left", "right", "tie"])[drawn]
    items, people = list(range(n_items)), list(range(n_annotators))
    pairs = Comparisons.from_arrays(
        left, right, who, winner, items=items, annotators=people, winner_is="side"
    )
    return pairs, score
