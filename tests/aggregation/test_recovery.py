"""Simulated crowds are recovered, and few labels per annotator break nothing."""

import numpy as np
import pytest

from manyhands.aggregation import (
    CommonNoise,
    DawidSkene,
    Ebcc,
    Gaussian,
    Glad,
    Majority,
    Mixture,
    OneCoin,
    WorkerClustering,
)
from manyhands.annotations import Annotations
from manyhands.evaluation import accuracy_score
from manyhands.simulation import SCENARIOS, CrowdSettings, simulate_crowd
from manyhands.simulation.behaviours import adversaries, honest


def test_dawid_skene_recovers_confusions():
    crowd = SCENARIOS["confusions"](
        CrowdSettings(n_items=4000, n_annotators=20, n_classes=3, labels_per_item=8, seed=1)
    )
    consensus = DawidSkene().fit(crowd.annotations)
    assert np.abs(consensus.confusion - crowd.confusion).mean() < 0.03
    assert accuracy_score(crowd.truth, consensus.labels) > 0.97


@pytest.mark.parametrize(
    "method", [DawidSkene, OneCoin, Glad, WorkerClustering, CommonNoise, Mixture, Ebcc]
)
def test_quality_follows_the_true_accuracy_and_intervals_hold_it(method):
    crowd = SCENARIOS["symmetric"](
        CrowdSettings(n_items=2000, n_annotators=40, n_classes=4, labels_per_item=8, seed=2)
    )
    consensus = method().fit(crowd.annotations)
    right_a = np.einsum("akk->a", crowd.confusion) / 4
    assert np.corrcoef(consensus.annotator_quality, right_a)[0, 1] > 0.97
    inside = (consensus.quality.low <= right_a) & (right_a <= consensus.quality.high)
    assert inside.mean() > 0.8


def test_worker_clustering_finds_the_clusters():
    good, bad = honest(np.full(10, 0.9), 3), honest(np.full(10, 0.4), 3)
    truth = np.random.default_rng(0).integers(0, 3, 1500)
    crowd = simulate_crowd(truth, np.concatenate([good, bad]), labels_per_item=6, seed=0)
    consensus = WorkerClustering(n_clusters=2).fit(crowd.annotations)
    member = consensus.parameters.member_am.argmax(axis=1)
    assert len(set(member[:10])) == 1
    assert len(set(member[10:])) == 1
    assert member[0] != member[10]
    assert np.abs(consensus.confusion - crowd.confusion).max() < 0.05


def test_glad_recovers_abilities_and_easiness():
    rng = np.random.default_rng(4)
    n_items, n_annotators = 600, 60
    ability, ease = rng.normal(1.2, 0.6, n_annotators), np.exp(rng.normal(0, 1, n_items))
    item = np.repeat(np.arange(n_items), 25)
    annotator = np.concatenate([rng.permutation(n_annotators)[:25] for _ in range(n_items)])
    truth = rng.integers(0, 2, n_items)
    right = rng.random(len(item)) < 1 / (1 + np.exp(-ability[annotator] * ease[item]))
    label = np.where(right, truth[item], 1 - truth[item])
    consensus = Glad().fit(Annotations.from_arrays(item, annotator, label))
    found = consensus.annotator_traits["ability"]
    assert np.corrcoef(found, ability)[0, 1] > 0.9
    assert np.corrcoef(np.log(consensus.item_traits["easiness"]), np.log(ease))[0, 1] > 0.5


def test_gaussian_recovers_biases_and_noise():
    rng = np.random.default_rng(5)
    n_items, n_annotators = 800, 15
    value = rng.normal(5, 2, n_items)
    bias, noise = rng.normal(0, 1, n_annotators), rng.uniform(0.2, 2.0, n_annotators)
    item = np.repeat(np.arange(n_items), 6)
    annotator = np.concatenate([rng.permutation(n_annotators)[:6] for _ in range(n_items)])
    label = value[item] + bias[annotator] + rng.normal(size=len(item)) * noise[annotator]
    consensus = Gaussian().fit(Annotations.from_arrays(item, annotator, label))
    traits = consensus.annotator_traits
    assert np.corrcoef(traits["bias"], bias)[0, 1] > 0.99
    assert np.corrcoef(traits["noise"], noise)[0, 1] > 0.97
    plain = np.bincount(item, label) / 6
    centred = np.abs(consensus.labels - consensus.labels.mean() - (value - value.mean())).mean()
    assert centred < 0.6 * np.abs(plain - plain.mean() - (value - value.mean())).mean()
    covered = np.abs(consensus.labels - value) < 3 * consensus.spread + abs(bias.mean()) + 0.3
    assert covered.mean() > 0.95


@pytest.mark.parametrize(
    "method", [DawidSkene, pytest.param(CommonNoise, marks=pytest.mark.slow), Mixture]
)
@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("per_annotator", [2, 5, 20, 200])
def test_few_labels_per_annotator_are_enough(method, n_classes, per_annotator):
    gaps = []
    for seed in range(3):
        crowd = SCENARIOS["symmetric"](
            CrowdSettings(
                n_items=1000,
                n_annotators=5_000 // per_annotator,
                n_classes=n_classes,
                labels_per_item=5,
                seed=seed,
            )
        )
        found = [
            accuracy_score(crowd.truth, m.fit(crowd.annotations).labels)
            for m in (method(), Majority())
        ]
        gaps.append(found[0] - found[1])
    assert np.mean(gaps) > -0.005


def test_plain_dawid_skene_collapses_where_the_pooled_prior_holds():
    crowd = SCENARIOS["symmetric"](
        CrowdSettings(n_items=4000, n_annotators=10_000, n_classes=10, labels_per_item=5, seed=0)
    )
    plain = DawidSkene(prior_strength=0.0).fit(crowd.annotations)
    pooled = DawidSkene().fit(crowd.annotations)
    assert accuracy_score(crowd.truth, plain.labels) < 0.6
    assert accuracy_score(crowd.truth, pooled.labels) > 0.93


def test_the_spectral_start_does_not_need_the_majority():
    # The whole crowd takes most of class 1 for class 0, so vote shares never see class 1; the
    # moments still tell the classes apart.
    lean = np.array([[0.9, 0.05, 0.05], [0.6, 0.35, 0.05], [0.05, 0.05, 0.9]])
    truth = np.random.default_rng(0).integers(0, 3, 6000)
    crowd = simulate_crowd(truth, np.repeat(lean[None], 18, axis=0), labels_per_item=5, seed=1)
    spectral = DawidSkene(start="spectral", max_iter=1).fit(crowd.annotations)
    majority = DawidSkene(start="majority", max_iter=1).fit(crowd.annotations)
    error = [np.abs(c.confusion - crowd.confusion).mean() for c in (spectral, majority)]
    assert error[0] < 0.5 * error[1]
    assert (
        accuracy_score(crowd.truth, spectral.labels)
        > accuracy_score(crowd.truth, majority.labels) + 0.05
    )


def test_the_spectral_start_falls_back_where_the_moments_are_singular():
    annotations = Annotations.from_dense([[0, 0, 0], [0, 0, 0], [1, 1, 1]], classes=range(4))
    with pytest.warns(UserWarning, match="started from the majority"):
        consensus = DawidSkene(start="spectral").fit(annotations)
    assert consensus.labels.tolist() == [0, 0, 1]


def test_labels_of_adversaries_count_against_their_class():
    confusion = np.concatenate([honest(np.full(12, 0.85), 2), adversaries(np.full(6, 0.9), 2)])
    truth = np.random.default_rng(3).integers(0, 2, 1500)
    crowd = simulate_crowd(truth, confusion, labels_per_item=6, seed=3)
    consensus = DawidSkene().fit(crowd.annotations)
    assert (consensus.annotator_quality[12:] < 0.25).all()
    assert accuracy_score(crowd.truth, consensus.labels) > accuracy_score(
        crowd.truth, Majority().fit(crowd.annotations).labels
    )


def test_known_truths_improve_the_other_items():
    crowd = SCENARIOS["adversaries"](
        CrowdSettings(n_items=300, n_annotators=20, n_classes=2, share=0.6, labels_per_item=5)
    )
    known = dict(list(crowd.truth_by_item.items())[:60])
    rest = slice(60, None)
    without = DawidSkene().fit(crowd.annotations)
    helped = DawidSkene().fit(crowd.annotations, known=known)
    assert accuracy_score(crowd.truth[rest], helped.labels[rest]) > 0.8
    assert accuracy_score(crowd.truth[rest], without.labels[rest]) < 0.5


def test_prior_confusions_describe_single_annotators():
    item, annotator = np.repeat(np.arange(40), 2), np.tile([0, 1], 40)
    label = np.tile([0, 1], 40)  # two annotators who never agree
    annotations = Annotations.from_arrays(item, annotator, label)
    trusted = [[0.95, 0.05], [0.05, 0.95]]
    noise = [[0.5, 0.5], [0.5, 0.5]]
    settings = {"prior_strength": 100.0}
    first = DawidSkene(prior_confusions={0: trusted, 1: noise}, **settings).fit(annotations)
    second = DawidSkene(prior_confusions={1: trusted, 0: noise}, **settings).fit(annotations)
    assert set(first.labels) == {0}
    assert set(second.labels) == {1}
    with pytest.raises(ValueError, match="summing to 1"):
        DawidSkene(prior_confusions={0: [[1, 1], [0, 1]]}).fit(annotations)
    with pytest.raises(ValueError, match="no annotator 'nobody'"):
        DawidSkene(prior_confusions={"nobody": trusted}).fit(annotations)
