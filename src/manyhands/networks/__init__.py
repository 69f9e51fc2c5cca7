"""Networks to train from crowds: from the input of an item to the logits of its class."""

from manyhands.networks.catalog import NETWORKS, NetworkMaker, default_network
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.doctors import DoctorNet
from manyhands.networks.logistic import LogisticRegression
from manyhands.networks.mlp import MLP

__all__ = [
    "MLP",
    "NETWORKS",
    "DoctorNet",
    "LogisticRegression",
    "NetworkMaker",
    "SmallCNN",
    "default_network",
]
