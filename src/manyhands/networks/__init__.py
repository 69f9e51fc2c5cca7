"""Networks to train from crowds: from the input of an item to the logits of its classes."""

from manyhands.networks.annotator_heads import ClassificationHeads, RegressionHeads
from manyhands.networks.catalog import NETWORKS, Network
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.mlp import MLP, LogisticRegression
from manyhands.networks.text import Tagger, TextCNN

__all__ = [
    "MLP",
    "NETWORKS",
    "ClassificationHeads",
    "LogisticRegression",
    "Network",
    "RegressionHeads",
    "SmallCNN",
    "Tagger",
    "TextCNN",
]
