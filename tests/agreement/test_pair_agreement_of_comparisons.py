"""Agreement about which of two items is better does not depend on sides or names."""

import numpy as np
import pytest

from manyhands.agreement import alpha, summarize_pairs
from manyhands.agreement.comparisons import PairLabels
from manyhands.annotations import Comparisons
from simulated_pairs import simulate_pairs


def values(pairs):
    return [each.value for each in summarize_pairs(pairs).coefficients]


def test_sides_and_names_have_no_influence():
    pairs, _ = simulate_pairs(1, n_items=6, n_annotators=4, n=120, tie=-0.5, side=0.5)
    names = np.array(list("fcadbe"))
    renamed = Comparisons.from_arrays(
        names[pairs.left], names[pairs.right], pairs.annotator, pairs.to_columns()["winner"],
        winner_is="side",
    )  # fmt: skip
    assert values(pairs) == pytest.approx(values(pairs.swapped()))
    assert values(pairs) == pytest.approx(values(renamed))


def test_full_agreement_and_chance():
    pairs, _ = simulate_pairs(2, n_items=9, n_annotators=900, n=3000)
    rng = np.random.default_rng(0)
    better = np.minimum(pairs.left, pairs.right)
    perfect = Comparisons.from_arrays(pairs.left, pairs.right, pairs.annotator, better)
    assert values(perfect) == [1.0, 1.0]
    either = np.where(rng.random(len(pairs)) < 0.5, pairs.left, pairs.right)
    random = Comparisons.from_arrays(pairs.left, pairs.right, pairs.annotator, either)
    assert values(random)[0] == pytest.approx(0.0, abs=0.03)
    assert values(random)[1] == pytest.approx(0.5, abs=0.02)


def test_alpha_is_that_of_pairs_in_both_orders():
    pairs, _ = simulate_pairs(3, n_items=5, n_annotators=4, n=100, tie=-0.5)
    labels = PairLabels.of(pairs)
    found = summarize_pairs(pairs).coefficients[0]
    both = alpha(labels.annotations(4, both_orders=True))
    assert found.value == both.value
    assert found.n_items * 2 == both.n_items
    assert found.high - found.low == pytest.approx(np.sqrt(2) * (both.high - both.low), rel=1e-6)


def test_tables_say_who_agrees_and_which_side_they_choose():
    pairs = Comparisons.from_arrays(
        ["p", "q", "p", "p"], ["q", "p", "q", "r"], list("uvww"), ["p", "p", "q", "tie"]
    )
    found = summarize_pairs(pairs)
    assert found.annotators["agreement"].tolist() == [0.5, 0.5, 0.0]
    assert found.annotators["left"].tolist() == [1.0, 0.0, 0.0]
    assert found.items["n_first"].tolist() == [2, 0]
    assert found.items["agreement"][0] == pytest.approx(1 / 3)
