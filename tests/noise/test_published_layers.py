"""What only the layers of the papers satisfy: their losses, sums, starts and sizes."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from manyhands.core.errors import SettingError
from manyhands.engine.optimisers import make_optimisers
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.tasks import TASKS
from manyhands.noise import (
    NOISE,
    AnnotationBatch,
    CoNAL,
    RegressionLayer,
    SpeeLFCD,
    TraceReg,
    annotation_loss,
)

A, K, J = 5, 3, 4
# Annotator 0 labels all six items, the others one or two; items have 3, 1, 1, 2, 3 and 1 labels.
ROW = torch.tensor([0, 0, 0, 1, 2, 3, 3, 4, 4, 4, 5])
WHO = torch.tensor([0, 1, 2, 0, 0, 0, 3, 0, 1, 4, 0])
LABEL = torch.tensor([0, 1, 0, 2, 1, 0, 0, 2, 2, 1, 1])
COUNTS = np.bincount(WHO, minlength=A)


def batch_of(rows, label=LABEL, **others):
    """The annotations of some items, whose rows begin at 0."""
    some = torch.isin(ROW, torch.tensor(rows))
    return AnnotationBatch(ROW[some] - rows[0], WHO[some], label[some], **others)


def jittered(layer, scale=0.3):
    """The layer in double precision, with parameters moved at random."""
    rng = torch.Generator().manual_seed(3)
    layer = layer.double()
    with torch.no_grad():
        for each in layer.parameters():
            each.add_(scale * torch.randn(each.shape, generator=rng, dtype=torch.float64))
    return layer.set_label_counts(COUNTS)


def logits(seed=1):
    return torch.randn(6, K, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def features():
    return torch.randn(6, J, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.mark.parametrize("kind", ["none", "S", "B", "SB"])
def test_the_regression_layer_of_the_source_is_the_plain_squared_error(kind):
    layer = jittered(RegressionLayer(A, kind=kind, precision="none"))
    value_b1, label_n = logits()[:, :1], LABEL.double() - 1.0
    batch = batch_of(list(range(6)), label_n)
    predicted_n = layer.scale(WHO) * value_b1[ROW, 0] + layer.bias(WHO)
    expected = functional.mse_loss(predicted_n, label_n)
    torch.testing.assert_close(annotation_loss(layer, value_b1, batch), expected)
    assert layer.penalty(WHO) == layer.penalty() == 0
    learnt = {name for name, each in layer.named_parameters() if each.requires_grad}
    tables = {"S": {"scale.weight"}, "B": {"bias.weight"}}
    assert learnt == set().union(*(tables.get(each, set()) for each in kind))


def test_the_gradient_of_the_squared_error_is_that_of_finite_differences():
    layer = jittered(RegressionLayer(A, kind="SB", precision="none"))
    value_b1 = logits()[:, :1].requires_grad_()
    batch = batch_of(list(range(6)), LABEL.double())

    def loss(value_b1, scale, bias):
        given = {"scale.weight": scale, "bias.weight": bias}
        return torch.func.functional_call(_Loss(layer, batch), _named(given), (value_b1,))

    assert torch.autograd.gradcheck(loss, (value_b1, layer.scale.weight, layer.bias.weight))


class _Loss(torch.nn.Module):
    def __init__(self, layer, batch):
        super().__init__()
        self.layer, self.batch = layer, batch

    def forward(self, outputs):
        return annotation_loss(self.layer, outputs, self.batch)


def _named(parameters):
    return {f"layer.{name}": each for name, each in parameters.items()}


def test_the_loss_of_conal_is_a_sum_over_labels_averaged_over_items():
    layer = jittered(CoNAL(A, K, n_features=J, strength=0.1, reduction="items"))
    batch = batch_of(list(range(6)), features=features())
    log_nl = layer(logits().log_softmax(-1), ROW, WHO, features())
    said = log_nl[torch.arange(len(ROW)), LABEL].sum()
    matrices = layer.own(torch.arange(A)).detach()
    apart = sum(torch.linalg.matrix_norm(layer.common - each) for each in matrices)
    expected = -said / 6 - 0.1 * apart
    torch.testing.assert_close(annotation_loss(layer, logits(), batch), expected)


@pytest.mark.parametrize("name", ["conal", "trace-reg"])
def test_items_that_are_split_in_two_have_the_gradient_of_all(name):
    """Halves have 5 and 6 labels: a mean over labels would weigh them wrongly."""

    def gradient(reduction, parts):
        torch.manual_seed(0)  # of the gate's embeddings
        layer = jittered(NOISE[name](A, K, n_features=J, strength=0.1, reduction=reduction))
        for rows in parts:
            batch = batch_of(rows, features=features()[rows])
            (annotation_loss(layer, logits()[rows], batch) / len(parts)).backward()
        return torch.cat([each.grad.flatten() for each in layer.parameters()])

    whole, halves = [list(range(6))], [[0, 1, 2], [3, 4, 5]]
    torch.testing.assert_close(gradient("items", whole), gradient("items", halves))
    assert not torch.allclose(gradient("labels", whole), gradient("labels", halves))


def distances(layer):
    return torch.linalg.matrix_norm(layer.common - layer.own(torch.arange(A))).detach()


@pytest.mark.parametrize("name", ["conal", "conal-groups"])
def test_a_batch_full_of_one_annotator_does_not_change_the_sum(name):
    settings = {"n_groups": 1} if name == "conal-groups" else {}
    layer = jittered(NOISE[name](A, K, n_features=J, strength=1.0, **settings))
    exact = -distances(layer).sum()
    for batch in (None, torch.tensor([0] * 50), torch.tensor([0] * 50 + [3]), WHO):
        torch.testing.assert_close(layer.penalty(batch).detach(), exact)


def test_the_sum_of_sparse_gradients_is_right_on_average():
    layer = jittered(CoNAL(A, K, n_features=J, strength=1.0, sparse=True))
    one_by_one = torch.stack([layer.penalty(who.reshape(1)) for who in WHO]).detach()
    torch.testing.assert_close(one_by_one.mean(), -distances(layer).sum())
    batches = torch.stack([layer.penalty(torch.stack([a, b])) for a in WHO for b in WHO])
    torch.testing.assert_close(batches.mean().detach(), -distances(layer).sum())


def test_annotators_without_labels_are_not_in_the_sum():
    layer = jittered(CoNAL(A, K, n_features=J, strength=1.0))
    layer.set_label_counts(np.array([4, 0, 2, 0, 1]))
    torch.testing.assert_close(layer.penalty().detach(), -distances(layer)[[0, 2, 4]].sum())


def test_the_layers_have_the_numbers_of_parameters_that_the_paper_counts():
    """Table 3 of the paper: R C^2, 2 R C^2 and (R + 1) C^2; the gate is none of them."""
    found = {
        name: NOISE[name](A, K, n_features=J).n_layer_parameters
        for name in ("crowd-layer-mw", "crowd-layer-over", "conal")
    }
    sizes = {"crowd-layer-mw": A, "crowd-layer-over": 2 * A, "conal": A + 1}
    assert found == {name: size * K**2 for name, size in sizes.items()}


def test_softplus_starts_where_the_source_starts():
    layer = TraceReg(A, K, activation="softplus", dtype=torch.float64)
    right, wrong = math.log1p(math.e), math.log1p(math.exp(-5.0))
    whole = right + (K - 1) * wrong
    expected = torch.full((K, K), wrong / whole, dtype=torch.float64)
    expected.fill_diagonal_(right / whole)
    for confusion in layer.confusion():
        torch.testing.assert_close(confusion, expected)
    torch.testing.assert_close(layer.table.weight[0].reshape(K, K), 6.0 * torch.eye(K).double() - 5)


def test_softplus_can_start_from_given_confusions():
    rng = np.random.default_rng(0)
    confusion = rng.dirichlet(np.ones(K), size=(A, K))
    layer = TraceReg(A, K, activation="softplus", dtype=torch.float64)
    found = layer.init_from_confusions(confusion).confusion()
    torch.testing.assert_close(found, torch.from_numpy(confusion), atol=1e-5, rtol=0)


def test_the_trace_is_summed_over_annotators():
    layer = jittered(TraceReg(A, K, strength=0.5, activation="softplus", reduction="items"))
    trace = torch.einsum("akk->", layer.confusion())
    torch.testing.assert_close(layer.penalty().detach(), 0.5 * trace)
    torch.testing.assert_close(layer.penalty(torch.tensor([0, 0, 3])).detach(), 0.5 * trace)
    mean = jittered(TraceReg(A, K, strength=0.5, activation="softplus")).penalty()
    torch.testing.assert_close(mean.detach(), 0.5 * trace / A)


def test_the_gradient_through_softplus_is_that_of_finite_differences():
    layer = jittered(TraceReg(A, K, strength=0.5, activation="softplus", reduction="items"))
    batch = batch_of(list(range(6)))

    def loss(outputs, table):
        given = _named({"table.weight": table})
        return torch.func.functional_call(_Loss(layer, batch), given, (outputs,))

    assert torch.autograd.gradcheck(loss, (logits().requires_grad_(), layer.table.weight))


def test_the_difficulty_network_drops_units_in_training_only():
    layer = jittered(SpeeLFCD(A, K, n_features=J, n_hidden=64, dropout=0.5))
    plain = SpeeLFCD(A, K, n_features=J, n_hidden=64).double()
    plain.load_state_dict({
        name.replace("difficulty.3", "difficulty.2"): each
        for name, each in layer.state_dict().items()
    })  # fmt: skip
    given = (logits().log_softmax(-1), ROW, WHO, features())
    with torch.no_grad():
        layer.eval()
        torch.testing.assert_close(layer(*given), plain(*given))
        layer.train()
        torch.manual_seed(0)
        drawn = torch.stack([layer.difficulty(features()) for _ in range(1000)])
    assert drawn.std(dim=0).min() > 0
    # Kept units are scaled, so that the mean is that of the whole network.
    torch.testing.assert_close(drawn.mean(dim=0), plain.difficulty(features()), atol=0.4, rtol=0)


def test_the_rate_of_the_difficulty_network_is_a_setting():
    layer = SpeeLFCD(A, K, n_features=J, difficulty_rate=0.25)
    module = TASKS["classification"].module(torch.nn.Linear(J, K), layer)
    settings = TrainingSettings(learning_rate=0.3, noise_learning_rate=0.02)
    rates = {
        id(each): group["lr"]
        for optimiser in make_optimisers(module, settings)
        for group in optimiser.param_groups
        for each in group["params"]
    }
    assert rates[id(layer.alpha.weight)] == 0.02
    assert {rates[id(each)] for each in layer.difficulty.parameters()} == {0.25 * 0.02}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: SpeeLFCD(A, K, n_features=J, dropout=1.0), "dropout must be in 0..1"),
        (lambda: SpeeLFCD(A, K, n_features=J, difficulty_rate=0.0), "difficulty_rate must be > 0"),
        (lambda: TraceReg(A, K, activation="relu"), "activation must be one of softmax, softplus"),
        (lambda: CoNAL(A, K, n_features=J, reduction="all"), "reduction must be one of labels"),
    ],
)
def test_wrong_settings_are_refused(make, text):
    with pytest.raises(SettingError, match=text):
        make()
