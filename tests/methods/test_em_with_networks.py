"""EM in which a network takes the place of the class prior."""

import numpy as np
import pytest
import torch

from constant_network import Constant, three_classes
from manyhands.aggregation import DawidSkene
from manyhands.aggregation.dawid_skene import ConfusionSteps
from manyhands.estimators import CrowdClassifier
from manyhands.methods import EM, METHODS


@pytest.fixture(scope="module")
def crowd():
    return three_classes()


@pytest.mark.parametrize("strength", [1.0, 10.0])
def test_with_a_constant_network_it_is_dawid_skene(crowd, strength):
    x, ann, _ = crowd
    priors = DawidSkene(prior_strength=strength, class_pseudo_count=0.0, max_iter=500, tol=1e-9)
    model = CrowdClassifier(
        Constant(3), EM(priors), epochs=250, batch_size=150, learning_rate=0.05, scale="none",
        progress=False,
    ).fit(x, ann)  # fmt: skip
    wanted = priors.fit(ann)
    np.testing.assert_allclose(model.confusion_, wanted.confusion, atol=2e-3)
    np.testing.assert_allclose(model.infer(x, ann).probabilities, wanted.probabilities, atol=5e-3)


def test_an_e_step_multiplies_classifier_and_labels(crowd):
    _, ann, _ = crowd
    steps = ConfusionSteps(ann, DawidSkene())
    rng = np.random.default_rng(2)
    log_class = np.log(rng.dirichlet(np.ones(3), len(ann)))
    confusion = rng.dirichlet(np.ones(3), (ann.n_annotators, 3))
    found = steps.posterior(log_class, confusion)
    wanted = np.exp(log_class)
    for i, a, label in zip(ann.item, ann.annotator, ann.label, strict=True):
        wanted[i] *= confusion[a, :, label]
    np.testing.assert_allclose(found, wanted / wanted.sum(axis=1, keepdims=True), atol=1e-12)


def test_an_m_step_is_the_most_probable_confusion(crowd):
    _, ann, _ = crowd
    steps = ConfusionSteps(ann, DawidSkene(prior="flat", prior_strength=3.0))
    posterior = np.random.default_rng(3).dirichlet(np.ones(3), len(ann))
    counts = np.full((ann.n_annotators, 3, 3), 1.0)  # 3 labels a class, over 3 labels alike
    for i, a, label in zip(ann.item, ann.annotator, ann.label, strict=True):
        counts[a, :, label] += posterior[i]
    wanted = counts / counts.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(steps.confusions(posterior), wanted, atol=1e-12)


def test_targets_stay_for_as_many_epochs_as_asked_for(crowd, monkeypatch):
    x, ann, _ = crowd
    seen = []
    whole = ConfusionSteps.e_step

    def spy(self, *given):
        seen.append(given)
        return whole(self, *given)

    monkeypatch.setattr(ConfusionSteps, "e_step", spy)
    CrowdClassifier(method=EM(every=3), epochs=7, warm_up=1, progress=False).fit(x, ann)
    assert len(seen) == 2  # of six epochs after the warm-up, before the first and the fourth


def test_killed_between_two_e_steps_it_goes_on_to_the_same_bits(crowd, tmp_path):
    x, ann, _ = crowd
    how = {"method": EM(every=4), "progress": False, "batch_size": 32}
    whole = CrowdClassifier(epochs=6, **how).fit(x, ann)
    stopped = CrowdClassifier(epochs=6, checkpoint=tmp_path, **how)

    def stop(_):
        stop.epochs += 1
        if stop.epochs == 3:
            raise KeyboardInterrupt
        return {}

    stop.epochs = 0
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(x, ann, callback=stop)
    again = stopped.fit(x, ann, resume=True)
    for name, value in whole.network_.state_dict().items():
        assert torch.equal(value, again.network_.state_dict()[name]), name
    assert np.array_equal(whole.confusion_, again.confusion_)


def test_labels_and_network_help_each_other(crowd):
    x, ann, truth = crowd
    model = CrowdClassifier(method="em", progress=False).fit(x, ann)
    alone = DawidSkene().fit(ann).probabilities.argmax(axis=1)
    together = model.infer(x, ann).probabilities.argmax(axis=1)
    assert (together == truth).mean() > (alone == truth).mean()
    assert isinstance(METHODS["em"], EM)
