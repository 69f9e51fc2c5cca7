"""Logistic regression: against scikit-learn, against finite differences, from any start."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from manyhands.core.errors import DataError, SettingError
from manyhands.methods.linear import logistic
from manyhands.methods.linear.base import LinearWeights
from manyhands.methods.linear.logistic import SoftmaxRegression
from methods.logistic_cases import fit_logistic


def problem(seed=0, n_items=300, n_features=6, n_classes=4):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_items, n_features))
    scores = x @ rng.normal(size=(n_features, n_classes)) + rng.gumbel(size=(n_items, n_classes))
    return x, scores.argmax(axis=1)


def soft_targets(seed, n_items, n_classes):
    return np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.3), n_items)


@pytest.fixture(params=["newton", "l-bfgs"])
def search(request, monkeypatch):
    if request.param == "l-bfgs":
        monkeypatch.setattr(logistic, "_MAX_NEWTON_SIZE", 0)


@pytest.mark.usefixtures("search")
@pytest.mark.parametrize(("n_classes", "l2"), [(2, 1.0), (4, 1.0), (4, 0.05)])
def test_it_matches_scikit_learn(n_classes, l2):
    x, y = problem(n_classes=n_classes)
    weight = np.random.default_rng(1).uniform(0, 2, len(x))
    ours = fit_logistic(x, np.eye(n_classes)[y], weight_i=weight, l2=l2)
    # With two classes scikit-learn penalises one vector, which is the difference of our two.
    theirs = LogisticRegression(C=(2.0 if n_classes == 2 else 1.0) / l2, tol=1e-10, max_iter=5000)
    theirs.fit(x, y, sample_weight=weight)
    assert ours.converged
    np.testing.assert_allclose(
        np.exp(ours.weights.log_class(x)), theirs.predict_proba(x), atol=1e-5
    )


@pytest.mark.parametrize("intercept_l2", [0.0, 0.7])
def test_the_gradient_matches_finite_differences(intercept_l2):
    x, _ = problem(n_items=40)
    target = 3 * soft_targets(2, 40, 4)
    model = SoftmaxRegression(x, 4, l2=0.3, intercept_l2=intercept_l2)
    rng = np.random.default_rng(3)
    weights = LinearWeights(rng.normal(size=(6, 4)), rng.normal(size=4))
    point = model.at(weights)
    gradient = model.gradient(point, target)
    for place in np.ndindex(gradient.shape):
        nudge = np.zeros(gradient.shape)
        nudge[place] = 1e-5
        ahead, behind = (model._at(point.contrast_jc + side * nudge) for side in (1, -1))
        measured = (model.value(ahead, target) - model.value(behind, target)) / 2e-5
        assert gradient[place] == pytest.approx(measured, abs=1e-5)


def test_the_hessian_matches_finite_differences():
    x, _ = problem(n_items=40, n_features=3)
    target = soft_targets(2, 40, 4)
    model = SoftmaxRegression(x, 4, l2=0.3, intercept_l2=0.1)
    rng = np.random.default_rng(3)
    point = model._at(rng.normal(size=(4, 3)))
    direction = rng.normal(size=(4, 3))
    ahead, behind = (model._at(point.contrast_jc + side * 1e-5 * direction) for side in (1, -1))
    measured = (model.gradient(behind, target) - model.gradient(ahead, target)) / 2e-5
    curved = (model._hessian(point, target) @ direction.T.ravel()).reshape(3, 4).T
    np.testing.assert_allclose(curved, measured, atol=1e-5)


@pytest.mark.usefixtures("search")
def test_any_start_ends_at_the_same_weights():
    x, _ = problem()
    target = soft_targets(5, len(x), 4)
    rng = np.random.default_rng(6)
    far = LinearWeights(10 * rng.normal(size=(6, 4)), rng.normal(size=4))
    fits = [fit_logistic(x, target, start=start, max_iter=1000) for start in (None, far)]
    assert fits[0].objective == pytest.approx(fits[1].objective, abs=1e-6)
    np.testing.assert_allclose(
        fits[0].weights.coefficient_jk, fits[1].weights.coefficient_jk, atol=1e-4
    )


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), l2=st.sampled_from([0.0, 1e-6, 1.0]))
def test_steps_never_lower_the_objective(seed, l2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 3)) * 10.0 ** rng.integers(-3, 3, 3)
    x = np.column_stack([x, x[:, 0], np.ones(12)])  # redundant, with a constant
    model = SoftmaxRegression(x, 3, l2=l2, intercept_l2=0.0)
    point = model.at()
    for round_ in range(6):  # targets move, as they do under EM, and the curvature is kept
        target = rng.dirichlet(np.full(3, 0.2), 12) * rng.integers(0, 3, (12, 1))
        before = model.value(point, target)
        point, _ = model.ascend(point, target, max_steps=1 + round_ % 3, tol=0.0)
        assert model.value(point, target) >= before - 1e-9 * abs(before)


def test_items_without_weight_do_not_count():
    x, y = problem()
    half = np.arange(len(x)) % 2 == 0
    some = fit_logistic(x, np.eye(4)[y], weight_i=half)
    alone = fit_logistic(x[half], np.eye(4)[y[half]])
    np.testing.assert_allclose(some.weights.coefficient_jk, alone.weights.coefficient_jk, atol=1e-8)


def test_invalid_requests_raise():
    with pytest.raises(DataError, match=r"row 1, column 0 is nan"):
        fit_logistic([[0.0], [np.nan]], np.eye(2))
    with pytest.raises(DataError, match="shape"):
        fit_logistic([0.0, 1.0], np.eye(2))
    with pytest.raises(DataError, match="2 features per item"):
        fit_logistic([[0.0], [1.0]], np.eye(2)).weights.log_class([[1.0, 2.0]])
    with pytest.raises(SettingError, match="l2 must be 0 or more"):
        fit_logistic([[0.0], [1.0]], np.eye(2), l2=-1.0)
