"""Semi-supervised learning from crowds: the bound, its gradients, and what unlabelled items add."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.distributions import Normal
from torch.nn import functional

from featured_crowds import assert_same_bits, featured, fit
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.engine.batches import CrowdData
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.loop import TrainingRun, train
from manyhands.engine.settings import TrainingSettings
from manyhands.estimators import CrowdClassifier
from manyhands.methods import Problem, SemiLFC
from manyhands.methods.semi_lfc import Unlabelled
from manyhands.networks import NETWORKS
from manyhands.networks.autoencoder import ClassAutoencoder

CPU = torch.device("cpu")
SEEDS = range(5)


def clusters(seed, n_items=600, n_labelled=12, n_classes=3, n_features=20):
    """A cloud per class, four deviations apart; three labels, a quarter wrong, of a few items."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    truth[:n_labelled] = np.arange(n_labelled) % n_classes
    x = 4 / math.sqrt(2) * np.eye(n_classes, n_features)[truth]
    x = (x + rng.normal(size=x.shape)).astype(np.float32)
    item = np.repeat(np.arange(n_labelled), 3)
    annotator = np.concatenate([rng.permutation(6)[:3] for _ in range(n_labelled)])
    off = np.where(rng.random(len(item)) < 0.25, rng.integers(1, n_classes, size=len(item)), 0)
    ann = Annotations.from_arrays(
        item, annotator, (truth[item] + off) % n_classes, items=range(n_items), classes=range(3)
    )
    return SimpleNamespace(x=x, annotations=ann, truth=truth)


def learner_for(crowd, method, seed=1):
    torch.manual_seed(seed)
    shape = crowd.x.shape[1:]
    problem = Problem(annotations=crowd.annotations, shape=shape)
    return method.make_module(NETWORKS["logistic"](shape, 3), problem, TrainingSettings())


def tiny(seed, *, n_features=2, n_codes=1, **settings):
    """A learner in double precision with weights far from their start, and a batch of 4 items."""
    crowd = featured(n_items=7, n_features=n_features, labels_per_item=2, seed=seed + 1)
    method = SemiLFC({"prior_precision": 1.0}, n_codes=n_codes, hidden=(6, 5), **settings)
    module = learner_for(crowd, method, seed).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in module.parameters():
            each.add_(0.5 * torch.randn(each.shape, generator=generator, dtype=torch.double))
    inputs = TensorInputs(torch.from_numpy(crowd.x).double())
    return module, next(CrowdData(inputs, crowd.annotations, CPU).batches(np.arange(4), 4))


def said(module, batch):
    """What the labels of each item tell of its class, one label at a time."""
    log_confusion_akl = module.noise.table.weight.reshape(-1, 3, 3).log_softmax(dim=2)
    said_bk = log_confusion_akl.new_zeros(len(batch.items), 3)
    given = batch.annotations
    for row, who, label in zip(given.row, given.annotator, given.label, strict=True):
        said_bk[row] += log_confusion_akl[who, :, label]
    return said_bk


def run(layers, x, k):
    """An encoder or decoder for one item and one class, by hand."""
    first, *rest = layers
    hidden = functional.softplus(functional.linear(x, first.linear.weight, first.linear.bias)
                                 + first.of_class[k])  # fmt: skip
    for layer in rest[1:]:
        hidden = layer(hidden)
    return hidden


# --- the bound ---


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("variance", [None, 0.3])
def test_the_bound_is_the_sum_it_says_it_is(seed, variance):
    module, batch = tiny(seed, n_features=3, n_codes=2, variance=variance)
    model = module.autoencoder
    noise = torch.randn(4, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    logits, said_bk = module.network(batch.inputs), said(module, batch)
    found = module.bounds(logits, batch.inputs, noise, said_bk)
    deviation = (0.5 * model.log_variance).exp()
    for i, x in enumerate(batch.inputs):
        q = logits[i].softmax(dim=0)
        bound = 0.0
        for k in range(3):
            mean, log_square = run(model.encoder, x, k).chunk(2)
            scale = (0.5 * log_square).exp()
            z = mean + scale * noise[i]
            log_seen = Normal(run(model.decoder, z, k), deviation).log_prob(x).sum()
            prior = Normal(torch.zeros_like(mean), torch.ones_like(mean))
            apart = torch.distributions.kl_divergence(Normal(mean, scale), prior).sum()
            log_joint = module.log_prior[k] + said_bk[i, k] + log_seen
            bound += q[k] * (log_joint - apart - q[k].log())
        torch.testing.assert_close(found[i], bound)


def log_evidence(module, batch, said_bk):
    """Log p(x, y) of every item, the one-dimensional code integrated on a fine grid."""
    model, grid = module.autoencoder, torch.linspace(-9, 9, 4001, dtype=torch.double)
    log_z = Normal(0.0, 1.0).log_prob(grid) + math.log(grid[1] - grid[0])
    deviation = (0.5 * model.log_variance).exp()
    log_seen_bk = torch.zeros(4, 3, dtype=torch.double)
    for i, x in enumerate(batch.inputs):
        for k in range(3):
            given_z = Normal(run(model.decoder, grid[:, None], k), deviation).log_prob(x).sum(1)
            log_seen_bk[i, k] = torch.logsumexp(given_z + log_z, dim=0)
    return torch.logsumexp(module.log_prior + said_bk + log_seen_bk, dim=1)


def mean_bounds(module, batch, said_bk):
    """The bounds averaged over the noise, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    logits = module.network(batch.inputs)
    bounds = [
        module.bounds(logits, batch.inputs, torch.full((4, 1), node, dtype=torch.double), said_bk)
        for node in nodes
    ]
    share = torch.from_numpy(weights / weights.sum())
    return (share[:, None] * torch.stack(bounds)).sum(dim=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("labelled", [True, False])
@torch.no_grad()
def test_the_bound_is_below_the_evidence(seed, labelled):
    module, batch = tiny(seed)
    said_bk = said(module, batch) * labelled
    gap = log_evidence(module, batch, said_bk) - mean_bounds(module, batch, said_bk)
    assert (gap > 1e-6).all()


@torch.no_grad()
def test_with_the_true_posteriors_the_bound_is_the_evidence():
    module, batch = tiny(0)
    model, said_bk = module.autoencoder, said(module, batch)
    model.decoder[0].linear.weight.zero_()  # the code tells nothing, so it stays as the prior
    model.encoder[-1].weight.zero_()
    model.encoder[-1].bias.zero_()
    log_joint_bk = module.log_prior + said_bk + model(batch.inputs, torch.zeros(4, 1))
    found = module.bounds(log_joint_bk, batch.inputs, torch.zeros(4, 1), said_bk)
    torch.testing.assert_close(found, log_evidence(module, batch, said_bk))


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_are_those_of_finite_differences(seed):
    module, batch = tiny(seed, label_weight=1.7)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(4, 1, generator=generator, dtype=torch.double)

    def loss():
        return module._whole_loss(module.network(batch.inputs), batch.inputs, noise, batch)

    loss().backward()
    for name, each in module.named_parameters():
        assert each.grad.abs().max() > 0, name
        way = torch.randn(each.shape, generator=generator, dtype=torch.double)
        with torch.no_grad():
            up, down = (loss_at(loss, each, step * way) for step in (1e-6, -1e-6))
        expected = (up - down) / 2e-6
        torch.testing.assert_close((each.grad * way).sum(), expected, rtol=1e-5, atol=1e-6)


def loss_at(loss, parameter, step):
    parameter.add_(step)
    found = loss()
    parameter.sub_(step)
    return found


# --- the loss of an epoch ---


@pytest.mark.parametrize("beside", [1, 8])
def test_an_epoch_is_the_bound_of_all_items_per_labelled_one(beside, monkeypatch):
    crowd = clusters(0, n_items=96)  # 84 without labels, 7 for each with
    monkeypatch.setattr(torch, "randn", lambda *size, device: torch.zeros(*size, device=device))
    module = learner_for(crowd, SemiLFC({"prior_precision": 1.0}, label_weight=2.0, beside=beside))
    inputs = CrowdData(TensorInputs(torch.from_numpy(crowd.x)), crowd.annotations, CPU)
    with torch.no_grad():
        module.noise.table.weight.add_(0.3)
        module.on_epoch_start(inputs, 0)
        parts = [module(batch) for batch in inputs.batches(inputs.labelled, 4)]
        every = next(inputs.batches(np.arange(96), 96))
        said_bk = 2.0 * said(module, every)
        logits, zeros = module.network(every.inputs), torch.zeros(96, 32)
        bound_b = module.bounds(logits, every.inputs, zeros, said_bk)
        whole = (module.noise.penalty() * 36 - bound_b.sum()) / 12
    if beside >= 7:  # all of them in an epoch, none twice
        torch.testing.assert_close(torch.stack(parts).mean(), whole)
    else:
        assert abs(torch.stack(parts).mean() - whole) < 0.1 * whole


def test_an_epoch_takes_every_unlabelled_item_once():
    crowd = clusters(0, n_items=100)
    numbers = torch.arange(100.0).unsqueeze(1)
    inputs = CrowdData(TensorInputs(numbers), crowd.annotations, CPU)
    others = Unlabelled(inputs)
    assert others.per_labelled == pytest.approx(88 / 12)
    taken = torch.cat([others.take(22) for _ in range(4)]).squeeze(1)
    assert sorted(taken.tolist()) == list(range(12, 100))
    assert torch.equal(others.take(88).squeeze(1), taken)
    assert taken.tolist() != sorted(taken.tolist())


def test_the_start_knows_the_size_of_the_features():
    model, x = ClassAutoencoder(3, 2), torch.tensor([[1.0, 5.0, -2.0], [3.0, 5.0, -2.0]])
    model.init_from_features(x)
    assert model.decoder[-1].bias.tolist() == [2.0, 5.0, -2.0]
    assert model.log_variance.exp().item() == pytest.approx(1 / 3)
    fixed = ClassAutoencoder(3, 2, variance=4.0)
    fixed.init_from_features(x)
    assert fixed.log_variance.exp().item() == pytest.approx(4.0)
    assert "log_variance" not in dict(fixed.named_parameters())
    model.init_from_features(x[:1])  # of one item there is no variance
    assert model.log_variance.isfinite()


# --- what it is for ---


def accuracy(crowd, n_items, seed):
    how = {"network": "logistic", "epochs": 300, "learning_rate": 3e-3, "scale": "none"}
    model = CrowdClassifier(method="semi-lfc", seed=seed, progress=False, device="cpu", **how)
    model.fit(crowd.x[:n_items], crowd.annotations[:n_items])
    return float((model.predict(crowd.x) == crowd.truth)[12:].mean())


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_items_without_labels_help_where_classes_are_clusters(seed):
    crowd = clusters(seed)
    assert accuracy(crowd, 600, seed) > accuracy(crowd, 12, seed) + 0.1


def test_with_unlabelled_items_the_same_seed_gives_the_same_bits():
    crowd = clusters(1, n_items=60)
    one, other = (fit("semi-lfc", crowd, epochs=3, sam_rho=0.05) for _ in range(2))
    assert_same_bits(one, other)


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path):
    crowd = clusters(2, n_items=60)
    how = {"method": "semi-lfc", "epochs": 6, "warm_up": 1, "batch_size": 5, "progress": False}
    whole = CrowdClassifier(**how).fit(crowd.x, crowd.annotations)
    stopped = CrowdClassifier(checkpoint=tmp_path, **how)

    def stop(_):
        stop.epochs += 1
        if stop.epochs == 4:
            raise KeyboardInterrupt
        return {}

    stop.epochs = 0
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(crowd.x, crowd.annotations, callback=stop)
    again = stopped.fit(crowd.x, crowd.annotations, resume=True)
    assert_same_bits(again, whole)
    assert again.epoch_ == 6


def test_every_part_is_trained():
    crowd = clusters(3, n_items=60)
    settings = TrainingSettings(epochs=2, batch_size=4, device="cpu")
    module = learner_for(crowd, SemiLFC())
    before = {name: each.detach().clone() for name, each in module.named_parameters()}
    inputs = TensorInputs(torch.from_numpy(crowd.x))
    train(TrainingRun(module, inputs, crowd.annotations, settings, progress=False))
    for name, each in module.named_parameters():
        assert not torch.equal(each, before[name]), name


# --- settings ---


@pytest.mark.parametrize(
    ("setting", "value"),
    [("label_weight", 0.0), ("beside", 0), ("n_codes", 0), ("hidden", ()), ("variance", 0.0)],
)
def test_settings_out_of_range_are_told(setting, value):
    with pytest.raises(SettingError, match=setting):
        SemiLFC(**{setting: value})


def test_codes_are_refused():
    crowd = featured()
    codes, network = torch.zeros(60, 5, dtype=torch.int64), torch.nn.EmbeddingBag(3, 3)
    with pytest.raises(DataError, match="real numbers"):
        fit("semi-lfc", crowd, x=codes, network=network, warm_up=0)
