"""CoNAL by EM: a shared confusion, own ones, and a network in the place of the class prior."""

import numpy as np
import pytest
import torch

from constant_network import Constant, three_classes
from manyhands.aggregation import CommonNoise
from manyhands.aggregation.common_noise_steps import AnnotationShareSteps, Sources
from manyhands.core.errors import SettingError
from manyhands.estimators import CrowdClassifier
from manyhands.methods import CommonNoiseEM


@pytest.fixture(scope="module")
def crowd():
    return three_classes()


def test_with_a_constant_network_and_one_omega_each_it_is_the_aggregator(crowd):
    x, ann, _ = crowd
    sources = CommonNoise(class_pseudo_count=0.0, max_iter=400, tol=0.0)
    model = CrowdClassifier(
        Constant(3), CommonNoiseEM(sources, omega="annotator"), epochs=400, batch_size=150,
        learning_rate=0.05, scale="none", progress=False,
    ).fit(x, ann)  # fmt: skip
    wanted = sources.fit(ann)
    np.testing.assert_allclose(model.confusion_, wanted.confusion, atol=5e-3)
    np.testing.assert_allclose(model.infer(x, ann).probabilities, wanted.probabilities, atol=1e-2)


def random_sources(ann, rng):
    common = rng.dirichlet(np.ones(3), 3).T
    own = rng.dirichlet(np.ones(3), (ann.n_annotators, 3)).transpose(0, 2, 1)
    return Sources(np.log(common), np.log(own), rng.uniform(size=ann.n_annotations))


def test_a_step_is_what_the_source_writes_down(crowd):
    _, ann, _ = crowd
    rng = np.random.default_rng(2)
    f = rng.dirichlet(np.ones(3), len(ann))
    before = random_sources(ann, rng)
    plain = CommonNoise(prior_strength=0.0, own_strength=0.0)
    steps = AnnotationShareSteps(ann, plain, share_pseudo_count=0.0)
    posterior, after = steps.step(np.log(f), before)
    g, c, omega = np.exp(before.log_common_lk), np.exp(before.log_own_alk), before.share
    q = f.copy()
    triples = list(zip(ann.item, ann.annotator, ann.label, strict=True))
    for n, (i, a, y) in enumerate(triples):
        for k in range(3):
            q[i, k] *= omega[n] * g[y, k] + (1 - omega[n]) * c[a, y, k]
    q /= q.sum(axis=1, keepdims=True)
    shared, own, share = np.zeros((3, 3)), np.zeros_like(c), np.zeros(len(triples))
    for n, (i, a, y) in enumerate(triples):
        for k in range(3):
            r = omega[n] * g[y, k] / (omega[n] * g[y, k] + (1 - omega[n]) * c[a, y, k])
            shared[y, k] += q[i, k] * r
            own[a, y, k] += q[i, k] * (1 - r)
            share[n] += q[i, k] * r
    np.testing.assert_allclose(posterior, q, atol=1e-12)
    np.testing.assert_allclose(np.exp(after.log_common_lk), shared / shared.sum(0), atol=1e-12)
    np.testing.assert_allclose(np.exp(after.log_own_alk), own / own.sum(1)[:, None], atol=1e-12)
    np.testing.assert_allclose(after.share, share, atol=1e-12)


@pytest.mark.parametrize("pseudo", [0.0, 0.5])
def test_the_objective_never_falls_under_one_classifier(crowd, pseudo):
    _, ann, _ = crowd
    rng = np.random.default_rng(3)
    f = rng.dirichlet(np.ones(3), len(ann))
    steps = AnnotationShareSteps(ann, CommonNoise(), share_pseudo_count=pseudo)
    sources, objectives = steps.first, []
    for _ in range(60):
        said = sources.share[:, None] * np.exp(sources.log_common_lk)[ann.label]
        said += (1 - sources.share[:, None]) * np.exp(sources.log_own_alk[ann.annotator, ann.label])
        joint = np.log(f)
        np.add.at(joint, ann.item, np.log(said))
        prior = (steps.pseudo_lk * sources.log_own_alk).sum()
        if pseudo:
            prior += pseudo * (np.log(sources.share) + np.log1p(-sources.share)).sum()
        objectives.append(np.log(np.exp(joint).sum(axis=1)).sum() + prior)
        sources = steps.step(np.log(f), sources)[1]
    assert np.diff(objectives).min() > -1e-8
    assert objectives[-1] > objectives[0] + 1.0


@pytest.mark.parametrize("omega", ["annotation", "annotator"])
def test_labels_and_network_help_each_other(crowd, omega):
    x, ann, truth = crowd
    method = CommonNoiseEM(omega=omega)
    model = CrowdClassifier(method=method, epochs=30, warm_up=5, progress=False).fit(x, ann)
    alone = CommonNoise().fit(ann).probabilities.argmax(axis=1)
    together = model.infer(x, ann).probabilities.argmax(axis=1)
    assert (together == truth).mean() > (alone == truth).mean()


@pytest.mark.parametrize("omega", ["annotation", "annotator"])
def test_killed_between_two_e_steps_it_goes_on_to_the_same_bits(crowd, tmp_path, omega):
    x, ann, _ = crowd
    how = {"method": CommonNoiseEM(omega=omega, every=4), "progress": False, "batch_size": 32}
    whole = CrowdClassifier(epochs=10, **how).fit(x, ann)
    stopped = CrowdClassifier(epochs=10, checkpoint=tmp_path, **how)

    def stop(_):
        stop.epochs += 1
        if stop.epochs == 6:
            raise KeyboardInterrupt
        return {}

    stop.epochs = 0
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(x, ann, callback=stop)
    again = stopped.fit(x, ann, resume=True)
    for name, value in whole.network_.state_dict().items():
        assert torch.equal(value, again.network_.state_dict()[name]), name
    assert np.array_equal(whole.confusion_, again.confusion_)


def test_settings_are_checked():
    with pytest.raises(SettingError, match="omega"):
        CommonNoiseEM(omega="both")
    with pytest.raises(SettingError, match="share_pseudo_count"):
        CommonNoiseEM(share_pseudo_count=-1.0)
