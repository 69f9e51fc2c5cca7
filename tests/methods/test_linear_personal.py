"""Personal classifiers: one optimum from any start, pooled regression under a strong prior."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from featured_crowds import featured
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError
from manyhands.methods.linear.base import LinearWeights
from manyhands.methods.linear.kernel_machine import fit_kernel_map
from manyhands.methods.linear.personal import PersonalLoss, fit_personal
from methods.logistic_cases import fit_logistic


@pytest.fixture(scope="module")
def crowd():
    return featured(n_items=120, n_annotators=8, spread=1.0)


def small_loss():
    few = featured(n_items=15, n_annotators=3)
    return PersonalLoss(
        few.x.astype(float),
        few.annotations,
        precision_j=np.array([2.0, 2.0, 2.0, 2.0, 2.0, 0.5]),
        ridge_j=np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
    )


def test_the_gradient_matches_finite_differences():
    loss = small_loss()
    vector = np.random.default_rng(0).normal(size=len(loss.start_at(None)))
    _, gradient = loss(vector)
    for place in range(len(vector)):
        nudge = np.zeros(len(vector))
        nudge[place] = 1e-5
        measured = (loss(vector + nudge)[0] - loss(vector - nudge)[0]) / 2e-5
        assert gradient[place] == pytest.approx(measured, abs=1e-5)


def test_the_hessian_matches_finite_differences():
    loss = small_loss()
    rng = np.random.default_rng(1)
    vector, direction = rng.normal(size=(2, len(loss.start_at(None))))
    ahead, behind = (loss(vector + side * 1e-5 * direction)[1] for side in (1, -1))
    np.testing.assert_allclose(
        loss.hessian_product(vector, direction), (ahead - behind) / 2e-5, atol=1e-5
    )


@pytest.mark.parametrize("prior_precision", [None, 0.3])
def test_different_starts_end_at_the_same_weights(crowd, prior_precision):
    rng = np.random.default_rng(2)
    far = LinearWeights(5 * rng.normal(size=(5, 3)), rng.normal(size=3))
    one, other = (
        fit_personal(
            crowd.x, crowd.annotations, prior_precision=prior_precision, start=start, tol=1e-13
        )
        for start in (None, far)
    )
    assert one.converged
    assert other.converged
    assert one.objective == pytest.approx(other.objective, abs=1e-8)
    np.testing.assert_allclose(one.weights.coefficient_jk, other.weights.coefficient_jk, atol=1e-4)
    np.testing.assert_allclose(one.coefficient_ajk, other.coefficient_ajk, atol=1e-4)


def test_the_objective_matches_its_definition(crowd):
    ann = crowd.annotations
    fit = fit_personal(
        crowd.x, ann, prior_precision=2.0, intercept_prior_precision=0.5, l2=3.0, intercept_l2=0.1
    )
    log_class_aik = np.stack(
        [
            LinearWeights(*each).log_class(crowd.x)
            for each in zip(fit.coefficient_ajk, fit.intercept_ak, strict=True)
        ]
    )
    expected = log_class_aik[ann.annotator, ann.item, ann.label].sum()
    expected -= 1.0 * np.square(fit.coefficient_ajk - fit.weights.coefficient_jk).sum()
    expected -= 0.25 * np.square(fit.intercept_ak - fit.weights.intercept_k).sum()
    expected -= 1.5 * np.square(fit.weights.coefficient_jk).sum()
    expected -= 0.05 * np.square(fit.weights.intercept_k).sum()
    assert fit.objective[0] == pytest.approx(expected, abs=1e-8)


def test_a_strong_prior_gives_regression_on_all_labels(crowd):
    fit = fit_personal(
        crowd.x, crowd.annotations, prior_precision=1e10, intercept_prior_precision=1e10, tol=1e-13
    )
    pooled = fit_logistic(crowd.x, crowd.annotations.label_counts())
    np.testing.assert_allclose(fit.weights.coefficient_jk, pooled.weights.coefficient_jk, atol=1e-5)
    np.testing.assert_allclose(fit.weights.intercept_k, pooled.weights.intercept_k, atol=1e-5)
    assert fit.objective[0] == pytest.approx(pooled.objective, abs=1e-4)


def test_an_annotator_without_labels_has_the_common_classifier(crowd):
    ann = crowd.annotations
    more = Annotations.from_arrays(
        ann.item, ann.annotator, ann.label, annotators=range(9), classes=range(3)
    )
    fit = fit_personal(crowd.x, more)
    np.testing.assert_allclose(fit.coefficient_ajk[8], fit.weights.coefficient_jk, atol=1e-12)


def test_one_class_leaves_nothing_to_learn():
    ann = Annotations.from_arrays([0, 0, 1], ["u", "v", "u"], ["c", "c", "c"])
    fit = fit_personal([[1.0], [2.0]], ann)
    assert fit.converged
    assert fit.weights.log_class([[3.0]]).tolist() == [[0.0]]


def test_the_kernel_map_is_exact_if_all_items_are_landmarks(crowd):
    mapped = fit_kernel_map(crowd.x)
    near = rbf_kernel(crowd.x.astype(float), gamma=mapped.gamma)
    np.testing.assert_allclose(
        mapped.transform(crowd.x) @ mapped.transform(crowd.x).T, near, atol=1e-6
    )
    assert np.median(near[np.triu_indices(120, 1)]) == pytest.approx(np.exp(-0.5), rel=1e-3)
    again = fit_kernel_map(crowd.x, n_landmarks=20, seed=1)
    assert again.transform(crowd.x).shape == (120, 20)
    np.testing.assert_array_equal(
        again.transform(crowd.x), fit_kernel_map(crowd.x, n_landmarks=20, seed=1).transform(crowd.x)
    )


def test_a_kernel_map_separates_what_no_line_separates():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    truth = (np.square(x).sum(axis=1) > 1.4).astype(int)
    item, annotator = np.repeat(np.arange(300), 3), np.tile(np.arange(3), 300)
    label = np.where(rng.random(900) < 0.8, truth[item], 1 - truth[item])
    ann = Annotations.from_arrays(item, annotator, label)
    mapped = fit_kernel_map(x)
    fit = fit_personal(mapped.transform(x), ann)
    assert (fit.weights.log_class(mapped.transform(x)).argmax(axis=1) == truth).mean() > 0.9


def test_invalid_settings_raise(crowd):
    with pytest.raises(SettingError, match="prior_precision must be above 0"):
        fit_personal(crowd.x, crowd.annotations, prior_precision=0.0)
    with pytest.raises(SettingError, match="intercept_l2 must be 0 or more"):
        fit_personal(crowd.x, crowd.annotations, intercept_l2=-1.0)
    with pytest.raises(SettingError, match="n_landmarks must be >= 1"):
        fit_kernel_map(crowd.x, n_landmarks=0)
