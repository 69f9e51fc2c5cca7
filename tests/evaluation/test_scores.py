"""Scores against scikit-learn and by hand; calibration; scorecards."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon
from sklearn import metrics

from manyhands.aggregation import DawidSkene, Gaussian
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.evaluation import (
    apply_temperature,
    calibration_curve,
    confusion_counts,
    confusion_entropy,
    f1_score,
    fit_temperature,
    global_js,
    identity_similarity,
    individual_js,
    log_loss,
    normalize_counts,
    soft_cross_entropy,
    summarize_runs,
)
from manyhands.evaluation.scores import accuracy_interval, brier_score


@pytest.fixture
def guesses():
    rng = np.random.default_rng(0)
    return rng.integers(0, 4, 200), rng.dirichlet(np.ones(4), 200)


def test_log_loss_and_brier_agree_with_scikit_learn(guesses):
    truth, probabilities = guesses
    assert log_loss(truth, probabilities) == pytest.approx(metrics.log_loss(truth, probabilities))
    binary = np.stack([1 - probabilities[:, 0], probabilities[:, 0]], axis=1)
    theirs = metrics.brier_score_loss(truth == 0, probabilities[:, 0])
    assert brier_score((truth == 0).astype(np.int32), binary) == pytest.approx(2 * theirs)


def test_the_interval_of_a_share_holds_it_nineteen_times_in_twenty():
    rng = np.random.default_rng(2)
    right = rng.binomial(80, 0.85, size=2000)
    ends = np.array([accuracy_interval(int(n), 80) for n in right])
    covered = (ends[:, 0] <= 0.85) & (ends[:, 1] >= 0.85)
    assert 0.93 < covered.mean() < 0.975


def test_honest_confidence_has_no_calibration_error():
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.3, 1.0, 200_000)
    right = rng.random(200_000) < confidence
    assert calibration_curve(confidence, right).calibration_error < 0.005
    boast = calibration_curve(np.minimum(confidence + 0.2, 1.0), right)
    assert boast.calibration_error == pytest.approx(0.17, abs=0.03)
    assert boast.count.sum() == 200_000


def test_a_temperature_is_found_again():
    rng = np.random.default_rng(4)
    honest = rng.dirichlet(np.ones(3), 20_000)
    truth = (rng.random(20_000)[:, None] > np.cumsum(honest, axis=1)[:, :-1]).sum(axis=1)
    boastful = apply_temperature(honest, 1 / 3.0)
    assert fit_temperature(truth, boastful) == pytest.approx(3.0, rel=0.05)
    np.testing.assert_allclose(apply_temperature(boastful, 3.0), honest, atol=1e-9)


def test_calibration_keeps_labels_and_lowers_the_error(crowd):
    consensus = DawidSkene().fit(crowd.annotations)
    boastful = apply_temperature(consensus.probabilities, 0.2)
    loud = type(consensus)(**{**consensus.__dict__, "probabilities": boastful})
    better = loud.calibrated(crowd.truth_by_item)
    assert better.temperature > 1.5
    assert (better.labels == loud.labels).all()
    scores = [each.score(crowd.truth_by_item).log_loss for each in (better, loud)]
    assert scores[0] < scores[1]


def test_numbers_cannot_be_calibrated():
    consensus = Gaussian().fit(Annotations.from_arrays([1, 1], ["u", "v"], [0.5, 0.7]))
    with pytest.raises(DataError, match="numbers"):
        consensus.calibrated({1: 0.6})


def test_a_scorecard_takes_part_of_the_items_and_unknown_classes():
    annotations = Annotations.from_arrays([1, 2, 3], ["u", "u", "u"], ["a", "b", "a"])
    card = DawidSkene().fit(annotations).score({1: "a", 3: "zebra", 99: "a"})
    assert card.n_items == 2
    assert card.accuracy == 0.5
    with pytest.raises(DataError, match="check that the item names match"):
        DawidSkene().fit(annotations).score({99: "a"})


def test_number_scores_refuse_words():
    consensus = Gaussian().fit(Annotations.from_arrays([1, 1], ["u", "v"], [0.5, 0.7]))
    assert consensus.score({1: 0.6}).mae == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(DataError, match="words"):
        consensus.score({1: "high"})


def test_f1_agrees_with_scikit_learn(guesses):
    truth, probabilities = guesses
    said = probabilities.argmax(axis=1)
    said[:20] = 9  # a class that is never true
    for average in ("macro", "micro"):
        theirs = metrics.f1_score(truth, said, average=average, zero_division=0.0)
        assert f1_score(truth, said, average=average) == pytest.approx(theirs)


def test_soft_cross_entropy_of_certain_shares_is_the_log_loss(guesses):
    truth, probabilities = guesses
    shares = np.eye(4)[truth]
    assert soft_cross_entropy(shares, probabilities) == pytest.approx(
        log_loss(truth, probabilities)
    )


def test_divergences_are_symmetric_and_know_equality():
    rng = np.random.default_rng(5)
    first, second = rng.dirichlet(np.ones(3), (4, 3)), rng.dirichlet(np.ones(3), (4, 3))
    assert individual_js(first, first) == pytest.approx(0.0, abs=1e-12)
    assert individual_js(first, second) == pytest.approx(individual_js(second, first))
    distances = jensenshannon(first, second, axis=-1, base=2) ** 2
    assert individual_js(first, second) == pytest.approx(distances.mean())


def test_the_crowds_confusion_is_that_of_its_labels():
    rng = np.random.default_rng(6)
    annotator, truth, label = rng.integers(0, 3, (3, 400))
    counts = confusion_counts(annotator, truth, label, 3, 3)
    assert counts.sum() == 400
    true = normalize_counts(counts)
    one = normalize_counts(counts.sum(axis=0))
    assert global_js(np.stack([one] * 3), counts) == pytest.approx(0.0, abs=1e-12)
    assert global_js(true, counts) < individual_js(np.stack([one] * 3), true)
    spammers = np.full((3, 3, 3), 1 / 3)
    wanted = (jensenshannon(spammers[0], one, axis=-1, base=2) ** 2).mean()
    assert global_js(spammers, counts) == pytest.approx(wanted)


def test_an_expert_is_like_the_identity_and_a_spammer_has_entropy():
    expert, spammer = np.eye(4), np.full((4, 4), 0.25)
    assert identity_similarity(expert) == pytest.approx(1.0)
    assert confusion_entropy(expert) == pytest.approx(0.0)
    assert confusion_entropy(spammer) == pytest.approx(1.0)
    assert identity_similarity(spammer) < 0.7


def test_the_interval_of_a_mean_agrees_with_student():
    rng = np.random.default_rng(6)
    scores = rng.normal(0.8, 0.05, 10)
    summary = summarize_runs(scores)
    low, high = stats.t.interval(0.95, 9, scores.mean(), stats.sem(scores))
    assert (summary.low, summary.high) == pytest.approx((low, high))
    assert np.isnan(summarize_runs([0.8]).deviation)
    with pytest.raises(DataError, match="no runs"):
        summarize_runs([])
