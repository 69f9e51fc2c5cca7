"""The annotator model of sets of classes behind sigmoid outputs."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.noise import (
    AnnotatedDataset,
    AnnotationBatch,
    MultilabelLayer,
    SpeeLFC,
    annotation_loss,
    collate,
)
from set_crowds import CLASSES, simulate_sets


def batch_of(n_items=3, n_annotators=4, seed=0):
    rng = np.random.default_rng(seed)
    n = 2 * n_items
    row = torch.from_numpy(np.repeat(np.arange(n_items), 2))
    who = torch.from_numpy(rng.integers(0, n_annotators, n))
    sets = torch.from_numpy((rng.random((n, 3)) < 0.5).astype(np.float64))
    return AnnotationBatch(row, who, sets)


def random_layer(seed=0, **settings):
    torch.manual_seed(seed)
    layer = MultilabelLayer(4, 3, dtype=torch.float64, **settings)
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in layer.parameters():
            each.add_(torch.randn(each.shape, generator=drawn, dtype=torch.float64))
    return layer


def random_outputs():
    return torch.randn(3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_probabilities_sum_to_one_and_are_those_of_the_docstring():
    layer, batch = random_layer(), batch_of()
    outputs = random_outputs()
    log_nky = layer(outputs, batch.row, batch.annotator)
    torch.testing.assert_close(log_nky.exp().sum(dim=-1), torch.ones(6, 3, dtype=torch.float64))
    confusion_akzy = layer.confusion()
    torch.testing.assert_close(confusion_akzy.sum(dim=-1), torch.ones(4, 3, 2).double())
    p = outputs.sigmoid()[batch.row]
    own = confusion_akzy[batch.annotator]
    expected = p * own[..., 1, 1] + (1 - p) * own[..., 0, 1]
    torch.testing.assert_close(log_nky[..., 1].exp(), expected)


def test_gradients_are_right_and_reach_everything():
    layer, batch = random_layer(), batch_of()
    layer.set_label_counts(np.array([2, 3, 1, 0]))
    outputs = random_outputs().requires_grad_()
    assert torch.autograd.gradcheck(lambda each: annotation_loss(layer, each, batch), outputs)
    annotation_loss(layer, outputs, batch).backward()
    for each in (*layer.parameters(), outputs):
        assert each.grad is not None
        assert torch.isfinite(each.grad).all()
    start = layer.by_class.weight.detach().clone()

    def loss(weight):
        with torch.no_grad():
            layer.by_class.weight.copy_(weight)
        return annotation_loss(layer, outputs, batch).item()

    step = torch.zeros_like(start)
    step[batch.annotator[0], 0] = 1e-6
    slope = (loss(start + step) - loss(start - step)) / 2e-6
    assert slope == pytest.approx(
        layer.by_class.weight.grad[batch.annotator[0], 0].item(), abs=1e-6
    )


def test_the_posterior_is_that_of_bayes():
    layer, batch = random_layer(), batch_of()
    outputs = random_outputs()
    found, confusion_akzy = layer.posterior(outputs, batch), layer.confusion()
    for b in range(3):
        joint = torch.stack([1 - outputs[b].sigmoid(), outputs[b].sigmoid()])
        for n in range(6):
            if batch.row[n] == b:
                said = batch.label[n].long()
                own = confusion_akzy[batch.annotator[n]]
                joint = joint * torch.stack([own[torch.arange(3), z, said] for z in (0, 1)])
        torch.testing.assert_close(found[b], joint[1] / joint.sum(dim=0))


def test_confusions_of_a_consensus_are_taken_over():
    consensus = mh.aggregate(simulate_sets(0, n_items=60).annotations)
    shape = consensus.confusion.shape
    layer = MultilabelLayer(shape[0], shape[1], dtype=torch.float64)
    found = layer.init_from_confusions(consensus.confusion).confusion()
    np.testing.assert_allclose(found.numpy(), consensus.confusion, atol=1e-5)
    assert layer.penalty().item() == 0.0  # they are the means of the priors
    with pytest.raises(DataError, match="confusions must have shape"):
        layer.init_from_confusions(consensus.confusion[:, :1])


def test_a_network_learns_more_from_all_annotators_than_from_the_majority():
    crowd = simulate_sets(3, n_items=500, n_annotators=20, per_item=2)
    rng = np.random.default_rng(0)
    signs = rng.normal(size=(len(CLASSES), 12))
    clean = crowd.truth_ik @ signs + 0.5 * rng.normal(size=(500, 12))
    inputs, ann = torch.from_numpy(clean).float(), crowd.annotations
    torch.manual_seed(0)
    network, layer = torch.nn.Linear(12, 5), MultilabelLayer(20, 5)
    layer.set_label_counts(ann.labels_per_annotator)
    loader = DataLoader(AnnotatedDataset(inputs, ann), batch_size=100, collate_fn=collate)
    optimiser = torch.optim.Adam([*network.parameters(), *layer.parameters()], lr=0.03)
    for _ in range(40):
        for x, batch in loader:
            optimiser.zero_grad()
            annotation_loss(layer, network(x), batch).backward()
            optimiser.step()
    found = (network(inputs) > 0).detach().numpy()
    majority = mh.aggregate(ann, "multilabel-majority")
    score = mh.evaluation.set_scores(crowd.truth_ik, found, found * 1.0, CLASSES)
    assert score.f1_micro > majority.score(crowd.truth).f1_micro + 0.05
    sensitivity = layer.confusion()[..., 1, 1].mean(dim=1).numpy()
    planted = crowd.right_akz[..., 1].mean(axis=1)
    assert np.corrcoef(sensitivity, planted)[0, 1] > 0.7


def test_batches_of_sets_and_refusals():
    ann = simulate_sets(0, n_items=4).annotations
    data = AnnotatedDataset(torch.zeros(4, 2), ann)
    _, batch = collate([data[0], data[1]])
    assert batch.label.shape == (6, 5)
    np.testing.assert_array_equal(batch.label[:3].numpy(), ann[:1].members)
    layer = MultilabelLayer(15, 4)
    with pytest.raises(DataError, match="a logit and a label for each of 4 classes"):
        annotation_loss(layer, torch.zeros(2, 5), batch)
    with pytest.raises(SettingError, match="accuracy must be above 0 and below 1"):
        MultilabelLayer(2, 2, accuracy=1.0)
    empty = AnnotationBatch(torch.zeros(0).long(), torch.zeros(0).long(), torch.zeros(0, 4))
    assert annotation_loss(layer, torch.zeros(2, 4), empty).item() == 0.0
    with pytest.raises(DataError, match="labels are sets"):
        annotation_loss(SpeeLFC(15, 5), torch.zeros(2, 5), batch)
