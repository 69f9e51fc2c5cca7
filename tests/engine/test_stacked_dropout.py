"""The masks of dropout in a stack are those that every run draws alone."""

import pytest
import torch
from torch import nn

from manyhands.engine.inputs import TensorInputs
from manyhands.engine.stacked_dropout import DropoutMasks

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(
        not torch.cuda.is_available(), reason="no GPU")),
]  # fmt: skip


def network():
    layers = [nn.Dropout(0.2), nn.Linear(6, 5), nn.Dropout(0.0), nn.Dropout(0.7)]
    return nn.Sequential(*layers)


@pytest.mark.parametrize("device", DEVICES)
def test_masks_are_those_of_dropout(device):
    there = torch.device(device)
    inputs = TensorInputs(torch.ones(9, 6)).to(there)
    net = network().to(there)
    masks = DropoutMasks(net, inputs)
    seeds = (3, 8)
    for _ in range(2):  # an epoch begins anew
        masks.seed(seeds)
        drawn = [masks.draw((4,)), masks.draw((3,))]
        for run, seed in enumerate(seeds):
            torch.manual_seed(seed)
            for (first, second), size in zip(drawn, (4, 3), strict=True):
                rows = torch.ones(size, 6, device=there)
                assert torch.equal(first[run], nn.functional.dropout(rows, 0.2))
                hidden = torch.ones(size, 5, device=there)
                assert torch.equal(second[run], nn.functional.dropout(hidden, 0.7))
    assert not torch.equal(drawn[0][0][0], drawn[0][0][1])


def test_layers_take_their_masks_in_the_order_of_calls():
    inputs = TensorInputs(torch.ones(9, 6))
    net = network()
    masks = DropoutMasks(net, inputs)
    masks.seed([1])
    torch.manual_seed(1)
    wanted = net(torch.ones(4, 6))
    masks.replace_dropout(net)
    masks.use([each[0] for each in masks.draw((4,))])
    assert torch.equal(net(torch.ones(4, 6)), wanted)
    net.eval()
    assert torch.equal(net(torch.ones(4, 6)), net[1](torch.ones(4, 6)))
