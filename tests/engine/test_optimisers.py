"""Optimisers, schedules and the average of weights: their laws, and that a run goes on."""

import copy
from types import MappingProxyType

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from featured_crowds import assert_same_bits, featured, fit
from manyhands.core.errors import SettingError
from manyhands.engine import checkpoint, loop
from manyhands.engine.optimisers import Stepper, make_optimisers
from manyhands.engine.row_optimisers import RowAdam, RowSGD
from manyhands.engine.schedules import set_rates
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.weight_average import WeightAverage
from manyhands.networks import MLP, WideResNet


class Learner(nn.Module):
    """A network with a noise model that the factory takes; the loss is that of two batches."""

    class Noise(nn.Module):
        learning_rate_multipliers = MappingProxyType({})

        def __init__(self, sparse):
            super().__init__()
            self.table = nn.Embedding(5, 3, sparse=sparse)

    def __init__(self, sparse=False):
        super().__init__()
        torch.manual_seed(0)
        self.network, self.noise = nn.Linear(4, 3), self.Noise(sparse)

    def loss(self, step):
        generator = torch.Generator().manual_seed(step)
        inputs = torch.randn(6, 4, generator=generator)
        rows = torch.tensor([1, 3, 1, 0, 4, 1]) if step % 2 else torch.arange(6) % 5
        logits = self.network(inputs) + self.noise.table(rows).tanh()
        return functional.cross_entropy(logits, torch.tensor([0, 1, 2, 2, 1, 0]))


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def trained(module, optimisers, n_steps=5):
    for step in range(n_steps):
        for each in optimisers:
            each.zero_grad()
        module.loss(step).backward()
        for each in optimisers:
            each.step()
    return module


def assert_equal_weights(one, other):
    for first, second in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(first, second, rtol=1e-6, atol=1e-7)


SGD = {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.02, "nesterov": True}


@pytest.mark.parametrize(
    ("settings", "theirs"),
    [
        ({"optimizer": "sgd", "momentum": 0.8, "nesterov": True},
         lambda some: torch.optim.SGD(some, **SGD)),
        ({"optimizer": "sgd"},
         lambda some: torch.optim.SGD(some, lr=0.1, momentum=0.9, weight_decay=0.02)),
        ({"optimizer": "adam"}, lambda some: torch.optim.Adam(some, lr=0.1, weight_decay=0.02)),
        ({}, lambda some: torch.optim.AdamW(some, lr=0.1, weight_decay=0.02)),
        ({"optimizer": "radam"},
         lambda some: torch.optim.RAdam(some, lr=0.1, weight_decay=0.02,
                                        decoupled_weight_decay=True)),
    ],
    ids=["nesterov", "sgd", "adam", "adamw", "radam"],
)  # fmt: skip
def test_optimisers_are_those_of_torch(settings, theirs):
    rates = {"learning_rate": 0.1, "weight_decay": 0.02, "noise_weight_decay": 0.02}
    ours, reference = Learner(), Learner()
    trained(ours, make_optimisers(ours, TrainingSettings(**rates, **settings)), 8)
    trained(reference, [theirs(reference.parameters())], 8)
    assert_equal_weights(ours, reference)


def test_the_noise_model_may_have_an_optimiser_of_its_own():
    settings = TrainingSettings(optimizer="sgd", noise_optimizer="adamw", learning_rate=0.1)
    ours, reference = Learner(), Learner()
    trained(ours, make_optimisers(ours, settings))
    network, noise = reference.network.parameters(), reference.noise.parameters()
    trained(reference, [torch.optim.SGD(network, lr=0.1, momentum=0.9),
                        torch.optim.AdamW(noise, lr=0.1, weight_decay=0)])  # fmt: skip
    assert_equal_weights(ours, reference)


@pytest.mark.parametrize("name", ["adamw", "adam", "radam", "sgd"])
def test_sparse_tables_have_optimisers_of_rows(name):
    module = Learner(sparse=True)
    dense, rows = make_optimisers(module, TrainingSettings(optimizer=name))
    assert type(rows) is (RowSGD if name == "sgd" else RowAdam)
    assert [each is module.noise.table.weight for each in rows.param_groups[0]["params"]] == [True]
    assert trained(module, [dense, rows]).noise.table.weight.isfinite().all()


@pytest.mark.parametrize("settings", [SGD, SGD | {"nesterov": False}, {"lr": 0.1}],
                         ids=["nesterov", "momentum", "plain"])  # fmt: skip
def test_row_sgd_on_all_rows_is_sgd(settings):
    ours, theirs = Learner(sparse=True), Learner()
    every = torch.arange(5)

    def take(module, optimiser):
        for step in range(4):
            optimiser.zero_grad()
            (module.noise.table(every).sin() * (step + 1)).sum().backward()
            optimiser.step()
        return module.noise.table.weight

    found = take(ours, RowSGD([ours.noise.table.weight], **settings))
    expected = take(theirs, torch.optim.SGD([theirs.noise.table.weight], **settings))
    torch.testing.assert_close(found, expected)


def test_row_sgd_leaves_other_rows_alone():
    module = Learner(sparse=True)
    table, before = module.noise.table.weight, module.noise.table.weight.detach().clone()
    optimiser = RowSGD([table], **SGD)
    for rows in ([0, 3, 3], [3]):
        optimiser.zero_grad()
        module.noise.table(torch.tensor(rows)).sin().sum().backward()
        optimiser.step()
    assert torch.equal(table[[1, 2, 4]], before[[1, 2, 4]])
    assert not (table[[0, 3]] == before[[0, 3]]).any()


# --- sharpness-aware minimisation with batch normalisation and mixed precision ---


@pytest.mark.parametrize("optimizer", ["sgd", "radam"])
def test_a_sharpness_aware_step_with_batch_norm_is_its_definition(optimizer):
    """The gradient at w + rho g / ||g|| is applied at w; the statistics are those of w."""
    torch.manual_seed(0)
    network = MLP(4, 3, hidden=[5], dropout=0, batch_norm=True).train()
    inputs, target = drawn(8, 4), torch.arange(8) % 3
    make = {"sgd": torch.optim.SGD, "radam": torch.optim.RAdam}[optimizer]

    def gradient(module):
        module.zero_grad()
        functional.cross_entropy(module(inputs), target).backward()
        return [each.grad.clone() for each in module.parameters()]

    plain = copy.deepcopy(network)
    at_w = gradient(plain)
    norm = torch.cat([each.flatten() for each in at_w]).norm()
    moved = copy.deepcopy(network)
    with torch.no_grad():
        for each, by in zip(moved.parameters(), at_w, strict=True):
            each.add_(0.3 * by / norm)
    there = gradient(moved)
    expected = copy.deepcopy(network)
    for each, by in zip(expected.parameters(), there, strict=True):
        each.grad = by
    make(expected.parameters(), lr=0.2).step()

    def backward():
        loss = functional.cross_entropy(network(inputs), target)
        loss.backward()
        return loss.detach()

    Stepper(network, [make(network.parameters(), lr=0.2)], TrainingSettings(sam_rho=0.3))(backward)
    assert_equal_weights(network, expected)
    for name, value in network.named_buffers():
        assert torch.equal(value, dict(plain.named_buffers())[name]), name


def test_the_norm_of_small_gradients_of_16_bits_is_not_lost():
    module = nn.Linear(64, 64, bias=False).to(torch.float16)
    module.weight.grad = torch.full_like(module.weight, 1e-5)  # its square is 0 in 16 bits
    stepper = Stepper(module, [], TrainingSettings(sam_rho=0.1))
    assert float(stepper._gradient_norm()) == pytest.approx(64e-5, rel=0.01)


def test_everything_at_once_in_mixed_precision():
    crowd = featured(n_features=3 * 4 * 4)
    images = crowd.x.reshape(-1, 3, 4, 4)
    network = {"network": "wide-resnet", "network_settings": {"depth": 10, "width": 1}}
    how = {"optimizer": "sgd", "nesterov": True, "sam_rho": 0.05, "ema_decay": 0.9}
    one, other = (
        fit("speelfc", crowd, x=images, precision="bf16", **network, **how) for _ in range(2)
    )
    assert_same_bits(one, other)
    assert all(each.dtype == torch.float32 for each in one.network_.parameters())
    assert one.predict_proba(images).shape == (60, 3)


# --- schedules ---


def rates_of(n_batches=1, **settings):
    module, made = Learner(), TrainingSettings(learning_rate=1.0, **settings)
    optimisers, found = make_optimisers(module, made), []
    for epoch in range(made.epochs):
        for step in range(n_batches):
            set_rates(optimisers, made, epoch, (step + 1) / n_batches)
            found.append(optimisers[0].param_groups[0]["lr"])
    return found


def test_schedules_move_by_epoch():
    assert rates_of(epochs=4, schedule="linear") == [1.0, 0.75, 0.5, 0.25]
    steps = rates_of(epochs=6, schedule="step", milestones=[2, 0.8], gamma=0.5)
    assert steps == [1.0, 1.0, 0.5, 0.5, 0.5, 0.25]
    np.testing.assert_allclose(rates_of(epochs=4, schedule="step"), [1, 1, 0.1, 0.01])


def test_the_warm_up_of_rates_rises_by_step_and_with_any_schedule():
    rates = rates_of(4, epochs=3, learning_rate_warm_up=1.5)
    np.testing.assert_allclose(rates, [min((n + 1) / 6, 1.0) for n in range(12)])
    rates = rates_of(2, epochs=4, learning_rate_warm_up=1, schedule="linear")
    np.testing.assert_allclose(rates, [0.5, 1.0, 0.75, 0.75, 0.5, 0.5, 0.25, 0.25])


def test_the_loop_sets_the_rates_of_the_warm_up(monkeypatch):
    parts = []
    monkeypatch.setattr(
        loop, "set_rates", lambda _, __, epoch, part=1.0: parts.append((epoch, part))
    )
    fit("speelfc", featured(), epochs=2, learning_rate_warm_up=1, validation_fraction=0.0)
    assert parts == [(0, 1.0), (0, 0.25), (0, 0.5), (0, 0.75), (0, 1.0), (1, 1.0)]


# --- the average of the weights ---


def test_the_average_follows_its_recursion():
    torch.manual_seed(0)
    network = MLP(4, 3, hidden=[5], batch_norm=True)
    average = WeightAverage(network, 0.5)
    expected = {name: each.clone() for name, each in network.state_dict().items()}
    for step in range(1, 20):
        network.train()(drawn(6, 4, seed=step))
        with torch.no_grad():
            for each in network.parameters():
                each.add_(drawn(*each.shape, seed=step))
        average.update()
        decay = min(0.5, (1 + step) / (10 + step))
        for name, now in network.state_dict().items():
            if now.is_floating_point():
                expected[name] = decay * expected[name] + (1 - decay) * now
    before = copy.deepcopy(network.state_dict())
    with average.applied():
        for name, value in network.state_dict().items():
            if value.is_floating_point():
                torch.testing.assert_close(value, expected[name])
            else:
                assert torch.equal(value, before[name])
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_the_average_is_validated_kept_and_shown_to_callbacks():
    crowd, seen = featured(), []
    plain = fit("speelfc", crowd, epochs=3, validation_fraction=0.0)

    def averaged(**settings):
        model = fit("speelfc", crowd, epochs=3, ema_decay=0.99, **settings)
        return model, model.predict_proba(crowd.x)

    model, found = averaged(validation_fraction=0.0)
    assert not np.allclose(found, plain.predict_proba(crowd.x))
    assert [entry["loss"] for entry in model.history_] == [
        entry["loss"] for entry in plain.history_
    ]
    model.set_params(seed=0).fit(
        crowd.x, crowd.annotations, callback=lambda predict: seen.append(predict(crowd.x)) or {}
    )
    assert np.array_equal(seen[-1], found)
    model, _ = averaged(validation_fraction=0.2, refit=False)
    raw = fit("speelfc", crowd, epochs=3, validation_fraction=0.2, refit=False)
    assert model.history_[-1]["validation"] != raw.history_[-1]["validation"]


# --- going on after a stop ---


class StopError(Exception):
    """A run is stopped."""


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "sgd", "nesterov": True, "schedule": "step", "learning_rate_warm_up": 2.5},
        {"optimizer": "sgd", "momentum": 0.0, "sparse": True, "schedule": "linear"},
        {"optimizer": "sgd", "sparse": True, "ema_decay": 0.9, "noise_weight_decay": 0.1},
        {"optimizer": "radam", "ema_decay": 0.9, "sam_rho": 0.05, "warm_up": 1},
        {"optimizer": "adam", "weight_decay": 0.1, "sparse": True, "schedule": "cosine"},
        {"optimizer": "sgd", "noise_optimizer": "adamw", "ema_decay": 0.99,
         "validation_fraction": 0.2, "refit": False},
    ],
    ids=["sgd-step", "sgd-linear", "sgd-average", "radam-average", "adam-cosine", "both"],
)  # fmt: skip
def test_a_run_that_was_stopped_ends_with_the_same_bits(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_REST", 0.0)  # save after every epoch
    crowd, run = featured(), {"epochs": 4, "batch_size": 32, "validation_fraction": 0.0} | settings
    network = {"network_settings": {"hidden": [6], "batch_norm": True}}
    whole = fit("speelfc", crowd, **run, **network)
    broken = copy.deepcopy(whole).set_params(checkpoint=tmp_path)
    seen = []

    def stop(_):
        seen.append(None)
        if len(seen) == 3:
            raise StopError
        return {}

    with pytest.raises(StopError):
        broken.fit(crowd.x, crowd.annotations, callback=stop)
    seen += [None] * 3
    broken.fit(crowd.x, crowd.annotations, resume=True, callback=stop)
    assert len(seen) == 8, "two epochs were left"
    assert_same_bits(broken, whole)


# --- settings that do not fit each other ---


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"momentum": 0.5}, "momentum must be left out without optimizer sgd; .* optimizer='sgd'"),
        ({"nesterov": True}, "nesterov must be left out without optimizer sgd"),
        ({"optimizer": "sgd", "nesterov": True, "momentum": 0.0}, "momentum must be > 0"),
        ({"gamma": 0.5}, "gamma must be left out without schedule step"),
        ({"milestones": [3]}, "milestones must be left out without schedule step"),
        ({"schedule": "step", "milestones": [50]}, "milestones must be before the end of the 50"),
        ({"schedule": "step", "milestones": [1.5]}, "milestones must be epochs as whole numbers"),
        ({"schedule": "step", "milestones": "3"}, "milestones must be a list of numbers"),
        ({"learning_rate_warm_up": 51}, "learning_rate_warm_up must be at most"),
        ({"ema_decay": 1.0}, "ema_decay must be in 0..1, below 1"),
        ({"optimizer": "sdg"}, "did you mean sgd"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, text):
    with pytest.raises(SettingError, match=text):
        TrainingSettings(**settings)


def test_batch_norm_of_a_wide_resnet_is_found_by_the_average():
    network = WideResNet((1, 4, 4), 3, depth=10, width=1)
    names = WeightAverage(network, 0.9).average.keys()
    assert names == {
        name for name, each in network.state_dict().items() if each.is_floating_point()
    }
