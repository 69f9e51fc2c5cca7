"""Raykar: Dawid-Skene without features, regression on the truth with many labels."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featured_crowds import featured
from manyhands.aggregation import DawidSkene
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.methods.linear.raykar import fit_raykar
from methods.logistic_cases import fit_logistic
from random_tables import random_labels


@pytest.mark.parametrize(
    ("n_classes", "strength", "constant"),
    [(2, 0.0, 1.0), (2, 4.0, 0.0), (3, 0.0, 0.0), (3, 4.0, 1.0)],
)
def test_without_features_it_is_dawid_skene(n_classes, strength, constant):
    crowd = featured(n_items=200, n_classes=n_classes, labels_per_item=5, seed=4)
    model = DawidSkene(
        prior="flat", prior_strength=strength, class_pseudo_count=0.0, tol=0.0, max_iter=2000
    )
    consensus = model.fit(crowd.annotations)
    fit = fit_raykar(
        np.full((200, 1), constant),
        crowd.annotations,
        prior_strength=strength,
        prior_attentive=0.0,
        tol=0.0,
        max_iter=2000,
    )
    np.testing.assert_allclose(fit.posterior_ik, consensus.probabilities, atol=1e-6)
    np.testing.assert_allclose(fit.confusion_akl, consensus.confusion, atol=1e-5)
    assert fit.objective[-1] == pytest.approx(consensus.objective[-1], abs=1e-6)


def test_with_many_good_labels_it_is_regression_on_the_truth():
    crowd = featured(
        "symmetric", n_items=300, n_annotators=20, labels_per_item=20, lowest=0.8, spread=0.8
    )
    fit = fit_raykar(crowd.x, crowd.annotations)
    ideal = fit_logistic(crowd.x, np.eye(3)[crowd.truth])
    assert fit.converged
    np.testing.assert_allclose(fit.weights.coefficient_jk, ideal.weights.coefficient_jk, atol=1e-3)
    np.testing.assert_allclose(fit.confusion_akl, crowd.confusion, atol=0.15)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    strength=st.sampled_from([0.0, 0.1, 10.0]),
    l2=st.sampled_from([0.01, 1.0]),
    n_classes=st.integers(1, 4),
)
def test_the_objective_never_falls(seed, strength, l2, n_classes):
    annotations = Annotations.from_arrays(
        *random_labels(seed, n_classes=n_classes), items=range(14), classes=range(n_classes)
    )
    x = np.random.default_rng(seed).normal(size=(14, 3))
    fit = fit_raykar(x, annotations, prior_strength=strength, l2=l2, tol=0.0, max_iter=30)
    for before, after in itertools.pairwise(fit.objective):
        assert after >= before - 1e-9 * max(1.0, abs(before))


def test_the_objective_matches_its_definition():
    crowd = featured(n_items=30)
    ann = crowd.annotations
    fit = fit_raykar(crowd.x, ann, prior_strength=3.0, l2=0.5, intercept_l2=0.2, tol=1e-13)
    log_ik = fit.weights.log_class(crowd.x)
    for n in range(ann.n_annotations):
        log_ik[ann.item[n]] += np.log(fit.confusion_akl[ann.annotator[n], :, ann.label[n]])
    pseudo_kl = 3.0 * (0.5 * np.eye(3) + 0.5 / 3)
    expected = np.logaddexp.reduce(log_ik, axis=1).sum()
    expected += (pseudo_kl * np.log(fit.confusion_akl)).sum()
    expected -= 0.25 * np.square(fit.weights.coefficient_jk).sum()
    expected -= 0.1 * np.square(fit.weights.intercept_k).sum()
    assert fit.objective[-1] == pytest.approx(expected, abs=1e-6)


def test_items_without_labels_are_predicted_and_have_no_effect():
    crowd = featured(n_items=50)
    more = Annotations.from_arrays(
        crowd.annotations.item, crowd.annotations.annotator, crowd.annotations.label,
        items=range(60), classes=range(3),
    )  # fmt: skip
    x = np.vstack([crowd.x, np.random.default_rng(0).normal(size=(10, crowd.x.shape[1]))])
    few, all_ = fit_raykar(crowd.x, crowd.annotations), fit_raykar(x, more)
    np.testing.assert_allclose(few.weights.coefficient_jk, all_.weights.coefficient_jk, atol=1e-8)
    np.testing.assert_allclose(
        all_.posterior_ik[50:], np.exp(all_.weights.log_class(x[50:])), atol=1e-12
    )


def test_features_help_with_few_labels():
    crowd = featured(n_items=400, n_annotators=20, labels_per_item=2, lowest=0.3, seed=5)
    fit = fit_raykar(crowd.x, crowd.annotations, prior_strength=10.0)
    alone = DawidSkene().fit(crowd.annotations)
    right = (fit.posterior_ik.argmax(axis=1) == crowd.truth).mean()
    assert right > (alone.probabilities.argmax(axis=1) == crowd.truth).mean() + 0.1


def test_invalid_requests_raise():
    crowd = featured(n_items=10)
    with pytest.raises(DataError, match="9 rows of features for 10 items"):
        fit_raykar(crowd.x[:9], crowd.annotations)
    with pytest.raises(SettingError, match="prior_attentive must be between 0 and 1"):
        fit_raykar(crowd.x, crowd.annotations, prior_attentive=2.0)
    with pytest.raises(SettingError, match="prior_strength must be 0 or more"):
        fit_raykar(crowd.x, crowd.annotations, prior_strength=-1.0)
