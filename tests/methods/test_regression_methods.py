"""Training on numbers: what was planted is found, and the methods are what they say they are."""

import numpy as np
import pytest
import torch
from torch import nn

from manyhands.aggregation import Gaussian, aggregate
from manyhands.core.errors import SettingError
from manyhands.engine.batches import CrowdData
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.settings import TrainingSettings
from manyhands.methods import METHODS, EMRegression, Problem
from manyhands.methods.doctor_net import mean_shift
from manyhands.methods.em_regression import EMRegressionModule
from manyhands.networks import RegressionHeads
from rated_crowds import fit_numbers, rated

LONG = {"network": "logistic", "epochs": 40, "learning_rate": 0.03, "noise_learning_rate": 0.03}
LONG |= {"validation_fraction": 0.0, "batch_size": 64}


class Constant(nn.Module):
    """A network that says the same of everything."""

    def __init__(self):
        super().__init__()
        self.value = nn.Parameter(torch.zeros(1, 1))

    def forward(self, inputs):
        return self.value.expand(len(inputs), 1)


@pytest.mark.parametrize(
    ("method", "planted"),
    [
        ("crowd-layer-s", {"scales": 0.5, "biases": 0.0}),
        ("crowd-layer-b", {"scales": 0.0, "biases": 0.8}),
        ("crowd-layer-sb", {"scales": 0.5, "biases": 0.8}),
    ],
)
@pytest.mark.parametrize("init", ["own", "consensus"])
def test_planted_annotators_are_recovered(method, planted, init):
    crowd = rated(600, 20, 5, **planted)
    model = fit_numbers(method, crowd, init=init, **LONG)
    found = model.annotators_frame()
    if "s" in method.removeprefix("crowd-layer-"):
        # Scales stand around the centre of the labels, and are known up to a common factor.
        factor = np.mean(found["scale"]) / crowd.scale.mean()
        assert np.corrcoef(found["scale"], crowd.scale)[0, 1] > 0.97
        assert np.abs(found["scale"] / factor - crowd.scale).mean() < 0.1
    if "b" in method.removeprefix("crowd-layer-"):
        common = np.mean(found["bias"] - crowd.bias)
        assert np.corrcoef(found["bias"], crowd.bias)[0, 1] > 0.97
        assert np.abs(found["bias"] - common - crowd.bias).mean() < 0.12
    assert np.corrcoef(np.log(found["noise"]), np.log(crowd.noise))[0, 1] > 0.9
    assert np.corrcoef(model.predict(crowd.x), crowd.truth)[0, 1] > 0.97


def test_the_networks_error_is_found():
    crowd = rated(800, 20, 5)
    for name in ("crowd-layer-b", "em-regression", "two-stage-gaussian", "truth"):
        method = EMRegression(biases=True) if name == "em-regression" else name
        model = fit_numbers(method, crowd, **LONG)
        assert model.predict_spread(crowd.x)[0] == pytest.approx(0.2, abs=0.06), name
        assert (model.predict_spread(crowd.x) == model.predict_spread(crowd.x)[0]).all()


def test_equal_precisions_find_biases_and_the_error_too():
    crowd = rated(800, 20, 5, biases=0.8)
    model = fit_numbers("crowd-layer-b", crowd, noise={"precision": "equal"}, **LONG)
    found = model.annotators_frame()
    assert np.corrcoef(found["bias"], crowd.bias)[0, 1] > 0.98
    assert found["noise"].nunique() == 1
    noise2 = np.average(crowd.noise**2, weights=crowd.annotations.labels_per_annotator)
    assert found["noise"][0] == pytest.approx(np.sqrt(noise2), rel=0.1)
    assert model.predict_spread(crowd.x)[0] == pytest.approx(0.2, abs=0.1)


def test_em_with_a_constant_network_is_the_gaussian_aggregator():
    crowd = rated(80, 8, 4)
    annotators = Gaussian(max_iter=300, tol=0.0)
    model = fit_numbers(
        EMRegression(annotators, biases=True, network_precision=0.0),
        crowd,
        network=Constant(),
        epochs=300,
    )
    alone = annotators.fit(crowd.annotations)
    found = model.annotators_frame()
    np.testing.assert_allclose(found["bias"], alone.parameters.bias_a, atol=1e-4)
    np.testing.assert_allclose(found["noise"], alone.parameters.precision_a**-0.5, rtol=1e-4)
    together = model.infer(crowd.x, crowd.annotations)
    np.testing.assert_allclose(together.values, alone.values, atol=1e-4)
    np.testing.assert_allclose(together.spread, alone.spread, rtol=1e-4)


def test_em_learns_who_is_precise():
    crowd = rated(600, 15, 5, biases=0.0)
    found = fit_numbers("em-regression", crowd, **LONG).annotators_frame()
    assert np.corrcoef(np.log(found["noise"]), np.log(crowd.noise))[0, 1] > 0.9
    assert (found["bias"] == 0).all()


def doctors(crowd, name="weighted-doctor-net"):
    """A learner of doctor nets that was not trained."""
    method, ann = METHODS[name], crowd.annotations
    network = method.network(nn.Linear(4, 1), ann.n_annotators, 0)
    module = method.make_module(network, Problem(annotations=ann, shape=(4,)), TrainingSettings())
    with torch.no_grad():
        network.heads.weight.normal_(generator=torch.Generator().manual_seed(1))
    return module, CrowdData(TensorInputs(torch.from_numpy(crowd.x)), ann, torch.device("cpu"))


def test_the_shift_of_a_weighted_doctor_net_is_a_least_squares_solution():
    crowd = rated()
    module, data = doctors(crowd)
    network, ann = module.network, crowd.annotations
    head_ah = network.heads.weight.detach().double().numpy()
    said_ia = np.column_stack([crowd.x.astype(float), np.ones(60)]) @ head_ah.T
    own = np.eye(6)[ann.annotator]
    others = (1 - own) / 5
    off_n = ann.label - (said_ia[ann.item] * others).sum(axis=1)
    bias_a = np.linalg.lstsq(others, off_n, rcond=None)[0]
    assert mean_shift(network, data, 0.0) == pytest.approx(bias_a.mean(), abs=1e-5)
    module.profile_annotators(data)
    assert network.shift.item() == pytest.approx(mean_shift(network, data, 1.0))


def test_the_average_of_all_heads_is_one_head():
    crowd = rated()
    module, data = doctors(crowd, "doctor-net")
    [batch] = list(data.batches(np.arange(60), 60))
    features = module.network.features(batch.inputs)
    every = torch.arange(6).repeat_interleave(60)
    said_ai = module.network.predict_labels(features, torch.arange(60).repeat(6), every).reshape(
        6, 60
    )
    torch.testing.assert_close(module.network(batch.inputs).squeeze(1), said_ai.mean(dim=0))


def test_heads_of_people_without_labels_do_not_count():
    net = RegressionHeads(nn.Linear(4, 1), 3, excluded=[1])
    with torch.no_grad():
        net.heads.weight[1] = 1e6
    assert net(torch.ones(2, 4)).abs().max() < 100


@pytest.mark.parametrize(
    ("method", "settings", "said"),
    [
        ("crowd-layer-b", {"noise": {"omega": 1}}, "no setting 'omega'; known: precision"),
        ("crowd-layer-b", {"noise": {"kind": "S"}}, "no setting 'kind'"),
        ("crowd-layer-b", {"init": "majority"}, "init must be one of auto, own, consensus"),
        ("two-stage-mean", {"noise": {"precision": "equal"}}, "noise and init are for noise"),
        ("conal", {}, "method must be for regression; got conal, which is for classification"),
    ],
)
def test_wrong_settings_are_told_in_a_line(method, settings, said):
    with pytest.raises(SettingError, match=said):
        fit_numbers(method, rated(), **settings)


def test_a_precision_below_zero_is_refused():
    with pytest.raises(SettingError, match="network_precision must be >= 0"):
        EMRegression(network_precision=-1.0)


LAYERS = ["crowd-layer-s", "crowd-layer-b", "crowd-layer-sb"]
LEVELLED = [(name, {}) for name in (*LAYERS, "em-regression", "two-stage-mean")]
LEVELLED += [(name, {"precision": "equal"}) for name in LAYERS]


def learnt(name, network, crowd, **noise):
    """A learner that took some steps, and all it learnt from."""
    method, ann = METHODS[name], crowd.annotations
    if noise:
        method = method.configured(noise, None)
    settings = TrainingSettings(learning_rate=0.03)
    module = method.make_module(network, Problem(annotations=ann, shape=(4,)), settings)
    inputs = TensorInputs(torch.from_numpy(crowd.x).float())
    seen = CrowdData(inputs, ann, torch.device("cpu"))
    optimiser = torch.optim.Adam(module.parameters(), lr=0.03)
    for epoch in range(5):
        module.on_epoch_start(seen, epoch)
        for batch in seen.batches(seen.labelled, 16):
            optimiser.zero_grad()
            module(batch).backward()
            optimiser.step()
    return module, seen


@torch.no_grad()
def whole_loss(module, crowd):
    (batch,) = crowd.batches(crowd.labelled, 10_000)
    if isinstance(module, EMRegressionModule):  # its objective: targets move with the network
        value_b = module.network(batch.inputs).squeeze(1)
        return -float(module.noise.joint_log_prob(value_b, batch.annotations).double().sum())
    return float(module(batch))


@pytest.mark.parametrize(("name", "noise"), LEVELLED)
def test_the_intercept_ends_where_the_loss_is_least(name, noise):
    crowd = rated(120, 6, 3, scales=0.4, biases=0.5)
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    module, seen = learnt(name, network, crowd, **noise)
    intercept = network[2].bias.data
    before = whole_loss(module, seen)
    module.fit_intercept(seen)
    at_best = whole_loss(module, seen)
    assert at_best < before
    for validation_unit in (-0.05, 0.05):
        intercept += validation_unit
        assert whole_loss(module, seen) > at_best
        intercept -= validation_unit


def test_a_network_that_ends_otherwise_keeps_its_level():
    crowd = rated(120, 6, 3)
    network = nn.Sequential(nn.Linear(4, 1), nn.Tanh())
    module, seen = learnt("crowd-layer-b", network, crowd)
    before = {name: each.clone() for name, each in network.state_dict().items()}
    module.profile_annotators(seen)
    assert all(torch.equal(before[name], each) for name, each in network.state_dict().items())


def test_two_stage_predictions_stand_at_the_mean_of_their_targets():
    crowd = rated(150, 6, 3, biases=0.5)
    model = fit_numbers("two-stage-mean", crowd, network="mlp", epochs=3)
    wanted = aggregate(crowd.annotations, "mean").values
    assert model.predict(crowd.x).mean() == pytest.approx(wanted.mean(), abs=1e-4)


@pytest.mark.parametrize("name", ["crowd-layer-s", "crowd-layer-sb"])
def test_the_size_of_the_network_ends_where_the_prior_is_best(name):
    crowd = rated(120, 6, 3, scales=0.4, biases=0.5)
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    module, seen = learnt(name, network, crowd)
    with torch.no_grad():  # what people's scales make up for
        network[2].weight.mul_(2.0)
        network[2].bias.mul_(2.0)
        module.noise.rescale(2.0)
    module.fit_intercept(seen)
    (batch,) = seen.batches(seen.labelled, 10_000)

    @torch.no_grad()
    def said():
        value_b = network(batch.inputs).squeeze(1)
        return float(module.noise.joint_log_prob(value_b, batch.annotations).double().sum())

    def prior_of_scales():
        return float(np.square(module.noise.profile["scale"] - 1).sum())

    likelihood, prior = said(), prior_of_scales()
    for times in (0.9, 1.1):
        with torch.no_grad():
            network[2].weight.mul_(times)
            network[2].bias.mul_(times)
            module.noise.rescale(times)
        assert said() == pytest.approx(likelihood, rel=1e-4)
        assert prior_of_scales() > prior
        with torch.no_grad():
            network[2].weight.div_(times)
            network[2].bias.div_(times)
            module.noise.rescale(1 / times)


@pytest.mark.parametrize("method", ["crowd-layer-s", "crowd-layer-sb"])
@pytest.mark.slow
def test_scales_that_nobody_has_do_not_stretch_predictions(method):
    crowd = rated(300, 6, 3, biases=0.0)
    models = [
        fit_numbers(each, crowd, epochs=60, network="mlp", batch_size=32)
        for each in (method, "crowd-layer-b")
    ]
    slopes = [np.polyfit(crowd.truth, model.predict(crowd.x), 1)[0] for model in models]
    assert slopes[0] == pytest.approx(slopes[1], rel=0.05)  # "b" has no scales at all
    assert np.abs(models[0].annotators_frame()["scale"] - 1).max() < 0.1
