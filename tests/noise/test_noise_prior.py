"""The prior around the start of the parameters of annotators."""

import numpy as np
import pytest
import torch

from manyhands.core.errors import SettingError
from manyhands.noise import (
    CoNAL,
    CoNALGroups,
    CrowdLayer,
    OverCrowdLayer,
    SoftmaxCrowdLayer,
    SpeeLFC,
    TraceReg,
)
from manyhands.simulation.behaviours import confused

A, K, D = 6, 4, 3
WITH_PRIOR = {
    "crowd-layer-vw": lambda **s: CrowdLayer(A, K, kind="VW", **s),
    "crowd-layer-vb": lambda **s: CrowdLayer(A, K, kind="VB", **s),
    "crowd-layer-vwb": lambda **s: CrowdLayer(A, K, kind="VWB", **s),
    "crowd-layer-mw": lambda **s: CrowdLayer(A, K, kind="MW", **s),
    "softmax-crowd-layer": lambda **s: SoftmaxCrowdLayer(A, K, **s),
    "speelfc": lambda **s: SpeeLFC(A, K, **s),
    "crowd-layer-over": lambda **s: OverCrowdLayer(A, K, **s),
    "trace-reg": lambda **s: TraceReg(A, K, strength=0.0, **s),
    "conal": lambda **s: CoNAL(A, K, n_features=D, strength=0.0, **s),
    "conal-groups": lambda **s: CoNALGroups(A, K, n_features=D, strength=0.0, **s),
}


@pytest.fixture(params=list(WITH_PRIOR))
def made(request):
    return WITH_PRIOR[request.param]


def a_crowd():
    return confused(np.linspace(0.5, 0.9, A), K, 1.0, np.random.default_rng(0))


def annotator_tables(layer):
    return [each for each in layer.modules() if getattr(each, "start", None) is not None]


def test_the_penalty_is_zero_at_the_start_and_grows_away_from_it(made):
    layer = made(prior_precision=2.0).double()
    assert layer.penalty().item() == 0.0
    assert layer.init_from_confusions(a_crowd()).penalty().item() == 0.0
    table = annotator_tables(layer)[0]
    with torch.no_grad():
        table.weight[1] += 0.5
    n_cells = table.weight.shape[1]
    assert layer.penalty().item() == pytest.approx(2.0 / 2 * 0.25 * n_cells / A)
    who = torch.tensor([4, 1, 1, 4])
    assert layer.penalty(who).item() == pytest.approx(2.0 / 2 * 0.25 * n_cells * 2 / 4)
    assert layer.penalty(torch.tensor([0, 3])).item() == 0.0


def test_the_penalty_of_batches_adds_up_to_the_prior_over_all_labels(made):
    labels_a = np.array([5, 1, 2, 8, 1, 3])
    layer = (
        made(prior_precision=2.0)
        .double()
        .init_from_confusions(a_crowd())
        .set_label_counts(labels_a)
    )
    with torch.no_grad():
        for table in annotator_tables(layer):
            table.weight.add_(torch.randn_like(table.weight))
    everyone = torch.from_numpy(
        np.random.default_rng(0).permutation(np.repeat(np.arange(A), labels_a))
    )
    batches = everyone.split([4, 7, 9])
    mean = sum(len(some) * layer.penalty(some) for some in batches) / len(everyone)
    assert mean.item() == pytest.approx(layer.penalty().item())
    off = sum(
        (table.weight - table.start).square().sum().item() for table in annotator_tables(layer)
    )
    assert layer.penalty().item() == pytest.approx(2.0 / 2 * off / labels_a.sum())


@pytest.mark.parametrize("sparse", [False, True])
def test_the_prior_touches_the_annotators_of_the_batch_only(made, sparse):
    layer = made(prior_precision=2.0, sparse=sparse).double().init_from_confusions(a_crowd())
    table = annotator_tables(layer)[0]
    with torch.no_grad():
        table.weight.add_(1.0)
    layer.penalty(torch.tensor([4, 1, 1])).backward()
    gradient = table.weight.grad
    assert gradient.is_sparse == sparse
    if sparse:
        assert set(gradient.coalesce().indices()[0].tolist()) == {1, 4}
        gradient = gradient.to_dense()
    expected = torch.zeros_like(gradient)
    expected[1], expected[4] = 2.0 * 2 / 3, 2.0 / 3
    torch.testing.assert_close(gradient, expected)


def test_without_a_prior_no_start_is_kept(made):
    layer = made().double().init_from_confusions(a_crowd())
    assert annotator_tables(layer) == []
    assert not any(key.endswith("start") for key in layer.state_dict())
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(1.0)
    assert layer.penalty().item() == 0.0
    with pytest.raises(SettingError, match="prior_precision must be >= 0; got -1"):
        made(prior_precision=-1)


def test_the_start_is_saved_with_the_parameters(made):
    layer, other = (
        made(prior_precision=2.0).init_from_confusions(a_crowd()),
        made(prior_precision=2.0),
    )
    with torch.no_grad():
        for table in annotator_tables(layer):
            table.weight.mul_(1.5)
    other.load_state_dict(layer.state_dict())
    assert other.penalty().item() == layer.penalty().item() > 0
    assert torch.equal(other.confusion(), layer.confusion())
