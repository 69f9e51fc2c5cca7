"""Contracts of the networks with a head per annotator, for both tasks."""

import pytest
import torch
from torch import nn

from manyhands.core.errors import SettingError
from manyhands.networks import MLP, ClassificationHeads, RegressionHeads

HEADS = {ClassificationHeads: ("classification", 3), RegressionHeads: ("regression", 1)}


@pytest.fixture(params=list(HEADS), ids=lambda heads: heads.__name__)
def heads(request):
    return request.param


def make(heads, n_annotators=4, **settings):
    network = MLP(5, HEADS[heads][1])
    net = heads(network, n_annotators, HEADS[heads][1], **settings).eval()
    nn.init.normal_(net.heads.weight, generator=torch.Generator().manual_seed(0))
    return net


def inputs():
    return torch.randn(6, 5, generator=torch.Generator().manual_seed(1))


def by_head(net):
    """The prediction of every head for every item, in probabilities for classes."""
    features = net.features(inputs())
    who = torch.arange(net.heads.num_embeddings).repeat_interleave(6)
    predicted = net.predict_labels(features, torch.arange(6).repeat(len(who) // 6), who)
    values = predicted.exp() if net.task == "classification" else predicted.unsqueeze(1)
    return values.reshape(-1, 6, values.shape[1])


def averaged(net):
    return net(inputs()).exp() if net.task == "classification" else net(inputs())


def test_the_task_is_named(heads):
    assert make(heads).task == HEADS[heads][0]


def test_the_prediction_is_the_mean_of_the_heads(heads):
    net = make(heads)
    torch.testing.assert_close(averaged(net), by_head(net).mean(dim=0))


def test_excluded_heads_do_not_count(heads):
    net = make(heads, excluded=[1])
    torch.testing.assert_close(averaged(net), by_head(net)[[0, 2, 3]].mean(dim=0))
    net.exclude([0, 3])
    torch.testing.assert_close(averaged(net), by_head(net)[[1, 2]].mean(dim=0))
    with pytest.raises(SettingError, match="excluded must be fewer than all annotators; got 4"):
        net.exclude([0, 1, 2, 3])


def test_a_network_can_be_made_again_from_its_settings(heads):
    net = make(heads, weighted=True, excluded=[2])
    assert net.network_class == "MLP"
    again = heads(MLP(5, HEADS[heads][1]), 4, HEADS[heads][1], **net.settings).eval()
    again.load_state_dict(net.state_dict())
    assert torch.equal(again(inputs()), net(inputs()))


def test_the_given_network_is_not_changed(heads):
    network = MLP(5, HEADS[heads][1])
    before = {name: each.clone() for name, each in network.state_dict().items()}
    nn.init.ones_(heads(network, 4, HEADS[heads][1]).heads.weight)
    assert all(torch.equal(before[name], each) for name, each in network.state_dict().items())
