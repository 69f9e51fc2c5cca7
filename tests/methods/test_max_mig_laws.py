"""The loss of Max-MIG: the information that items and labels share."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from manyhands.methods.max_mig import information_loss, label_log_prob
from manyhands.noise import AnnotationBatch, SpeeLFC

N_CLASSES, N_PEOPLE = 3, 4


class TrainReport:
    """A few items with random logits, labels and confusions, in double precision."""

    def __init__(self, seed=0, n_items=7, counts=(1, 2, 3, 0, 2, 1, 4)):
        rng = np.random.default_rng(seed)
        self.n_items = n_items
        self.logits = torch.from_numpy(rng.normal(size=(n_items, N_CLASSES)))
        self.noise = SpeeLFC(N_PEOPLE, N_CLASSES).double()
        confusion = rng.dirichlet(np.ones(N_CLASSES), (N_PEOPLE, N_CLASSES))
        self.noise.init_from_confusions(confusion)
        self.prior = torch.from_numpy(rng.dirichlet(np.full(N_CLASSES, 5.0)))
        row = np.repeat(np.arange(n_items), counts[:n_items])
        annotator = np.concatenate([rng.permutation(N_PEOPLE)[:n] for n in counts[:n_items]])
        label = rng.integers(0, N_CLASSES, len(row))
        made = (torch.from_numpy(each.astype(np.int64)) for each in (row, annotator, label))
        self.batch = AnnotationBatch(*made)

    def loss(self, logits=None, noise=None, prior=None, batch=None):
        logits = self.logits if logits is None else logits
        said = label_log_prob(noise or self.noise, batch or self.batch, len(logits))
        prior = self.prior if prior is None else prior
        return information_loss(logits.log_softmax(-1), said, prior.log())


def by_hand(told):
    """The loss from its definition: posteriors of both sides, and a loop over all pairs."""
    class_ik = told.logits.softmax(-1).numpy()
    confusion = told.noise.confusion().numpy()
    prior = told.prior.numpy()
    posterior = np.tile(prior, (told.n_items, 1))
    for i, a, label in zip(*(each.tolist() for each in _columns(told.batch)), strict=True):
        posterior[i] *= confusion[a, :, label]
    posterior /= posterior.sum(axis=1, keepdims=True)
    own, others = [], []
    for i, j in itertools.product(range(told.n_items), repeat=2):
        ratio = sum(class_ik[i, k] * posterior[j, k] / prior[k] for k in range(N_CLASSES))
        if i == j:
            own.append(math.log(ratio))
        else:
            others.append(ratio)
    return -np.mean(own) + np.mean(others)


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_what_a_loop_over_all_pairs_gives(seed):
    told = TrainReport(seed)
    assert told.loss().item() == pytest.approx(by_hand(told), abs=1e-12)


def test_the_order_of_items_and_labels_does_not_matter():
    told = TrainReport()
    order = torch.randperm(told.n_items, generator=torch.Generator().manual_seed(1))
    shuffled = torch.randperm(len(told.batch), generator=torch.Generator().manual_seed(2))
    row, annotator, label = (each[shuffled] for each in _columns(told.batch))
    batch = AnnotationBatch(torch.argsort(order)[row], annotator, label)
    found = told.loss(logits=told.logits[order], batch=batch).item()
    assert found == pytest.approx(told.loss().item(), abs=1e-12)


def test_renaming_classes_changes_nothing():
    told = TrainReport()
    new = torch.tensor([2, 0, 1])  # the new code of every class
    old = torch.argsort(new)
    noise = SpeeLFC(N_PEOPLE, N_CLASSES).double()
    noise.init_from_confusions(told.noise.confusion().numpy()[:, old][:, :, old])
    row, annotator, label = _columns(told.batch)
    batch = AnnotationBatch(row, annotator, new[label])
    found = told.loss(told.logits[:, old], noise, told.prior[old], batch).item()
    assert found == pytest.approx(told.loss().item(), abs=1e-9)


class LossOf(nn.Module):
    """The loss as a module, so that other weights can be put into its noise model."""

    def __init__(self, told):
        super().__init__()
        self.told, self.noise = told, told.noise

    def forward(self, logits, log_odds):
        return self.told.loss(logits=logits, prior=log_odds.softmax(0))


def test_gradients_are_those_of_finite_differences():
    told = TrainReport()

    def loss(table, *given):
        return functional_call(LossOf(told), {"noise.table.weight": table}, given)

    given = [told.noise.table.weight.detach().clone(), told.logits.clone(), told.prior.log()]
    assert torch.autograd.gradcheck(loss, [each.requires_grad_() for each in given])


def test_a_single_item_has_no_pairs():
    told = TrainReport(n_items=1, counts=(2,))
    f = told.logits.softmax(-1)
    said = label_log_prob(told.noise, told.batch, 1).exp()
    wanted = -math.log(((f * said).sum() / (told.prior * said).sum()).item())
    assert told.loss().item() == pytest.approx(wanted, abs=1e-12)


def test_certain_sides_and_many_labels_are_no_danger():
    logits = torch.tensor([[1e4, 0.0, 0.0], [0.0, 1e4, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    noise = SpeeLFC(1, 3, accuracy=1 - 1e-6)
    row = torch.arange(3).repeat_interleave(500)
    label = torch.tensor([1, 0, 2]).repeat_interleave(500)  # both sides are sure, and disagree
    said = label_log_prob(noise, AnnotationBatch(row, torch.zeros_like(row), label), 3)
    loss = information_loss(logits.log_softmax(-1), said, torch.full((3,), 1 / 3).log())
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()
    assert noise.table.weight.grad.isfinite().all()


# --- A small world in which everything is known --------------------------------------------------


class World:
    """Four kinds of items, two classes, two annotators; all probabilities are quarters.

    `pairs` lists (kind, label, label), each as often as it occurs among 256: expectations over the
    world are means over the list.
    """

    class_xk = np.array([[4, 0], [3, 1], [1, 3], [0, 4]]) / 4
    confusion_akl = np.array([[[3, 1], [1, 3]], [[3, 1], [2, 2]]]) / 4

    def __init__(self):
        joint = np.einsum("xk,kl,km->xlm", self.class_xk / 4, *self.confusion_akl)
        self.joint = joint
        counts = np.rint(joint * 256).astype(int)
        assert counts.sum() == 256
        np.testing.assert_allclose(counts / 256, joint, atol=1e-12)
        self.pairs = np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0)
        self.prior = torch.from_numpy(self.class_xk.mean(axis=0))

    @property
    def information(self):
        apart = self.joint.sum((1, 2), keepdims=True) * self.joint.sum(0, keepdims=True)
        seen = self.joint > 0
        return (self.joint[seen] * np.log(self.joint[seen] / apart[seen])).sum()

    def sides(self, log_class_xk, log_confusion_akl, times=1):
        """Both sides of a batch that holds every pair as often as it occurs, times a number."""
        kind, one, two = torch.from_numpy(np.tile(self.pairs, (times, 1)).T.copy())
        said = log_confusion_akl[0][:, one].T + log_confusion_akl[1][:, two].T
        return log_class_xk[kind], said

    def true_sides(self):
        class_xk = torch.from_numpy(self.class_xk).clamp_min(1e-300)
        return class_xk.log(), torch.from_numpy(self.confusion_akl).log()


def in_the_limit(log_class, log_said_, log_prior):
    """The loss with all pairs, those of an item with itself too: what a huge batch would give."""
    n = len(log_class)
    loss = information_loss(log_class, log_said_, log_prior)
    log_weight = log_said_ - torch.logsumexp(log_prior + log_said_, -1, keepdim=True)
    own = (log_class + log_weight).exp().sum(-1).mean()
    log_own = torch.logsumexp(log_class + log_weight, -1).mean()
    return -log_own + ((loss + log_own) * (n - 1) + own) / n


@pytest.fixture(scope="module")
def world():
    return World()


def test_at_the_posteriors_the_bound_is_the_mutual_information(world):
    sides = world.sides(*world.true_sides())
    found = 1 - in_the_limit(*sides, world.prior.log()).item()
    assert found == pytest.approx(world.information, abs=1e-12)
    batch = 1 - information_loss(*sides, world.prior.log()).item()
    assert batch == pytest.approx(world.information, abs=2 / len(world.pairs))


@pytest.mark.parametrize("seed", range(10))
def test_nothing_shares_more_than_there_is(world, seed):
    rng = np.random.default_rng(seed)
    class_xk = torch.from_numpy(rng.dirichlet(np.ones(2), 4)).log()
    confusion = torch.from_numpy(rng.dirichlet(np.ones(2), (2, 2))).log()
    log_prior = torch.from_numpy(rng.dirichlet(np.ones(2))).log()
    assert 1 - in_the_limit(*world.sides(class_xk, confusion), log_prior) < world.information


def test_at_the_posteriors_the_gradient_vanishes_as_batches_grow(world):
    """It is that of (mean R_ij over all - mean R_ii) / (n - 1), so (n - 1) times it is constant."""

    def gradients(loss, times):
        given = [*world.true_sides(), world.prior.log()]
        given = [each.clone().requires_grad_() for each in given]
        sides = world.sides(given[0].log_softmax(-1), given[1].log_softmax(-1), times)
        return torch.autograd.grad(loss(*sides, given[2].log_softmax(0)), given)

    for limit in gradients(in_the_limit, 1):
        assert limit.abs().max() < 1e-12
    n = len(world.pairs)
    few, many = (gradients(information_loss, times) for times in (1, 2))
    for one, two in zip(few, many, strict=True):
        torch.testing.assert_close(one * (n - 1), two * (2 * n - 1), atol=1e-9, rtol=1e-9)


def test_for_given_sides_the_mean_of_the_network_is_the_best_prior(world):
    rng = np.random.default_rng(3)
    log_class = torch.from_numpy(rng.dirichlet(np.ones(2), 4)).log()
    sides = world.sides(log_class, torch.from_numpy(rng.dirichlet(np.ones(2), (2, 2))).log())
    mean = log_class.exp().mean(0)
    log_odds = mean.log().requires_grad_()
    (gradient,) = torch.autograd.grad(in_the_limit(*sides, log_odds.log_softmax(0)), log_odds)
    assert gradient.abs().max() < 1e-12
    best = in_the_limit(*sides, mean.log())
    for other in ([0.1, 0.9], [0.5, 0.5], [0.8, 0.2]):
        assert best < in_the_limit(*sides, torch.tensor(other).double().log())


@pytest.mark.slow
@pytest.mark.parametrize("learnt", [False, True])
def test_training_reaches_the_information_there_is(world, learnt):
    logits = torch.zeros(4, 2, dtype=torch.float64, requires_grad=True)
    table = (1.5 * torch.eye(2, dtype=torch.float64)).repeat(2, 1, 1).requires_grad_()
    optimiser = torch.optim.LBFGS([logits, table], max_iter=100, line_search_fn="strong_wolfe")
    optimiser.param_groups[0].update(tolerance_grad=1e-9, tolerance_change=1e-14)

    def loss():
        optimiser.zero_grad()
        prior = logits.softmax(-1).mean(0) if learnt else world.prior
        sides = world.sides(logits.log_softmax(-1), table.log_softmax(-1))
        value = in_the_limit(*sides, prior.log())
        value.backward()
        return value

    optimiser.step(loss)
    assert 1 - loss().item() == pytest.approx(world.information, abs=1e-6)
    if not learnt:  # two labels per item tell all about f where p is known
        np.testing.assert_allclose(logits.detach().softmax(-1), world.class_xk, atol=0.02)


def test_people_who_label_the_same_items_can_trade_in_portraits(world):
    log_class, log_confusion = world.true_sides()
    one, two = log_confusion.exp()
    height = torch.tensor([1.1, 0.9], dtype=torch.float64)
    row = one @ height  # what the second person's rows must make up for
    traded = torch.stack([one * height / row[:, None], two * torch.linalg.solve(two, 1 / row)])
    traded[1] *= row[:, None]
    torch.testing.assert_close(traded.sum(-1), torch.ones(2, 2, dtype=torch.float64))
    assert (traded > 0).all()
    assert (traded - log_confusion.exp()).abs().max() > 0.01
    found = information_loss(*world.sides(log_class, traded.log()), world.prior.log())
    wanted = information_loss(*world.sides(log_class, log_confusion), world.prior.log())
    torch.testing.assert_close(found, wanted)


def _columns(batch):
    return batch.row, batch.annotator, batch.label
