"""Aggregation of sets of classes: laws, reductions to other models, and recovery."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import special

import manyhands as mh
from manyhands.aggregation import (
    AGGREGATORS,
    DawidSkene,
    Majority,
    MultilabelDawidSkene,
    MultilabelMajority,
    MultilabelMixture,
)
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.label_patterns import Patterns, expect_patterns, split_items
from manyhands.aggregation.multilabel_dawid_skene import expect_sets
from manyhands.aggregation.set_profiles import fit_profiles
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from set_crowds import CLASSES, simulate_sets

METHODS = [name for name, each in AGGREGATORS.items() if each.kind == "multilabel"]
MODELS = ["multilabel-dawid-skene", "multilabel-mixture"]


@pytest.mark.parametrize("name", METHODS)
def test_permuting_classes_permutes_the_result(name):
    crowd = simulate_sets(0, n_items=60, n_annotators=8)
    swap = dict(zip(CLASSES, CLASSES[::-1], strict=True))
    turned = [{swap[each] for each in labels} for labels in crowd.annotations.label_sets]
    ann = crowd.annotations
    other = Annotations.from_arrays(
        ann.items[ann.item], ann.annotators[ann.annotator], turned, classes=CLASSES
    )
    before, after = AGGREGATORS[name]().fit(ann), AGGREGATORS[name]().fit(other)
    np.testing.assert_allclose(after.probabilities[:, ::-1], before.probabilities, atol=1e-7)
    np.testing.assert_allclose(after.confidence, before.confidence, atol=1e-7)
    np.testing.assert_allclose(after.annotator_quality, before.annotator_quality, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("settings", [{}, {"class_strength": 0.0}, {"class_strength": 200.0}])
def test_the_objective_never_falls(name, settings):
    model = AGGREGATORS[name](tol=0.0, max_iter=60, **settings)
    objective = model.fit(simulate_sets(1, n_items=80).annotations).objective
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[:-1])).all()


def test_without_shrinkage_every_class_is_dawid_skene():
    ann = simulate_sets(2, n_items=80, n_annotators=6, per_item=4).annotations
    settings = {"max_iter": 25, "tol": 0.0}
    whole = MultilabelDawidSkene(class_strength=0.0, prior_strength=0.0, **settings).fit(ann)
    for k, name in enumerate(CLASSES):
        one = DawidSkene(prior_strength=0.0, **settings).fit(ann.of_class(name))
        np.testing.assert_allclose(whole.probabilities[:, k], one.probabilities[:, 1], atol=1e-9)
        np.testing.assert_allclose(whole.confusion[:, k], one.confusion, atol=1e-9)


def test_one_pattern_is_the_model_of_independent_classes():
    ann = simulate_sets(3, n_items=60).annotations
    one, same = MultilabelMixture(n_patterns=1).fit(ann), MultilabelDawidSkene().fit(ann)
    np.testing.assert_array_equal(one.probabilities, same.probabilities)
    assert one.objective == same.objective


def test_sets_of_one_class_have_the_majority_of_classes():
    rng = np.random.default_rng(0)
    columns = np.repeat(np.arange(30), 5), np.tile(np.arange(5), 30), rng.integers(0, 3, 150)
    ann = Annotations.from_arrays(*columns)
    classes, sets = Majority().fit(ann), MultilabelMajority().fit(ann.as_kind("multilabel"))
    np.testing.assert_allclose(sets.probabilities, classes.probabilities, atol=1e-12)
    clear = classes.probabilities.max(axis=1) > 0.5
    assert [sets.labels[i] for i in np.flatnonzero(clear)] == [
        str(label) for label in classes.labels[clear]
    ]


def test_quality_of_sets_of_one_class_is_the_share_of_right_labels():
    rng = np.random.default_rng(1)
    columns = np.repeat(np.arange(20), 4), np.tile(np.arange(4), 20), rng.integers(0, 3, 80)
    ann = Annotations.from_arrays(*columns)
    sharp = {int(i): str(rng.integers(0, 3)) for i in ann.items}  # certain truths: none is empty
    of_sets = MultilabelMajority().fit(ann.as_kind("multilabel"), known=sharp)
    of_classes = Majority().fit(ann, known=sharp)
    np.testing.assert_allclose(of_sets.quality.value, of_classes.quality.value, atol=1e-12)
    np.testing.assert_allclose(of_sets.quality.low, of_classes.quality.low, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_planted_rates_and_truths_are_recovered(name):
    crowd = simulate_sets(4, n_items=1500, n_annotators=12, per_item=6)
    found = AGGREGATORS[name]().fit(crowd.annotations)
    assert (found.members == crowd.truth_ik).mean() > 0.97
    sensitivity, specificity = found.confusion[..., 1, 1], found.confusion[..., 0, 0]
    assert np.abs(sensitivity - crowd.right_akz[..., 1]).mean() < 0.03
    assert np.abs(specificity - crowd.right_akz[..., 0]).mean() < 0.02
    usual = found.annotator_traits["sensitivity"]
    assert np.corrcoef(usual, crowd.right_akz[..., 1].mean(axis=1))[0, 1] > 0.95


def test_profiles_and_patterns_are_worth_it():
    """Few labels, classes that go together: each model beats the one that knows less."""
    f1 = {name: [] for name in ["separate", *METHODS]}
    for seed in range(4):
        crowd = simulate_sets(seed, n_items=300, n_annotators=40)
        for name, scores in f1.items():
            model = MultilabelDawidSkene(class_strength=0.0)
            model = model if name == "separate" else AGGREGATORS[name]()
            scores.append(model.fit(crowd.annotations).score(crowd.truth).f1_micro)
    mean = {name: np.mean(each) for name, each in f1.items()}
    assert mean["separate"] + 0.01 < mean["multilabel-dawid-skene"]
    assert mean["multilabel-dawid-skene"] < mean["multilabel-mixture"]
    assert mean["multilabel-majority"] < mean["multilabel-mixture"]


def test_the_e_step_is_that_of_all_sets_one_by_one():
    rng = np.random.default_rng(0)
    log_p_ikz = np.log(rng.random((4, 3, 2)))
    applies_mk, weight_m = rng.random((2, 3)), np.array([0.3, 0.7])
    log_applies_mkz = np.log(np.stack([1 - applies_mk, applies_mk], axis=-1))
    found = expect_patterns(log_p_ikz, Patterns(np.log(weight_m), log_applies_mkz))
    sets = np.array([[bool(code >> k & 1) for k in range(3)] for code in range(8)])
    joint_ism = np.zeros((4, 8, 2))
    for s, members in enumerate(sets):
        z = members.astype(int)
        prior_m = np.log(weight_m) + log_applies_mkz[:, np.arange(3), z].sum(axis=1)
        joint_ism[:, s] = log_p_ikz[:, np.arange(3), z].sum(axis=1)[:, None] + prior_m
    log_i = special.logsumexp(joint_ism, axis=(1, 2))
    p_is = np.exp(special.logsumexp(joint_ism, axis=2) - log_i[:, None])
    assert found.log_likelihood == pytest.approx(log_i.sum(), abs=1e-12)
    np.testing.assert_allclose(found.applies_ik, p_is @ sets, atol=1e-12)
    for s, members in enumerate(sets):
        probability = found.probability_of(np.tile(members, (4, 1)))
        np.testing.assert_allclose(probability, p_is[:, s], atol=1e-12)


def test_profiles_maximise_what_their_docstring_says():
    rng = np.random.default_rng(0)
    counts_akzy = rng.gamma(1.0, 3.0, (2, 4, 2, 2))
    crowd_z, class_strength, strength = np.array([0.9, 0.7]), 5.0, 3.0
    found = fit_profiles(counts_akzy, crowd_z, None, class_strength, strength)

    def objective(right_akz, usual_az):
        hit, n = np.einsum("akzz->akz", counts_akzy), counts_akzy.sum(axis=3)
        fit = special.xlogy(hit, right_akz) + special.xlogy(n - hit, 1 - right_akz)
        own = divergence(usual_az[:, None, :], right_akz).sum()
        return fit.sum() - class_strength * own - strength * divergence(usual_az, crowd_z).sum()

    best = objective(found.right_akz, found.usual_az)
    for _ in range(50):
        moved = [
            special.expit(special.logit(each) + rng.normal(0, 0.02, each.shape))
            for each in (found.right_akz, found.usual_az)
        ]
        assert objective(*moved) < best


def divergence(one, two):
    return special.rel_entr(one, two) + special.rel_entr(1 - one, 1 - two)


def test_an_annotator_with_few_labels_of_a_class_is_as_good_at_it_as_at_others():
    counts_akzy = np.zeros((2, 3, 2, 2))
    counts_akzy[0, :2, 1] = [2.0, 98.0]
    counts_akzy[1, :2, 1] = [60.0, 40.0]
    found = fit_profiles(counts_akzy, np.array([0.9, 0.7]), None, 20.0, 10.0)
    assert found.right_akz[0, 2, 1] > 0.9
    assert found.right_akz[1, 2, 1] < 0.55
    np.testing.assert_allclose(found.right_akz[:, 2, 1], found.usual_az[:, 1])


def test_the_consensus_tells_sets_confidence_and_agreement():
    rows = [1, 1, 1, 2, 2, 3], list("uvwuvu"), ["a;b", "a", "a;b", "[]", "[]", "b"]
    ann = Annotations.from_arrays(*rows, kind="multilabel")
    found = mh.aggregate(ann, "multilabel-majority")
    assert found.labels.tolist() == ["a;b", "[]", "b"]
    assert found.sets == [{"a", "b"}, frozenset(), {"b"}]
    np.testing.assert_allclose(found.confidence, [2 / 3, 1.0, 1.0])
    np.testing.assert_allclose(found.agreement, [(1 + 1 + 1 / 3) / 3, 1.0, 1.0])
    columns = found.item_columns()
    assert list(columns)[:7] == [
        "item", "label", "confidence", "agreement", "n_annotations", "p_a", "p_b",
    ]  # fmt: skip
    table = mh.aggregate(ann).annotator_columns()
    assert {"sensitivity", "specificity", "sensitivity_a", "specificity_b"} <= set(table)


def test_known_truths_may_be_sets_that_nobody_said():
    ann = Annotations.from_arrays([1, 1, 2], list("uvu"), [{"a"}, {"b"}, {"a", "b"}])
    for name in METHODS:
        found = AGGREGATORS[name]().fit(ann, known={1: set(), 2: "a"})
        assert found.labels.tolist() == ["[]", "a"]
        np.testing.assert_allclose(found.confidence, 1.0)
    with pytest.raises(DataError, match="no class 'c'"):
        MultilabelMajority().fit(ann, known={1: {"c"}})


def test_known_truths_count_in_the_likelihood():
    ann = simulate_sets(5, n_items=20).annotations
    model = MultilabelDawidSkene(max_iter=3, tol=0.0)
    found = model.fit(ann, known={0: {"a"}})
    evidence = gather_evidence(ann, {0: {"a"}})
    expected = expect_sets(evidence, found.parameters)
    assert expected.applies_ik[0].tolist() == [name == "a" for name in CLASSES]
    free = expect_sets(gather_evidence(ann), found.parameters)
    assert expected.log_likelihood < free.log_likelihood


def test_new_annotators_are_average_and_new_sets_are_known():
    crowd = simulate_sets(6, n_items=200, n_annotators=10)
    found = mh.aggregate(crowd.annotations)
    more = Annotations.from_arrays(["x", "x"], ["new", 0], [{"a", "b", "c", "d", "e"}, {"a"}])
    predicted = found.predict(more)
    assert predicted.annotations.n_annotators == 11
    np.testing.assert_allclose(predicted.confusion[10, 0].sum(axis=1), 1.0)
    assert found.update(more).annotations.n_items == 201
    wider = found.update(Annotations.from_arrays(["x"], [0], [{"z"}]))
    assert wider.probabilities.shape == (201, 6)


def test_splits_depend_on_neither_order_nor_names():
    applies = np.random.default_rng(0).random((40, 4))
    order = np.random.default_rng(1).permutation(40)
    parts, moved = split_items(applies, 3), split_items(applies[order][:, ::-1], 3)
    together = parts @ parts.T
    np.testing.assert_allclose((moved @ moved.T), together[order][:, order], atol=1e-12)
    assert split_items(np.ones((4, 2)), 3).argmax(axis=1).tolist() == [0, 0, 0, 0]


def test_what_is_not_for_sets_is_refused_in_a_sentence():
    ann = simulate_sets(7, n_items=20).annotations
    with pytest.raises(DataError, match=r"labels are sets of classes .* use a method for sets"):
        mh.aggregate(ann, "dawid-skene")
    with pytest.raises(SettingError, match="auto chooses among methods for classes"):
        mh.aggregate(ann, "auto")
    for coefficient in (mh.agreement.fleiss, mh.agreement.cohen, mh.agreement.icc):
        with pytest.raises(DataError, match="use alpha with the level sets"):
            coefficient(ann)
    found = MultilabelMajority().fit(ann)
    with pytest.raises(DataError, match="not those of sets"):
        found.calibrated({0: {"a"}})
    with pytest.raises(DataError, match="these labels are sets"):
        found.score_soft({})


def test_frames_are_read_as_sets_where_the_method_is_for_sets():
    frame = pd.DataFrame({"item": [1, 1], "annotator": ["u", "v"], "label": ["a;b", "a"]})
    assert mh.aggregate(frame, "multilabel-majority").annotations.classes.tolist() == ["a", "b"]
    assert MultilabelMajority().fit(frame).annotations.label_sets == [{"a", "b"}, {"a"}]


def test_methods_are_compared():
    crowd = simulate_sets(8, n_items=120, per_item=5)
    with_truth = mh.aggregation.compare(crowd.annotations, truth=crowd.truth)
    assert set(with_truth.columns["method"]) == set(METHODS)
    assert with_truth.ranked_by == "macro F1 against the truth"
    without = mh.aggregation.compare(crowd.annotations)
    assert without.columns["method"][0] != "multilabel-majority"


def test_labels_without_agreement_are_warned_of():
    rng = np.random.default_rng(0)
    sets = [set(np.array(list("abc"))[rng.random(3) < 0.5].tolist()) for _ in range(90)]
    ann = Annotations.from_arrays(np.repeat(np.arange(30), 3), np.tile(np.arange(3), 30), sets)
    with pytest.warns(mh.aggregation.ConsensusWarning, match="alpha of sets"):
        mh.aggregate(ann)


def test_settings_are_those_of_the_classes():
    with pytest.raises(SettingError, match="n_patterns"):
        mh.aggregation.make_aggregator("multilabel-dawid-skene", {"n_patterns": 2})
    assert dataclasses.replace(MultilabelMixture(), n_patterns=2).n_patterns == 2
