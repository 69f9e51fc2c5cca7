"""Initialising a noise model from given confusions."""

import numpy as np
import pytest
import torch

from manyhands.core.errors import DataError, SettingError
from manyhands.noise import (
    NOISE,
    AnnotationBatch,
    CoNAL,
    CoNALGroups,
    CrowdLayer,
    Mixture,
    annotation_loss,
)
from manyhands.simulation import SCENARIOS, CrowdSettings
from manyhands.simulation.behaviours import honest, random_spammers

A, K, D = 6, 4, 3
EXACT = ["crowd-layer-mw", "softmax-crowd-layer", "speelfc", "trace-reg"]


@pytest.fixture(params=list(NOISE))
def name(request):
    return request.param


def a_crowd(n_annotators=A, n_classes=K, seed=0):
    rng = np.random.default_rng(seed)
    confusion = rng.dirichlet(np.full(n_classes, 0.6), size=(n_annotators, n_classes))
    return 0.4 * confusion + 0.6 * np.eye(n_classes)


def make(name, n_annotators=A, n_classes=K):
    torch.manual_seed(0)
    return NOISE[name](n_annotators, n_classes, n_features=D).double()


def distance(layer, confusion):
    return np.abs(layer.confusion().numpy() - confusion).mean()


def divergence(layer, confusion):
    """sum_k KL(C_a[k] || confusion_a[k]) over all annotators, up to a constant."""
    certain = torch.eye(K, dtype=torch.float64).log()
    log_label = layer(certain, torch.arange(K).repeat(A), torch.arange(A).repeat_interleave(K))
    return -(torch.from_numpy(confusion).reshape(A * K, K) * log_label).sum()


@pytest.mark.parametrize("name", EXACT)
def test_the_confusion_is_the_given_one(name):
    layer = make(name)
    assert layer.init_from_confusions(a_crowd()) is layer
    np.testing.assert_allclose(layer.confusion().numpy(), a_crowd(), atol=1e-5)


def a_crowd_of_levels():
    """Confusions of annotators who cut a line of levels at thresholds of their own."""
    rng = np.random.default_rng(1)
    threshold_at = np.sort(rng.normal(0, 2.0, (A, K - 1)), axis=1)
    slope_a, place_k = rng.uniform(0.5, 2.0, A), np.arange(K) - (K - 1) / 2
    x_akt = threshold_at[:, None, :] - (slope_a[:, None] * place_k)[:, :, None]
    ends = np.zeros((A, K, 1)), 1.0 / (1.0 + np.exp(-x_akt)), np.ones((A, K, 1))
    return np.diff(np.concatenate(ends, axis=2), axis=2)


def test_confusions_of_levels_are_those_given():
    layer = make("cumulative-link").init_from_confusions(a_crowd_of_levels())
    np.testing.assert_allclose(layer.confusion().numpy(), a_crowd_of_levels(), atol=1e-4)


def test_the_confusion_is_nearer_than_by_default(name):
    layer = make(name)
    given = a_crowd_of_levels() if name == "cumulative-link" else a_crowd()
    before = distance(layer, given)
    assert distance(layer.init_from_confusions(given), given) < before


def test_permuting_annotators_commutes_with_initialising(name):
    order = np.array([3, 0, 5, 1, 4, 2])
    straight = make(name).init_from_confusions(a_crowd()).confusion()[order]
    torch.testing.assert_close(
        make(name).init_from_confusions(a_crowd()[order]).confusion(), straight
    )


def test_initialising_twice_is_initialising_once(name):
    once = make(name).init_from_confusions(a_crowd())
    twice = make(name).init_from_confusions(a_crowd(seed=1)).init_from_confusions(a_crowd())
    for one, other in zip(once.state_dict().values(), twice.state_dict().values(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("shape", [(1, 1), (4, 1), (1, 2), (2, 3)])
def test_any_size_can_be_initialised(name, shape):
    layer = make(name, *shape).init_from_confusions(a_crowd(*shape))
    assert layer.confusion().isfinite().all()


def test_certain_annotators_start_at_finite_parameters(name):
    never_wrong = np.tile(np.eye(K), (A, 1, 1))
    always_first = np.tile(np.eye(K)[0], (A, K, 1))
    for confusion in (never_wrong, always_first):
        layer = make(name).init_from_confusions(confusion)
        assert all(each.isfinite().all() for each in layer.state_dict().values())
        assert layer.confusion().isfinite().all()


def test_confusions_of_another_crowd_are_refused(name):
    with pytest.raises(DataError, match=r"\(6, 3, 3\) where 6 annotators and 4 classes"):
        make(name).init_from_confusions(a_crowd(A, 3))


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ([0.5, 0.5, 0.5, 0.0], "it sums to 1.5"),
        ([1.2, -0.2, 0.0, 0.0], "with -0.2 the least"),
        ([np.nan, 0.0, 0.0, 1.0], "it sums to nan"),
    ],
)
def test_rows_that_are_no_distributions_are_refused(row, text):
    confusion = a_crowd()
    confusion[2, 1] = row
    layer = make("speelfc")
    before = layer.confusion()
    with pytest.raises(DataError, match="row 1 of the confusion of annotator 2") as error:
        layer.init_from_confusions(confusion)
    assert text in str(error.value)
    assert torch.equal(layer.confusion(), before)


@pytest.mark.parametrize("kind", ["VW", "VB", "VWB", "MW"])
def test_a_crowd_layer_starts_where_the_divergence_is_least(kind):
    layer = CrowdLayer(A, K, kind=kind).double().init_from_confusions(a_crowd())
    divergence(layer, a_crowd()).backward()
    assert layer.table.weight.grad.abs().max() < 1e-4


def test_each_kind_of_crowd_layer_keeps_what_it_can():
    wanted = torch.from_numpy(a_crowd())
    found = {
        kind: CrowdLayer(A, K, kind=kind).double().init_from_confusions(a_crowd()).confusion()
        for kind in ("VW", "VB", "VWB")
    }
    close = {"atol": 1e-5, "rtol": 0.0}
    for kind in ("VW", "VWB"):
        diagonal = found[kind].diagonal(dim1=1, dim2=2)
        torch.testing.assert_close(diagonal, wanted.diagonal(dim1=1, dim2=2), **close)
    for kind in ("VB", "VWB"):
        torch.testing.assert_close(found[kind].sum(dim=1), wanted.sum(dim=1), **close)


def test_matrices_have_columns_of_mean_zero():
    matrix = CrowdLayer(A, K).double().init_from_confusions(a_crowd()).table(torch.arange(A))
    torch.testing.assert_close(matrix.sum(dim=1), torch.zeros(A, K, dtype=torch.float64))


def test_the_top_of_an_over_layer_is_left_as_it_is():
    layer = make("crowd-layer-over").init_from_confusions(a_crowd())
    top = layer.top(torch.arange(A)).softmax(-1)
    torch.testing.assert_close(
        layer.confusion(), torch.from_numpy(a_crowd()) @ top, atol=1e-5, rtol=0.0
    )


def test_speelfc_d_starts_at_the_mean_accuracy():
    right = a_crowd().diagonal(axis1=1, axis2=2).mean(axis=1)
    found = make("speelfc-d").init_from_confusions(a_crowd()).confusion().numpy()
    np.testing.assert_allclose(found, honest(right, K), atol=1e-5)


@pytest.mark.parametrize("made", [CoNAL, CoNALGroups])
def test_conal_has_the_own_confusion_or_the_crowds(made):
    extra = {"n_groups": 1} if made is CoNALGroups else {}
    own, common = (
        made(A, K, n_features=D, omega=omega, **extra)
        .double()
        .init_from_confusions(a_crowd())
        .confusion()
        for omega in (0.0, 1.0)
    )
    np.testing.assert_allclose(own.numpy(), a_crowd(), atol=1e-5)
    mean = np.tile(a_crowd().mean(axis=0), (A, 1, 1))
    np.testing.assert_allclose(common.numpy(), mean, atol=1e-5)


def three_kinds():
    kinds = np.concatenate([honest(np.array([0.95, 0.6]), K), random_spammers(1, K)])
    kind_a = np.array([2, 0, 1, 1, 0, 1, 1, 1])
    return kinds, kind_a


def test_planted_groups_are_found():
    kinds, kind_a = three_kinds()
    layer = Mixture(8, K).double().init_from_confusions(kinds[kind_a])
    np.testing.assert_allclose(layer.group_confusion().numpy(), kinds, atol=1e-5)
    shares = layer.log_weights().exp()[0].detach().numpy()
    np.testing.assert_allclose(shares, [2 / 8, 5 / 8, 1 / 8], atol=1e-6)
    assert layer.group_posterior().argmax(dim=1).tolist() == kind_a.tolist()

    groups = CoNALGroups(8, K, n_features=D, omega=1.0).double().init_from_confusions(kinds[kind_a])
    assert groups.member(torch.arange(8)).argmax(dim=1).tolist() == kind_a.tolist()
    by_group = groups.common.transpose(1, 2).softmax(-1).detach().numpy()
    np.testing.assert_allclose(by_group, kinds, atol=1e-5)


@pytest.mark.parametrize("confusion", [honest(np.full(2, 0.8), K), random_spammers(2, K)])
def test_groups_of_equal_annotators_are_told_apart(confusion):
    mixture = Mixture(2, K, n_groups=4).double().init_from_confusions(confusion)
    groups = CoNALGroups(2, K, n_features=D, n_groups=4).double().init_from_confusions(confusion)
    for found in (mixture.group_confusion(), groups.common.detach()):
        apart = torch.cdist(found.flatten(1), found.flatten(1)) + torch.eye(4)
        assert apart.min() > 0.01
    assert mixture.log_weights().exp().min() > 0.1
    assert np.abs(mixture.confusion().numpy() - confusion).max() < 0.05


@pytest.mark.parametrize("name", [*EXACT, "crowd-layer-vw", "crowd-layer-vwb", "speelfc-d"])
def test_accuracies_can_be_given(name):
    each = np.linspace(0.5, 0.9, A)
    for accuracy in (0.8, each):
        right = make(name).init_from_accuracy(accuracy).confusion().diagonal(dim1=1, dim2=2)
        expected = np.tile(np.full(A, accuracy)[:, None], (1, K))
        np.testing.assert_allclose(right.numpy(), expected, atol=1e-5)


def test_accuracies_are_checked():
    with pytest.raises(SettingError, match=r"accuracy must be in 0\.\.1; got 1\.2"):
        make("speelfc").init_from_accuracy(1.2)
    with pytest.raises(DataError, match=r"accuracies of shape \(2,\) for 6 annotators"):
        make("speelfc").init_from_accuracy(np.array([0.5, 0.5]))


@pytest.mark.parametrize("name", [*EXACT, "conal"])
def test_true_confusions_stay_where_they_are(name):
    """Trained on labels of known classes, a model that starts at the truth stays there."""
    crowd = SCENARIOS["confusions"](
        CrowdSettings(n_items=1500, n_annotators=A, n_classes=K, labels_per_item=4, seed=3)
    )
    closed = CoNAL(A, K, n_features=2, omega=0.0)
    layer = closed if name == "conal" else NOISE[name](A, K)
    layer.init_from_confusions(crowd.confusion)
    ann = crowd.annotations
    columns = [
        torch.from_numpy(each.astype(np.int64)) for each in (ann.item, ann.annotator, ann.label)
    ]
    batch = AnnotationBatch(*columns, features=torch.zeros(1500, 2))
    logits = 12.0 * torch.nn.functional.one_hot(torch.from_numpy(crowd.truth), K).float()
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(40):
        optimiser.zero_grad()
        annotation_loss(layer, logits, batch).backward()
        optimiser.step()
    assert distance(layer, crowd.confusion) < 0.02
