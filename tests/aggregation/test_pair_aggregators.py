"""Laws of every aggregator of comparisons, and references of the model of Bradley and Terry."""

import pickle

import choix
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import manyhands as mh
from manyhands.aggregation import PAIR_AGGREGATORS, BradleyTerry, CrowdBT
from manyhands.aggregation.pairs.components import comparison_groups, unbounded_items
from manyhands.aggregation.pairs.information import mixture_hessian
from manyhands.aggregation.pairs.outcomes import NO_TIES, log_outcomes, outcome_terms
from manyhands.aggregation.pairs.system import PairSystem, following, opposing
from manyhands.annotations import Comparisons
from manyhands.core.errors import DataError, SettingError, UnknownNameError
from simulated_pairs import simulate_pairs

NAMES = list(PAIR_AGGREGATORS)
VARIANTS = [
    BradleyTerry(), BradleyTerry(ties="half"), BradleyTerry(ties="drop"),
    BradleyTerry(position_bias="shared"), CrowdBT(), CrowdBT(ties="half", max_iter=200),
    CrowdBT(position_bias="shared"), CrowdBT(position_bias="annotator"),
]  # fmt: skip


@pytest.fixture(scope="module")
def crowd():
    follows = np.array([0.5, 0.5, 0.95, 0.9, 0.97, 0.95, 0.9, 0.95])
    return simulate_pairs(3, follows=follows, side=0.2, tie=-0.5)


def named(pairs, items, annotators):
    columns = pairs.to_columns()
    return Comparisons.from_arrays(
        [items[i] for i in pairs.left], [items[i] for i in pairs.right],
        [annotators[a] for a in pairs.annotator], columns["winner"], winner_is="side",
    )  # fmt: skip


@pytest.mark.parametrize("model", VARIANTS, ids=repr)
def test_names_have_no_influence(crowd, model):
    pairs, _ = crowd
    order = np.random.default_rng(1).permutation(pairs.n_items)
    items = [f"item {order[i]:02}" for i in range(pairs.n_items)]
    people = [f"who {(7 * a) % 8}" for a in range(pairs.n_annotators)]
    before, after = model.fit(pairs), model.fit(named(pairs, items, people))
    place = after.comparisons.item_vocabulary.codes(items)
    assert after.scores[place] == pytest.approx(before.scores, abs=1e-6)
    assert after.ranks[place].tolist() == before.ranks.tolist()
    assert after.deviation[place] == pytest.approx(before.deviation, abs=1e-5)
    who = after.comparisons.annotator_vocabulary.codes(people)
    assert after.annotator_quality[who] == pytest.approx(before.annotator_quality, abs=1e-5)


@pytest.mark.parametrize("model", VARIANTS, ids=repr)
def test_swapping_left_and_right_turns_only_the_advantage_of_a_side(crowd, model):
    before, after = model.fit(crowd[0]), model.fit(crowd[0].swapped())
    assert after.scores == pytest.approx(before.scores, abs=1e-6)
    assert after.tie_weight == pytest.approx(before.tie_weight, abs=1e-6)
    assert after.position == pytest.approx(-before.position, abs=1e-6)


@pytest.mark.parametrize("model", VARIANTS, ids=repr)
def test_turning_all_winners_turns_the_ranking(crowd, model):
    pairs = crowd[0]
    turned = Comparisons.from_arrays(
        pairs.right, pairs.left, pairs.annotator, pairs.to_columns()["winner"], winner_is="side"
    )
    before, after = model.fit(pairs), model.fit(turned)
    assert after.scores == pytest.approx(-before.scores, abs=1e-6)


@pytest.mark.parametrize("model", VARIANTS, ids=repr)
def test_the_objective_never_falls(crowd, model):
    fit = model.set_params(tol=0.0, max_iter=40).fit(crowd[0])
    slack = 1e-9 * abs(fit.objective[-1])
    assert np.diff(fit.objective).min() >= -slack
    assert len(fit.objective) == 40


@pytest.mark.parametrize("model", VARIANTS, ids=repr)
def test_a_ranking_is_pickled_and_saved(crowd, model, tmp_path):
    fit = model.fit(crowd[0])
    fit.save(tmp_path / "ranking")
    for copy in (pickle.loads(pickle.dumps(fit)), mh.load(tmp_path / "ranking")):
        assert repr(copy) == repr(fit)
        assert copy.method == fit.method
        assert copy.to_frame().equals(fit.to_frame())
        assert copy.annotators_frame().equals(fit.annotators_frame())
        assert np.array_equal(copy.chance_above, fit.chance_above, equal_nan=True)
        assert np.array_equal(copy.predict([0], [1]), fit.predict([0], [1]))


@pytest.mark.parametrize("name", NAMES)
def test_one_comparison_works(name):
    fit = PAIR_AGGREGATORS[name]().fit(Comparisons.from_arrays(["a"], ["b"], ["u"], ["b"]))
    assert fit.to_frame()["item"].tolist() == ["b", "a"]
    assert fit.rank_interval[0].tolist() == [1, 1]
    assert fit.rank_interval[1].tolist() == [2, 2]


@pytest.mark.parametrize("name", NAMES)
def test_ties_alone_leave_all_items_equal(name):
    pairs = Comparisons.from_arrays(list("abc"), list("bca"), None, ["tie"] * 3)
    fit = PAIR_AGGREGATORS[name]().fit(pairs)
    assert fit.scores == pytest.approx(np.zeros(3), abs=1e-9)
    assert fit.ranks.tolist() == [1, 1, 1]


def test_parameters_are_recovered():
    follows = np.array([0.5, 0.1, *[0.95] * 6])
    side = np.array([0.0, 0.0, 1.0, -1.0, 0.0, 0.5, -0.5, 0.0])
    pairs, score = simulate_pairs(5, n=8000, follows=follows, side=side, tie=-0.3)
    fit = CrowdBT(position_bias="annotator").fit(pairs)
    assert np.abs(fit.scores - score).max() < 0.25
    assert np.abs(fit.follows - follows).max() < 0.12
    assert np.abs(fit.position - side)[2:].max() < 0.35
    assert fit.tie_weight == pytest.approx(-0.3, abs=0.1)
    assert np.abs((fit.scores - score) / fit.deviation).mean() < 1.5
    assert fit.score(dict(enumerate(score))).spearman > 0.97
    plain = BradleyTerry().fit(pairs)
    assert np.abs(plain.scores - score).max() > np.abs(fit.scores - score).max()


def test_without_ties_it_is_logistic_regression():
    pairs, _ = simulate_pairs(1, n=800)
    design = np.zeros((len(pairs), pairs.n_items + 1))
    rows = np.arange(len(pairs))
    design[rows, pairs.left], design[rows, pairs.right], design[:, -1] = 1.0, -1.0, 1.0
    reference = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=5000)
    for position, columns in (("none", slice(0, -1)), ("shared", slice(None))):
        reference.fit(design[:, columns], pairs.outcome == 0)
        expected = reference.coef_[0][: pairs.n_items]
        fit = BradleyTerry(position_bias=position, prior_scale=np.inf).fit(pairs)
        assert fit.scores == pytest.approx(expected - expected.mean(), abs=1e-4)


def test_with_a_prior_it_is_ridge_regression():
    pairs, _ = simulate_pairs(2, n=200)
    design = np.zeros((len(pairs), pairs.n_items))
    rows = np.arange(len(pairs))
    design[rows, pairs.left], design[rows, pairs.right] = 1.0, -1.0
    reference = LogisticRegression(C=1.5**2, fit_intercept=False, tol=1e-10, max_iter=5000)
    reference.fit(design, pairs.outcome == 0)
    fit = BradleyTerry(prior_scale=1.5).fit(pairs)
    assert fit.scores == pytest.approx(reference.coef_[0], abs=1e-4)


def test_davidson_is_the_maximum_of_its_likelihood():
    pairs, _ = simulate_pairs(4, n_items=5, n=300, tie=-0.2, side=0.4)

    def loss(v):
        d = v[pairs.left] - v[pairs.right] + v[5]
        strength = np.exp(np.stack([d / 2, -d / 2, np.full(len(d), v[6])], axis=1))
        said = strength[np.arange(len(d)), pairs.outcome] / strength.sum(axis=1)
        return -np.log(said).sum()

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-6}).x
    fit = BradleyTerry(prior_scale=np.inf, position_bias="shared").fit(pairs)
    assert fit.scores == pytest.approx(best[:5] - best[:5].mean(), abs=1e-4)
    assert (fit.position[0], fit.tie_weight) == pytest.approx((best[5], best[6]), abs=1e-4)


def test_scores_are_those_of_choix():
    pairs, _ = simulate_pairs(1, n=800)
    won = np.where(pairs.outcome == 0, pairs.left, pairs.right)
    lost = np.where(pairs.outcome == 0, pairs.right, pairs.left)
    expected = choix.opt_pairwise(pairs.n_items, list(zip(won, lost, strict=True)), alpha=0.0)
    fit = BradleyTerry(prior_scale=np.inf).fit(pairs)
    assert fit.scores == pytest.approx(expected - np.mean(expected), abs=1e-5)


def test_crowd_bt_without_differences_is_bradley_terry(crowd):
    for bias in ("none", "shared"):
        plain = BradleyTerry(position_bias=bias).fit(crowd[0])
        same = CrowdBT(position_bias=bias, prior_against=0.0).fit(crowd[0])
        assert np.array_equal(plain.scores, same.scores)
        assert plain.objective == same.objective
        assert np.array_equal(plain.covariance, same.covariance)


def test_derivatives_are_those_of_the_log_probabilities():
    rng, h = np.random.default_rng(0), 1e-5
    x, outcome = rng.normal(size=30), rng.integers(3, size=30)
    terms = outcome_terms(x, 0.3, outcome)
    up, down = (outcome_terms(x + step, 0.3, outcome) for step in (h, -h))
    assert (up.log_p - down.log_p) / (2 * h) == pytest.approx(terms.g_x, abs=1e-8)
    assert (up.g_x - down.g_x) / (2 * h) == pytest.approx(terms.h_xx, abs=1e-8)
    up, down = (outcome_terms(x, 0.3 + step, outcome) for step in (h, -h))
    assert (up.log_p - down.log_p) / (2 * h) == pytest.approx(terms.g_t, abs=1e-8)
    assert (up.g_x - down.g_x) / (2 * h) == pytest.approx(terms.h_xt, abs=1e-8)
    assert (up.g_t - down.g_t) / (2 * h) == pytest.approx(terms.h_tt, abs=1e-8)
    for tau in (0.3, NO_TIES):
        assert np.exp(log_outcomes(x, tau)).sum(axis=1) == pytest.approx(np.ones(30))


def test_the_hessian_of_the_mixture_is_right(crowd):
    pairs = crowd[0][:20]
    system = PairSystem.of(pairs, "annotator", True, 2.0, 1.0)
    rng = np.random.default_rng(0)
    point = rng.normal(size=4) * 0.5  # d, delta, tau, log-odds

    def log_p(v):
        d, delta, tau, odds = v
        chance = 1 / (1 + np.exp(-odds))
        said = [
            np.exp(outcome_terms(np.full(20, delta + sign * d), tau, pairs.outcome).log_p)
            for sign in (1, -1)
        ]
        return np.log(chance * said[0] + (1 - chance) * said[1])

    chance = 1 / (1 + np.exp(-point[3]))
    first, second = (
        outcome_terms(np.full(20, point[1] + sign * point[0]), point[2], pairs.outcome)
        for sign in (1, -1)
    )
    share = chance * np.exp(first.log_p) / np.exp(log_p(point))
    found = mixture_hessian(following(first), opposing(second), share, np.full(20, chance))
    h = 1e-4
    unit = np.eye(4) * h
    for i in range(4):
        for j in range(4):
            corners = [
                si * sj * log_p(point + si * unit[i] + sj * unit[j])
                for si in (1, -1)
                for sj in (1, -1)
            ]
            assert sum(corners) / (4 * h * h) == pytest.approx(found[:, i, j], abs=1e-5)
    assert system.n_sides == pairs.n_annotators


def test_deviations_are_those_of_the_full_information():
    """The elimination of annotators equals the inverse of the whole matrix."""
    follows = np.array([0.9, 0.6, 0.95])
    pairs, _ = simulate_pairs(7, n_items=5, n_annotators=3, n=300, follows=follows, tie=-0.4)
    model = CrowdBT(position_bias="annotator", tol=0.0, max_iter=400)
    fit = model.fit(pairs)
    odds = np.log(fit.follows / (1 - fit.follows))
    point = np.concatenate([fit.scores, fit.position, [fit.tie_weight], odds])

    def log_posterior(v):
        chance = 1 / (1 + np.exp(-v[9:]))
        d, delta = v[pairs.left] - v[pairs.right], v[5:8][pairs.annotator]
        said = [
            np.exp(outcome_terms(delta + sign * d, v[8], pairs.outcome).log_p) for sign in (1, -1)
        ]
        share = chance[pairs.annotator]
        value = np.log(share * said[0] + (1 - share) * said[1]).sum()
        value += (4 * np.log(chance) + np.log(1 - chance)).sum()
        return value - 0.5 * ((v[:5] ** 2).sum() / 4 + (v[5:8] ** 2).sum() + v[8] ** 2 / 4)

    h, n = 1e-3, len(point)
    unit = np.eye(n) * h
    hessian = np.array(
        [
            [
                sum(
                    si * sj * log_posterior(point + si * unit[i] + sj * unit[j])
                    for si in (1, -1)
                    for sj in (1, -1)
                )
                / (4 * h * h)
                for j in range(n)
            ]
            for i in range(n)
        ]
    )
    covariance = np.linalg.inv(-hessian)
    centre = np.eye(5) - 0.2
    assert fit.covariance == pytest.approx(centre @ covariance[:5, :5] @ centre, abs=1e-4)
    assert fit.position_deviation == pytest.approx(np.sqrt(np.diag(covariance)[5:8]), abs=1e-3)
    half = np.log(fit.quality.high / (1 - fit.quality.high)) - odds
    assert half == pytest.approx(1.959964 * np.sqrt(np.diag(covariance)[9:]), abs=1e-2)


def test_groups_that_cannot_be_compared_are_named():
    pairs = Comparisons.from_arrays(list("abxy"), list("bcyx"), None, list("abxy"))
    assert comparison_groups(pairs).tolist() == [0, 0, 0, 1, 1]
    fit = BradleyTerry().fit(pairs)
    assert "2 groups of items cannot be compared" in fit.warnings[0]
    assert "{a, b, c}, {x, y}" in fit.warnings[0]
    assert fit.ranks.tolist() == [1, 2, 3, 1, 1]
    assert fit.to_frame()["group"].tolist() == [1, 1, 1, 2, 2]
    assert np.isnan(fit.chance("a", "x"))
    assert [side.tolist() for side in fit.rank_interval][1] == [3, 3, 3, 2, 2]


def test_without_a_prior_items_without_a_limit_are_named():
    pairs = Comparisons.from_arrays(list("aabc"), list("bccb"), None, list("aabc"))
    assert unbounded_items(pairs, comparison_groups(pairs)).tolist() == [True, False, False]
    with pytest.raises(DataError, match="the scores of a have no limit"):
        BradleyTerry(prior_scale=np.inf).fit(pairs)
    fit = BradleyTerry().fit(pairs)
    assert fit.scores[0] < 5
    assert fit.to_frame()["item"][0] == "a"
    tied = Comparisons.from_arrays(list("aabca"), list("bccbb"), None, [*"aabc", "tie"])
    assert not unbounded_items(tied, comparison_groups(tied)).any()


def test_rank_intervals_hold():
    """In 60 crowds nine of ten true ranks and more are within their intervals."""
    inside = []
    for seed in range(60):
        pairs, score = simulate_pairs(seed, n_items=8, n=200)
        low, high = BradleyTerry(prior_scale=1.0).fit(pairs).rank_interval
        true = (-score).argsort().argsort() + 1
        inside.append(((low <= true) & (true <= high)).mean())
    assert np.mean(inside) > 0.9


def test_the_chance_that_one_item_is_above_another(crowd):
    fit = mh.aggregate(crowd[0])
    assert fit.method_name == "crowd-bt"
    chance = fit.chance_above
    assert chance + chance.T == pytest.approx(np.ones_like(chance))
    best, worst = fit.order[0], fit.order[-1]
    assert fit.chance(best, worst) > 0.99


def test_predicted_outcomes_are_probabilities(crowd):
    fit = CrowdBT(position_bias="annotator").fit(crowd[0])
    p = fit.predict([0, 1], [1, 2], annotator=[0, 3])
    assert p.sum(axis=1) == pytest.approx(np.ones(2))
    assert p.shape == (2, 3)


def test_frames_and_settings_of_aggregate(crowd):
    pairs = crowd[0]
    frame = pairs.to_frame()
    assert np.array_equal(
        mh.aggregate(frame, "bradley-terry", winner_is="side").scores,
        mh.aggregate(pairs, "bradley-terry").scores,
    )
    odd = frame.rename(columns={"left": "l", "right": "r"})
    fit = mh.aggregate(odd, "bradley-terry", left="l", right="r", ties="half")
    assert fit.method.ties == "half"
    with pytest.raises(UnknownNameError, match="known: bradley-terry, crowd-bt"):
        mh.aggregate(pairs, "dawid-skene")
    with pytest.raises(SettingError, match="no setting 'tie'; did you mean ties"):
        mh.aggregate(pairs, tie="half")
    with pytest.raises(SettingError, match="known truths are for labels of items"):
        mh.aggregate(pairs, known={0: 1})
    with pytest.raises(SettingError, match="prior_scale must be > 0"):
        BradleyTerry(prior_scale=0.0)


def test_winners_and_losers_alone_have_no_sides():
    import pandas as pd

    frame = pd.DataFrame({"chosen": ["a", "b"], "rejected": ["b", "c"]})
    assert mh.aggregate(frame).to_frame()["item"].tolist() == ["a", "b", "c"]
    with pytest.raises(SettingError, match="position_bias needs to know"):
        mh.aggregate(frame, position_bias="shared")
