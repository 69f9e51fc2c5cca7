"""What to label next where labels are sets of classes, levels, or comparisons of two items."""

import numpy as np
import pytest
from scipy.integrate import quad

import manyhands as mh
from manyhands.aggregation import BradleyTerry
from manyhands.aggregation.pairs.outcomes import NO_TIES
from manyhands.annotations import Annotations, Comparisons
from manyhands.core.errors import DataError, SettingError
from manyhands.selection import (
    NEXT_METHODS,
    budget_curve,
    comparison_curve,
    next_comparisons,
    next_labels,
)
from manyhands.selection.next_pairs import information_of_comparison
from set_crowds import CLASSES, simulate_sets

CROWD = simulate_sets(3, n_items=100, n_annotators=12)
ANN = CROWD.annotations


def asked_pairs(found):
    return list(zip(found.item.tolist(), found.annotator.tolist(), strict=True))


@pytest.mark.parametrize("method", NEXT_METHODS)
def test_sets_are_asked_for_once_and_within_the_budget(method):
    given = [np.clip(CROWD.truth_ik * 0.8 + 0.1, 0, 1)]
    found = next_labels(ANN, *given, method=method, budget=20)
    columns = ANN.to_columns()
    labelled = set(zip(columns["item"].tolist(), columns["annotator"].tolist(), strict=True))
    assert len(set(found.item.tolist())) == len(found) == 20
    assert labelled.isdisjoint(asked_pairs(found))
    assert (np.diff(found.gain) <= 1e-12).all()
    assert set(found.label[0].replace("[]", "").split(";")) <= {*CLASSES, ""}
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()


@pytest.mark.parametrize("method", ["information", "accuracy", "probing"])
def test_the_gain_of_a_set_is_the_sum_of_those_of_its_classes(method):
    """With the same beliefs, one class is two classes: it applies, or it does not."""
    consensus = mh.aggregate(ANN)
    found = next_labels(ANN, consensus=consensus, method=method, budget=5)
    total = np.zeros(5)
    for k, name in enumerate(CLASSES):
        belief_i2 = np.stack([1 - consensus.probabilities[:, k], consensus.probabilities[:, k]], 1)
        own = ANN.of_class(name)
        of_class = mh.Consensus.from_probabilities(own, belief_i2)
        everything = next_labels(own, consensus=of_class, method=method, budget=10_000,
                                 per_annotator=10_000)  # fmt: skip
        pool = mh.selection.pools.make_pool(own, consensus=of_class)
        gain = NEXT_METHODS[method].gain(pool, 0)
        people = pool.asked.tolist()
        for n, (item, annotator) in enumerate(asked_pairs(found)):
            row = own.item_vocabulary.code(item)
            total[n] += gain(np.array([row]), people.index(annotator))[0]
        assert len(everything) == ANN.n_items
    np.testing.assert_allclose(found.gain, total, rtol=1e-10)


def test_sets_that_are_chosen_by_information_are_right_sooner():
    """Labels of a simulated crowd, drawn as they are asked for."""
    right = {"information": 0.0, "random": 0.0}
    for seed in range(4):
        crowd = simulate_sets(seed, n_items=120, n_annotators=10, per_item=2)
        for method in right:
            rng, ann = np.random.default_rng(seed), crowd.annotations
            for _ in range(3):
                asked = next_labels(ann, method=method, budget=60, seed=seed)
                applies = crowd.truth_ik[asked.item.astype(int)]
                rates = np.take_along_axis(
                    crowd.right_akz[asked.annotator.astype(int)],
                    applies.astype(int)[..., None], axis=2,
                )[..., 0]  # fmt: skip
                said = applies ^ (rng.random(rates.shape) > rates)
                sets = [[CLASSES[k] for k in np.flatnonzero(row)] for row in said]
                new = Annotations.from_arrays(
                    asked.item, asked.annotator, sets, kind="multilabel", classes=CLASSES
                )
                ann = ann.extended(new)
            right[method] += 1 - mh.aggregate(ann).score(crowd.truth).hamming_loss
    assert right["information"] > right["random"] + 4 * 0.003


def test_the_curve_of_sets_and_what_is_refused():
    curve = budget_curve(ANN, budget=20, batches=2, repeats=4)
    assert curve.accuracy[0] == pytest.approx(
        np.maximum(mh.aggregate(ANN).probabilities, 1 - mh.aggregate(ANN).probabilities).mean()
    )
    assert curve.gain[-1] > 0
    assert (curve.low <= curve.accuracy).all()
    with pytest.raises(DataError, match=r"a row for each of 100 items and a column for each of 5"):
        next_labels(ANN, np.ones((100, 4)))
    with pytest.raises(DataError, match="must be numbers from 0 to 1"):
        next_labels(ANN, np.full((100, 5), 1.5))
    with pytest.raises(DataError, match="these labels are numbers"):
        next_labels(Annotations.from_arrays([1, 1], ["u", "v"], [1.5, 2.5]))
    with pytest.raises(DataError, match="the consensus must be of sets"):
        next_labels(ANN, consensus=mh.aggregate(ANN.of_class("a")))


def test_a_classifier_of_sets_is_cross_validated():
    x = CROWD.truth_ik @ np.random.default_rng(0).normal(size=(5, 6))
    model = mh.CrowdMultilabelClassifier(network="logistic", epochs=3, progress=False)
    ann, p_ik = mh.selection.out_of_sample(x, ANN[:90], X_items=range(100), model=model, folds=2)
    assert p_ik.shape == (100, 5)
    assert ((p_ik > 0) & (p_ik < 1)).all()
    assert len(next_labels(ann, p_ik, budget=5)) == 5


def test_levels_are_asked_for_as_classes_are():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 5, 60)
    dense = np.clip(truth[:, None] + rng.integers(-1, 2, (60, 6)), 1, 4)
    dense = np.where(rng.random(dense.shape) < 0.5, dense, -1)
    item, who = np.nonzero(dense > 0)
    ann = Annotations.from_arrays(item, who, dense[item, who], kind="ordinal")
    found = next_labels(ann, budget=10)
    belief = mh.aggregate(ann, "ordinal-thresholds")
    np.testing.assert_allclose(
        found.confidence, belief.confidence[belief.annotations.item_vocabulary.codes(found.item)]
    )
    assert budget_curve(ann, budget=5, batches=1, repeats=3).gain[-1] >= 0


def simulated(seed, n_items=16, n_pairs=60, n_annotators=6):
    rng = np.random.default_rng(seed)
    score = rng.normal(0, 1.5, n_items)
    follows = np.array([0.5, 0.7, *np.full(n_annotators - 2, 0.97)])
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in range(n_pairs)])
    who = rng.integers(0, n_annotators, n_pairs)
    won = winners(score, follows, pairs[:, 0], pairs[:, 1], who, rng)
    return score, follows, (pairs[:, 0], pairs[:, 1], who, won)


def winners(score, follows, left, right, who, rng):
    p = 1 / (1 + np.exp(-(score[left] - score[right])))
    p = follows[who] * p + (1 - follows[who]) * (1 - p)
    return np.where(rng.random(len(p)) < p, left, right)


def test_information_of_a_comparison_is_the_integral():
    for mean, deviation, follows in ((0.3, 0.8, 1.0), (-1.0, 1.3, 0.8)):

        def expect(value, mean=mean, deviation=deviation):
            def weighted(z):
                return value(mean + deviation * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

            return quad(weighted, -8, 8)[0]

        def p(d, follows=follows):
            left = 1 / (1 + np.exp(-d))
            return follows * left + (1 - follows) * (1 - left)

        def entropy(q):
            return -q * np.log2(q) - (1 - q) * np.log2(1 - q)

        expected = entropy(expect(p)) - expect(lambda d: entropy(p(d)))
        found = information_of_comparison(
            np.array([mean]), np.array([deviation**2]), NO_TIES, follows
        )
        assert found[0] == pytest.approx(expected, rel=0.01)
    nothing = information_of_comparison(np.zeros(1), np.ones(1), NO_TIES, 0.5)
    assert nothing[0] == pytest.approx(0.0, abs=1e-12)


def test_comparisons_have_no_duplicates_and_names_do_not_matter():
    _, _, columns = simulated(0)
    pairs = Comparisons.from_arrays(*columns)
    found = next_comparisons(pairs, budget=8)
    sides = [frozenset(each) for each in zip(found.left, found.right, strict=True)]
    assert len(found) == 8
    assert len({name for pair in sides for name in pair}) == 16  # an item in one at most
    rows = zip(*(each.tolist() for each in columns[:3]), strict=True)
    done = {(frozenset((left, right)), who) for left, right, who in rows}
    assert done.isdisjoint(zip(sides, found.annotator.tolist(), strict=True))
    assert 0 not in found.annotator.tolist()  # who tells nothing is not asked
    renamed = next_comparisons(
        Comparisons.from_arrays(*(np.array([f"n{name:02}" for name in each]) for each in columns)),
        budget=8,
    )
    assert renamed.left.tolist() == [f"n{name:02}" for name in found.left]
    np.testing.assert_allclose(renamed.gain, found.gain)


def test_groups_that_nothing_connects_are_compared_first():
    left, right = list("aab") * 6 + list("xxy") * 6, list("bcc") * 6 + list("yzz") * 6
    people = [f"u{n // 3 % 6}" for n in range(36)]
    pairs = Comparisons.from_arrays(left, right, people, left)
    found = next_comparisons(pairs, budget=3)
    for one, other in zip(found.left, found.right, strict=True):
        assert (one in "abc") != (other in "abc")
    assert (found.p_left == 0.5).all()


def test_chosen_comparisons_rank_sooner_than_random_ones():
    right = {"information": 0.0, "random": 0.0}
    for seed in range(6):
        score, follows, columns = simulated(seed)
        for method in right:
            rng, now = np.random.default_rng(seed), columns
            for _ in range(5):
                asked = next_comparisons(
                    Comparisons.from_arrays(*now), method=method, budget=16, seed=seed
                )
                left, right_, who = (
                    each.astype(int) for each in (asked.left, asked.right, asked.annotator)
                )
                won = winners(score, follows, left, right_, who, rng)
                new = (left, right_, who, won)
                now = tuple(np.concatenate(both) for both in zip(now, new, strict=True))
            ranking = mh.aggregate(Comparisons.from_arrays(*now))
            right[method] += ranking.score(dict(enumerate(score))).pair_accuracy / 6
    assert right["information"] > right["random"]


def test_costs_new_people_and_the_curve_of_comparisons():
    _, _, columns = simulated(1)
    pairs = Comparisons.from_arrays(*columns)
    found = next_comparisons(pairs, budget=6, costs={5: 2.0, "new": 1.0})
    assert found.cost.sum() <= 6
    assert set(found.annotator.tolist()) == {5, "new"}
    curve = comparison_curve(pairs, budget=20, batches=2, repeats=6)
    assert curve.cost.tolist() == [0.0, 10.0, 20.0]
    assert curve.gain[-1] > 0
    again = comparison_curve(pairs, budget=20, batches=2, repeats=6)
    assert again.accuracy.tolist() == curve.accuracy.tolist()
    assert curve.verdict(target=0.5).stop
    with pytest.raises(SettingError, match="method must be one of"):
        next_comparisons(pairs, method="probing")
    own = BradleyTerry().fit(pairs)
    assert len(next_comparisons(pairs, ranking=own, budget=4)) == 4
