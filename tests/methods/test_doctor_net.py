"""A head per annotator on a shared trunk, and how heads are averaged."""

import numpy as np
import pytest
import torch
from torch import nn

from featured_crowds import assert_same_bits, featured, fit, weights
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError
from manyhands.engine.batches import CrowdData
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.settings import TrainingSettings
from manyhands.estimators import CrowdClassifier, load
from manyhands.methods import DoctorNet, Problem
from manyhands.methods.doctor_net import averaging_weights
from manyhands.networks import MLP, NETWORKS, ClassificationHeads
from manyhands.networks.catalog import PRETRAINED_NETWORKS, WORD_NETWORKS
from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest

CPU = torch.device("cpu")


class Sharpened(nn.Module):
    """A network that goes on after its last linear layer."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(5, 3)

    def forward(self, inputs):
        return 2.0 * self.last(inputs)


def scattered(network, n_annotators=7, n_classes=3, **settings):
    """A doctor net whose heads differ."""
    net = ClassificationHeads(network, n_annotators, n_classes, **settings).eval()
    with torch.no_grad():
        net.heads.weight.normal_(generator=torch.Generator().manual_seed(3))
    return net


def of_annotator(net, inputs, annotator):
    """What one head says, computed by itself."""
    block = net.heads.weight[annotator].reshape(3, -1)
    return (net.trunk(inputs) @ block[:, :-1].T + block[:, -1]).softmax(dim=-1)


def learner_and_batch(crowd, *, sparse=None, weighted=False, n_items=8):
    method = DoctorNet(weighted)
    settings = TrainingSettings(device="cpu", sparse=sparse)
    ann = crowd.annotations
    network = method.network(MLP(5, 3, dropout=0.0), ann.n_annotators, 3)
    module = method.make_module(network, Problem(annotations=ann, shape=(5,)), settings)
    whole = CrowdData(TensorInputs(torch.from_numpy(crowd.x)), ann, CPU)
    return module, next(whole.batches(np.arange(n_items), n_items))


def by_the_book(module, batch):
    """The mean cross-entropy of every label under its annotator's head, one after the other."""
    given, net = batch.annotations, module.network
    losses = [
        -of_annotator(net, batch.inputs[row : row + 1], annotator)[0, label].log()
        for row, annotator, label in zip(given.row, given.annotator, given.label, strict=True)
    ]
    return torch.stack(losses).mean()


@pytest.mark.parametrize("name", sorted(set(NETWORKS) - {*WORD_NETWORKS, *PRETRAINED_NETWORKS}))
def test_all_heads_start_where_the_last_layer_did(name):
    shape = (64,) if name in ("mlp", "logistic") else (1, 32, 32)
    small = {"vgg16": {"width": 2}, "wide-resnet": {"width": 1}}
    network = NETWORKS[name](shape, 3, **small.get(name, {})).eval()
    inputs = torch.randn(4, *shape, generator=torch.Generator().manual_seed(0))
    net = ClassificationHeads(network, 5, 3).eval()
    torch.testing.assert_close(net(inputs), network(inputs).log_softmax(-1))


@pytest.mark.parametrize("bias", [True, False])
def test_a_network_may_be_its_last_layer(bias):
    network = nn.Linear(5, 3, bias=bias)
    inputs = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    expected = network(inputs).log_softmax(-1)
    torch.testing.assert_close(ClassificationHeads(network, 2, 3)(inputs), expected)
    assert torch.equal(network(inputs).log_softmax(-1), expected)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (nn.Sequential(nn.Linear(5, 4), nn.ReLU()), "with 3 outputs, .* Sequential has none"),
        (nn.Sequential(nn.LazyLinear(3)), "of known size with 3 outputs"),
        (Sharpened(), "Sharpened does more with it"),
        (nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 3), nn.LogSoftmax(-1)), "unchanged"),
    ],
)
def test_a_network_without_a_last_layer_is_refused(network, said):
    with pytest.raises(SettingError, match=said):
        fit("doctor-net", featured(), network=network)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_loss_is_that_of_every_label_under_its_annotators_head(sparse):
    module, batch = learner_and_batch(featured(), sparse=sparse)
    module.network.heads.weight.data.normal_(generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(module(batch), by_the_book(module, batch))


def test_warming_up_heads_see_the_shares_of_the_labels():
    module, batch = learner_and_batch(featured())
    module.network.heads.weight.data.normal_(generator=torch.Generator().manual_seed(3))
    given = batch.annotations
    share_nl = module.targets[batch.items][given.row]
    log_nl = torch.stack(
        [
            of_annotator(module.network, batch.inputs[row : row + 1], annotator)[0].log()
            for row, annotator in zip(given.row, given.annotator, strict=True)
        ]
    )
    torch.testing.assert_close(module(batch, True), -(share_nl * log_nl).sum(-1).mean())


def test_gradients_touch_only_the_heads_of_the_batch():
    module, batch = learner_and_batch(featured(n_annotators=30))
    module(batch).backward()
    moved = module.network.heads.weight.grad.abs().sum(dim=1) > 0
    assert moved.nonzero().flatten().tolist() == batch.annotations.annotator.unique().tolist()
    assert all(each.grad is not None for each in module.network.parameters())


@pytest.mark.parametrize("n_annotators", [10, 10_000])
def test_a_step_costs_the_same_whatever_the_size_of_the_crowd(n_annotators):
    few = featured(n_annotators=10)
    ann = Annotations.from_arrays(
        few.annotations.item,
        few.annotations.annotator * (n_annotators // 10),
        few.annotations.label,
        annotators=range(n_annotators),
    )
    module, batch = learner_and_batch(few._replace(annotations=ann), sparse=True)
    seen = []
    module.network.heads.register_forward_hook(lambda *given: seen.append(given[2].shape[0]))
    module(batch).backward()
    gradient = module.network.heads.weight.grad
    assert gradient.is_sparse
    assert seen == [len(batch.annotations)] == [gradient._indices().shape[1]]


def test_large_crowds_get_sparse_gradients():
    small, large = (learner_and_batch(featured(n_annotators=n), n_items=2)[0] for n in (10, 2000))
    assert (small.network.heads.sparse, large.network.heads.sparse) == (False, True)
    model = fit(
        DoctorNet(weighted=True),
        featured(),
        sparse=True,
        sam_rho=0.05,
        max_grad_norm=1.0,
        warm_up=1,
    )
    assert all(each.isfinite().all() for each in weights(model).values())


def test_a_prediction_is_the_average_of_the_heads():
    net = scattered(MLP(5, 3))
    inputs = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
    heads = torch.stack([of_annotator(net, inputs, a) for a in range(7)])
    torch.testing.assert_close(net(inputs).exp(), heads.mean(dim=0))
    net.exclude([2, 5])
    torch.testing.assert_close(net(inputs).exp(), heads[[0, 1, 3, 4, 6]].mean(dim=0))
    weight = torch.rand(7, generator=torch.Generator().manual_seed(1)).softmax(dim=0)
    net.set_weights(weight.log())
    torch.testing.assert_close(net(inputs).exp(), torch.einsum("a,abk->bk", weight, heads))


@pytest.mark.parametrize("cells", [1, 100, 1000])
def test_annotators_are_averaged_in_parts_of_bounded_size(cells):
    whole = scattered(MLP(5, 3), n_annotators=50)
    parts = scattered(whole_network := MLP(5, 3), n_annotators=50, max_cells=cells)
    assert whole_network is not parts.trunk
    parts.load_state_dict(whole.state_dict())
    inputs = torch.randn(9, 5, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(parts(inputs), whole(inputs))
    sizes = [each.numel() for _, each in parts._all_heads(parts.features(inputs))]
    assert max(sizes) <= max(cells, 9 * 3)
    row, label = torch.tensor([0, 0, 8]), torch.tensor([1, 2, 0])
    said = parts.label_log_prob_by_head(parts.features(inputs), row, label)
    expected = [
        whole.predict_labels(whole.features(inputs), row, torch.full((3,), a)) for a in range(50)
    ]
    expected = torch.stack([each.gather(1, label[:, None])[:, 0] for each in expected], dim=1)
    torch.testing.assert_close(said, expected)


def test_heads_without_labels_do_not_count(tmp_path):
    crowd = featured()
    ann = crowd.annotations
    more = Annotations.from_arrays(ann.item, ann.annotator, ann.label, annotators=range(9))
    for method in ("doctor-net", "weighted-doctor-net"):
        found, expected = fit(method, crowd, annotations=more), fit(method, crowd)
        torch.testing.assert_close(found.network_.log_weight[:6], expected.network_.log_weight)
        assert found.network_.log_weight[6:].isneginf().all()
        proba = found.predict_proba(crowd.x)
        np.testing.assert_allclose(proba, expected.predict_proba(crowd.x), atol=1e-6)
        found.save(tmp_path / method)
        assert (load(tmp_path / method).predict_proba(crowd.x) == proba).all()


def test_a_network_of_ones_own_is_loaded_with_its_heads(tmp_path):
    crowd, own = featured(), nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    model = fit("weighted-doctor-net", crowd, network=own)
    model.save(tmp_path)
    assert_same_bits(load(tmp_path, network=own), model)


def plain_and_weighted(people):
    """Both kinds on a crowd of 300 items, and features and truth of 600 others."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=900)
    x = (1.5 * np.eye(3, 5)[truth] + rng.normal(scale=0.8, size=(900, 5))).astype(np.float32)
    ann = simulate_crowd(truth[:300], people, labels_per_item=4, seed=1).annotations
    how = {"progress": False, "device": "cpu", "epochs": 30, "validation_fraction": 0.0}
    models = [CrowdClassifier(method=DoctorNet(each), **how) for each in (False, True)]
    return *(model.fit(x[:300], ann) for model in models), x[300:], truth[300:]


def log_loss(model, x, truth):
    return -np.log(model.predict_proba(x)[np.arange(len(truth)), truth]).mean()


def test_who_guesses_weighs_less_than_who_knows():
    people = honest(np.array([0.8] * 7 + [1 / 3]), 3)
    plain, weighted, x, truth = plain_and_weighted(people)
    weight = weighted.network_.log_weight.exp().numpy()
    np.testing.assert_allclose(weight.sum(), 1.0, atol=1e-5)
    assert weight[:7].min() > 2 * weight[7]
    assert log_loss(weighted, x, truth) < log_loss(plain, x, truth)
    assert torch.equal(plain.network_.heads.weight, weighted.network_.heads.weight)


def test_weights_help_where_some_say_other_classes():
    people = honest(np.full(7, 0.8), 3)
    for annotator, shift in ((4, 1), (5, 2), (6, 1)):
        people[annotator] = np.roll(people[annotator], shift, axis=1)
    plain, weighted, x, truth = plain_and_weighted(people)
    assert weighted.score(x, truth) > plain.score(x, truth) + 0.02


def objective(net, crowd, log_weight, pseudo_count):
    """What the weights maximise, per label, computed label by label."""
    ann, total = crowd.annotations, pseudo_count * log_weight.sum()
    rows = crowd.inputs.rows(torch.arange(len(crowd.inputs)))
    said = torch.stack([of_annotator(net, rows, a) for a in range(len(log_weight))])
    for i, b, label in zip(ann.item, ann.annotator, ann.label, strict=True):
        others = [a for a in range(len(log_weight)) if a != b]
        weight = log_weight[others].exp()
        total = total + ((weight * said[others, i, label]).sum() / weight.sum()).log()
    return total / ann.n_annotations


@pytest.mark.parametrize("pseudo_count", [0.3, 1.0])
@torch.no_grad()
def test_every_pass_over_the_labels_betters_the_weights(pseudo_count):
    made = featured(n_items=25)
    net = scattered(MLP(5, 3), n_annotators=6)
    crowd = CrowdData(TensorInputs(torch.from_numpy(made.x)), made.annotations, CPU)
    run = averaging_weights(net, crowd, pseudo_count=pseudo_count)
    assert len(run.objective) > 2
    assert all(np.diff(run.objective) >= -1e-7)
    first = torch.full((6,), 1 / 6, dtype=torch.float64).log()
    expected = objective(net, crowd, first, pseudo_count)
    assert run.objective[0] == pytest.approx(float(expected), abs=1e-6)
    last = float(objective(net, crowd, run.state, pseudo_count))
    assert last >= run.objective[-1] - 1e-7
    for a in range(6):  # no other weights near by are better, but for the tolerance
        moved = run.state.clone()
        moved[a] += 0.1
        assert float(objective(net, crowd, moved.log_softmax(0), pseudo_count)) < last + 1e-4


def test_one_annotator_or_two_weigh_the_same():
    for n in (1, 2):
        model = fit("weighted-doctor-net", featured(n_annotators=n, labels_per_item=n))
        torch.testing.assert_close(model.network_.log_weight.exp(), torch.full((n,), 1 / n))


def test_a_head_foretells_its_annotator():
    module, batch = learner_and_batch(featured())
    module.network.heads.weight.data.normal_(generator=torch.Generator().manual_seed(3))
    module.eval()
    with torch.no_grad():
        log_class, log_label = module.predict_labels(batch)
        given = batch.annotations
        said = log_label.gather(1, given.label[:, None]).mean()
        torch.testing.assert_close(-said, by_the_book(module, batch))
        torch.testing.assert_close(log_class, module.network(batch.inputs))


def test_a_fitted_model_foretells_by_heads():
    crowd = featured(n_items=80)
    model = fit("doctor-net", crowd, epochs=10, validation_fraction=0.0)
    told = model.predict_labels(crowd.x, crowd.annotations)
    network = model.network_.eval()
    with torch.no_grad():
        features = network.features(torch.from_numpy(crowd.x) * model.encoder_.scaling.factor)
        row, who = (torch.from_numpy(each.astype(np.int64)) for each in
                    (crowd.annotations.item, crowd.annotations.annotator))  # fmt: skip
        wanted = network.predict_labels(features, row, who)
    np.testing.assert_allclose(told.log_label_nl, wanted.double().numpy(), atol=1e-5)
