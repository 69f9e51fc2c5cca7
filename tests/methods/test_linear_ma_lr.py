"""MA-LR: random annotators are found, and the objective never falls."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featured_crowds import featured
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError
from manyhands.methods.linear.ma_lr import fit_ma_lr
from methods.logistic_cases import fit_logistic
from random_tables import random_labels


def crowd_with_random_annotators(seed=0, n_items=300, n_annotators=12, n_random=4):
    """Most annotators label by the features, the first few at random."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_items, 4))
    score = 3 * x @ rng.normal(size=(4, 3))
    item = np.repeat(np.arange(n_items), 5)
    annotator = np.concatenate([rng.permutation(n_annotators)[:5] for _ in range(n_items)])
    label = (score[item] + rng.gumbel(size=(len(item), 3))).argmax(axis=1)
    is_random = annotator < n_random
    label[is_random] = rng.integers(0, 3, is_random.sum())
    return x, Annotations.from_arrays(
        item, annotator, label, annotators=range(n_annotators), classes=range(3)
    )


@pytest.mark.parametrize("seed", range(3))
def test_random_annotators_are_found(seed):
    fit = fit_ma_lr(*crowd_with_random_annotators(seed))
    assert fit.converged
    assert fit.attentive_a[:4].max() < 0.3
    assert fit.attentive_a[4:].min() > 0.8
    np.testing.assert_allclose(fit.confusion_akl.sum(axis=2), 1.0)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    pseudo=st.sampled_from([0.0, 1.0, 5.0]),
    n_classes=st.integers(1, 4),
)
def test_the_objective_never_falls(seed, pseudo, n_classes):
    annotations = Annotations.from_arrays(
        *random_labels(seed, n_classes=n_classes), items=range(14), classes=range(n_classes)
    )
    x = np.random.default_rng(seed).normal(size=(14, 3))
    fit = fit_ma_lr(x, annotations, pseudo_random=pseudo, tol=0.0, max_iter=30)
    for before, after in itertools.pairwise(fit.objective):
        assert after >= before - 1e-9 * max(1.0, abs(before))


def test_the_objective_and_the_attention_match_their_definition():
    crowd = featured(n_items=40)
    ann = crowd.annotations
    fit = fit_ma_lr(crowd.x, ann, pseudo_attentive=2.0, pseudo_random=0.5, tol=1e-13, max_iter=5000)
    pi_n = fit.attentive_a[ann.annotator]
    attended_n = pi_n * np.exp(fit.weights.log_class(crowd.x))[ann.item, ann.label]
    expected = np.log(attended_n + (1 - pi_n) / 3).sum()
    expected += (2.0 * np.log(fit.attentive_a) + 0.5 * np.log1p(-fit.attentive_a)).sum()
    expected -= 0.5 * np.square(fit.weights.coefficient_jk).sum()
    assert fit.objective[-1] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(
        fit.attention_n, attended_n / (attended_n + (1 - pi_n) / 3), atol=1e-9
    )


def test_with_all_annotators_attentive_it_is_regression_on_all_labels():
    crowd = featured(n_items=60)
    fit = fit_ma_lr(crowd.x, crowd.annotations, pseudo_attentive=1e12, pseudo_random=0.0)
    pooled = fit_logistic(crowd.x, crowd.annotations.label_counts())
    np.testing.assert_allclose(fit.weights.coefficient_jk, pooled.weights.coefficient_jk, atol=1e-4)


def test_invalid_settings_raise():
    crowd = featured(n_items=10)
    with pytest.raises(SettingError, match="pseudo_random must be 0 or more"):
        fit_ma_lr(crowd.x, crowd.annotations, pseudo_random=-1.0)
