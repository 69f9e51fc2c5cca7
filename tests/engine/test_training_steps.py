"""One step: rates, decay, clipping and sharpness-aware minimisation, dense and sparse."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from featured_crowds import featured
from manyhands.engine.batches import CrowdData
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.optimisers import Stepper, make_optimisers
from manyhands.engine.schedules import set_rates
from manyhands.engine.settings import TrainingSettings
from manyhands.methods import METHODS, EndToEnd, Problem
from manyhands.networks import NETWORKS

END_TO_END_ROWS = [name for name, method in METHODS.items() if isinstance(method, EndToEnd)]
CPU = torch.device("cpu")


class Lookup(nn.Module):
    """A table with dense or sparse gradients, and a curved loss behind it."""

    def __init__(self, sparse):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.table = nn.Embedding(5, 3, sparse=sparse)
        self.head = nn.Linear(3, 2)
        with torch.no_grad():
            for each in self.parameters():
                each.copy_(torch.randn(each.shape, generator=generator))

    def loss(self):
        rows = torch.tensor([1, 3, 1, 1])  # row 1 is looked up again and again
        target = torch.tensor([0, 1, 1, 0])
        return functional.cross_entropy(self.head(self.table(rows).tanh()), target)


def dense_gradients(module):
    return [each.grad.to_dense() if each.grad.is_sparse else each.grad.clone()
            for each in module.parameters()]  # fmt: skip


def gradients_of(module):
    module.zero_grad()
    module.loss().backward()
    return dense_gradients(module)


def stepped(module, rate=1.0, **settings):
    """What one step of gradient descent does to every parameter."""
    before = [each.detach().clone() for each in module.parameters()]

    def backward():
        loss = module.loss()
        loss.backward()
        return loss.detach()

    optimiser = torch.optim.SGD(module.parameters(), lr=rate)
    Stepper(module, [optimiser], TrainingSettings(**settings))(backward)
    return [each.detach() - old for each, old in zip(module.parameters(), before, strict=True)]


def length(tensors):
    return math.sqrt(sum(float(each.square().sum()) for each in tensors))


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def module(request):
    return Lookup(request.param)


def test_clipping_bounds_the_length_and_keeps_the_direction(module):
    whole = gradients_of(module)
    change = stepped(copy.deepcopy(module), max_grad_norm=0.1)
    assert length(whole) > 0.2
    assert length(change) == pytest.approx(0.1, rel=1e-4)
    for one, other in zip(change, whole, strict=True):
        torch.testing.assert_close(one, -other * 0.1 / length(whole), atol=1e-6, rtol=1e-3)


def test_a_short_gradient_is_not_clipped(module):
    plain, clipped = copy.deepcopy(module), copy.deepcopy(module)
    for one, other in zip(stepped(plain), stepped(clipped, max_grad_norm=100.0), strict=True):
        assert torch.equal(one, other)


def test_sharpness_aware_steps_are_those_of_foret(module):
    """The gradient at w + rho g / ||g|| is applied at w."""
    radius, rate = 0.3, 0.7
    at_w = gradients_of(module)
    moved = copy.deepcopy(module)
    with torch.no_grad():
        for each, gradient in zip(moved.parameters(), at_w, strict=True):
            each.add_(radius * gradient / length(at_w))
    there = gradients_of(moved)
    change = stepped(copy.deepcopy(module), rate=rate, sam_rho=radius)
    for found, expected, plain in zip(change, there, at_w, strict=True):
        torch.testing.assert_close(found, -rate * expected, atol=1e-6, rtol=1e-5)
        assert not torch.allclose(found, -rate * plain, atol=1e-4)


def test_a_sharpness_aware_step_returns_to_the_same_bits(module):
    trained = copy.deepcopy(module)
    stepped(trained, rate=0.0, sam_rho=0.3)
    for one, other in zip(trained.parameters(), module.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_statistics_are_those_of_the_first_pass(momentum):
    torch.manual_seed(0)
    inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    norm = nn.BatchNorm1d(4, momentum=momentum)
    module = nn.Sequential(nn.Linear(4, 4), norm)
    module.loss = lambda: module(inputs).square().sum(dim=1).exp().mean()
    once = copy.deepcopy(norm)
    once(module[0](inputs))
    stepped(module, sam_rho=0.5)
    for name, value in norm.state_dict().items():
        if name.startswith(("running", "num")):
            assert torch.equal(value, once.state_dict()[name]), name
    assert norm.track_running_stats


# --- rates and decays ---


def a_learner(name="speelfc", sparse=False, crowd=None, **settings):
    crowd = featured() if crowd is None else crowd
    torch.manual_seed(0)
    shape = crowd.x.shape[1:]
    network = NETWORKS["logistic"](shape, crowd.annotations.n_classes)
    problem = Problem(annotations=crowd.annotations, shape=shape)
    made = TrainingSettings(sparse=sparse, **settings)
    module = METHODS[name].make_module(network, problem, made)
    inputs = CrowdData(TensorInputs(torch.from_numpy(crowd.x)), crowd.annotations, CPU)
    return module, next(inputs.batches(np.arange(12), 12)), made


def after_a_step(module, batch, settings):
    """How far every parameter moved in one step of its own optimiser."""
    before = {name: each.detach().clone() for name, each in module.named_parameters()}

    def backward():
        loss = module(batch)
        loss.backward()
        return loss.detach()

    Stepper(module, make_optimisers(module, settings), settings)(backward)
    return {name: each.detach() - before[name] for name, each in module.named_parameters()}


@pytest.mark.parametrize("sparse", [False, True])
def test_network_and_noise_have_rates_of_their_own(sparse):
    """The first step of Adam has the length of the rate, whatever the gradient."""
    rates = {"learning_rate": 0.01, "noise_learning_rate": 0.05}
    moved = after_a_step(*a_learner(sparse=sparse, **rates))
    assert moved["network.linear.weight"].abs().max() == pytest.approx(0.01, rel=1e-3)
    assert moved["noise.table.weight"].abs().max() == pytest.approx(0.05, rel=1e-3)


def test_without_a_rate_the_noise_has_that_of_the_network():
    moved = after_a_step(*a_learner(learning_rate=0.02))
    assert moved["noise.table.weight"].abs().max() == pytest.approx(0.02, rel=1e-3)


def test_the_difficulty_network_learns_slower():
    module, *rest = a_learner("speelfc-d", learning_rate=0.01, noise_learning_rate=0.05)
    with torch.no_grad():  # where every class is as probable, skill and difficulty tell nothing
        module.network.linear.weight.normal_(generator=torch.Generator().manual_seed(0))
    moved = after_a_step(module, *rest)
    assert moved["noise.alpha.weight"].abs().max() == pytest.approx(0.05, rel=1e-3)
    assert moved["noise.difficulty.0.weight"].abs().max() == pytest.approx(0.005, rel=1e-2)


@pytest.mark.parametrize("sparse", [False, True])
def test_decay_shrinks_the_rows_a_batch_has_touched(sparse):
    crowd = featured(n_annotators=40)
    decay = {"learning_rate": 0.1, "noise_weight_decay": 0.5}
    module, batch, settings = a_learner(sparse=sparse, crowd=crowd, **decay)
    start = module.noise.table.weight.detach().clone()
    after_a_step(module, batch, settings)
    plain, *_ = same = a_learner(sparse=sparse, crowd=crowd, learning_rate=0.1)
    after_a_step(*same)
    found, without = module.noise.table.weight, plain.noise.table.weight
    touched = torch.zeros(40, dtype=torch.bool)
    touched[batch.annotations.annotator] = True
    assert 0 < touched.sum() < 40
    if sparse:
        torch.testing.assert_close(found[touched], (without - 0.1 * 0.5 * start)[touched])
        assert torch.equal(found[~touched], start[~touched])
    else:  # Adam with decay: all rows shrink, those of others as well
        torch.testing.assert_close(found, without - 0.1 * 0.5 * start)


def test_the_networks_decay_leaves_the_noise_alone():
    weights = []
    for decay in (0.0, 0.5):
        module, batch, settings = a_learner(learning_rate=0.1, weight_decay=decay)
        with torch.no_grad():
            module.network.linear.weight.fill_(1.0)
        after_a_step(module, batch, settings)
        weights.append((module.network.linear.weight, module.noise.table.weight))
    (network, noise), (decayed, same) = weights
    torch.testing.assert_close(decayed, network - 0.1 * 0.5)
    assert torch.equal(noise, same)


@pytest.mark.parametrize("name", END_TO_END_ROWS)
def test_sparse_and_dense_gradients_are_equal(name):
    made = {}
    for sparse in (False, True):
        module, batch, _ = a_learner(name, sparse=sparse)
        if hasattr(module.noise, "strength"):  # a sparse penalty is right on average only
            module.noise.strength = 0.0
        module(batch).backward()
        made[sparse] = dict(zip(dict(module.named_parameters()), dense_gradients(module),
                                strict=True))  # fmt: skip
    for path, gradient in made[False].items():
        torch.testing.assert_close(made[True][path], gradient, atol=1e-7, rtol=1e-4)


def test_a_network_may_have_sparse_tables_of_its_own():
    crowd = featured()
    network = nn.Sequential(nn.EmbeddingBag(10, 4, sparse=True), nn.Linear(4, 3))
    problem = Problem(annotations=crowd.annotations, shape=(5,))
    settings = TrainingSettings(learning_rate=0.01)
    module = METHODS["speelfc"].make_module(network, problem, settings)
    codes = torch.randint(0, 10, (60, 5), generator=torch.Generator().manual_seed(0))
    batch = next(CrowdData(TensorInputs(codes), crowd.annotations, CPU).batches(np.arange(60), 60))
    moved = after_a_step(module, batch, settings)
    assert moved["network.0.weight"].abs().max() == pytest.approx(0.01, rel=1e-3)


def test_the_cosine_falls_to_zero_and_the_constant_does_not():
    module, _, settings = a_learner(sparse=True, noise_learning_rate=0.05)
    for schedule, share in (("cosine", [1.0, 0.75, 0.25]), ("constant", [1.0, 1.0, 1.0])):
        settings = TrainingSettings(epochs=3, schedule=schedule, noise_learning_rate=0.05)
        optimisers = make_optimisers(module, settings)
        rates = []
        for epoch in range(3):
            set_rates(optimisers, settings, epoch)
            rates.append([group["lr"] for each in optimisers for group in each.param_groups])
        np.testing.assert_allclose(np.array(rates)[:, 0], 1e-3 * np.array(share))
        np.testing.assert_allclose(np.array(rates)[:, 1], 0.05 * np.array(share))
