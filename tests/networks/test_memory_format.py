"""Weights with the channels last in memory: the same network, the same files."""

import pytest
import torch

from manyhands.engine.checkpoint import as_arrays
from manyhands.networks import NETWORKS, ClassificationHeads
from manyhands.networks.images import set_memory_format

SMALL = {
    "cnn": {"channels": [4, 8], "convolutions": 2},
    "dogs-cats-cnn": {"channels": [4, 4, 8, 8]},
    "vgg16": {"width": 4, "hidden": [8]},
    "wide-resnet": {"depth": 10, "width": 1},
}


def made(name):
    return NETWORKS[name]((3, 32, 32), 5, **SMALL[name]).eval()


@pytest.mark.parametrize("name", list(SMALL))
@pytest.mark.parametrize("heads", [False, True])
def test_a_network_gives_the_same_with_the_channels_last(name, heads):
    network = ClassificationHeads(made(name), 3, 5) if heads else made(name)
    images = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    before = {key: each.clone() for key, each in network.state_dict().items()}
    expected = network(images)
    set_memory_format(network, torch.channels_last)
    weights = [each for each in network.parameters() if each.dim() == 4 and each.shape[1] > 1]
    assert weights
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in weights)
    torch.testing.assert_close(network(images), expected, rtol=1e-4, atol=1e-5)
    for key, each in as_arrays(network.state_dict()).items():
        assert each.flags["C_CONTIGUOUS"], key
        assert (each == before[key].numpy()).all()


def test_what_a_user_brings_is_left_alone():
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
    set_memory_format(network, torch.channels_last)
    assert network[0].weight.is_contiguous()
