"""Networks to train from crowds: from the input of an item to the logits of its classes."""

from manyhands.networks.annotator_heads import ClassificationHeads, RegressionHeads
from manyhands.networks.catalog import NETWORKS, Network, NetworkEntry
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.image_encoder import ImageEncoder
from manyhands.networks.mlp import MLP, LogisticRegression
from manyhands.networks.pair_network import PairNetwork
from manyhands.networks.text import Tagger, TextCNN
from manyhands.networks.vgg import VGG16
from manyhands.networks.wide_resnet import WideResNet

__all__ = [
    "MLP",
    "NETWORKS",
    "VGG16",
    "ClassificationHeads",
    "ImageEncoder",
    "LogisticRegression",
    "Network",
    "NetworkEntry",
    "PairNetwork",
    "RegressionHeads",
    "SmallCNN",
    "Tagger",
    "TextCNN",
    "WideResNet",
]
