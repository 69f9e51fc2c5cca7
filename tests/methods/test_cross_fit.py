"""Cross-fitting: no belief has a part in what judges it, and what only this method finds."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.evaluation import apply_temperature
from manyhands.methods import CrossFitted
from manyhands.methods.cross_fit import beliefs, smoothers
from manyhands.methods.cross_fit.beliefs import (
    STARTS,
    TWO_STARTS,
    LabelPrediction,
    Weights,
    find_temperature,
    fit_cross_fit,
)
from manyhands.methods.cross_fit.label_model import CrowdLabels, skill_and_spam
from manyhands.methods.cross_fit.learners import ClassifierLearner, Regressions, make_folds
from manyhands.methods.cross_fit.smoothers import RIDGES, fit_smoothers

K = 3


def crowd(truth, accuracies, rng, per_item=3, n_classes=K):
    """Labels of annotators who are right this often and otherwise say any class."""
    item = np.repeat(np.arange(len(truth)), per_item)
    annotator = np.concatenate([rng.permutation(len(accuracies))[:per_item] for _ in truth])
    right = rng.random(len(item)) < np.asarray(accuracies)[annotator]
    label = np.where(right, truth[item], rng.integers(n_classes, size=len(item)))
    names = {"items": range(len(truth)), "annotators": range(len(accuracies))}
    return mh.Annotations.from_arrays(item, annotator, label, classes=range(n_classes), **names)


@pytest.fixture(scope="module")
def digits():
    """300 digits whose labels are mostly spam."""
    features, truth = load_digits(return_X_y=True)
    features, truth = features[:300], truth[:300]
    rng = np.random.default_rng(0)
    ann = crowd(truth, [0.0] * 24 + [0.75] * 16, rng, per_item=4, n_classes=10)
    return features, truth, ann


# --- regressions ---


@pytest.fixture(scope="module")
def some():
    rng = np.random.default_rng(1)
    return rng.normal(size=(30, 4)) * [1.0, 5.0, 0.2, 1.0], rng.dirichlet(np.ones(K), size=30)


def left_out_by_hand(factor, target, alphas):
    """Every item predicted by a ridge regression that was fitted without it."""
    found = np.empty((len(alphas), *target.shape))
    for m, alpha in enumerate(alphas):
        for i in range(len(target)):
            rest = np.arange(len(target)) != i
            found[m, i] = (
                Ridge(alpha=alpha, solver="svd")
                .fit(factor[rest], target[rest])
                .predict(factor[i : i + 1])
            )
    return found


def test_a_linear_regression_has_not_seen_the_item(some):
    features, target = some
    centred = features - features.mean(axis=0)
    scale = np.square(centred).sum() / len(features)
    wanted = left_out_by_hand(centred, target, [ridge * scale for ridge in RIDGES])
    assert fit_smoothers(features)[0].left_out(target) == pytest.approx(wanted, abs=1e-9)


def test_a_radial_regression_has_not_seen_the_item(some):
    features, target = some
    scaled = np.clip((features - features.mean(axis=0)) / features.std(axis=0), -5, 5)
    squares = np.square(scaled[:, None] - scaled[None]).sum(axis=-1)
    kernel = rbf_kernel(scaled, gamma=0.5 / np.median(squares[np.triu_indices(30, 1)]))
    values, vectors = np.linalg.eigh(kernel)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    scale = np.square(factor - factor.mean(axis=0)).sum() / 30
    wanted = left_out_by_hand(factor, target, [ridge * scale for ridge in RIDGES])
    assert fit_smoothers(features)[3].left_out(target) == pytest.approx(wanted, abs=1e-8)


def test_a_belief_does_not_change_what_judges_it(some):
    features, target = some
    changed = target.copy()
    changed[7] = [1.0, 0.0, 0.0]
    for smoother in fit_smoothers(features):
        before, after = smoother.left_out(target), smoother.left_out(changed)
        assert after[:, 7] == pytest.approx(before[:, 7], abs=1e-12)
        assert not np.allclose(after[:, 8], before[:, 8], atol=1e-6)


def test_units_of_the_features_do_not_matter(some):
    features, target = some
    for one, other in zip(fit_smoothers(features), fit_smoothers(1000 * features), strict=True):
        assert one.left_out(target) == pytest.approx(other.left_out(target), abs=1e-9)


def test_landmarks_stand_for_many_items(some, monkeypatch):
    rng = np.random.default_rng(2)
    features = rng.normal(size=(120, 3))
    target = np.eye(2)[(features[:, 0] > 0).astype(int)]
    exact = fit_smoothers(features)[1].left_out(target)
    monkeypatch.setattr(smoothers, "_MAX_EXACT", 100)
    monkeypatch.setattr(smoothers, "_LANDMARKS", 80)
    close = fit_smoothers(features)[1].left_out(target)
    assert np.abs(close - exact)[-1].max() < 0.05
    assert max(each.basis_ir.shape[1] for each in fit_smoothers(features)) == 80


def test_items_that_are_all_the_same_are_predicted_by_the_others():
    target = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    others = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    for smoother in fit_smoothers(np.ones((3, 2))):
        assert smoother.left_out(target)[0] == pytest.approx(others)
    alone = fit_smoothers(np.ones((1, 2)))[0].left_out(target[:1])
    assert alone[0] == pytest.approx(np.array([[0.5, 0.5]]))


# --- annotators ---


def test_confusions_are_those_without_the_item():
    rng = np.random.default_rng(3)
    item, annotator = rng.integers(12, size=60), rng.integers(4, size=60)  # some pairs repeat
    names = {"annotators": range(4), "classes": range(K)}
    ann = mh.Annotations.from_arrays(item, annotator, rng.integers(K, size=60), **names)
    belief = rng.dirichlet(np.ones(K), size=ann.n_items)
    prior, strength = rng.dirichlet(np.ones(K), size=(4, K)), 2.5
    found = CrowdLabels(ann).left_out(belief, prior, strength)
    for n in range(ann.n_annotations):
        others = ann.only(ann.item != ann.item[n])
        counts = CrowdLabels(others).counts(belief)[ann.annotator[n]]
        wanted = counts + strength * prior[ann.annotator[n]]
        wanted /= wanted.sum(axis=1, keepdims=True)
        assert np.exp(found[n]) == pytest.approx(wanted[:, ann.label[n]], abs=1e-9)


def test_spam_is_told_from_skill():
    rng = np.random.default_rng(4)
    truth = rng.integers(K, size=600)
    accuracies = [0.0] * 6 + [0.8] * 6
    ann = crowd(truth, accuracies, rng, per_item=5)
    prior, spam = skill_and_spam(CrowdLabels(ann).counts(np.eye(K)[truth]))
    assert spam[:6].min() > 0.7
    assert spam[6:].max() < 0.3
    assert prior.sum(axis=2) == pytest.approx(np.ones((12, K)))


# --- beliefs ---


def test_the_gradient_is_that_of_the_probability_of_the_labels(digits):
    _, _, ann = digits
    rng = np.random.default_rng(5)
    labels = CrowdLabels(ann)
    score = rng.normal(size=(3, ann.n_items, 10))
    mix = LabelPrediction(labels, score, np.log(rng.dirichlet(np.ones(10), ann.n_annotations)))
    given = np.array([0.3, 0.0, 1.2, 0.7])
    slope = mix.gradient(Weights(given[:-1], given[-1]))
    for place in range(4):
        step = 1e-5 * np.eye(4)[place]
        low, high = (Weights((given + way)[:-1], (given + way)[-1]) for way in (-step, step))
        wanted = (mix.value(high) - mix.value(low)) / 2e-5
        assert slope[place] == pytest.approx(wanted, rel=1e-5)


def test_the_probability_of_a_label_does_not_know_the_label(digits):
    _, _, ann = digits
    labels = CrowdLabels(ann)
    score = np.zeros((1, ann.n_items, 10))
    log_label = np.log(np.random.default_rng(6).dirichlet(np.ones(10), size=ann.n_annotations))
    rest = LabelPrediction(labels, score, log_label)._rest(Weights(np.ones(1), 0.6))
    changed = log_label.copy()
    changed[5] = np.log(np.full(10, 0.1))
    again = LabelPrediction(labels, score, changed)._rest(Weights(np.ones(1), 0.6))
    assert again[5] == pytest.approx(rest[5])


def test_the_probability_of_the_labels_is_the_sum_that_is_stated(digits):
    _, _, ann = digits
    rng = np.random.default_rng(7)
    score = rng.normal(size=(2, ann.n_items, 10))
    log_label = np.log(rng.dirichlet(np.ones(10), ann.n_annotations))
    mix = LabelPrediction(CrowdLabels(ann), score, log_label)
    weights = Weights(np.array([0.5, 2.0]), 0.8)
    wanted = 0.0
    for n, item in enumerate(ann.item):
        others = np.flatnonzero((ann.item == item) & (np.arange(ann.n_annotations) != n))
        logits = 0.5 * score[0, item] + 2 * score[1, item] + 0.8 * log_label[others].sum(axis=0)
        belief = softmax(logits)
        wanted += np.log(belief @ np.exp(log_label[n]))
    assert mix.value(weights) == pytest.approx(wanted, rel=1e-10)


def test_features_find_what_spam_hides(digits):
    features, truth, ann = digits
    labels_only = mh.aggregate(ann, method="dawid-skene")
    found = mh.consensus(features, ann)
    assert (labels_only.labels == truth).mean() < 0.8
    assert (found.labels == truth).mean() > 0.93
    spam = found.annotators_frame()["spam"].to_numpy()
    assert spam[:24].min() > spam[24:].max()
    tempered = apply_temperature(found.raw_probabilities, found.temperature)
    assert found.probabilities == pytest.approx(tempered)
    assert (found.raw_probabilities.argmax(axis=1) == found.probabilities.argmax(axis=1)).all()


class Certain:
    """A learner that is sure of one class of every item, rightly or not."""

    first_weights = np.ones(1)

    def __init__(self, score_ik):
        self.score_ik = score_ik

    def left_out(self, belief_ik):
        return self.score_ik[None]


def test_the_temperature_makes_held_out_labels_most_probable(monkeypatch):
    rng = np.random.default_rng(12)
    truth = rng.integers(K, size=150)
    ann = crowd(truth, [0.6] * 6, rng, per_item=4)
    learner = Certain(np.log(np.eye(K)[truth] + 0.1))
    limits = {"max_iter": 20, "tol": 1e-3, "seed": 0}
    usual = find_temperature(learner, ann, **limits)
    assert 0.5 < usual < 2.0
    sharper = beliefs.apply_temperature
    monkeypatch.setattr(beliefs, "apply_temperature", lambda p, t: sharper(p, t / 2))
    assert find_temperature(learner, ann, **limits) == pytest.approx(2 * usual, rel=0.05)
    assert find_temperature(learner, ann[:20], **limits) == 1.0  # too few labels


def test_features_without_meaning_do_no_harm():
    rng = np.random.default_rng(7)
    truth = rng.integers(K, size=200)
    ann = crowd(truth, [0.5] * 5 + [0.9] * 5, rng, per_item=4)
    labels_only = mh.aggregate(ann, method="dawid-skene")
    found = mh.consensus(rng.normal(size=(200, 6)), ann)
    assert (found.labels == truth).mean() > (labels_only.labels == truth).mean() - 0.03


def test_the_better_of_two_solutions_is_returned(digits):
    features, _, ann = digits
    found = fit_cross_fit(Regressions(fit_smoothers(features)), ann)
    assert found.converged
    alone = fit_cross_fit(Regressions(fit_smoothers(features)), ann, max_iter=1)
    assert not alone.converged
    assert found.objective[-1] > alone.objective[-1]
    assert found.belief_ik.sum(axis=1) == pytest.approx(np.ones(300))


def test_the_start_with_the_most_probable_labels_wins(digits):
    features, _, ann = digits
    learner = Regressions(fit_smoothers(features))
    each = [fit_cross_fit(learner, ann, starts=[name]).objective[-1] for name in STARTS]
    assert fit_cross_fit(learner, ann).objective[-1] == max(each)
    assert len(set(each)) == len(STARTS)  # they are not the same beliefs


def test_the_last_consensus_has_all_starts_and_that_of_the_search_has_two(digits, monkeypatch):
    features, _, ann = digits
    begun = []
    for name, start in STARTS.items():
        monkeypatch.setitem(
            STARTS, name, lambda crowd, n=name, s=start: begun.append(n) or s(crowd)
        )
    CrossFitted(max_iter=1).consensus(features, ann, calibrate=False)
    assert begun == list(TWO_STARTS)
    CrossFitted(max_iter=1).consensus(features, ann)
    assert begun[2:5] == list(STARTS)


def test_items_without_labels_have_the_class_frequencies(digits):
    features, _, ann = digits
    some = ann.only(ann.item >= 20)
    found = mh.consensus(features, some)
    mean = found.probabilities[20:].mean(axis=0)
    assert found.probabilities[:20] == pytest.approx(np.tile(mean, (20, 1)))
    with pytest.raises(DataError, match="again with all labels and features"):
        found.update(ann)


def test_rows_follow_the_names_of_items(digits):
    features, _, ann = digits
    order = np.random.default_rng(8).permutation(300)
    usual = mh.consensus(features, ann).labels
    found = mh.consensus(features[order], ann, X_items=order.tolist())
    named = dict(zip(found.annotations.items.tolist(), found.labels.tolist(), strict=True))
    assert [named[item] for item in range(300)] == usual.tolist()


def test_settings_are_checked():
    with pytest.raises(SettingError, match="max_iter"):
        CrossFitted(max_iter=0)
    with pytest.raises(SettingError, match="tol"):
        CrossFitted(tol=0)


# --- learners ---


class Remembers(ClassifierMixin, BaseEstimator):
    """A classifier that repeats what it has seen of a row, and is not certain of others."""

    def fit(self, X, y, sample_weight=None):  # noqa: N803 - as scikit-learn has it
        self.classes_ = np.unique(y)
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.seen_ = {}
        for row, code, weight in zip(np.asarray(X)[:, 0], y, weights, strict=True):
            self.seen_.setdefault(row, np.zeros(len(self.classes_)))
            self.seen_[row][np.searchsorted(self.classes_, code)] += weight
        return self

    def predict_proba(self, X):  # noqa: N803
        even = np.full(len(self.classes_), 1.0)
        found = np.array([self.seen_.get(row, even) for row in np.asarray(X)[:, 0]])
        return found / found.sum(axis=1, keepdims=True)


def test_a_learner_has_not_seen_the_fold():
    belief = np.random.default_rng(9).dirichlet(np.ones(K), size=12)
    fold = make_folds(12, 3, seed=0)
    alone = np.arange(12.0)[:, None]  # every row is different
    found = ClassifierLearner(Remembers(), alone, fold).left_out(belief)[0]
    assert found == pytest.approx(np.full((12, K), np.log(1 / K)))
    twins = (np.arange(12) // 2).astype(float)[:, None]  # each row has a twin
    found = np.exp(ClassifierLearner(Remembers(), twins, fold).left_out(belief)[0])
    other = np.arange(12) ^ 1
    apart = fold != fold[other]
    assert 0 < apart.sum() < 12
    assert found[apart] == pytest.approx(belief[other[apart]], abs=0.03)
    assert found[~apart] == pytest.approx(np.full(((~apart).sum(), K), 1 / K))


def test_a_classifier_without_weights_learns_the_most_probable_class():
    belief = np.array([[0.6, 0.4], [0.6, 0.4], [0.2, 0.8], [0.2, 0.8]])
    features, fold = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    nearest = ClassifierLearner(KNeighborsClassifier(n_neighbors=1), features, fold)
    found = np.exp(nearest.left_out(belief)[0])
    assert found == pytest.approx(np.array([[1, 0.001], [1, 0.001], [0.001, 1], [0.001, 1]]))


def test_texts_with_a_pipeline():
    rng = np.random.default_rng(10)
    truth = rng.integers(2, size=80)
    words = [["good", "great", "fine"], ["bad", "awful", "poor"]]
    texts = [" ".join(rng.choice(words[k], size=4)) for k in truth]
    ann = crowd(truth, [0.1] * 4 + [0.7] * 4, rng, per_item=3, n_classes=2)
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    found = mh.consensus(texts, ann, learner=learner)
    labels_only = mh.aggregate(ann, method="dawid-skene")
    assert (found.labels == truth).mean() > 0.97 > (labels_only.labels == truth).mean()


@pytest.fixture(scope="module")
def clusters():
    """60 items of two classes, and an annotator who mostly guesses among four."""
    rng = np.random.default_rng(11)
    truth = rng.integers(2, size=60)
    features = truth[:, None] + 0.3 * rng.normal(size=(60, 2))
    return features, truth, crowd(truth, [0.1, 0.3, 0.6, 0.6], rng, n_classes=2)


STEPS = {"epochs": 10, "batch_size": 16, "learning_rate": 0.1, "validation_fraction": 0.0}
ON_CPU = {"network": "logistic", "progress": False, "device": "cpu"} | STEPS


@pytest.mark.slow
def test_a_network_as_the_learner(clusters, tmp_path):
    features, truth, ann = clusters
    learner = mh.CrowdClassifier(checkpoint=tmp_path / "run", **ON_CPU)
    found = mh.consensus(features, ann, learner=learner)
    assert (found.labels == truth).mean() > 0.9
    assert (tmp_path / "run" / "folds" / "fit-0").is_dir()
    assert mh.consensus(features, ann, learner=learner).probabilities == pytest.approx(
        found.probabilities
    )  # all fits are there
    assert not hasattr(learner, "network_")


def test_the_network_of_the_method_may_be_its_learner(clusters):
    features, truth, ann = clusters
    method = CrossFitted(learner="network", n_folds=2, max_iter=2)
    clf = mh.CrowdClassifier(method=method, **ON_CPU)
    assert (clf.fit(features, ann).predict(features) == truth).mean() > 0.9


def test_wrong_learners_are_refused(digits):
    features, _, ann = digits
    for wrong in (LinearSVC(), LogisticRegression, 3):
        with pytest.raises(SettingError, match="learner must be"):
            mh.consensus(features, ann, learner=wrong)
    with pytest.raises(DataError, match="5 folds, and 3 items"):
        mh.consensus(features[:3], ann[:3], learner=LogisticRegression())
