"""Contracts of every entry of the table of noise models."""

import inspect

import numpy as np
import pytest
import torch

from manyhands.core.errors import DataError, SettingError, UnknownNameError
from manyhands.noise import (
    NOISE,
    AnnotatedDataset,
    AnnotationBatch,
    CoNAL,
    CoNALGroups,
    GeoCrowdNet,
    Mixture,
    SoftmaxCrowdLayer,
    SpeeLFC,
    SpeeLFCD,
    TraceReg,
    annotation_loss,
    collate,
)
from manyhands.noise.speelfc import log_complement
from manyhands.simulation import SCENARIOS, CrowdSettings

A, K, D, B = 5, 3, 4, 7
IDENTITY_FREE = {"mixture-e2e"}
SUMS = {"conal", "conal-groups"}  # whose penalty is a sum over all annotators
SMALL = {"madl": {"n_dimensions": 2, "n_hidden": 4}}  # gradients are checked number by number
NEEDS_ITEMS = {"conal", "conal-groups", "speelfc-d", "madl", "mixture-e2e"}


@pytest.fixture(params=list(NOISE))
def name(request):
    return request.param


def make(name, sparse=False, seed=0, jitter=0.0):
    torch.manual_seed(seed)
    layer = NOISE[name](A, K, n_features=D, sparse=sparse, **SMALL.get(name, {})).double()
    if jitter:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.add_(jitter * torch.randn(parameter.shape, generator=generator))
    return layer


def a_batch(seed=1, n=20):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(B, K, generator=generator, dtype=torch.float64)
    features = torch.randn(B, D, generator=generator, dtype=torch.float64)
    row, _ = torch.randint(0, B, (n,), generator=generator).sort()
    annotator = torch.randint(0, A, (n,), generator=generator)
    label = torch.randint(0, K, (n,), generator=generator)
    return logits, AnnotationBatch(row, annotator, label, features)


def log_labels(layer, logits, batch):
    return layer(logits.log_softmax(-1), batch.row, batch.annotator, batch.features)


def test_settings_are_taken_by_name_and_no_other(name):
    maker = NOISE[name]
    chosen = {each: inspect.signature(maker.model).parameters[each].default for each in
              maker.settings}  # fmt: skip
    maker(A, K, n_features=D, **chosen)
    with pytest.raises(SettingError, match="no setting 'strenght'"):
        maker(A, K, n_features=D, strenght=1.0)


def test_rows_exp_sum_to_one(name):
    logits, batch = a_batch()
    log_label = log_labels(make(name, jitter=0.5), logits, batch)
    assert log_label.shape == (20, K)
    torch.testing.assert_close(log_label.exp().sum(-1), torch.ones(20, dtype=torch.float64))


def test_a_batch_of_one_keeps_its_shape(name):
    logits, batch = a_batch(n=1)
    assert log_labels(make(name), logits[batch.row], AnnotationBatch(
        torch.zeros(1, dtype=torch.int64), batch.annotator, batch.label, batch.features[batch.row]
    )).shape == (1, K)  # fmt: skip


def test_no_labels_cost_nothing(name):
    logits, _ = a_batch()
    none = torch.zeros(0, dtype=torch.int64)
    empty = AnnotationBatch(none, none, none, torch.zeros(B, D, dtype=torch.float64))
    assert annotation_loss(make(name), logits, empty).item() == 0.0


def test_a_model_that_needs_features_raises_without_them(name):
    logits, batch = a_batch()
    without = AnnotationBatch(batch.row, batch.annotator, batch.label)
    if name in {"conal", "conal-groups", "speelfc-d", "madl"}:
        with pytest.raises(DataError, match="give the batch their features"):
            annotation_loss(make(name), logits, without)
    else:
        assert annotation_loss(make(name), logits, without).isfinite()


def test_gradients_reach_every_parameter(name):
    layer = make(name, jitter=0.3)
    logits, batch = a_batch(n=60)
    logits.requires_grad_()
    annotation_loss(layer, logits, batch).backward()
    for path, parameter in layer.named_parameters():
        assert parameter.grad is not None, path
        assert parameter.grad.abs().sum() > 0, path
    assert logits.grad.abs().sum() > 0


def test_gradients_match_finite_differences(name):
    layer = make(name, jitter=0.3)
    logits, batch = a_batch()
    names, values = zip(*layer.named_parameters(), strict=True)

    def loss(logits, *values):
        parameters = dict(zip(names, values, strict=True))
        args = (logits.log_softmax(-1), batch.row, batch.annotator, batch.features)
        log_label = torch.func.functional_call(layer, parameters, args)
        return layer.log_likelihood(log_label, batch.label).mean()

    inputs = [logits, *(value.detach().clone() for value in values)]
    assert torch.autograd.gradcheck(loss, [each.requires_grad_() for each in inputs], atol=1e-6)


def test_splitting_a_batch_gives_the_same_gradient(name):
    logits, batch = a_batch()
    whole, halves = make(name, jitter=0.3), make(name, jitter=0.3)
    log_label = log_labels(whole, logits, batch)
    whole.log_likelihood(log_label, batch.label).sum().backward()
    for part in (slice(0, 9), slice(9, 20)):
        piece = AnnotationBatch(
            batch.row[part], batch.annotator[part], batch.label[part], batch.features
        )
        halves.log_likelihood(log_labels(halves, logits, piece), piece.label).sum().backward()
    for one, other in zip(whole.parameters(), halves.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_permuting_annotators_permutes_the_outcome(name):
    layer, moved = make(name, jitter=0.4), make(name, jitter=0.4)
    order = torch.tensor([3, 0, 4, 1, 2])
    with torch.no_grad():
        for path, parameter in moved.named_parameters():
            if parameter.shape[0] == A and parameter.dim() == 2 and "item" not in path:
                parameter.copy_(parameter[torch.argsort(order)])
    logits, batch = a_batch()
    renamed = AnnotationBatch(batch.row, order[batch.annotator], batch.label, batch.features)
    torch.testing.assert_close(log_labels(layer, logits, batch), log_labels(moved, logits, renamed))


def test_confusions_have_rows_that_sum_to_one(name):
    confusion = make(name, jitter=0.3).confusion()
    assert confusion.shape == (A, K, K)
    torch.testing.assert_close(confusion.sum(-1), torch.ones(A, K, dtype=torch.float64))


def test_annotators_start_right_more_often_than_chance(name):
    right = make(name).confusion().diagonal(dim1=1, dim2=2)
    if name == "crowd-layer-vb":  # zero biases: softmax of f itself
        assert torch.allclose(right, torch.full_like(right, np.e / (np.e + K - 1)))
    assert (right > 1.0 / K + 0.05).all()


def test_saving_and_loading_gives_the_same_outcome(name):
    layer, other = make(name, jitter=0.5), make(name, seed=9)
    other.load_state_dict(layer.state_dict())
    logits, batch = a_batch()
    assert torch.equal(log_labels(layer, logits, batch), log_labels(other, logits, batch))


def test_sparse_gradients_equal_dense_ones(name):
    logits, batch = a_batch()
    dense, sparse = make(name, jitter=0.3), make(name, sparse=True, jitter=0.3)
    for layer in (dense, sparse):
        loss = annotation_loss(layer, logits, batch)
        if name in SUMS:  # of which sparse gradients see a part
            loss = loss - layer.penalty(batch.annotator)
        loss.backward()
    n_sparse = 0
    for one, other in zip(dense.parameters(), sparse.parameters(), strict=True):
        n_sparse += other.grad.is_sparse
        grad = other.grad.to_dense() if other.grad.is_sparse else other.grad
        torch.testing.assert_close(one.grad, grad)
    assert n_sparse or name in IDENTITY_FREE


def test_the_penalty_of_all_annotators_is_what_batches_estimate(name):
    layer = make(name, jitter=0.3)
    estimate = layer.penalty(torch.arange(A).repeat(3))
    torch.testing.assert_close(layer.penalty(), estimate)


def test_the_probability_of_a_label_is_that_of_the_model(name):
    layer = make(name, jitter=0.3)
    logits, batch = a_batch()
    expected = log_labels(layer, logits, batch)[torch.arange(len(batch)), batch.label]
    assert layer.task == "classification"
    assert torch.equal(layer.label_log_prob(logits, batch), expected)


def test_a_complete_confusion_is_the_label_distribution_of_certain_items(name):
    layer = make(name, jitter=0.3)
    assert layer.confusion_is_complete == (name not in NEEDS_ITEMS)
    _, batch = a_batch()
    certain = torch.eye(K, dtype=torch.float64)[torch.arange(B) % K].log()
    rows = layer(certain, batch.row, batch.annotator, batch.features).exp()
    if layer.confusion_is_complete:
        torch.testing.assert_close(rows, layer.confusion()[batch.annotator, batch.row % K])


def test_an_unknown_name_lists_the_known():
    with pytest.raises(UnknownNameError, match="did you mean speelfc"):
        NOISE["speelf"]


def test_a_network_of_another_size_is_refused():
    _, batch = a_batch()
    with pytest.raises(DataError, match="gives 4 classes where the labels have 3"):
        annotation_loss(make("speelfc"), torch.zeros(B, 4), batch)


def test_probabilities_instead_of_logits_are_warned_of():
    logits, batch = a_batch()
    with pytest.warns(UserWarning, match="probabilities where logits are expected"):
        annotation_loss(make("speelfc"), logits.softmax(-1), batch)


def test_speelfc_with_a_certain_class_is_the_annotators_row():
    layer = make("speelfc", jitter=1.0)
    certain = torch.eye(K, dtype=torch.float64).log()
    row, who = torch.tensor([2, 0]), torch.tensor([4, 1])
    expected = layer.confusion()[who, row].log()
    torch.testing.assert_close(layer(certain, row, who), expected)


def test_speelfc_starts_at_the_accuracy_asked_for():
    for n_classes in (2, 10, 100):
        right = SpeeLFC(2, n_classes, accuracy=0.8).confusion().diagonal(dim1=1, dim2=2)
        torch.testing.assert_close(right, torch.full_like(right, 0.8))
    paper = SpeeLFC(2, 2, diagonal=0.4).confusion()[0, 0, 0].item()
    assert paper == pytest.approx(np.exp(1.4) / (np.exp(1.4) + np.exp(1.0)), rel=1e-6)


def test_conal_with_a_closed_gate_is_the_own_model_and_with_an_open_one_the_common():
    logits, batch = a_batch()
    for omega, expected in ((0.0, "own"), (1.0, "common")):
        torch.manual_seed(0)
        layer = CoNAL(A, K, n_features=D, omega=omega).double()
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            layer.own.weight.add_(torch.randn(layer.own.weight.shape, generator=generator))
            layer.common.add_(torch.randn(layer.common.shape, generator=generator))
        f = logits.softmax(-1)[batch.row]
        own = torch.einsum("nlk,nk->nl", layer.own(batch.annotator), f).log_softmax(-1)
        common = (f @ layer.common.T).log_softmax(-1)
        wanted = own if expected == "own" else common
        torch.testing.assert_close(log_labels(layer, logits, batch), wanted)


def test_conal_mixes_probabilities_as_its_formula_says():
    logits, batch = a_batch()
    layer = make("conal", jitter=0.5)
    f = logits.softmax(-1)[batch.row]
    u = torch.nn.functional.normalize(layer.gate.annotator(batch.annotator), dim=-1)
    v = torch.nn.functional.normalize(layer.gate.item(batch.features), dim=-1)[batch.row]
    omega = (u * v).sum(-1, keepdim=True).sigmoid()
    assert ((omega > 0.26) & (omega < 0.74)).all()
    own = torch.einsum("nlk,nk->nl", layer.own(batch.annotator), f).softmax(-1)
    mixed = omega * (f @ layer.common.T).softmax(-1) + (1 - omega) * own
    torch.testing.assert_close(log_labels(layer, logits, batch).exp(), mixed)


def test_conal_groups_with_one_group_is_conal():
    logits, batch = a_batch()
    torch.manual_seed(0)
    one = CoNALGroups(A, K, n_features=D, n_groups=1, omega=0.4).double()
    plain = CoNAL(A, K, n_features=D, omega=0.4).double()
    torch.testing.assert_close(log_labels(one, logits, batch), log_labels(plain, logits, batch))


def test_the_conal_penalty_is_the_sum_of_distances():
    layer = make("conal", jitter=0.5)
    distances = [(layer.common - layer.own(torch.tensor([a]))[0]).norm() for a in range(A)]
    torch.testing.assert_close(layer.penalty(), -1e-5 * torch.stack(distances).sum())


def test_the_mixture_is_equation_four_and_needs_no_names():
    logits, batch = a_batch()
    layer = make("mixture-e2e", jitter=0.7)
    alpha, beta = layer.alpha.softmax(0), layer.beta.softmax(-1)
    f = logits.softmax(-1)
    for n in range(len(batch)):
        i, y = batch.row[n], batch.label[n]
        total = sum(alpha[m] * f[i, k] * beta[m, k, y] for m in range(len(alpha)) for k in range(K))
        log_label = log_labels(layer, logits, batch)[n, y]
        torch.testing.assert_close(log_label.exp(), total)
    others = AnnotationBatch(batch.row, torch.zeros_like(batch.annotator), batch.label)
    torch.testing.assert_close(log_labels(layer, logits, batch), log_labels(layer, logits, others))


def test_experts_depend_on_the_item():
    torch.manual_seed(0)
    layer = Mixture(A, K, experts=True, n_features=D).double()
    features = a_batch()[1].features
    shares = layer.log_weights(features).exp()
    assert shares.shape == (B, 3)
    torch.testing.assert_close(shares.sum(-1), torch.ones(B, dtype=torch.float64))
    assert shares.std(0).min() > 0


def test_speelfc_d_is_right_by_ability_and_difficulty():
    logits, batch = a_batch()
    layer = make("speelfc-d", jitter=0.02)
    beta = layer.l1 + layer.l2 * layer.difficulty(batch.features).squeeze(1).sigmoid()
    p = (layer.alpha(batch.annotator) * beta[batch.row]).sigmoid().unsqueeze(1)
    f = logits.softmax(-1)[batch.row]
    torch.testing.assert_close(
        log_labels(layer, logits, batch).exp(), p * f + (1 - p) * (1 - f) / (K - 1)
    )
    with pytest.raises(DataError, match="both must be of the same items"):
        layer(logits.log_softmax(-1), batch.row, batch.annotator, batch.features[:2])
    assert SpeeLFCD(2, 3, n_features=1).alpha.weight[0].item() == pytest.approx(0.028)


def test_the_complement_is_exact_near_certainty():
    log_class = torch.tensor([[0.0, -80.0, -90.0]], dtype=torch.float64)
    found = log_complement(log_class.log_softmax(-1))
    assert found[0, 0].item() == pytest.approx(-80.0 + np.log1p(np.exp(-10.0)), rel=1e-9)


def test_trace_reg_adds_the_mean_trace():
    layer = TraceReg(A, K, strength=0.5, accuracy=0.9)
    assert layer.penalty().item() == pytest.approx(0.5 * 3 * 0.9, rel=1e-5)


def test_softened_targets_are_the_second_reading():
    logits, batch = a_batch()
    hard, soft = (
        SoftmaxCrowdLayer(A, K, target=target).double() for target in ("labels", "softened")
    )
    log_label = log_labels(soft, logits, batch)
    share = np.e / (np.e + K - 1)
    at_label = log_label.gather(1, batch.label.unsqueeze(1)).squeeze(1)
    rest = log_label.sum(1) - at_label
    expected = share * at_label + (1 - share) / (K - 1) * rest
    torch.testing.assert_close(soft.log_likelihood(log_label, batch.label), expected)
    torch.testing.assert_close(hard.log_likelihood(log_label, batch.label), at_label)


def test_batches_come_out_of_a_data_loader():
    crowd = SCENARIOS["symmetric"](CrowdSettings(n_items=20, n_annotators=6, labels_per_item=3))
    inputs = torch.arange(40.0).reshape(20, 2)
    dataset = AnnotatedDataset(inputs, crowd.annotations)
    loader = torch.utils.data.DataLoader(dataset, batch_size=8, collate_fn=collate)
    seen = 0
    for x, batch in loader:
        assert len(batch) == 3 * len(x)
        assert batch.row.max() < len(x)
        assert batch.features is x
        seen += len(batch)
    assert seen == crowd.annotations.n_annotations
    with pytest.raises(DataError, match="19 inputs for 20 items"):
        AnnotatedDataset(inputs[:19], crowd.annotations)


@pytest.mark.parametrize("name", ["crowd-layer-mw", "speelfc", "trace-reg", "conal"])
def test_simulated_confusions_are_recovered_by_gradient(name):
    """With the true classes as the output of the network, the confusions approach the true ones."""
    crowd = SCENARIOS["confusions"](
        CrowdSettings(n_items=1500, n_annotators=6, n_classes=3, labels_per_item=4, seed=2)
    )
    torch.manual_seed(0)
    # Without statistics the gate of CoNAL is half open in `confusion`, so it is trained that way.
    conal = CoNAL(6, 3, n_features=2, omega=0.5)
    layer = conal if name == "conal" else NOISE[name](6, 3)
    logits = 12.0 * torch.nn.functional.one_hot(torch.from_numpy(crowd.truth), 3).float()
    ann = crowd.annotations
    columns = [
        torch.from_numpy(each.astype(np.int64)) for each in (ann.item, ann.annotator, ann.label)
    ]
    batch = AnnotationBatch(*columns, features=torch.zeros(1500, 2))
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(150):
        optimiser.zero_grad()
        annotation_loss(layer, logits, batch).backward()
        optimiser.step()
    assert np.abs(layer.confusion().numpy() - crowd.confusion).mean() < 0.03


def test_geocrowdnet_adds_the_volume_of_the_classes_by_hand():
    logits, batch = a_batch()
    layer = GeoCrowdNet(A, K, volume=0.3).double()
    plain = SpeeLFC(A, K, accuracy=0.9).double()
    f = logits.softmax(-1).numpy()
    volume = np.linalg.slogdet(f.T @ f / len(f) + 1e-6 * np.eye(K))[1]
    added = annotation_loss(layer, logits, batch) - annotation_loss(plain, logits, batch)
    assert added.item() == pytest.approx(-0.3 * volume)


def test_geocrowdnet_prefers_classes_that_are_far_apart():
    layer = GeoCrowdNet(A, K)
    sure, unsure = (scale * torch.eye(K).repeat(4, 1) for scale in (8.0, 0.5))
    one_sided = torch.tensor([8.0, 0.0, 0.0]).repeat(12, 1)
    costs = [layer.class_penalty(each.log_softmax(-1)).item() for each in (sure, unsure, one_sided)]
    assert costs == sorted(costs)
