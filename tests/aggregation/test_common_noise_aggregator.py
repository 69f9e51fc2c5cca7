"""Common noise: the two confusions are separated, and EM is what the docstring says."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_dense_references import dense_crowd, dense_e_step, dense_m_step, one_hot
from test_em_laws import assert_never_falls, label_columns, log_likelihood

from manyhands.aggregation import CommonNoise, DawidSkene, Majority
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError
from manyhands.evaluation import accuracy_score
from manyhands.simulation import SCENARIOS, simulate_crowd
from manyhands.simulation.common_noise import CommonNoiseSettings
from random_tables import random_labels


def favourite_mistakes(partner_ak, strength):
    """Confusions with one mistake per class, made with this probability."""
    identity = np.eye(partner_ak.shape[1])
    return (1 - strength) * identity + strength * identity[partner_ak]


def planted(seed, common_strength, own_strength, n_annotators=30, n_classes=5):
    """A crowd with an omega per annotator: shared confusion, omegas, confusions and labels."""
    rng = np.random.default_rng(seed)
    shift_ak = rng.integers(1, n_classes, (n_annotators + 1, n_classes))
    partner_ak = (np.arange(n_classes) + shift_ak) % n_classes
    common_kl = favourite_mistakes(partner_ak[:1], common_strength)[0]
    own_akl = favourite_mistakes(partner_ak[1:], own_strength)
    omega_a = rng.uniform(0.05, 0.95, n_annotators)
    confusion_akl = omega_a[:, None, None] * common_kl + (1 - omega_a)[:, None, None] * own_akl
    truth = rng.integers(0, n_classes, 6000)
    return common_kl, omega_a, simulate_crowd(truth, confusion_akl, labels_per_item=6, seed=seed)


@pytest.mark.parametrize("own_strength", [0.4, 0.7])
def test_a_shared_confusion_and_omegas_are_recovered(own_strength):
    correlations = []
    for seed in range(3):
        common_kl, omega_a, crowd = planted(seed, 0.4, own_strength)
        consensus = CommonNoise().fit(crowd.annotations)
        assert np.abs(consensus.parameters.common_kl() - common_kl).mean() < 0.05
        assert np.abs(consensus.confusion - crowd.confusion).mean() < 0.025
        found_a = consensus.annotator_traits["common_share"]
        correlations.append(np.corrcoef(found_a, omega_a)[0, 1])
        majority = Majority().fit(crowd.annotations)
        gain = accuracy_score(crowd.truth, consensus.labels) - accuracy_score(
            crowd.truth, majority.labels
        )
        assert gain > 0.1
    assert np.mean(correlations) > 0.85


@pytest.mark.parametrize("seed", range(2))
def test_the_shared_confusion_of_the_paper_s_crowd_is_recovered(seed):
    # There omega differs from item to item, so a number per annotator can follow it only in part.
    crowd = SCENARIOS["common-noise"](CommonNoiseSettings(labels_per_item=6, seed=seed))
    consensus = CommonNoise().fit(crowd.annotations)
    found_kl = consensus.parameters.common_kl()
    assert np.abs(found_kl - crowd.common_kl).mean() < 0.03
    mistakes = crowd.common_kl - np.diag(np.diag(crowd.common_kl))
    found = found_kl - np.diag(np.diag(found_kl))
    np.testing.assert_array_equal(found.argmax(axis=1), mistakes.argmax(axis=1))
    annotator = crowd.annotations.annotator
    omega_a = np.bincount(annotator, crowd.omega_n) / crowd.annotations.labels_per_annotator
    assert np.corrcoef(consensus.annotator_traits["common_share"], omega_a)[0, 1] > 0.4
    dawid_skene = DawidSkene().fit(crowd.annotations)
    close = accuracy_score(crowd.truth, dawid_skene.labels) - 0.005
    assert accuracy_score(crowd.truth, consensus.labels) > close > 0.9


def test_an_annotator_s_confusion_mixes_both_sources(crowd):
    consensus = CommonNoise().fit(crowd.annotations)
    parameters = consensus.parameters
    share = parameters.share_a[:, None, None]
    mixed = share * parameters.common_kl() + (1 - share) * parameters.own_akl()
    np.testing.assert_allclose(consensus.confusion, mixed, atol=1e-12)
    assert "common_share" in consensus.annotators_frame().columns
    assert ((parameters.share_a > 0) & (parameters.share_a < 1)).all()


def dense_even(crowd_kl):
    right = np.diag(crowd_kl)
    off = np.ones_like(crowd_kl) - np.eye(len(right))
    return np.diag(right) + off * ((1 - right) / max(len(right) - 1, 1))[:, None]


def dense_mixed(common, own, share):
    return share[:, None, None] * common + (1 - share)[:, None, None] * own


def dense_first_look(y_ial):
    """The posterior and the crowd's confusion one step after the label shares."""
    q_ik = y_ial.sum(axis=1) / y_ial.sum(axis=(1, 2))[:, None]
    _, _, counts = dense_m_step(y_ial, q_ik, 0.0)
    prior, confusion, _ = dense_m_step(y_ial, q_ik, 10.0 * dense_crowd(counts, 10.0))
    q_ik = dense_e_step(y_ial, prior, confusion)
    _, _, counts = dense_m_step(y_ial, q_ik, 0.0)
    return q_ik, dense_crowd(counts, 10.0)


def dense_common_noise(annotations, n_steps):
    """EM written plainly: starts with the crowd, then truths and sources in turn."""
    y_ial = one_hot(annotations)
    q_ik, crowd_kl = dense_first_look(y_ial)
    even_kl = dense_even(crowd_kl)
    prior, own, _ = dense_m_step(y_ial, q_ik, 10.0 * crowd_kl + 3.0 * even_kl)
    common, share = crowd_kl, np.full(len(own), 0.5)
    for _ in range(n_steps + 1):
        profile = dense_mixed(common, own, share)
        q_ik = dense_e_step(y_ial, prior, profile)
        prior, _, counts = dense_m_step(y_ial, q_ik, 0.0)
        counts = counts + 10.0 * crowd_kl
        from_common = counts * share[:, None, None] * common / profile
        common = from_common.sum(axis=0)
        common = common / common.sum(axis=1, keepdims=True)
        own = counts - from_common + 3.0 * even_kl
        own = own / own.sum(axis=2, keepdims=True)
        share = (from_common.sum(axis=(1, 2)) + 1.0) / (counts.sum(axis=(1, 2)) + 2.0)
    q_ik = dense_e_step(y_ial, prior, dense_mixed(common, own, share))
    return q_ik, common, own, share


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_steps", [1, 6])
def test_common_noise_equals_the_dense_one(seed, n_classes, n_steps):
    columns = random_labels(seed, n_classes=n_classes, n_annotations=60)
    annotations = Annotations.from_arrays(*columns, classes=range(n_classes))
    ours = CommonNoise(max_iter=n_steps, tol=0.0).fit(annotations)
    q_ik, common, own, share = dense_common_noise(annotations, n_steps)
    np.testing.assert_allclose(ours.probabilities, q_ik, atol=1e-9)
    np.testing.assert_allclose(ours.parameters.common_kl(), common, atol=1e-9)
    np.testing.assert_allclose(ours.parameters.own_akl(), own, atol=1e-9)
    np.testing.assert_allclose(ours.parameters.share_a, share, atol=1e-9)


def test_the_common_noise_objective_is_what_its_docstring_says(crowd):
    annotations = crowd.annotations[:50]
    short = CommonNoise(max_iter=4, tol=0.0).fit(annotations)
    longer = CommonNoise(max_iter=5, tol=0.0).fit(annotations)
    parameters = short.parameters
    _, crowd_kl = dense_first_look(one_hot(annotations))
    prior_k, share = np.exp(parameters.log_prior_k), parameters.share_a
    expected = (
        log_likelihood(annotations, prior_k, short.confusion)
        + 10.0 * (crowd_kl * np.log(short.confusion)).sum()
        + 3.0 * (dense_even(crowd_kl) * np.log(parameters.own_akl())).sum()
        + (np.log(share) + np.log1p(-share)).sum()
        + np.log(prior_k).sum()
    )
    assert longer.objective[-1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("strength", [0.0, 0.3])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(columns=label_columns(), pseudo=st.sampled_from([0.01, 1.0, 20.0]))
def test_weak_priors_never_let_the_objective_fall(strength, columns, pseudo):
    annotations = Annotations.from_arrays(*columns, classes=range(4))
    for settings_ in ({"prior_strength": strength}, {"own_strength": strength}):
        method = CommonNoise(share_pseudo_count=pseudo, tol=0.0, max_iter=25, **settings_)
        assert_never_falls(method.fit(annotations).objective)


@pytest.mark.parametrize(
    "setting", [{"own_strength": -1.0}, {"prior_strength": np.inf}, {"share_pseudo_count": 0.0}]
)
def test_common_noise_settings_are_checked(setting):
    with pytest.raises(SettingError, match=next(iter(setting))):
        CommonNoise(**setting)
