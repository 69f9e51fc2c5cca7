"""Max-MIG as a method: starts, priors, portraits, and what is learnt."""

import numpy as np
import pytest
import torch
from torch import nn

from featured_crowds import assert_same_bits, featured, fit, weights
from manyhands.aggregation import DawidSkene, aggregate, estimate_confusions, fit_guarded
from manyhands.aggregation.guard import find_collapse
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError
from manyhands.engine.batches import CrowdData
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.settings import TrainingSettings
from manyhands.estimators import CrowdClassifier
from manyhands.methods import METHODS, MaxMIG, Problem
from manyhands.methods.max_mig import smoothed_mean


@pytest.fixture(scope="module")
def crowd():
    return featured("confusions", n_items=200, labels_per_item=4)


def learner_of(crowd, method=None, settings=None):
    torch.manual_seed(0)
    network = nn.Linear(crowd.x.shape[1], crowd.annotations.n_classes)
    problem = Problem(annotations=crowd.annotations, shape=crowd.x.shape[1:])
    return (method or MaxMIG()).make_module(network, problem, settings or TrainingSettings())


def whole(crowd):
    """All items in one batch."""
    data = CrowdData(
        TensorInputs(torch.from_numpy(crowd.x)), crowd.annotations, torch.device("cpu")
    )
    return data, next(data.batches(data.labelled, len(crowd.x)))


def test_own_starts_are_the_confusions_against_the_majority(crowd):
    ann = crowd.annotations
    wanted = estimate_confusions(ann, aggregate(ann, "majority").probabilities)
    np.testing.assert_allclose(learner_of(crowd).noise.confusion(), wanted, atol=1e-5)
    found = learner_of(crowd, MaxMIG(init="auto")).noise.confusion()
    np.testing.assert_allclose(found, DawidSkene().fit(ann).confusion, atol=1e-5)


def test_where_the_consensus_has_collapsed_another_one_is_the_start():
    rng = np.random.default_rng(0)
    truth_i, item = rng.integers(3, size=900), np.repeat(np.arange(900), 5)
    annotator = np.argsort(rng.random((900, 300)), axis=1)[:, :5].ravel()
    presses_a, right_n = rng.random(300) < 0.5, rng.random(4500) < 0.65
    honest_n = np.where(right_n, truth_i[item], rng.integers(3, size=4500))
    button_n = rng.integers(3, size=300)[annotator]
    label = np.where(presses_a[annotator], button_n, honest_n)
    ann = Annotations.from_arrays(item, annotator, label)
    starts = {
        start: MaxMIG(init=start).make_module(
            nn.Linear(2, 3), Problem(annotations=ann, shape=(2,)), TrainingSettings()
        ).noise.confusion()
        for start in ("own", "consensus", "auto")
    }  # fmt: skip
    collapsed, found = DawidSkene().fit(ann), fit_guarded(DawidSkene(), ann)
    assert find_collapse(collapsed)
    assert found.method_name != "dawid-skene"
    for start, confusion_akl in (("auto", found.confusion), ("consensus", collapsed.confusion)):
        np.testing.assert_allclose(starts[start].numpy(), confusion_akl, atol=0.02)
    assert not torch.equal(starts["own"], starts["consensus"])


def test_priors(crowd):
    shares = aggregate(crowd.annotations, "majority").probabilities.mean(axis=0)
    uniform = learner_of(crowd, MaxMIG(prior="uniform")).prior
    np.testing.assert_allclose(uniform, 1 / 3, atol=1e-6)
    fixed = learner_of(crowd, MaxMIG(prior="shares"))
    wanted = (200 * shares + 1) / 203
    np.testing.assert_allclose(fixed.prior, wanted, atol=1e-6)
    learnt = learner_of(crowd, MaxMIG(prior="learnt"))
    data, batch = whole(crowd)
    for each in (fixed, learnt):
        each.on_epoch_start(data, 0)
    np.testing.assert_allclose(fixed.prior, wanted, atol=1e-6)
    mean = learnt.network(batch.inputs).softmax(-1)
    torch.testing.assert_close(learnt.prior, smoothed_mean(mean), atol=1e-6, rtol=0.0)


def test_the_pull_weighs_as_a_prior_of_the_items_information(crowd):
    _, batch = whole(crowd)
    free, pulled = (learner_of(crowd, MaxMIG({"prior_precision": each})) for each in (0.0, 3.0))
    for each in (free, pulled):
        with torch.no_grad():
            each.noise.table.weight += 0.1
    distance = 0.1**2 * pulled.noise.table.weight.numel()
    wanted = free(batch).item() + 3.0 / 2 * distance / 200
    assert pulled(batch).item() == pytest.approx(wanted, abs=1e-5)


def test_network_and_labels_together_are_the_product_of_both_sides(crowd):
    model = fit("max-mig", crowd)
    class_ik, prior = model.predict_proba(crowd.x), np.array([0.2, 0.5, 0.3])
    ann = crowd.annotations
    log_g = np.tile(np.log(prior), (len(ann), 1))
    np.add.at(log_g, ann.item, np.log(model.confusion_)[ann.annotator, :, ann.label])
    g = np.exp(log_g) / np.exp(log_g).sum(axis=1, keepdims=True)
    both = class_ik * g / prior
    found = model.infer(crowd.x, ann).probabilities
    np.testing.assert_allclose(found, both / both.sum(axis=1, keepdims=True), atol=1e-5)


def test_what_will_be_said_is_foretold_by_the_portraits(crowd):
    model = fit("max-mig", crowd)
    ann = crowd.annotations
    wanted = np.einsum(
        "nk,nkl->nl", model.predict_proba(crowd.x)[ann.item], model.confusion_[ann.annotator]
    )
    found = np.exp(model.predict_labels(crowd.x, ann).log_label_nl)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("init", ["own", "consensus"])
def test_simulated_confusions_are_recovered(init):
    crowd = featured("confusions", n_items=1000, labels_per_item=4, spread=0.4)
    model = fit(
        MaxMIG({"prior_precision": 1.0}, init), crowd, network="logistic", epochs=20,
        batch_size=64, learning_rate=0.01, warm_up=3,
    )  # fmt: skip
    off = np.abs(model.confusion_ - crowd.confusion)
    majority = estimate_confusions(
        crowd.annotations, aggregate(crowd.annotations, "majority").probabilities
    )
    assert off.max() < 0.2
    assert off.mean() < 0.6 * np.abs(majority - crowd.confusion).mean()
    assert (model.infer(crowd.x, crowd.annotations).labels == crowd.truth).mean() > 0.97


def test_killed_and_resumed_it_ends_with_the_same_bits(crowd, tmp_path):
    whole_run = fit("max-mig", crowd, epochs=5, warm_up=1)
    stopped = CrowdClassifier(
        method="max-mig", epochs=5, warm_up=1, batch_size=16, progress=False, device="cpu",
        checkpoint=tmp_path,
    )  # fmt: skip
    seen = []

    def stop(_):
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        stopped.fit(crowd.x, crowd.annotations, callback=stop)
    assert_same_bits(stopped.fit(crowd.x, crowd.annotations, resume=True), whole_run)


def test_settings_are_checked():
    with pytest.raises(SettingError, match="prior must be"):
        MaxMIG(prior="majority")
    with pytest.raises(SettingError, match="init must be"):
        MaxMIG(init="majority")
    with pytest.raises(SettingError, match="no setting 'accuracy'; known: prior_precision"):
        CrowdClassifier(method="max-mig", noise={"accuracy": 0.9})._resolve_method()
    own = CrowdClassifier(
        method="max-mig", noise={"prior_precision": 2.0}, init="own"
    )._resolve_method()
    assert isinstance(own, MaxMIG)
    assert own.settings == {"prior_precision": 2.0}
    assert own.prior == METHODS["max-mig"].prior


def test_a_part_of_a_step_without_items_costs_nothing(crowd):
    data, _ = whole(crowd)
    *_, last = data.batches(data.labelled[:1], 4, rank=0, n_ranks=4)
    assert len(last.items) == 0
    assert learner_of(crowd)(last).item() == 0.0
    assert all(each.isfinite().all() for each in weights(fit("max-mig", crowd)).values())
