"""COINNet: outliers are the minimum of the loss, and none of them leave GeoCrowdNet."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from featured_crowds import assert_same_bits, featured, fit
from manyhands.core.errors import SettingError
from manyhands.engine.batches import CrowdData
from manyhands.engine.features import EncoderOptions
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.tasks import TASKS
from manyhands.methods import METHODS, COINNet, Problem
from manyhands.methods.coinnet import find_outliers
from manyhands.noise import annotation_loss

ITEM = np.array([0, 0, 1, 1, 1, 2])
Q = np.array([0.02, 0.6, 0.01, 0.03, 0.9, 0.3])
SQUARE = np.array([1.4, 0.2, 1.5, 1.3, 0.02, 0.7])


def a_module(strength=2.0, seed=0, **settings):
    """A module in double precision, and a crowd of few items of which one has no labels."""
    crowd = featured(n_items=9, n_annotators=4, **settings)
    ann = crowd.annotations.only(crowd.annotations.item != 4)
    _, inputs = TASKS["classification"].fit_encoder(crowd.x, EncoderOptions())
    torch.manual_seed(seed)
    problem = Problem(annotations=ann, shape=(5,))
    made = COINNet(strength=strength).make_module(nn.Linear(5, 3), problem, TrainingSettings())
    module = made.double()
    data = CrowdData(inputs, ann, torch.device("cpu"))
    return module, data


def batch_of(data):
    (batch,) = data.batches(data.labelled[::-1].copy(), 100)
    batch.inputs = batch.inputs.double()
    return batch


def whole_loss(module, data):
    batch = batch_of(data)
    return module._loss(module.network(batch.inputs), batch, False)


def by_hand(module, data):
    """The loss by loops over items and labels, with e_n as a vector."""
    ann = data.annotations
    with torch.no_grad():
        f = module.network(data.inputs.rows(torch.arange(9)).double()).softmax(-1).numpy()
        confusion = module.noise.confusion().numpy()
    fitted, cost = 0.0, 0.0
    for i in range(9):
        squares = 0.0
        for n in np.flatnonzero(ann.item == i):
            q = f[i] @ confusion[ann.annotator[n]]
            e = module.share[n].item() * (np.eye(3)[ann.label[n]] - q)
            assert (q + e).sum() == pytest.approx(1.0)
            assert (q + e >= 0).all()
            fitted -= np.log((q + e)[ann.label[n]])
            squares += e @ e
        cost += module.strength * ((squares + 1e-6) ** 0.2 - 1e-6**0.2)
    gram = f[data.labelled].T @ f[data.labelled] / len(data.labelled)
    volume = -0.01 * np.linalg.slogdet(gram + 1e-6 * np.eye(3))[1]
    return (fitted + cost) / ann.n_annotations + volume


def test_the_loss_is_that_of_the_definition():
    module, data = a_module()
    with torch.no_grad():
        module.share.copy_(torch.linspace(0, 1, len(module.share)))
        assert whole_loss(module, data).item() == pytest.approx(by_hand(module, data), abs=1e-9)


def test_gradients_match_finite_differences():
    module, data = a_module()
    module.share.copy_(torch.linspace(0, 0.9, len(module.share)))
    batch = batch_of(data)
    names, values = zip(*module.named_parameters(), strict=True)

    def loss(*values):
        held = dict(zip(names, values, strict=True))
        return torch.func.functional_call(module, held, (batch,))

    module.forward = lambda batch: module._loss(module.network(batch.inputs), batch, False)
    given = [value.detach().clone().requires_grad_() for value in values]
    assert torch.autograd.gradcheck(loss, given, atol=1e-6)


@pytest.mark.parametrize("strength", [0.5, 1.5, 3.0])
def test_outliers_are_the_minimum_over_a_grid(strength):
    found = find_outliers(Q, SQUARE, ITEM, strength, 0.4)

    def objective(s_n, own):
        squares = (s_n**2 * SQUARE[own]).sum(axis=-1)
        gain = np.log(Q[own] + s_n * (1 - Q[own])).sum(axis=-1)
        return strength * ((squares + 1e-6) ** 0.2 - 1e-6**0.2) - gain

    for item in range(3):
        own = item == ITEM
        grid = np.array(list(itertools.product(np.linspace(0, 1, 41), repeat=own.sum())))
        assert objective(found[own], own) <= objective(grid, own).min() + 1e-4


def test_no_outlier_is_found_where_they_cost_too_much_and_all_where_little():
    assert find_outliers(Q, SQUARE, ITEM, 100.0, 0.4).max() < 1e-3  # a root is smooth at 0
    assert (find_outliers(Q, SQUARE, ITEM, 1e-4, 0.4) > 0.99).all()
    assert len(find_outliers(Q[:0], SQUARE[:0], ITEM[:0], 1.0, 0.4)) == 0


def test_finding_outliers_never_raises_the_loss():
    module, data = a_module(strength=1.0)
    with torch.no_grad():
        module.network.weight.mul_(4.0)
        before = whole_loss(module, data)
        module.float().on_epoch_start(data, 0)
        module.double()
        after = whole_loss(module, data)
        assert module.share.max() > 0.5
        assert after < before - 0.01
        for change in (-0.05, 0.05):
            kept = module.share.clone()
            module.share.copy_((kept + change).clamp(0, 1))
            assert whole_loss(module, data) >= after - 1e-6
            module.share.copy_(kept)


def test_without_outliers_it_is_geocrowdnet():
    crowd = featured()
    plain = replace(METHODS["coinnet"], strength=float("inf"))
    assert_same_bits(fit(plain, crowd), fit("geocrowdnet", crowd))
    module, data = a_module()
    batch = batch_of(data)
    outputs = module.network(batch.inputs)
    expected = annotation_loss(module.noise, outputs, batch.annotations)
    torch.testing.assert_close(module._loss(outputs, batch, False), expected)


def misled(seed=1, n_items=300):
    """A crowd whose confusions hold for most items; of a quarter, most people say one wrong class.

    Which items these are is told as well.
    """
    crowd = featured(
        n_items=n_items, n_annotators=8, labels_per_item=4, lowest=0.6, spread=0.6, seed=seed
    )
    rng = np.random.default_rng(seed)
    ann, misleads = crowd.annotations, rng.random(n_items) < 0.25
    wrong = (crowd.truth + rng.integers(1, 3, n_items)) % 3
    said = misleads[ann.item] & (rng.random(ann.n_annotations) < 0.85)
    label = np.where(said, wrong[ann.item], ann.label).astype(ann.label.dtype)
    return crowd._replace(annotations=replace(ann, label=label)), misleads


def test_outliers_are_found_and_confusions_are_those_of_other_items(monkeypatch):
    crowd, misleads = misled()
    made, real = [], COINNet.make_module

    def spied(*given):
        made.append(real(*given))
        return made[-1]

    monkeypatch.setattr(COINNet, "make_module", spied)
    settings = {"epochs": 15, "batch_size": 32, "learning_rate": 0.015, "validation_fraction": 0.0}
    models = {name: fit(name, crowd, **settings) for name in ("coinnet", "geocrowdnet")}
    off = {
        name: np.abs(model.confusion_ - crowd.confusion).mean() for name, model in models.items()
    }
    assert off["coinnet"] < 0.8 * off["geocrowdnet"]
    share_i = np.bincount(crowd.annotations.item, made[0].share.numpy(), len(misleads))
    order = np.argsort(np.argsort(share_i, kind="stable"))  # ranks: the area under the curve
    n = misleads.sum()
    area = (order[misleads].sum() - n * (n - 1) / 2) / (n * (~misleads).sum())
    assert area > 0.9


@pytest.mark.parametrize("wrong", [{"strength": 0.0}, {"power": 0.0}, {"power": 2.5}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(SettingError, match=f"{next(iter(wrong))} must be above 0|> 0"):
        COINNet(**wrong)
