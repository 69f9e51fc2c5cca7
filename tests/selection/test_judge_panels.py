"""Panels of judges: what is measured on gold, and the consensus that follows."""

import numpy as np
import pytest
from scipy import stats

import manyhands as mh
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.evaluation import calibration_curve
from manyhands.evaluation.scores import accuracy_interval
from manyhands.selection import accuracy_bound, judge_panel, labels_to_certify
from manyhands.selection.judges.dependence import effective_number, measure_dependence
from manyhands.selection.judges.group_model import (
    Grouping,
    LabelColumns,
    alone,
    class_log_likelihood,
)
from manyhands.selection.judges.independence import measure_independence
from manyhands.selection.judges.judge_labels import Gold, make_judge_labels, match_gold
from manyhands.selection.judges.panel_fit import fit_panel
from manyhands.simulation import SCENARIOS, JudgePanelSettings

INDEPENDENT = {"sharing": 0.0, "lowest": 0.7}


def crowd_of(**settings):
    return SCENARIOS["judge-panel"](JudgePanelSettings(**({"n_items": 2000} | settings)))


def gold_of(crowd, n_gold=100):
    return dict(list(crowd.truth_by_item.items())[:n_gold])


def dependence_of(crowd, n_gold):
    judges, gold = match_gold(make_judge_labels(crowd.annotations), gold_of(crowd, n_gold))
    return measure_dependence(judges.annotations, gold)


# ---- correlations and effective judges


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("settings", [{}, {"group_size": 6}, {"group_size": 4}, INDEPENDENT])
def test_the_planted_correlation_is_recovered(n_classes, settings):
    crowd = crowd_of(n_items=4000, n_classes=n_classes, **settings)
    found = dependence_of(crowd, 4000)
    np.testing.assert_allclose(found.correlation, crowd.correlation, atol=0.09)
    assert found.effective_judges.value == pytest.approx(crowd.effective_judges, rel=0.06)
    inside = (found.low - 0.02 <= crowd.correlation) & (crowd.correlation <= found.high + 0.02)
    assert inside.mean() > 0.9


def test_effective_judges_are_near_the_planted_number_with_100_gold_items():
    ratios, covered = [], []
    for seed in range(20):
        for settings in ({}, {"group_size": 6}, INDEPENDENT):
            crowd = crowd_of(n_items=100, seed=seed, **settings)
            found = dependence_of(crowd, 100).effective_judges
            ratios.append(found.value / crowd.effective_judges)
            covered.append(found.low - 1e-9 <= crowd.effective_judges <= found.high + 1e-9)
    assert np.abs(np.array(ratios) - 1).mean() < 0.1
    assert np.quantile(np.abs(np.array(ratios) - 1), 0.9) < 0.2
    assert np.mean(covered) > 0.88


def test_two_classes_give_the_correlation_of_errors_within_classes():
    crowd = crowd_of(n_items=400, n_annotators=3, labels_per_item=3)
    found = dependence_of(crowd, 400).correlation
    wrong_ia = (crowd.annotations.to_dense() != crowd.truth[:, None]).astype(float)
    for k in (0, 1):
        wrong_ia[crowd.truth == k] -= wrong_ia[crowd.truth == k].mean(axis=0)
    cross_ab = wrong_ia.T @ wrong_ia
    scale_a = np.sqrt(np.diag(cross_ab))
    np.testing.assert_allclose(found, cross_ab / np.outer(scale_a, scale_a), atol=1e-12)


def test_copies_are_one_judge_and_independent_judges_as_many_as_they_are():
    crowd = crowd_of(n_items=200, n_annotators=1, labels_per_item=1)
    copies = Annotations.from_dense(np.repeat(crowd.annotations.to_dense(), 4, axis=1))
    gold = Gold(np.arange(200, dtype=np.int32), crowd.truth.astype(np.int32))
    found = measure_dependence(copies, gold)
    assert found.effective_judges.value == pytest.approx(1.0)
    assert found.effective_judges.high == pytest.approx(1.0)
    np.testing.assert_allclose(found.correlation, 1.0)
    assert effective_number(np.eye(7)) == 7.0
    assert dependence_of(crowd_of(n_items=5000, **INDEPENDENT), 5000).effective_judges.value > 5.7


def test_a_judge_without_errors_has_no_correlation():
    ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1]])
    found = measure_dependence(ann, Gold(np.arange(4), np.array([0, 1, 0, 1])))
    assert np.isnan(found.correlation[0]).all()
    assert 1.0 <= found.effective_judges.value <= 3.0


# ---- the consensus


def calibration_of(crowd, n_gold=100):
    """Calibration error and accuracy on items without gold: the panel's, and Dawid-Skene's."""
    plain = mh.aggregate(crowd.annotations, method="dawid-skene").probabilities
    scores = []
    for p_ik in (fit_of(crowd, n_gold).probabilities()[n_gold:], plain[n_gold:]):
        right = p_ik.argmax(axis=1) == crowd.truth[n_gold:]
        curve = calibration_curve(p_ik.max(axis=1), right)
        scores.append((curve.calibration_error, right.mean()))
    return scores


def test_confidence_is_calibrated_on_unseen_items():
    scores = np.array([calibration_of(crowd_of(seed=seed)) for seed in range(6)]).mean(axis=0)
    (panel_error, panel_accuracy), (plain_error, plain_accuracy) = scores
    assert plain_error > 0.1
    assert panel_error < 0.03
    assert panel_accuracy > plain_accuracy


@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_accuracy_is_lost_if_judges_are_independent(n_classes):
    made = [crowd_of(seed=seed, n_classes=n_classes, **INDEPENDENT) for seed in range(6)]
    (panel_error, panel_accuracy), (_, plain_accuracy) = np.mean(
        [calibration_of(crowd) for crowd in made], axis=0
    )
    assert panel_accuracy > plain_accuracy - 0.001
    assert panel_error < 0.02


def test_groups_are_found_and_independent_judges_are_left_alone():
    found = [each.judges for each in judge_panel_of(crowd_of(n_items=300, seed=5)).groups]
    assert found == [(0, 1, 2), (3, 4, 5)]
    (group,) = judge_panel_of(crowd_of(n_items=300, group_size=6)).groups
    assert group.judges == (0, 1, 2, 3, 4, 5)
    assert 0.75 < group.sharing < 0.97
    made = [fit_of(crowd_of(n_items=300, seed=seed, **INDEPENDENT)) for seed in range(10)]
    assert sum(not fit.grouping.is_independent for fit in made) <= 1


def judge_panel_of(crowd, **settings):
    return judge_panel(crowd.annotations, gold_of(crowd), **settings)


def fit_of(crowd, n_gold=100):
    judges, gold = match_gold(make_judge_labels(crowd.annotations), gold_of(crowd, n_gold))
    return fit_panel(judges.annotations, gold, judges.no_verdict_k)


def test_the_objective_never_falls_if_no_errors_are_shared():
    objective = fit_of(crowd_of(n_items=300, n_classes=3, **INDEPENDENT)).objective
    assert len(objective) > 3
    assert np.diff(objective).min() > -1e-9


def test_without_sharing_the_likelihood_is_that_of_dawid_skene():
    rng = np.random.default_rng(0)
    confusion_akl = rng.dirichlet(np.ones(3), (4, 3))
    label_ia = rng.integers(0, 3, (5, 4))
    item, judge = np.divmod(np.arange(20), 4)
    said = LabelColumns(item, judge, label_ia.ravel(), 5)
    prior_k = np.log([0.2, 0.3, 0.5])
    found = class_log_likelihood(said, alone(4), prior_k, confusion_akl)
    by_hand = [
        prior_k + sum(np.log(confusion_akl[a, :, label_ia[i, a]]) for a in range(4))
        for i in range(5)
    ]
    np.testing.assert_allclose(found, by_hand)


@pytest.mark.parametrize("sharing", [0.0, 0.4, 0.99])
def test_label_probabilities_of_a_group_sum_to_one(sharing):
    rng = np.random.default_rng(1)
    confusion_akl = rng.dirichlet(np.ones(3), (3, 3))
    label_ia = np.stack(np.meshgrid(*[np.arange(3)] * 3), axis=-1).reshape(-1, 3)
    item, judge = np.divmod(np.arange(label_ia.size), 3)
    said = LabelColumns(item, judge, label_ia.ravel(), len(label_ia))
    grouping = Grouping(np.array([0, 1, 0], dtype=np.int32), np.array([sharing, 0.0]))
    log_ik = class_log_likelihood(said, grouping, np.zeros(3), confusion_akl)
    np.testing.assert_allclose(np.exp(log_ik).sum(axis=0), 1.0)


def test_a_gold_item_is_judged_without_its_own_gold():
    """Correcting the gold of one item changes the fit, but hardly the posterior of this item."""
    crowd = crowd_of(n_items=60, **INDEPENDENT)
    item = 7
    other = dict(gold_of(crowd, 60))
    other[item] = 1 - other[item]
    one, two = (
        fit_of_gold(crowd, gold).probabilities()[item] for gold in (gold_of(crowd, 60), other)
    )
    np.testing.assert_allclose(one, two, atol=0.08)


def fit_of_gold(crowd, gold):
    judges, known = match_gold(make_judge_labels(crowd.annotations), gold)
    return fit_panel(judges.annotations, known, judges.no_verdict_k)


# ---- names and order


def test_renaming_and_reordering_change_nothing():
    crowd = crowd_of(n_items=150, n_classes=3)
    rng = np.random.default_rng(3)
    ann, gold = crowd.annotations, gold_of(crowd, 60)
    plain = judge_panel(ann, gold)
    item, judge, label = ann.item, ann.annotator, ann.label
    item_of, judge_of = rng.permutation(150), rng.permutation(6)
    order = rng.permutation(len(item))
    other = judge_panel(
        Annotations.from_arrays(
            [f"i{item_of[i]:03}" for i in item[order]], [f"j{judge_of[a]}" for a in judge[order]],
            label[order], classes=range(3),
        ),
        {f"i{item_of[i]:03}": truth for i, truth in gold.items()},
    )  # fmt: skip
    rows = other.annotations.item_vocabulary.codes([f"i{i:03}" for i in item_of])
    np.testing.assert_allclose(
        other.consensus.probabilities[rows], plain.consensus.probabilities, atol=1e-9
    )
    assert other.effective_judges.value == pytest.approx(plain.effective_judges.value)
    assert other.effective_judges.low == pytest.approx(plain.effective_judges.low)
    wanted = {frozenset(f"j{judge_of[a]}" for a in group.judges) for group in plain.groups}
    assert {frozenset(group.judges) for group in other.groups} == wanted
    assert len(other.chosen) == len(plain.chosen)


def test_permuted_classes_permute_the_probabilities():
    crowd = crowd_of(n_items=120, n_classes=3)
    ann = crowd.annotations
    turned = Annotations.from_arrays(
        ann.item, ann.annotator, (ann.label + 1) % 3, items=range(120), classes=range(3)
    )
    gold = gold_of(crowd, 50)
    one = judge_panel(ann, gold).consensus.probabilities
    two = judge_panel(turned, {i: (k + 1) % 3 for i, k in gold.items()}).consensus.probabilities
    np.testing.assert_allclose(two[:, [1, 2, 0]], one, atol=1e-9)


# ---- tables


def test_the_tables_say_what_was_counted():
    ann = Annotations.from_arrays(
        ["a", "a", "b", "b", "c", "c", "d", "d"], ["m", "n"] * 4,
        ["x", "x", "x", "y", "y", "y", "x", "y"],
    )  # fmt: skip
    gold = {"a": "x", "b": "y", "c": "y", "d": "y"}
    panel = judge_panel(ann, gold)
    assert panel.judges["accuracy"].tolist() == [0.5, 1.0]
    assert panel.judges["kappa"][1] == pytest.approx(1.0)
    bias = {
        (judge, name): (difference, use)
        for judge, name, difference, use in zip(
            *(panel.bias[column] for column in ("judge", "class", "difference", "use")),
            strict=True,
        )
    }
    assert bias["m", "x"][0] == pytest.approx(0.5)
    assert bias["n", "x"] == (0.0, "")
    confusions = panel.to_frame("confusions").set_index(["judge", "truth", "label"])
    assert confusions.loc[("m", "y", "x"), "n"] == 2
    assert confusions.loc[("m", "y", "x"), "share"] == pytest.approx(2 / 3)
    pair = panel.to_frame("pairs").iloc[0]
    assert (pair.both_wrong, pair.n_gold) == (0.0, 4)
    assert panel.items["gold"].tolist() == ["x", "y", "y", "y"]
    assert panel.items["strict_majority"].tolist() == ["x", "", "y", ""]


def test_kappa_equals_that_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    crowd = crowd_of(n_items=80, n_classes=3)
    panel = judge_panel(crowd.annotations, gold_of(crowd, 80))
    said = crowd.annotations.to_dense()
    wanted = [cohen_kappa_score(said[:, a], crowd.truth) for a in range(6)]
    np.testing.assert_allclose(panel.judges["kappa"], wanted)


def test_over_used_classes_are_named():
    truth = np.arange(200) % 2
    said = np.where(np.arange(200) % 4 == 1, 0, truth)  # half of class 1 is called 0
    ann = Annotations.from_dense(np.stack([said, truth], axis=1))
    panel = judge_panel(ann, dict(enumerate(truth.tolist())))
    assert panel.bias["use"].tolist() == ["over", "under", "", ""]


def test_the_same_consensus_by_fewer_judges():
    crowd = crowd_of(sharing=1.0, lowest=0.8, highest=0.8)
    panel = judge_panel_of(crowd, costs={0: 10.0, 1: 1.0, 2: 5.0, 3: 2.0, 4: 7.0, 5: 3.0})
    assert set(panel.chosen) <= {1, 3}  # copies: the cheapest of each group
    assert panel.subsets["same"][-1] == 1.0
    assert (np.diff(panel.subsets["cost"]) > 0).all()
    assert (np.diff(panel.subsets["same"]) > 0).all()
    many = crowd_of(n_items=200, n_annotators=10, labels_per_item=10)
    assert len(judge_panel_of(many).subsets["judges"]) >= 2


# ---- certificates


@pytest.mark.parametrize(("right", "n"), [(0, 10), (7, 10), (95, 100), (100, 100)])
def test_the_bound_is_that_of_an_exact_binomial_test(right, n):
    wanted = stats.binomtest(right, n, alternative="greater").proportion_ci(0.95, "exact").low
    assert accuracy_bound(right, n) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("target", "accuracy"), [(0.9, 0.95), (0.8, 0.85), (0.95, 1.0)])
def test_the_certificate_is_exact_and_the_smallest(target, accuracy):
    made = labels_to_certify(target, accuracy=accuracy)
    errors = stats.binom(made.n_labels, 1 - target)
    assert errors.cdf(made.max_errors) <= 0.05
    assert stats.binom(made.n_labels - 1, 1 - target).cdf(made.max_errors) > 0.05
    power = stats.binom(made.n_labels, 1 - accuracy).cdf(made.max_errors)
    assert made.power == pytest.approx(power)
    assert power >= 0.8
    assert accuracy_bound(made.n_labels - made.max_errors, made.n_labels) >= target
    if made.max_errors:  # one error fewer is too strict
        fewer = labels_to_certify(target, accuracy=accuracy, power=min(power + 1e-6, 0.999))
        assert fewer.n_labels > made.n_labels


def test_a_panel_below_the_target_cannot_be_certified():
    assert labels_to_certify(0.9, accuracy=0.9).n_labels == 0
    with pytest.raises(SettingError, match="target must be between 0 and 1"):
        labels_to_certify(1.0)


# ---- without gold


@pytest.mark.parametrize("settings", [{}, {"group_size": 4}, {"n_classes": 4, "sharing": 0.8}])
def test_shared_errors_are_warned_of_without_gold(settings):
    panel = judge_panel(crowd_of(**settings).annotations)
    assert "more than independent judges would" in panel.warnings[0]
    assert any("never certainty" in text for text in panel.warnings)
    assert panel.effective_judges is None


@pytest.mark.parametrize("n_classes", [2, 4])
def test_independent_judges_are_not_warned_of(n_classes):
    for seed in range(10):
        crowd = crowd_of(n_items=500, n_classes=n_classes, seed=seed, **INDEPENDENT)
        assert not measure_independence(crowd.annotations).exceeds.any()
    panel = judge_panel(crowd.annotations)
    assert len(panel.warnings) == 1
    accuracy_a = np.einsum("akk->ak", crowd.confusion).mean(axis=1)
    np.testing.assert_allclose(panel.judges["implied_accuracy"], accuracy_a, atol=0.06)


def test_accuracies_that_cannot_be_are_warned_of():
    crowd = crowd_of(group_size=6, sharing=0.95)
    (text,) = [t for t in judge_panel(crowd.annotations, max_accuracy=0.9).warnings if "90.0%" in t]
    assert "the judges share errors" in text


# ---- abstentions and samples


def abstaining():
    crowd = crowd_of(n_items=300, n_annotators=4, labels_per_item=4)
    names = np.array(["no", "yes"])[crowd.annotations.label].astype(object)
    rng = np.random.default_rng(0)
    names[rng.random(len(names)) < 0.2] = "unsure"
    ann = crowd.annotations
    made = Annotations.from_arrays(ann.item, [f"m{a}" for a in ann.annotator], names)
    return made, {i: ["no", "yes"][k] for i, k in gold_of(crowd).items()}


def test_abstentions_are_missing_or_a_label_that_no_item_has():
    ann, gold = abstaining()
    missing = judge_panel(ann, gold, abstain="unsure")
    assert missing.annotations.classes.tolist() == ["no", "yes"]
    n_unsure = int((ann.label_names() == "unsure").sum())
    assert missing.judges["abstained"].sum() == n_unsure
    assert missing.judges["n_labels"].sum() == ann.n_annotations - n_unsure
    label = judge_panel(ann, gold, abstain="unsure", abstentions="label")
    assert label.annotations.n_annotations == ann.n_annotations
    k = label.annotations.class_vocabulary.code("unsure")
    for panel in (label, judge_panel(ann, abstain="unsure", abstentions="label")):
        np.testing.assert_array_equal(panel.consensus.probabilities[:, k], 0.0)
        np.testing.assert_allclose(panel.consensus.probabilities.sum(axis=1), 1.0)
    assert (missing.consensus.labels == label.consensus.labels).mean() > 0.95


def test_samples_of_one_judge_never_count_as_several():
    crowd = crowd_of(n_items=200, n_annotators=3, labels_per_item=3)
    ann = crowd.annotations
    thrice = Annotations.from_arrays(
        np.repeat(ann.item, 3),
        [f"m{a}#{n}" for a in ann.annotator for n in range(3)],
        np.repeat(ann.label, 3),
    )
    plain = judge_panel(ann, gold_of(crowd))
    merged = judge_panel(thrice, gold_of(crowd), samples="#")
    assert merged.annotations.annotators.tolist() == ["m0", "m1", "m2"]
    np.testing.assert_allclose(merged.consensus.probabilities, plain.consensus.probabilities)
    assert merged.judges["consistency"].tolist() == [1.0, 1.0, 1.0]
    assert merged.judges["n_labels"].tolist() == [600, 600, 600]
    named = {f"m{a}#{n}": f"judge {a}" for a in range(3) for n in range(3)}
    by_name = judge_panel(thrice, gold_of(crowd), samples=named)
    np.testing.assert_allclose(by_name.consensus.probabilities, plain.consensus.probabilities)
    unmerged = judge_panel(thrice, gold_of(crowd))
    assert unmerged.effective_judges.value == pytest.approx(plain.effective_judges.value, rel=1e-6)


def test_samples_that_tie_are_no_label():
    ann = Annotations.from_arrays([0, 0, 0, 1], ["m#1", "m#2", "n", "m#1"], ["x", "y", "x", "x"])
    judges = make_judge_labels(ann, samples="#")
    assert judges.n_tied == 1
    assert judges.annotations.n_annotations == 2
    repeated = Annotations.from_arrays([0, 0, 0], ["m"] * 3, ["x", "x", "y"])
    merged = make_judge_labels(repeated)
    assert merged.annotations.label_names().tolist() == ["x"]
    assert merged.consistency_a.tolist() == pytest.approx([2 / 3])


# ---- what is asked for wrongly


def test_wrong_requests_say_what_to_do():
    crowd = crowd_of(n_items=20)
    ann, gold = crowd.annotations, gold_of(crowd, 10)
    for settings, message in (
        ({"same": 0}, "same must be above 0"),
        ({"target": 1.0}, "target must be between 0 and 1"),
        ({"costs": {0: 0.0}}, "the cost of 0 must be above 0"),
        ({"abstentions": "dropped"}, "abstentions must be"),
        ({"samples": ""}, "samples must be a separator"),
    ):
        with pytest.raises(SettingError, match=message):
            judge_panel(ann, gold, **settings)
    for settings, message in (
        ({"costs": {"nobody": 1.0}}, "no annotator 'nobody'"),
        ({"abstain": "unsure"}, "no class 'unsure'"),
        ({"samples": {"nobody": 1}}, "samples name 'nobody'"),
    ):
        with pytest.raises(DataError, match=message):
            judge_panel(ann, gold, **settings)
    with pytest.raises(DataError, match="no item of the gold has labels"):
        judge_panel(ann, {"elsewhere": 1})
    with pytest.raises(DataError, match="these labels are numbers"):
        judge_panel(Annotations.from_arrays([0, 1], [0, 0], [0.5, 1.5]))
    with pytest.raises(DataError, match="these labels are sets of classes"):
        judge_panel(Annotations.from_arrays([0, 1], [0, 0], ["a|b", "a"], kind="multilabel"))
    with pytest.raises(SettingError, match="50 judges at most"):
        judge_panel(Annotations.from_arrays(range(60), range(60), [0, 1] * 30))


def test_small_panels_work():
    one = judge_panel([[0], [1], [1]], {0: 0, 1: 1})
    assert one.effective_judges.value == 1.0
    assert one.consensus.labels.tolist() == [0, 1, 1]
    assert judge_panel([[0, 1]], {0: 1}).n_gold == 1
    unseen = judge_panel([[0, 0], [1, 1], [0, 1]], {0: 0, 1: 2})  # a class that nobody said
    assert unseen.consensus.probabilities.shape == (3, 3)
    assert np.isfinite(unseen.consensus.probabilities).all()
    assert judge_panel([[0, 1]]).n_gold == 0


def small_panel(label_of_z="yes", n_items=40):
    """Three judges who label by chance, and z who always says the same."""
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(n_items), 4)
    judge = np.tile(list("uvwz"), n_items)
    by_chance = rng.choice(["no", "yes"], 4 * n_items)
    return Annotations.from_arrays(item, judge, np.where(judge == "z", label_of_z, by_chance))


def test_a_judge_who_always_abstains_counts_for_nothing():
    gold = {i: ["no", "yes"][i % 2] for i in range(30)}
    panel = judge_panel(small_panel("unsure"), gold, abstain="unsure")
    assert any("no verdict was given by z" in text for text in panel.warnings)
    assert panel.effective_judges.high <= 3.0
    assert panel.words[0].startswith("3 judges count as")


def test_gold_that_cannot_be_used_is_named_or_refused():
    labels = small_panel()
    gold = dict.fromkeys(range(30), "yes")
    panel = judge_panel(labels, gold | {"nobody": "no", 0: "maybe"})
    assert "1 of 31 gold items has no label of a judge and cannot be used" in panel.warnings
    assert "the gold says maybe, which no judge used" in panel.warnings
    with pytest.raises(DataError, match=r"the gold has the classes maybe, which no judge used"):
        judge_panel(labels, dict.fromkeys(range(30), "maybe"))
    with pytest.raises(DataError, match=r"the gold says unsure, which is an abstention"):
        judge_panel(small_panel("unsure"), dict.fromkeys(range(30), "unsure"), abstain="unsure")


def test_one_gold_item_shows_no_shared_errors():
    panel = judge_panel(small_panel(), {0: "yes"})
    assert panel.groups == ()
    assert panel.effective_judges.low == 1.0


def test_judges_by_chance_have_an_interval_of_the_effective_number():
    gold = {i: ["no", "yes"][i % 2] for i in range(30)}
    found = judge_panel(small_panel(), gold).effective_judges
    assert 1.0 < found.low < 4.0


def test_intervals_end_at_one():
    for n in range(1, 60):
        low, high = accuracy_interval(n, n)
        assert 0.0 <= low <= high <= 1.0


def test_alike_judges_who_share_errors_have_nearly_the_same_confusion():
    """So that confidence where a group disagrees does not rest on differences that are chance."""
    errors = []
    for seed in range(40, 48):
        crowd = crowd_of(seed=seed, group_size=6, lowest=0.85)
        judges, gold = match_gold(make_judge_labels(crowd.annotations), gold_of(crowd))
        fit = fit_panel(crowd.annotations, gold, judges.no_verdict_k)
        assert fit.prior > 10
        p_ik = fit.probabilities()[100:]
        right = p_ik.argmax(axis=1) == crowd.truth[100:]
        errors.append(calibration_curve(p_ik.max(axis=1), right).calibration_error)
    assert np.mean(errors) < 0.03
    wide = crowd_of(group_size=6, lowest=0.55, highest=0.95)
    judges, gold = match_gold(make_judge_labels(wide.annotations), gold_of(wide))
    assert fit_panel(wide.annotations, gold, judges.no_verdict_k).prior < fit.prior
