"""What only the methods of the papers satisfy: restarts, starts, targets and exact kernels."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import rbf_kernel

from featured_crowds import QUICK, assert_same_bits, featured, fit
from manyhands.aggregation import DawidSkene, Majority
from manyhands.aggregation.dawid_skene import ConfusionSteps
from manyhands.annotations import Annotations
from manyhands.core.settings import seed_for
from manyhands.engine.batches import CrowdData
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.loop import converged
from manyhands.estimators import CrowdClassifier, CrowdRegressor
from manyhands.methods import EM, METHODS, MaxMIG, MixtureEM, TwoStage
from manyhands.methods.em_regression import residual_precisions
from manyhands.methods.linear.kernel_machine import fit_kernel_map
from manyhands.methods.max_mig import information_loss, label_log_prob
from manyhands.noise import AnnotationBatch, SpeeLFC
from rated_crowds import fit_numbers, rated

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def crowd():
    return featured()


def objective(model, method, crowd):
    """What training of a method maximised, per label."""
    inputs = model.encoder_.transform(crowd.x)
    data = CrowdData(inputs, crowd.annotations, CPU)
    module = model.method_class_.fitted_module(model._task(), model.network_, model.noise_)
    if isinstance(method, EM):
        steps = ConfusionSteps(crowd.annotations, method.confusions)
        log_class = torch.from_numpy(np.log(model.predict_proba(crowd.x))).numpy()
        return steps.e_step(log_class, model.confusion_)[1]
    return module.log_likelihood(data)


@pytest.mark.parametrize("method", [EM(start="majority"), MixtureEM(start="k-means")])
def test_of_several_restarts_the_best_is_kept(method, crowd):
    seeds = [0, *(seed_for(0, f"restart {number}") for number in (1, 2, 3))]
    alone = [fit(method, crowd, seed=seed) for seed in seeds]
    reached = [objective(model, method, crowd) for model in alone]
    assert len(set(reached)) == 4
    best = alone[int(np.argmax(reached))]
    assert_same_bits(fit(replace(method, restarts=4), crowd), best)


def test_restarts_continue_from_their_checkpoints(crowd, tmp_path):
    method = EM(start="majority", restarts=3)
    whole = fit(method, crowd, checkpoint=tmp_path)
    assert sorted(each.name for each in tmp_path.glob("restart-*")) == ["restart-1", "restart-2"]
    assert_same_bits(fit(method, crowd, checkpoint=tmp_path, resume=True), whole)


def test_training_stops_when_the_objective_has_settled(crowd):
    method = EM(start="majority")
    model = fit(method, crowd, epochs=60, tol=0.01, network="logistic", learning_rate=0.1)
    values = [entry["objective"] for entry in model.history_ if "objective" in entry]
    changes = np.abs(np.diff(values))
    assert len(model.history_) < 60
    assert changes[-1] < 0.01 <= changes[:-1].min()
    whole = fit(method, crowd, epochs=len(model.history_), network="logistic", learning_rate=0.1)
    assert_same_bits(model, whole)


def test_other_methods_stop_when_the_loss_has_settled():
    entry = {"warm_up_epoch": False}
    falling = [{**entry, "loss": loss} for loss in (1.0, 0.7, 0.69)]
    assert converged(falling, 0.05)
    assert not converged(falling[:2], 0.05)
    assert not converged(falling[:1], 0.05)
    assert not converged([{**falling[1], "warm_up_epoch": True}, falling[2]], 0.05)
    # Without an E-step before this epoch there is nothing to compare.
    alternating = [{**each, "objective": -1.0} for each in falling[:2]]
    assert converged(alternating, 0.05)
    assert not converged([*alternating, falling[2]], 0.05)


def test_the_objective_of_em_is_the_likelihood_of_all_labels_and_the_prior(crowd):
    ann, rng = crowd.annotations, np.random.default_rng(0)
    model = DawidSkene(prior="flat", prior_strength=1.5)
    class_ik = rng.dirichlet(np.ones(3), size=ann.n_items)
    confusion = rng.dirichlet(np.ones(3), size=(ann.n_annotators, 3))
    expected = 1.5 / 3 * np.log(confusion).sum()
    for item in range(ann.n_items):
        said = class_ik[item].copy()
        for n in np.flatnonzero(ann.item == item):
            said *= confusion[ann.annotator[n], :, ann.label[n]]
        expected += np.log(said.sum())
    posterior, found = ConfusionSteps(ann, model).e_step(np.log(class_ik), confusion)
    np.testing.assert_allclose(found * ann.n_annotations, expected)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "method", [EM(start="majority"), MixtureEM(start="k-means", items_count_once=True)]
)
def test_the_first_epoch_learns_the_label_distributions(method, crowd):
    """As a two-stage method on soft majorities does: the same seed gives the same network."""
    soft = METHODS["two-stage-soft-majority"]
    how = {"epochs": 1, "warm_up": 0, "validation_fraction": 0.0}
    found, expected = (fit(each, crowd, **how).network_.state_dict() for each in (method, soft))
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    more = fit(method, crowd, **(how | {"epochs": 3})).network_.state_dict()
    plain = fit(soft, crowd, **(how | {"epochs": 3})).network_.state_dict()
    assert not all(torch.equal(more[name], plain[name]) for name in plain)


@pytest.mark.parametrize(("once", "totals"), [(True, [1.0, 1.0]), (False, [1.5, 0.5])])
def test_items_count_once_or_by_their_labels(once, totals):
    ann = Annotations.from_arrays([0, 0, 0, 1], [0, 1, 2, 0], [0, 0, 1, 1])
    method = MixtureEM(n_groups=2, items_count_once=once)
    model = CrowdClassifier(method=method, network="logistic", **QUICK)
    fitting = model._prepare(np.eye(2, dtype=np.float32), ann)
    module = method.make_module(torch.nn.Linear(2, 2), fitting.problem, fitting.plan.settings)
    module.on_epoch_start(CrowdData(fitting.inputs, ann, CPU), 0)
    np.testing.assert_allclose(module.targets.sum(dim=1), totals, atol=1e-6)


def test_a_consensus_that_collapsed_is_kept_as_published():
    """Every label has an annotator of its own: without a prior nothing can be learnt of them."""
    ann = featured().annotations
    nameless = Annotations.from_arrays(ann.item, np.arange(ann.n_annotations), ann.label)
    published = METHODS["two-stage-dawid-skene"].published()
    assert isinstance(published, TwoStage)
    assert not published.guarded
    assert published.aggregator.prior_strength == published.aggregator.class_pseudo_count == 0
    seen = []

    class Spy(Majority):
        def fit(self, annotations, *args, **kwargs):
            seen.append(annotations.n_annotations)
            return super().fit(annotations, *args, **kwargs)

    crowd = featured()._replace(annotations=nameless)
    fit(replace(published, aggregator=Spy()), crowd, epochs=1)
    assert seen == [ann.n_annotations]  # once, and no other model was asked


def test_free_weights_have_rows_of_any_height_and_columns_that_cancel():
    rng = torch.Generator().manual_seed(0)
    noise = SpeeLFC(4, 3).double()
    with torch.no_grad():
        noise.table.weight += torch.randn(4, 9, generator=rng, dtype=torch.float64)
    row, who = torch.tensor([0, 0, 1, 2, 2]), torch.tensor([0, 1, 2, 3, 0])
    batch = AnnotationBatch(row, who, torch.tensor([0, 2, 1, 1, 0]))
    log_class = torch.randn(3, 3, generator=rng, dtype=torch.float64).log_softmax(-1)
    log_prior = torch.full((3,), 1 / 3, dtype=torch.float64).log()

    def loss(free):
        said = label_log_prob(noise, batch, 3, free=free)
        return information_loss(log_class, said, log_prior)

    before = {free: loss(free).detach() for free in (True, False)}
    moved = noise.table.weight.detach().clone()
    with torch.no_grad():  # a column up: an item's g is the same
        noise.table.weight.view(4, 3, 3)[0, :, 0] += 0.7
    torch.testing.assert_close(loss(True), before[True])
    assert not torch.allclose(loss(False), before[False])
    with torch.no_grad():  # a row up: only free weights notice
        noise.table.weight.copy_(moved)
        noise.table.weight.view(4, 3, 3)[0, 1, :] += 0.7
    torch.testing.assert_close(loss(False), before[False])
    assert not torch.allclose(loss(True), before[True])
    with torch.no_grad():  # rows that sum to 1: both are the same
        noise.table.weight.copy_(moved.view(4, 3, 3).log_softmax(-1).view(4, 9))
    torch.testing.assert_close(loss(True), loss(False))


def test_free_weights_start_at_the_confusions_of_the_majority_and_end_as_profiles(crowd):
    method = MaxMIG(init="own", weights="free", prior="uniform")
    fitting = CrowdClassifier(method=method, **QUICK)._prepare(crowd.x, crowd.annotations)
    module = method.make_module(torch.nn.Linear(5, 3), fitting.problem, fitting.plan.settings)
    bound = method._layer(fitting.problem, sparse=False).table.weight
    rows = module.noise.table.weight.view(6, 3, 3).exp().sum(dim=-1)
    torch.testing.assert_close(rows, torch.full((6, 3), 1.03))  # 0.01 more in every cell
    assert torch.equal(bound, module.noise.table.weight)
    model = fit(method, crowd, epochs=8)
    right = np.einsum("akk->ak", model.confusion_).mean()
    assert right > 0.5
    truth = np.einsum("akk->ak", crowd.confusion).mean()
    assert abs(right - truth) < 0.15


def test_with_one_landmark_per_item_the_kernel_is_exact():
    """A thousand items have a landmark each as published; fewer landmarks approximate."""
    x = np.random.default_rng(0).normal(size=(60, 4))
    published = METHODS["pc-gp"].published()
    assert published.n_landmarks == 1000 > METHODS["pc-gp"].n_landmarks
    exact = fit_kernel_map(x, n_landmarks=published.n_landmarks)
    mapped, fewer = exact.transform(x), fit_kernel_map(x, n_landmarks=40).transform(x)
    kernel = rbf_kernel(x, gamma=exact.gamma)
    np.testing.assert_allclose(mapped @ mapped.T, kernel, atol=1e-6)
    assert np.abs(fewer @ fewer.T - kernel).max() > 1e-3


def test_an_exact_kernel_does_not_depend_on_the_seed(crowd):
    how = {"published": True, "epochs": 30, "scale": "standard"}
    found, other = (fit("pc-gp", crowd, seed=seed, **how) for seed in (0, 1))
    close = {"atol": 1e-5, "rtol": 0}
    np.testing.assert_allclose(found.predict_proba(crowd.x), other.predict_proba(crowd.x), **close)


def test_unlabelled_items_teach_semi_lfc_as_published(crowd):
    rng = np.random.default_rng(1)
    more = np.concatenate([crowd.x, rng.normal(size=(40, 5)).astype(np.float32)])
    names = np.arange(100)
    ann = crowd.annotations
    wide = Annotations.from_arrays(ann.item, ann.annotator, ann.label, items=names)
    found = fit("semi-lfc", crowd, x=more, annotations=wide, published=True)
    alone = fit("semi-lfc", crowd, published=True)
    assert not np.allclose(found.predict_proba(crowd.x), alone.predict_proba(crowd.x))


@pytest.mark.parametrize("kind", ["b", "sb"])
def test_regression_as_published_is_descent_on_the_squared_error(kind):
    """A loop of torch's own with the whole data as one batch: scales, biases and a linear map.

    Adam would make full steps of the rounding errors of the intercept, whose gradient begins at 0.
    """
    crowd = rated()
    how = {"network": "logistic", "epochs": 15, "batch_size": 100, "learning_rate": 0.05}
    how |= {"optimizer": "sgd", "momentum": 0.0}
    model = fit_numbers(f"crowd-layer-{kind}", crowd, published=True, **how)
    ann = model.scaler_.transform_labels(crowd.annotations)
    row, who = torch.tensor(ann.item).long(), torch.tensor(ann.annotator).long()
    label, x = torch.tensor(ann.label).float(), torch.from_numpy(crowd.x)
    network = torch.nn.Linear(4, 1)
    for each in network.parameters():
        torch.nn.init.zeros_(each)
    bias, scale = torch.zeros(6, requires_grad=True), torch.ones(6, requires_grad=True)
    learnt = [*network.parameters(), bias, *([scale] if kind == "sb" else [])]
    optimiser = torch.optim.SGD(learnt, lr=0.05)
    for _ in range(15):
        optimiser.zero_grad()
        predicted = scale[who] * network(x)[row, 0] + bias[who]
        torch.nn.functional.mse_loss(predicted, label).backward()
        optimiser.step()
    close = {"atol": 1e-4, "rtol": 0}
    with torch.no_grad():
        expected = model.scaler_.inverse_transform(network(x)[:, 0].double().numpy())
    np.testing.assert_allclose(model.predict(crowd.x), expected, **close)
    np.testing.assert_allclose(model.noise_.profile["bias"], bias.detach(), **close)
    np.testing.assert_allclose(model.noise_.profile["scale"], scale.detach(), **close)


@pytest.mark.parametrize("name", ["two-stage-mean", "crowd-layer-b", "em-regression", "truth"])
def test_the_intercept_stays_as_training_left_it(name):
    crowd = rated()
    published = METHODS[name].published(True, "regression")
    how = {"epochs": 2, "validation_fraction": 0.0, "warm_up": 0, "optimizer": "adam"}
    own, new = (
        fit_numbers(replace(published, refit_intercept=refits), crowd, **how)
        for refits in (False, True)
    )
    first, second = own.network_.state_dict(), new.network_.state_dict()
    moved = [each for each in first if not torch.equal(first[each], second[each])]
    assert moved == [list(first)[-1]]  # the bias of the last layer, and nothing else


def test_precisions_from_residuals_are_those_of_maximum_likelihood():
    crowd = rated()
    ann, value = crowd.annotations, crowd.truth
    found = residual_precisions(ann, value, np.ones(ann.n_annotators))
    off = ann.label - value[ann.item]

    def log_likelihood(precision):
        each = precision[ann.annotator]
        return float((np.log(each) - each * off**2).sum() / 2)

    best = log_likelihood(found)
    for annotator in range(ann.n_annotators):
        for factor in (0.99, 1.01):
            other = found.copy()
            other[annotator] *= factor
            assert log_likelihood(other) < best
    nobody = Annotations.from_arrays([0], ["u"], [1.0], annotators=["u", "v"], kind="numbers")
    assert residual_precisions(nobody, np.zeros(1), np.array([2.0, 3.0])).tolist() == [1.0, 3.0]


def test_em_for_numbers_learns_labels_weighted_by_their_precision():
    crowd = rated()
    method = METHODS["em-regression"].published()
    fitting = CrowdRegressor(method=method, **QUICK)._prepare(crowd.x, crowd.annotations)
    network = torch.nn.Linear(4, 1)
    module = method.make_module(network, fitting.problem, fitting.plan.settings)
    ann = fitting.problem.annotations
    data = CrowdData(TensorInputs(torch.from_numpy(crowd.x)), ann, CPU)
    means = module.targets.clone()
    module.on_epoch_start(data, 0)
    assert torch.equal(module.targets, means)  # the plain means come first
    module.on_epoch_start(data, 1)
    with torch.no_grad():
        value = network(torch.from_numpy(crowd.x))[:, 0].double().numpy()
    precision = residual_precisions(ann, value, np.ones(6))
    for item in (0, 7):
        own = ann.item == item
        expected = np.average(ann.label[own], weights=precision[ann.annotator[own]])
        np.testing.assert_allclose(module.targets[item, 0], expected, atol=1e-5)
