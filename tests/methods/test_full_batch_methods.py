"""Methods that are solved without epochs: their fits, and the classifier with them."""

import json

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from featured_crowds import featured, suited
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.engine.inputs import TensorInputs
from manyhands.estimators import CrowdClassifier
from manyhands.methods import METHODS, FullBatchMethod
from manyhands.methods.crf.network import CrfInputs
from manyhands.methods.linear.kernel_machine import KernelPersonal, fit_kernel_map
from manyhands.methods.linear.ma_lr import fit_ma_lr
from manyhands.methods.linear.personal import fit_personal
from manyhands.methods.linear.raykar import fit_raykar
from manyhands.methods.topics.classification import (
    TopicModel,
    fit_topic_classifier,
)
from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest
from methods.topics_cases import predict_classes

EVERY = [name for name, method in METHODS.items() if isinstance(method, FullBatchMethod)]
FULL_BATCH = [name for name in EVERY if "classification" in METHODS[name].tasks]
SOLVERS = {"raykar": fit_raykar, "ma-lr": fit_ma_lr, "pc": fit_personal}


@pytest.fixture(scope="module")
def crowd():
    return featured(n_items=200, labels_per_item=4, n_annotators=8)


def inputs_and_labels(name, crowd):
    """Inputs and labels that the method can learn from."""
    ann = crowd.annotations
    if name in {"crf-ma", "bsc-crf"}:
        features = csr_matrix((crowd.x > 1.0).astype(float))
        return CrfInputs(features, np.arange(0, len(crowd.x) + 1, 5)), ann
    if name == "ma-slda-r":
        numbers = ann.label + 0.1 * np.arange(ann.n_annotations) % 1.0
        ann = Annotations.from_arrays(ann.item, ann.annotator, numbers, kind="numbers")
    return TensorInputs(torch.from_numpy(suited(name, crowd).x)), ann


@pytest.mark.parametrize("name", EVERY)
def test_a_network_is_restored_from_its_settings_and_weights(name, crowd):
    method, (inputs, ann) = METHODS[name], inputs_and_labels(name, crowd)
    state = torch.get_rng_state()
    network = method.fit(inputs, ann, max_iter=3, seed=0).network
    settings = json.loads(json.dumps(network.settings))
    restored = method.restore_network(None, settings, ann.n_annotators, ann.n_classes)
    restored.load_state_dict(network.state_dict())
    rows = inputs.rows(torch.arange(10))
    assert network(rows).shape == (10, ann.n_classes or 1)
    assert torch.equal(restored(rows), network(rows))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", EVERY)
def test_a_fit_has_annotators_and_an_objective_that_never_falls(name, crowd):
    inputs, ann = inputs_and_labels(name, crowd)
    fit = METHODS[name].fit(inputs, ann, max_iter=5, seed=0)
    assert 1 <= len(fit.objective) <= 5
    assert (np.diff(fit.objective) >= -1e-9).all()
    if ann.kind == "numbers":
        assert fit.annotators["bias_a"].shape == (ann.n_annotators,)
        assert (fit.annotators["precision_a"] > 0).all()
        assert fit.annotators["error_variance"] > 0
    else:
        assert (fit.annotators >= 0).all()
        np.testing.assert_allclose(fit.annotators.sum(axis=2), 1.0)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_the_classifier_predicts_by_the_solution(name, crowd):
    model = CrowdClassifier(method=name, scale="none", progress=False).fit(
        crowd.x, crowd.annotations
    )
    solution = SOLVERS[name](crowd.x, crowd.annotations)
    np.testing.assert_allclose(
        np.log(model.predict_proba(crowd.x)), solution.weights.log_class(crowd.x), atol=1e-4
    )


@pytest.mark.parametrize("name", FULL_BATCH)
def test_the_objective_never_falls_and_the_crowd_is_learnt(name, crowd):
    crowd = suited(name, crowd)
    model = CrowdClassifier(method=name, progress=False).fit(crowd.x, crowd.annotations)
    losses = [entry["loss"] for entry in model.history_]
    assert (np.diff(losses) <= 1e-9).all()
    assert model.score(crowd.x, crowd.annotations.classes[crowd.truth]) > 0.9


@pytest.mark.parametrize("name", FULL_BATCH)
def test_another_network_raises(name, crowd):
    with pytest.raises(SettingError, match="is for the network 'logistic'; leave network out"):
        CrowdClassifier("mlp", name, progress=False).fit(crowd.x, crowd.annotations)


def test_random_annotators_are_found_by_attention():
    crowd = featured("spammers", n_items=300, n_annotators=10, labels_per_item=5, share=0.4)
    model = CrowdClassifier(method="ma-lr", progress=False).fit(crowd.x, crowd.annotations)
    right = np.einsum("akk->ak", model.confusion_).mean(axis=1)
    bad = np.einsum("akk->ak", crowd.confusion).mean(axis=1) < 0.4
    assert bad.any()
    assert right[bad].max() < right[~bad].min()


def ring(n_items=300, seed=0):
    """A disc within a ring: no linear boundary separates them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n_items)
    angle, radius = rng.uniform(0, 2 * np.pi, n_items), 1.0 + 2.0 * truth
    radius = radius + 0.2 * rng.normal(size=n_items)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)
    confusions = honest(np.linspace(0.6, 0.9, 8), 2)
    return x, simulate_crowd(truth, confusions, labels_per_item=4, seed=1).annotations, truth


def test_a_kernel_separates_a_disc_from_a_ring():
    (x, ann, _), (unseen, _, truth) = ring(), ring(seed=5)
    linear = CrowdClassifier(method="pc", progress=False).fit(x, ann)
    kernel = CrowdClassifier(method="pc-gp", progress=False).fit(x, ann)
    assert linear.score(unseen, truth) < 0.7
    assert kernel.score(unseen, truth) > 0.95


@pytest.mark.parametrize("n_landmarks", [40, 400])
def test_the_kernel_classifier_predicts_by_the_solution(n_landmarks):
    x, ann, _ = ring()
    method = KernelPersonal(n_landmarks)
    model = CrowdClassifier(method=method, scale="none", seed=3, progress=False).fit(x, ann)
    mapped = fit_kernel_map(x, n_landmarks=n_landmarks, seed=3)
    solution = fit_personal(mapped.transform(x), ann)
    expected = np.exp(solution.weights.log_class(mapped.transform(x)))
    np.testing.assert_allclose(model.predict_proba(x), expected, atol=2e-3)


def documents(n_documents=200, seed=0):
    """Counts of words of three topics, mixed, one of which decides the class."""
    rng = np.random.default_rng(seed)
    words_tw = np.kron(np.eye(3), np.ones(8)) + 0.05
    words_tw /= words_tw.sum(axis=1, keepdims=True)
    truth = rng.integers(3, size=n_documents)
    share_dt = rng.dirichlet(np.ones(3), n_documents) * 0.4 + 0.6 * np.eye(3)[truth]
    counts = np.stack([rng.multinomial(40, share @ words_tw) for share in share_dt])
    confusions = honest(np.linspace(0.5, 0.9, 8), 3)
    return counts, simulate_crowd(truth, confusions, labels_per_item=4, seed=1).annotations, truth


def test_topics_are_learnt_from_counts_dense_or_sparse():
    (counts, ann, _), (unseen, _, truth) = documents(), documents(seed=5)
    method = TopicModel(3)
    dense = CrowdClassifier(method=method, progress=False).fit(counts, ann)
    sparse = CrowdClassifier(method=method, progress=False).fit(csr_matrix(counts), ann)
    assert dense.score(unseen, truth) > 0.9
    np.testing.assert_array_equal(dense.predict_proba(unseen), sparse.predict_proba(unseen))
    expected = predict_classes(fit_topic_classifier(counts, ann, n_topics=3), unseen)
    np.testing.assert_allclose(dense.predict_proba(unseen), expected, atol=1e-6)


def test_topics_of_features_that_are_not_counts_raise(crowd):
    with pytest.raises(DataError, match="topic models take whole numbers, 0 or more"):
        CrowdClassifier(method="ma-slda-c", progress=False).fit(crowd.x, crowd.annotations)


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_texts_are_no_rows_of_numbers(name):
    texts, labels = ["a good film", "a bad one"] * 4, [[0, 1], [1, 0]] * 4
    with pytest.raises(DataError, match="rows of numbers, and these features are texts; give"):
        CrowdClassifier(method=name, progress=False).fit(texts, labels)
