"""annot-mix: the loss of mixed items, annotators and labels, by hand and at its limits."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import manyhands as mh
from featured_crowds import featured, fit
from manyhands.core.errors import DataError, SettingError
from manyhands.engine.batches import CrowdBatch
from manyhands.engine.settings import TrainingSettings
from manyhands.methods import METHODS, AnnotMix, Problem
from manyhands.methods.annot_mix import pair_labels
from manyhands.noise import AnnotationBatch, annotation_loss

A, K, D = 5, 3, 4
SMALL = {"n_dimensions": 2, "n_hidden": 3}


def a_module(seed=0):
    """A module in double precision, whose parameters are drawn."""
    torch.manual_seed(seed)
    problem = Problem(annotations=featured(n_annotators=A).annotations, shape=(D,))
    method = AnnotMix(SMALL, "own")
    module = method.make_module(nn.Linear(D, K), problem, TrainingSettings()).double()
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            shift = torch.randn(parameter.shape, generator=drawn, dtype=torch.float64)
            parameter.add_(0.7 * shift)
    return module


def a_batch(counts=(2, 1, 3, 1), seed=1):
    """Items with these numbers of labels, as the loop gives them."""
    generator = torch.Generator().manual_seed(seed)
    n, total = len(counts), sum(counts)
    row = torch.repeat_interleave(torch.arange(n), torch.tensor(counts))
    who = torch.randint(0, A, (total,), generator=generator)
    label = torch.randint(0, K, (total,), generator=generator)
    x = torch.randn(n, D, generator=generator, dtype=torch.float64)
    return CrowdBatch(torch.arange(n), x, AnnotationBatch(row, who, label, x))


def mixed_loss(module, batch, share_b, other_b):
    """The loss of the module's network for items that are mixed so."""
    wide = share_b.unsqueeze(1)
    x = wide * batch.inputs + (1 - wide) * batch.inputs[other_b]
    return module.mixed_loss(module.network(x), batch, share_b, other_b)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def loss_by_hand(module, batch, share_b, other_b):
    """A loop over labels of items and of those that they are mixed with."""
    given = {name: each.detach().numpy() for name, each in module.noise.state_dict().items()}
    ann, x = batch.annotations, batch.inputs.numpy()
    row, who, label = (each.numpy() for each in (ann.row, ann.annotator, ann.label))
    weight, bias = (each.detach().numpy() for each in module.network.parameters())
    total = 0.0
    for n in range(len(row)):
        t, i, j = share_b[row[n]].item(), row[n], other_b[row[n]].item()
        f = softmax((t * x[i] + (1 - t) * x[j]) @ weight.T + bias)
        terms = []
        for m in np.flatnonzero(row == j):
            u, base = (
                t * given[name][who[n]] + (1 - t) * given[name][who[m]]
                for name in ("embedding.weight", "base")
            )
            hidden = np.maximum(given["hidden.weight"] @ u + given["hidden.bias"], 0)
            logit = (given["out.weight"] @ hidden + given["out.bias"]).reshape(K, K)
            said = f @ softmax(base + logit)
            terms.append(t * math.log(said[label[n]]) + (1 - t) * math.log(said[label[m]]))
        total -= np.mean(terms)
    return total / len(row)


SHARES, OTHERS = torch.tensor([0.3, 0.9, 0.5, 0.0]).double(), torch.tensor([2, 0, 3, 1])


def test_the_loss_is_that_of_the_definition():
    module, batch = a_module(), a_batch()
    found = mixed_loss(module, batch, SHARES, OTHERS).item()
    assert found == pytest.approx(loss_by_hand(module, batch, SHARES, OTHERS), abs=1e-12)


def test_gradients_match_finite_differences():
    module, batch = a_module(), a_batch()
    names, values = zip(*module.named_parameters(), strict=True)

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.held = module

        def forward(self):
            return mixed_loss(self.held, batch, SHARES, OTHERS)

    def loss(*values):
        held = {f"held.{name}": each for name, each in zip(names, values, strict=True)}
        return torch.func.functional_call(Loss(), held, ())

    given = [value.detach().clone().requires_grad_() for value in values]
    assert torch.autograd.gradcheck(loss, given, atol=1e-6)


def test_items_that_are_not_mixed_have_the_loss_of_their_labels():
    module, batch = a_module(), a_batch()
    expected = annotation_loss(module.noise, module.network(batch.inputs), batch.annotations)
    whole = torch.ones(4, dtype=torch.float64)
    torch.testing.assert_close(mixed_loss(module, batch, whole, OTHERS), expected)
    one = a_batch(counts=(1, 1, 1, 1))  # an item that is mixed with itself
    expected = annotation_loss(module.noise, module.network(one.inputs), one.annotations)
    torch.testing.assert_close(mixed_loss(module, one, SHARES, torch.arange(4)), expected)


def test_it_does_not_matter_which_of_two_items_is_mixed_into_which():
    module, batch = a_module(), a_batch(counts=(1, 1, 1, 1))
    pairs = torch.tensor([1, 0, 3, 2])
    one = mixed_loss(module, batch, torch.tensor([0.2, 0.7, 0.4, 0.9]).double(), pairs)
    other = mixed_loss(module, batch, torch.tensor([0.3, 0.8, 0.1, 0.6]).double(), pairs)
    torch.testing.assert_close(one, other)


def test_the_order_of_labels_within_an_item_does_not_matter():
    module, batch = a_module(), a_batch()
    ann, order = batch.annotations, torch.tensor([1, 0, 2, 5, 3, 4, 6])
    turned = AnnotationBatch(ann.row, ann.annotator[order], ann.label[order], ann.features)
    again = CrowdBatch(batch.items, batch.inputs, turned)
    torch.testing.assert_close(
        mixed_loss(module, again, SHARES, OTHERS), mixed_loss(module, batch, SHARES, OTHERS)
    )


def test_every_label_is_mixed_with_labels_of_the_other_item_alone():
    counts = (12, 1, 9, 3)
    ann = a_batch(counts).annotations
    own, other, n_pairs = pair_labels(ann, 4, OTHERS)
    assert torch.equal(ann.row[other], OTHERS[ann.row[own]])
    torch.testing.assert_close(torch.bincount(own, 1.0 / n_pairs), torch.ones(25))
    most = torch.tensor(counts)[OTHERS[ann.row]].clamp_max(8)
    assert torch.equal(torch.bincount(own), most)
    assert len(set(zip(own.tolist(), other.tolist(), strict=True))) == len(own)


def test_annotators_are_told_apart_by_their_embeddings():
    crowd = featured(n_items=200, n_annotators=5, lowest=0.5, seed=3)
    settings = {"epochs": 30, "batch_size": 32, "learning_rate": 0.02, "init": "own"}
    model = fit("annot-mix", crowd, validation_fraction=0.0, **settings)
    assert model.score(crowd.x, crowd.truth) > 0.95
    assert np.abs(model.confusion_ - crowd.confusion).mean() < 0.1
    assert model.noise_.embedding.weight.abs().max() > 0.1


def test_texts_cannot_be_mixed():
    texts = ["good film", "bad film", "good", "bad", "very good", "very bad"]
    ann = mh.Annotations.from_dense(np.array([[1, 1], [0, 0]] * 3))
    model = mh.CrowdClassifier(method="annot-mix", epochs=1, warm_up=0, progress=False)
    with pytest.raises(DataError, match="annot-mix mixes the features of items"):
        model.fit(texts, ann)


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(SettingError, match="alpha must be > 0; got 0"):
        AnnotMix(alpha=0)
    with pytest.raises(SettingError, match="annot-mix has no setting 'items'"):
        METHODS["annot-mix"].configured({"items": True}, None)
