"""MaDL: confusions of pairs by hand, and weights by how alike annotators are."""

import math

import numpy as np
import pytest
import torch

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.estimators import CrowdClassifier
from manyhands.noise import AnnotationBatch, MaDL, SpeeLFC, annotation_loss

A, K, D, B, N = 5, 3, 4, 7, 20


def made(jitter=0.5, **settings):
    torch.manual_seed(0)
    layer = MaDL(A, K, n_features=D, **settings).double()
    drawn = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in layer.parameters():
            shift = torch.randn(parameter.shape, generator=drawn, dtype=torch.float64)
            parameter.add_(jitter * shift)
    return layer


def a_batch(seed=1):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(B, K, generator=generator, dtype=torch.float64)
    features = torch.randn(B, D, generator=generator, dtype=torch.float64)
    row, _ = torch.randint(0, B, (N,), generator=generator).sort()
    annotator = torch.randint(0, A, (N,), generator=generator)
    label = torch.randint(0, K, (N,), generator=generator)
    return logits, AnnotationBatch(row, annotator, label, features)


def numbers(layer):
    return {name: each.detach().numpy() for name, each in layer.state_dict().items()}


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def weights_by_hand(layer):
    """w_a from a loop over pairs of annotators."""
    u, gamma = numbers(layer)["embedding.weight"], math.exp(layer.log_gamma.item())
    rarity = np.array(
        [1 / np.mean([math.exp(-gamma * ((one - other) ** 2).sum()) for other in u]) for one in u]
    )
    return rarity / rarity.mean()


def loss_by_hand(layer, logits, batch):
    given, w = numbers(layer), weights_by_hand(layer)
    f, total = softmax(logits.numpy()), 0.0
    columns = (each.tolist() for each in (batch.row, batch.annotator, batch.label))
    for row, who, label in zip(*columns, strict=True):
        u = given["embedding.weight"][who]
        v = np.maximum(given["item.weight"] @ batch.features[row].numpy() + given["item.bias"], 0)
        joint = np.concatenate([v, u, np.outer(v, u).ravel()])
        hidden = np.maximum(given["hidden.weight"] @ joint + given["hidden.bias"], 0)
        logit = (given["out.weight"] @ hidden + given["out.bias"]).reshape(K, K)
        total -= w[who] * math.log(f[row] @ softmax(given["base"][who] + logit)[:, label])
    gamma = math.exp(layer.log_gamma.item())
    density = 0.25**1.25 / math.gamma(1.25) * gamma**0.25 * math.exp(-0.25 * gamma)
    return total / N - math.log(density)


def test_the_loss_is_that_of_the_definition():
    layer, (logits, batch) = made(), a_batch()
    found = annotation_loss(layer, logits, batch).item()
    assert found == pytest.approx(loss_by_hand(layer, logits, batch), abs=1e-9)


def test_gradients_of_the_whole_loss_match_finite_differences():
    """Embeddings count for the labels alone: their gradient leaves the weights out."""
    layer, (logits, batch) = made(n_dimensions=2, n_hidden=3), a_batch()
    names, values = zip(*layer.named_parameters(), strict=True)
    fixed = layer.label_weights(batch.annotator).detach()

    def by(name, value):
        held = dict(zip(names, values, strict=True)) | {name: value}
        return _loss_with(layer, held, logits, batch, None if name == "log_gamma" else fixed)

    for name, value in zip(names, values, strict=True):
        start = value.detach().clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda each, name=name: by(name, each), [start]), name


def _loss_with(layer, held, logits, batch, weight_n):
    """The loss with these parameters, and with given weights of labels."""

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self):
            if weight_n is None:
                return annotation_loss(self.layer, logits, batch)
            log_label = self.layer(
                logits.log_softmax(-1), batch.row, batch.annotator, batch.features
            )
            own = self.layer.log_likelihood(log_label, batch.label)
            return self.layer.penalty() - (weight_n * own).mean()

    prefixed = {f"layer.{name}": each for name, each in held.items()}
    return torch.func.functional_call(Loss(), prefixed, ())


def test_the_weights_of_annotators_have_a_mean_of_one_and_copies_share_theirs():
    layer = made(jitter=0.0)
    far = 50.0 * torch.eye(A, layer.n_dimensions, dtype=torch.float64)
    with torch.no_grad():
        layer.embedding.weight.copy_(far[[0, 1, 2, 2, 2]])
        found = layer.label_weights(torch.arange(A))
        assert found.mean().item() == pytest.approx(1.0)
        torch.testing.assert_close(found[2:].sum(), found[0])
        torch.testing.assert_close(found[0], found[1])
        layer.set_label_counts(np.array([3, 3, 3, 0, 0]))  # who gave no labels is no copy
        torch.testing.assert_close(layer.label_weights(torch.arange(3)), torch.ones(3).double())


def test_some_annotators_stand_for_all_of_a_large_crowd():
    torch.manual_seed(0)
    layer = MaDL(3000, K, n_features=D).double()
    with torch.no_grad():
        layer.embedding.weight.copy_(
            torch.randn(3000, 16, generator=torch.Generator().manual_seed(1)) * 0.2
        )
        found = layer.label_weights(torch.arange(3000))
    assert found.mean().item() == pytest.approx(1.0, abs=0.02)
    u = layer.embedding.weight
    rare = 1 / torch.exp(-torch.cdist(u, u).square()).mean(1)
    assert np.corrcoef(found, rare.detach())[0, 1] > 0.99


def test_at_the_start_it_is_a_confusion_per_annotator():
    logits, batch = a_batch()
    confusion = 0.4 * np.random.default_rng(0).dirichlet(np.ones(K), (A, K)) + 0.6 * np.eye(K)
    layer, plain = (
        each.double().init_from_confusions(confusion)
        for each in (MaDL(A, K, n_features=D), SpeeLFC(A, K))
    )
    torch.testing.assert_close(
        annotation_loss(layer, logits, batch) - layer.penalty(),
        annotation_loss(plain, logits, batch),
    )


def test_the_confusion_of_an_annotator_is_the_mean_over_the_items_labelled():
    layer, (logits, batch) = made(), a_batch()
    layer.reset_statistics()
    layer.update_statistics(logits.log_softmax(-1), batch)
    for who in range(A):
        own = batch.annotator == who
        pairs = layer.log_given_class(batch.annotator[own], batch.row[own], batch.features).exp()
        torch.testing.assert_close(layer.confusion()[who], pairs.mean(0))


def sided(seed=0, n_items=240, n_annotators=6):
    """Annotators who see only items on their side of a feature, and say anything of the others."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, n_items)
    x = np.concatenate(
        [2 * np.eye(K)[truth] + 0.5 * rng.normal(size=(n_items, K)), rng.normal(size=(n_items, 1))],
        axis=1,
    ).astype(np.float32)
    item = np.repeat(np.arange(n_items), n_annotators)
    who = np.tile(np.arange(n_annotators), n_items)
    sees = (x[item, K] > 0) == (who % 2 == 0)
    right = rng.random(len(item)) < np.where(sees, 0.95, 0.4)
    label = np.where(right, truth[item], (truth[item] + rng.integers(1, K, len(item))) % K)
    return x, Annotations.from_arrays(item, who, label), truth, sees


def test_errors_that_depend_on_the_item_are_learnt():
    x, ann, truth, sees = sided()
    settings = {"epochs": 15, "batch_size": 32, "learning_rate": 0.02, "progress": False}
    likelihood = {}
    for name in ("madl", "speelfc"):
        model = CrowdClassifier(method=name, device="cpu", validation_fraction=0.0, **settings)
        model.fit(x, ann)
        likelihood[name] = model.log_likelihood(x, ann)
        if name == "madl":
            features = model.encoder_.transform(x).rows(torch.arange(len(x)))
            pairs = (torch.from_numpy(each.astype(np.int64)) for each in (ann.annotator, ann.item))
            with torch.no_grad():
                found = model.noise_.log_given_class(*pairs, features).exp().numpy()
            own = found[np.arange(len(found)), truth[ann.item], truth[ann.item]]
    assert likelihood["madl"] > likelihood["speelfc"] + 0.1
    assert own[sees].mean() == pytest.approx(0.95, abs=0.05)
    assert own[~sees].mean() == pytest.approx(0.4, abs=0.08)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [({"accuracy": 1.0}, "between 0 and 1"), ({"shape": 1.0}, "> 1"), ({"n_hidden": 0}, ">= 1")],
)
def test_settings_out_of_range_are_refused(settings, rule):
    with pytest.raises(SettingError, match=f"{next(iter(settings))} must be {rule}"):
        MaDL(A, K, n_features=D, **settings)


def test_features_of_other_items_are_refused():
    layer, (logits, batch) = made(), a_batch()
    with pytest.raises(DataError, match="both must be of the same items"):
        layer(logits.log_softmax(-1), batch.row, batch.annotator, batch.features[:2])


def test_without_weights_every_label_counts_once():
    layer, (logits, batch) = made(weighted=False), a_batch()
    log_label = layer(logits.log_softmax(-1), batch.row, batch.annotator, batch.features)
    expected = -layer.log_likelihood(log_label, batch.label).mean()
    torch.testing.assert_close(annotation_loss(layer, logits, batch), expected)


def test_without_items_a_confusion_is_complete_and_needs_no_features():
    layer, (logits, batch) = made(items=False), a_batch()
    assert not layer.needs_features
    assert layer.confusion_is_complete
    bare = AnnotationBatch(batch.row, batch.annotator, batch.label)
    torch.testing.assert_close(
        annotation_loss(layer, logits, bare), annotation_loss(layer, logits, batch)
    )
    given = numbers(layer)
    hidden = np.maximum(
        given["embedding.weight"] @ given["hidden.weight"].T + given["hidden.bias"], 0
    )
    logit = (hidden @ given["out.weight"].T + given["out.bias"]).reshape(A, K, K)
    np.testing.assert_allclose(layer.confusion().numpy(), softmax(given["base"] + logit))
