"""Flags of annotators: planted behaviours are found, honest annotators are left alone."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.checks import FLAGS, flag_annotators
from manyhands.checks.knowledge import GRID, knowledge_of_classes
from manyhands.checks.posterior_of_others import OthersPosterior
from manyhands.simulation import SCENARIOS, CrowdSettings, PlantedSettings

KINDS = {"random": "random", "constant": "constant", "adversary": "adversarial",
         "copycat": "copies"}  # fmt: skip


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["planted"](PlantedSettings(n_annotators=60, n_items=900, share=0.4, seed=3))


@pytest.fixture(scope="module")
def flags(crowd):
    return flag_annotators(crowd.annotations)


def test_planted_annotators_are_flagged_and_honest_ones_are_not(crowd, flags):
    found = {flag.annotator for flag in flags if flag.kind != "few-labels"}
    sources = set(crowd.annotator_notes["copies"].tolist())
    planted = set(np.flatnonzero(crowd.behaviour != "honest").tolist())
    assert planted <= found
    assert found - planted <= sources  # half of a pair that is not independent
    for name, kind in KINDS.items():
        who = set(np.flatnonzero(crowd.behaviour == name).tolist())
        named = {flag.annotator for flag in flags if flag.kind == kind}
        assert len(who & named) >= 5, name


def test_a_flag_says_why_and_what_to_do(crowd, flags):
    for flag in flags:
        assert 0.8 <= flag.sure <= 1.0
        assert flag.meaning
        assert flag.advice
        assert any(letter.isdigit() for letter in flag.evidence)
        assert (flag.other is None) == (flag.kind != "copies")
    kinds = [list(FLAGS).index(flag.kind) for flag in flags]
    assert kinds == sorted(kinds)
    for flag in flags:
        if flag.kind == "copies":
            pair = {flag.annotator, flag.other}
            assert any({other.annotator, other.other} == pair for other in flags if other != flag)


def test_names_and_order_do_not_matter(crowd, flags):
    ann = crowd.annotations
    order = np.random.default_rng(0).permutation(ann.n_annotations)
    names = np.array([f"who {code * 7 % 60:02}" for code in range(ann.n_annotators)])
    again = mh.Annotations.from_arrays(
        ann.item[order], names[ann.annotator[order]], ann.label[order] * 10,
        classes=(ann.classes * 10).tolist(), items=range(ann.n_items),
    )  # fmt: skip
    found = flag_annotators(again)
    kind_of = {(names[flag.annotator], flag.kind) for flag in flags}
    assert {(again.annotators[flag.annotator], flag.kind) for flag in found} == kind_of


@pytest.mark.parametrize("seed", range(3))
def test_an_honest_crowd_has_no_flags(seed):
    settings = CrowdSettings(n_items=800, n_annotators=40, n_classes=4, lowest=0.6, seed=seed)
    crowd = SCENARIOS["confusions"](settings)
    assert flag_annotators(crowd.annotations) == []


def test_a_constant_label_that_is_true_is_not_flagged():
    rng = np.random.default_rng(0)
    item, annotator = np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300)
    annotator[item >= 100] += 4  # another crowd for the other items, which are of class b
    truth = np.where(item < 100, "a", np.where(item % 2, "b", "c"))
    noise = rng.random(len(item)) < 0.03
    label = np.where(noise & (annotator != 0), "b", truth)
    flags = flag_annotators(mh.Annotations.from_arrays(item, annotator, label))
    assert 0 not in {flag.annotator for flag in flags if flag.kind != "few-labels"}


def test_few_labels_are_called_few(crowd):
    ann = crowd.annotations
    honest = int(np.flatnonzero(crowd.behaviour == "honest")[-1])
    theirs = np.flatnonzero(ann.annotator == honest)
    kept = np.ones(ann.n_annotations, dtype=bool)
    kept[theirs[4:]] = False
    flags = flag_annotators(ann.only(kept))
    (flag,) = [flag for flag in flags if flag.annotator == honest]
    assert flag.kind == "few-labels"
    assert "4 labels" in flag.evidence


@pytest.mark.parametrize("labels_per_item", [3, 5])
def test_two_who_find_what_others_miss_are_no_copies(labels_per_item):
    """Most items are of one class; some annotators find the rare ones, most do not."""
    truth = np.random.default_rng(0).choice(5, 3000, p=[0.84, 0.04, 0.04, 0.04, 0.04])
    missed = np.where(np.arange(20) < 8, 0.05, 0.6)
    confusion = np.full((20, 5, 5), 0.005)
    confusion[:, 0, 0] = 0.98
    for k in range(1, 5):
        confusion[:, k, 0], confusion[:, k, k] = missed, 0.985 - missed
    crowd = mh.simulation.simulate_crowd(truth, confusion, labels_per_item=labels_per_item, seed=1)
    assert flag_annotators(crowd.annotations) == []


def rated(seed=0, n_items=400):
    """Ratings: annotators 0 random, 1 constant, 2 reversed, 3 copies 4, the others honest."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(5, 2, n_items)
    item, annotator = np.repeat(np.arange(n_items), 5), np.empty((n_items, 5), dtype=int)
    for row in annotator:
        row[:] = rng.choice(np.arange(3, 20), 5, replace=False)
    annotator[:100, 0], annotator[100:200, 0], annotator[200:300, 0] = 0, 1, 2
    annotator[300:, :2] = 3, 4
    annotator[300:, 2:] = np.where(annotator[300:, 2:] < 5, [17, 18, 19], annotator[300:, 2:])
    annotator = annotator.ravel()
    label = truth[item] + rng.normal(0, 0.8, len(item))
    label[annotator == 0] = rng.normal(5, 2, (annotator == 0).sum())
    label[annotator == 1] = 5.0
    label[annotator == 2] = 10 - label[annotator == 2]
    said = {i: x for i, a, x in zip(item, annotator, label, strict=True) if a == 4}
    for n in np.flatnonzero(annotator == 3):
        label[n] = said.get(item[n], label[n])
    return mh.Annotations.from_arrays(item, annotator, np.round(label, 2), annotators=range(20))


def test_flags_of_numbers():
    flags = flag_annotators(rated())
    found = {(flag.annotator, flag.kind) for flag in flags if flag.kind != "few-labels"}
    assert found == {(0, "random"), (1, "constant"), (2, "adversarial"), (3, "copies"),
                     (4, "copies")}  # fmt: skip


def test_the_posterior_of_others_is_bayes_rule():
    """Against a direct computation with dense arrays, one label left out at a time."""
    crowd = SCENARIOS["confusions"](CrowdSettings(n_items=30, n_annotators=8, seed=2))
    ann = crowd.annotations
    knowledge = np.linspace(-0.2, 0.95, 8)
    others = OthersPosterior.weighted(ann, knowledge)
    right, mean, top = others.without_own()
    prior = (np.bincount(ann.label, minlength=3) + 1) / (ann.n_annotations + 3)
    share = np.array([np.bincount(ann.label[ann.annotator == a], minlength=3) for a in range(8)])
    share = (share + prior) / (share.sum(axis=1, keepdims=True) + 1)
    known = np.maximum(knowledge, 0)[ann.annotator]
    p_said = (1 - known) * share[ann.annotator, ann.label]  # if the class is another one
    weight = np.minimum(np.log((known + p_said) / p_said), 5)

    def posterior(left_out, item):
        log_k = np.log(prior)
        for n in np.flatnonzero(ann.item == item):
            if n not in left_out:
                log_k[ann.label[n]] += weight[n]
        return np.exp(log_k) / np.exp(log_k).sum()

    for n in range(ann.n_annotations):
        p_k = posterior({n}, ann.item[n])
        assert right[n] == pytest.approx(p_k[ann.label[n]])
        assert mean[n] == pytest.approx(p_k @ share[ann.annotator[n]])
        said = np.unique(ann.label[ann.item == ann.item[n]])
        assert top[n] == pytest.approx(p_k[said].max())
    one, two = ann.item_offsets[:-1], ann.item_offsets[1:] - 1
    p_one, p_two = others.without_pair(one, two)
    for i in range(30):
        p_k = posterior({one[i], two[i]}, i)
        assert p_one[i] == pytest.approx(p_k[ann.label[one[i]]])
        assert p_two[i] == pytest.approx(p_k[ann.label[two[i]]])


def test_knowledge_is_recovered():
    """Annotators who know the class with probability g, and guess otherwise."""
    known = np.array([0.0] * 4 + [0.3] * 4 + [0.6] * 4 + [0.9] * 8)
    confusion = known[:, None, None] * np.eye(4) + (1 - known)[:, None, None] / 4
    truth = np.random.default_rng(0).integers(0, 4, 2000)
    crowd = mh.simulation.simulate_crowd(truth, confusion, labels_per_item=6, seed=1)
    found, _ = knowledge_of_classes(crowd.annotations)
    np.testing.assert_allclose(found.posterior_ag.sum(axis=1), 1.0)
    assert np.abs(np.maximum(found.mean_a, 0.0) - known).max() < 0.05
    assert found.p_random[:4].min() > 0.9
    assert found.p_random[4:].max() < 0.05
    assert found.posterior_ag.shape[1] == len(GRID)


def test_one_class_one_annotator_and_no_labels():
    for labels in ([["a"]], [["a", "a"]] * 30, [["a", "b"]]):
        flags = flag_annotators(mh.Annotations.from_dense(labels))
        assert {flag.kind for flag in flags} <= {"few-labels"}
    ann = mh.Annotations.from_dense([["a", "b"]])
    empty = ann.only(np.zeros(2, dtype=bool))
    assert {flag.kind for flag in flag_annotators(empty)} <= {"few-labels"}
