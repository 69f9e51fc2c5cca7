"""The Crowd Mixture Model by EM."""

import numpy as np
import pytest

from manyhands.estimators import CrowdClassifier
from manyhands.methods.mixture import MixtureEM, mixture_step
from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest

K, M = 3, 2


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    return {
        "class_ik": rng.dirichlet(np.ones(K), 40),
        "row_n": np.sort(rng.integers(0, 40, 150)),
        "label_n": rng.integers(0, K, 150),
        "share_m": rng.dirichlet(np.ones(M)),
        "confusion_mkl": rng.dirichlet(np.ones(K), (M, K)),
    }


def test_a_step_is_that_of_the_paper_label_by_label(problem):
    step = mixture_step(**problem, pseudo_count=0.5)
    shares, counts, meant, log_p = np.zeros(M), np.full((M, K, K), 0.5), np.zeros((40, K)), 0.0
    for i, label in zip(problem["row_n"], problem["label_n"], strict=True):
        joint = (problem["share_m"][:, None] * problem["confusion_mkl"][:, :, label]
                 * problem["class_ik"][i])  # fmt: skip
        belief = joint / joint.sum()
        log_p += np.log(joint.sum())
        shares += belief.sum(axis=1)
        counts[:, :, label] += belief
        meant[i] += belief.sum(axis=0)
    np.testing.assert_allclose(step.share_m, shares / 150, atol=1e-12)
    np.testing.assert_allclose(
        step.confusion_mkl, counts / counts.sum(-1, keepdims=True), atol=1e-12
    )
    np.testing.assert_allclose(step.meant_ik, meant, atol=1e-12)
    assert step.log_likelihood == pytest.approx(log_p)


def test_the_likelihood_never_falls_under_a_fixed_network(problem):
    seen = []
    for _ in range(30):
        step = mixture_step(**problem, pseudo_count=0.0)
        problem |= {"share_m": step.share_m, "confusion_mkl": step.confusion_mkl}
        seen.append(step.log_likelihood)
    assert (np.diff(seen) > -1e-9).all()
    assert seen[-1] > seen[0] + 1


@pytest.fixture(scope="module")
def easy():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, K, 300)
    people = np.concatenate([honest(np.full(6, 0.9), K), honest(np.full(2, 1 / K), K)])
    ann = simulate_crowd(truth, people, labels_per_item=5, seed=2).annotations
    x = 2 * np.eye(K)[truth] + rng.normal(scale=0.5, size=(300, K))
    return x.astype(np.float32), ann, truth


def test_it_reaches_the_likelihood_of_the_gradient(easy):
    x, ann, truth = easy
    how = {"network": "logistic", "epochs": 150, "learning_rate": 0.02, "progress": False,
           "validation_fraction": 0.0, "scale": "none"}  # fmt: skip
    by_em = CrowdClassifier(method=MixtureEM(pseudo_count=0.0), **how).fit(x, ann)
    by_gradient = CrowdClassifier(method="mixture-e2e", noise_learning_rate=0.02, **how).fit(x, ann)
    assert by_em.log_likelihood(x, ann) == pytest.approx(
        by_gradient.log_likelihood(x, ann), abs=0.01
    )
    assert by_em.score(x, truth) > 0.95


def test_names_of_annotators_do_not_matter(easy):
    x, ann, _ = easy
    from manyhands.annotations import Annotations

    nameless = Annotations.from_arrays(ann.item, np.arange(ann.n_annotations), ann.label)
    how = {"method": "mixture", "epochs": 3, "validation_fraction": 0.0, "progress": False}
    known = CrowdClassifier(**how).fit(x, ann)
    unknown = CrowdClassifier(**how).fit(x, nameless)
    np.testing.assert_allclose(known.predict_proba(x), unknown.predict_proba(x), atol=1e-5)
