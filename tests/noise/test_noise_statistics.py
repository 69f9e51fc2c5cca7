"""Confusions that depend on the labelled items: the mean gate of CoNAL, the groups of a mixture."""

import numpy as np
import pytest
import torch

from manyhands.core.errors import DataError
from manyhands.noise import NOISE, AnnotationBatch, CoNAL, CoNALGroups, Mixture
from manyhands.simulation.behaviours import honest
from manyhands.simulation.crowds import draw_labels

A, K, D, B, N = 5, 3, 4, 7, 20
UNLABELLED = 2  # an annotator without labels


@pytest.fixture(params=list(NOISE))
def name(request):
    return request.param


def jittered(layer, seed=0):
    generator = torch.Generator().manual_seed(seed)
    layer = layer.double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=generator).double())
    return layer


def make(name):
    torch.manual_seed(0)
    return jittered(NOISE[name](A, K, n_features=D))


def a_batch(seed=1):
    generator = torch.Generator().manual_seed(seed)
    log_class = torch.randn(B, K, generator=generator, dtype=torch.float64).log_softmax(-1)
    features = torch.randn(B, D, generator=generator, dtype=torch.float64)
    row = torch.randint(0, B, (N,), generator=generator)
    someone = torch.tensor([a for a in range(A) if a != UNLABELLED])
    annotator = someone[torch.randint(0, A - 1, (N,), generator=generator)]
    label = torch.randint(0, K, (N,), generator=generator)
    return log_class, AnnotationBatch(row, annotator, label, features)


def part(batch, some):
    return AnnotationBatch(
        batch.row[some], batch.annotator[some], batch.label[some], batch.features
    )


def with_statistics(layer, *batches):
    layer.reset_statistics()
    for log_class, batch in batches:
        layer.update_statistics(log_class, batch)
    return layer


def test_statistics_change_confusions_only(name):
    layer = make(name)
    log_class, batch = a_batch()
    args = (log_class, batch.row, batch.annotator, batch.features)
    before = layer(*args)
    with_statistics(layer, (log_class, batch))
    assert torch.equal(layer(*args), before)
    torch.testing.assert_close(layer.confusion().sum(-1), torch.ones(A, K, dtype=torch.float64))
    assert all(parameter.grad is None for parameter in layer.parameters())


def test_batches_add_up(name):
    log_class, batch = a_batch()
    whole = with_statistics(make(name), (log_class, batch))
    first, second = (part(batch, some) for some in (slice(0, 8), slice(8, N)))
    halves = with_statistics(make(name), (log_class, first), (log_class, second))
    torch.testing.assert_close(whole.confusion(), halves.confusion())
    alone = [
        with_statistics(make(name), (log_class, each)).statistics() for each in (first, second)
    ]
    for total, one, other in zip(whole.statistics(), *alone, strict=True):
        torch.testing.assert_close(total, one + other)


def test_reset_restores_the_confusions(name):
    layer = make(name)
    before = layer.confusion()
    with_statistics(layer, a_batch(), a_batch(seed=2))
    assert torch.equal(with_statistics(layer).confusion(), before)


def test_initialising_resets_the_statistics(name):
    confusion = honest(np.linspace(0.5, 0.9, A), K)
    fresh = make(name).init_from_confusions(confusion).confusion()
    layer = with_statistics(make(name), a_batch()).init_from_confusions(confusion)
    assert torch.equal(layer.confusion(), fresh)


def test_statistics_are_saved(name):
    layer, other = with_statistics(make(name), a_batch()), make(name)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.confusion(), layer.confusion())
    some = torch.tensor([3, UNLABELLED])
    torch.testing.assert_close(other.confusion(some), layer.confusion()[some])


def omegas_by_hand(layer, batches):
    """The mean omega of every annotator, one annotation at a time."""
    omegas_of = {a: [] for a in range(A)}
    for _, batch in batches:
        for row, annotator in zip(batch.row, batch.annotator, strict=True):
            u = layer.gate.annotator(annotator)
            v = layer.gate.item(batch.features[row])
            omega = torch.sigmoid(u @ v / (u.norm() * v.norm()) / layer.gate.temperature)
            omegas_of[int(annotator)].append(omega.item())
    everything = [omega for omegas in omegas_of.values() for omega in omegas]
    return [np.mean(omegas_of[a] or everything) for a in range(A)]


@pytest.mark.parametrize("mix", ["probabilities", "logits"])
def test_conal_confusions_have_the_mean_gate_of_each_annotator(mix):
    torch.manual_seed(0)
    layer = jittered(CoNAL(A, K, n_features=D, mix=mix, temperature=0.5))
    batches = [a_batch(), a_batch(seed=2)]
    with_statistics(layer, *batches)
    omega = torch.tensor(omegas_by_hand(layer, batches), dtype=torch.float64)
    assert omega.std() > 0.01
    torch.testing.assert_close(layer.gate.mean_omega(torch.arange(A)), omega)
    omega = omega[:, None, None]
    common, own = layer.common.T, layer.own(torch.arange(A)).transpose(1, 2)
    if mix == "logits":
        expected = (omega * common + (1 - omega) * own).softmax(-1)
    else:
        expected = omega * common.softmax(-1) + (1 - omega) * own.softmax(-1)
    torch.testing.assert_close(layer.confusion(), expected)


def test_a_gate_without_statistics_is_half_open():
    layer = make("conal")
    torch.testing.assert_close(
        layer.gate.mean_omega(torch.arange(A)), torch.full((A,), 0.5, dtype=torch.float64)
    )


def test_the_statistics_of_a_gate_need_features():
    log_class, batch = a_batch()
    without = AnnotationBatch(batch.row, batch.annotator, batch.label)
    with pytest.raises(DataError, match="give the batch their features"):
        make("conal").update_statistics(log_class, without)


@pytest.mark.parametrize("made", [CoNAL, CoNALGroups])
def test_a_fixed_gate_stays_fixed(made):
    torch.manual_seed(0)
    layer = jittered(made(A, K, n_features=D, omega=0.2))
    before = layer.confusion()
    assert torch.equal(with_statistics(layer, a_batch()).confusion(), before)


def test_the_groups_of_annotators_are_their_posteriors():
    layer = make("mixture-e2e")
    batches = [a_batch(), a_batch(seed=2)]
    with_statistics(layer, *batches)
    alpha, beta = layer.alpha.softmax(0), layer.group_confusion()
    likelihood = alpha.detach().repeat(A, 1)
    for log_class, batch in batches:
        for row, a, y in zip(batch.row, batch.annotator, batch.label, strict=True):
            for m in range(len(alpha)):
                likelihood[a, m] *= log_class[row].exp() @ beta[m, :, y]
    posterior = likelihood / likelihood.sum(dim=1, keepdim=True)
    torch.testing.assert_close(layer.group_posterior(), posterior)
    torch.testing.assert_close(layer.group_posterior()[UNLABELLED], alpha)
    expected = sum(posterior[:, m, None, None] * beta[m] for m in range(len(alpha)))
    torch.testing.assert_close(layer.confusion(), expected)


def test_simulated_groups_are_recognised_by_their_labels():
    kinds = honest(np.array([0.95, 0.6, 0.1]), K)
    kind_a = np.arange(30) % 3
    rng = np.random.default_rng(0)
    truth = rng.integers(0, K, 300)
    item = np.arange(300).repeat(5)
    annotator = rng.integers(0, 30, 1500)
    label = draw_labels(kinds[kind_a], truth[item], annotator, rng)
    layer = Mixture(30, K).init_from_confusions(kinds[kind_a])
    log_class = torch.from_numpy(np.eye(K)[truth]).clamp_min(1e-6).log()
    columns = [torch.from_numpy(np.asarray(each, np.int64)) for each in (item, annotator, label)]
    with_statistics(layer, (log_class, AnnotationBatch(*columns)))
    assert (layer.group_posterior().argmax(dim=1).numpy() == kind_a).mean() > 0.9
    assert np.abs(layer.confusion().numpy() - kinds[kind_a]).mean() < 0.02
