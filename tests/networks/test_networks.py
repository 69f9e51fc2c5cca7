"""Contracts of every entry of the table of networks, and laws of some."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression as Reference
from torch import nn
from torch.nn import functional

from manyhands.core.errors import DataError, SettingError, UnknownNameError
from manyhands.engine.features import NumericEncoder
from manyhands.networks import MLP, NETWORKS, VGG16, LogisticRegression, SmallCNN, WideResNet
from manyhands.networks.catalog import PRETRAINED_NETWORKS, WORD_NETWORKS, network_by_name

K = 3
IMAGE = (2, 8, 9)
LARGER = (2, 33, 40)
CASES = [
    ("mlp", (7,)), ("logistic", (7,)), ("mlp", IMAGE), ("logistic", IMAGE), ("cnn", IMAGE),
    ("mlp", (7,), {"hidden": [6, 5], "batch_norm": True}),
    ("cnn", IMAGE, {"convolutions": 2, "batch_norm": True, "block_dropout": 0.25}),
    ("dogs-cats-cnn", LARGER, {"channels": [3, 4, 5, 6]}),
    ("vgg16", LARGER, {"width": 2}),
    ("vgg16", LARGER, {"width": 2, "hidden": [9], "batch_norm": False}),
    ("wide-resnet", IMAGE, {"depth": 16, "width": 1, "dropout": 0.1}),
]  # fmt: skip


def id_of(case):
    return "-".join([case[0], f"{len(case[1])}d", *(case[2] if case[2:] else ())])


@pytest.fixture(params=CASES, ids=id_of)
def case(request):
    return request.param


def make(case, seed=0):
    torch.manual_seed(seed)
    name, shape, *settings = case
    return network_by_name(name, shape, K, *settings)


def inputs_of(case, n=6):
    return torch.randn(n, *case[1], generator=torch.Generator().manual_seed(1))


def linears(network):
    return [(m.in_features, m.out_features) for m in network.modules() if isinstance(m, nn.Linear)]


def test_the_cases_cover_the_table():
    assert {case[0] for case in CASES} == set(NETWORKS) - {*WORD_NETWORKS, *PRETRAINED_NETWORKS}


@pytest.mark.parametrize("n", [0, 1, 6])
def test_one_row_of_logits_per_item(case, n):
    assert make(case)(inputs_of(case, n)).shape == (n, K)


def test_gradients_reach_every_parameter(case):
    network = make(case)
    functional.cross_entropy(network(inputs_of(case)), torch.tensor([0, 1, 2, 0, 1, 2])).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("n", [0, 1])
def test_a_batch_of_one_or_none_can_be_trained_on(case, n):
    network = make(case).train()
    functional.cross_entropy(network(inputs_of(case, n)), torch.tensor([2])[:n], reduction="sum")
    network(inputs_of(case, n)).sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in network.parameters())
    assert all(torch.isfinite(value).all() for value in network.state_dict().values())


def test_prediction_is_deterministic_and_item_by_item(case):
    network, inputs = make(case).eval(), inputs_of(case)
    found = network(inputs)
    assert torch.equal(found, network(inputs))
    alone = torch.cat([network(each[None]) for each in inputs])
    torch.testing.assert_close(alone, found)


def test_the_same_seed_gives_the_same_weights(case):
    first, second = make(case), make(case)
    assert first.state_dict().keys() == second.state_dict().keys()
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name])


def test_inputs_of_another_shape_are_named(case):
    shape = case[1]
    with pytest.raises(DataError, match=r"shape .* the network takes"):
        make(case)(torch.zeros(4, *shape[:-1], shape[-1] + 1))
    with pytest.raises(DataError, match="first axis of a batch"):
        make(case)(torch.zeros(shape))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="no network 'mpl'; did you mean mlp"):
        NETWORKS["mpl"]
    with pytest.raises(UnknownNameError, match="known: cnn, dogs-cats-cnn, image-encoder, log"):
        NETWORKS["perceptron"]


@pytest.mark.parametrize("shape", [(), (64,), (8, 8), (1, 1, 8, 8)])
@pytest.mark.parametrize("name", ["cnn", "vgg16", "wide-resnet"])
def test_networks_of_images_refuse_what_is_no_image(name, shape):
    with pytest.raises(DataError, match=rf"{name} takes images .* use mlp or logistic"):
        NETWORKS[name](shape, K)


@pytest.mark.parametrize(
    ("shape", "name"), [((), "mlp"), ((64,), "mlp"), ((5, 64), "mlp"), ((3, 32, 32), "cnn")]
)
def test_the_default_fits_the_shape(shape, name):
    assert NumericEncoder(shape).default_network == name
    network = NETWORKS[name](shape, K)
    assert network(torch.zeros(2, *shape)).shape == (2, K)


# --- shapes of the layers ---


def test_the_default_mlp_is_that_of_the_papers():
    network = MLP(8192, 8)
    assert [type(layer) for layer in network.layers] == [
        nn.Linear, nn.ReLU, nn.Dropout, nn.Linear
    ]  # fmt: skip
    assert linears(network) == [(8192, 128), (128, 8)]
    assert network.layers[2].p == 0.5


def n_weights(network):
    return sum(each.numel() for each in network.parameters())


def test_wide_resnets_have_the_published_numbers_of_weights():
    """Zagoruyko and Komodakis 2016 round them to 11.0 and 36.5 million."""
    with torch.device("meta"):
        assert n_weights(WideResNet((3, 32, 32), 10)) == 10_961_370
        assert n_weights(WideResNet((3, 32, 32), 10, depth=28, width=10)) == 36_479_194


def test_wide_resnet_groups_halve_the_resolution_twice():
    network = WideResNet((3, 12, 16), K, depth=22, width=2)
    assert network.blocks(network.first(torch.zeros(1, 3, 12, 16))).shape == (1, 128, 3, 4)
    assert len(network.blocks) == 9
    assert sum(block.shortcut is not None for block in network.blocks) == 3


def test_vgg_16_has_thirteen_convolutions():
    """9 a b weights from a to b channels, 2 b of each normalisation, 512 x 10 + 10 logits."""
    channels = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    convolutions = sum(9 * a * b for a, b in pairwise(channels))
    with torch.device("meta"):
        network = VGG16((3, 32, 32), 10)
        assert n_weights(network) == convolutions + 2 * sum(channels[1:]) + 512 * 10 + 10
        original = VGG16((3, 32, 32), 10, batch_norm=False)
        assert n_weights(original) == convolutions + sum(channels[1:]) + 512 * 10 + 10
    assert linears(VGG16((3, 64, 64), K, width=2, hidden=[9, 8])) == [(16, 9), (9, 8), (8, K)]


def test_the_network_of_cats_and_dogs_is_that_of_the_paper():
    """Four 3 x 3 convolutions with pools, 128 units, batch normalisation, 50 % dropout."""
    network = NETWORKS["dogs-cats-cnn"]((3, 64, 48), 2)
    kinds = [type(layer).__name__ for block in network.blocks for layer in block]
    assert kinds == ["Conv2d", "BatchNorm2d", "ReLU", "MaxPool2d"] * 4
    kinds = [type(layer).__name__ for layer in network.head.layers]
    assert kinds == ["Linear", "BatchNorm1d", "ReLU", "Dropout", "Linear"]
    assert network.head.layers[3].p == 0.5
    convolutions = 9 * (3 * 32 + 32 * 64 + 64 * 128 + 128 * 128) + 2 * (32 + 64 + 128 + 128)
    assert n_weights(network) == convolutions + 128 * 4 * 3 * 128 + 2 * 128 + 128 * 2 + 2


def test_convolutions_start_as_he_et_al_say():
    torch.manual_seed(0)
    for layer in WideResNet((3, 8, 8), K, depth=10, width=4).modules():
        if isinstance(layer, nn.Conv2d):
            expected = (2.0 / (layer.kernel_size[0] ** 2 * layer.out_channels)) ** 0.5
            assert float(layer.weight.detach().std()) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("batch", [0, 1])
def test_a_batch_without_a_variance_uses_the_running_statistics(batch):
    network = MLP(4, K, hidden=[5], batch_norm=True, dropout=0)
    network.train()(torch.randn(8, 4, generator=torch.Generator().manual_seed(0)))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    inputs = torch.ones(batch, 4)
    assert torch.equal(network.train()(inputs), network.eval()(inputs))
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_hidden_layers_stand_in_order():
    assert linears(MLP(10, 2, hidden=(7, 5))) == [(10, 7), (7, 5), (5, 2)]
    assert linears(MLP(10, 2, hidden=[])) == [(10, 2)]


def test_dropout_acts_in_training_only():
    torch.manual_seed(0)
    network, inputs = MLP(7, K), torch.ones(1, 7)
    assert not torch.equal(network(inputs), network(inputs))
    undropped = MLP(7, K, dropout=0)
    assert torch.equal(undropped(inputs), undropped(inputs))


def test_pools_round_down():
    network = SmallCNN((3, 9, 14), K, channels=(4, 5, 6), hidden=11)
    assert linears(network) == [(6 * 1 * 1, 11), (11, K)]
    network = SmallCNN((3, 9, 14), K, channels=(4,), hidden=11)
    assert linears(network) == [(4 * 4 * 7, 11), (11, K)]
    assert network(torch.zeros(2, 3, 9, 14)).shape == (2, K)


def test_the_smallest_image_goes_through():
    assert SmallCNN((1, 4, 4), K)(torch.zeros(1, 1, 4, 4)).shape == (1, K)


# --- logistic regression against an independent implementation ---


@pytest.mark.parametrize("strength", [1.0, 0.05])
def test_logistic_regression_finds_what_scikit_learn_finds(strength):
    x, y = make_blobs(120, n_features=5, centers=K, random_state=0)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    network = fit_logistic(x, y, strength)
    reference = Reference(C=strength, tol=1e-10, max_iter=10_000).fit(x, y)
    with torch.no_grad():
        found = network(torch.from_numpy(x)).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, reference.predict_proba(x), atol=1e-6)
    assert (found.argmax(axis=1) == reference.predict(x)).all()
    assert (found.argmax(axis=1) == y).mean() > 0.95


def fit_logistic(x, y, strength):
    """Minimise the sum of -log P(y) and |W|^2 / (2 C), the objective of scikit-learn."""
    network = LogisticRegression(x.shape[1], K).double()
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    optimiser = torch.optim.LBFGS(
        network.parameters(),
        max_iter=1000,
        tolerance_grad=1e-10,
        tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )

    def objective():
        optimiser.zero_grad()
        penalty = network.linear.weight.square().sum() / (2 * strength)
        value = functional.cross_entropy(network(x), y, reduction="sum") + penalty
        value.backward()
        return value

    optimiser.step(objective)
    return network


def test_logistic_regression_starts_at_zero():
    assert not any(parameter.any() for parameter in LogisticRegression(4, K).parameters())


# --- settings ---


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (lambda: MLP(0, K), "n_features must be a whole number >= 1; got 0"),
        (lambda: MLP(4.5, K), "n_features"),
        (lambda: MLP(4, -1), "n_classes"),
        (lambda: MLP(4, K, hidden=(5, 0)), "hidden must be whole numbers"),
        (lambda: MLP(4, K, hidden=128), r"hidden must be .*as in \[128\]"),
        (lambda: MLP(4, K, hidden="12"), "hidden must be"),
        (lambda: MLP(4, K, hidden=[True]), "hidden must be"),
        (lambda: MLP(4, K, dropout="high"), "dropout must be >= 0 and < 1; got 'high'"),
        (lambda: MLP(4, K, batch_norm=1), "batch_norm must be true or false; got 1"),
        (lambda: WideResNet(IMAGE, K, depth=17), r"depth must be 10, 16, .*; got 17"),
        (lambda: WideResNet(IMAGE, K, depth=4), "depth must be 10, 16"),
        (lambda: WideResNet(IMAGE, K, width=0.5), "width must be a whole number"),
        (lambda: WideResNet((3, 2, 2), K), "height and width >= 4"),
        (lambda: VGG16(IMAGE, K), "height and width >= 32, because each of the 5 pools"),
        (lambda: network_by_name("mlp", (4,), K, {"hiden": [3]}), "did you mean hidden"),
        (lambda: network_by_name("logistic", (4,), K, {"l2": 1}), "no setting 'l2'; it has none"),
        (lambda: MLP(4, K, dropout=1), "dropout must be >= 0 and < 1"),
        (lambda: MLP(4, K, dropout=-0.1), "dropout"),
        (lambda: LogisticRegression(0, K), "n_features"),
        (lambda: LogisticRegression(4, 0), "n_classes"),
        (lambda: SmallCNN(IMAGE, 0), "n_classes"),
        (lambda: SmallCNN(IMAGE, K, channels=()), "channels must be given"),
        (lambda: SmallCNN(IMAGE, K, channels=(4, 0)), "channels"),
        (lambda: SmallCNN(IMAGE, K, hidden=0), "hidden must be a whole number >= 1; got 0"),
        (lambda: SmallCNN(IMAGE, K, dropout=2), "dropout"),
        (lambda: SmallCNN((64,), K), r"shape must be \(channels, height, width\); got \(64,\)"),
        (lambda: SmallCNN((0, 8, 8), K), "shape"),
        (lambda: SmallCNN((1, 3, 8), K), "height and width >= 4, because each of the 2 pools"),
        (lambda: SmallCNN((32, 32, 3), K), "put the channels first"),
        (lambda: SmallCNN(IMAGE, K, channels=(2,) * 4), "height and width >= 16"),
    ],
)
def test_bad_settings_are_named(made, named):
    with pytest.raises(SettingError, match=named):
        made()
