"""Networks to train from crowds: from the input of an item to the logits of its class."""

from manyhands.networks.annotator_heads import AnnotatorHeads
from manyhands.networks.catalog import NETWORKS, NetworkMaker, default_network
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.last_layer import adjust_output
from manyhands.networks.logistic import LogisticRegression
from manyhands.networks.mlp import MLP
from manyhands.networks.regression_heads import RegressionHeads
from manyhands.networks.tagger import Tagger
from manyhands.networks.text_cnn import TextCNN
from manyhands.networks.word_table import WordTable

__all__ = [
    "MLP",
    "NETWORKS",
    "AnnotatorHeads",
    "LogisticRegression",
    "NetworkMaker",
    "RegressionHeads",
    "SmallCNN",
    "Tagger",
    "TextCNN",
    "WordTable",
    "adjust_output",
    "default_network",
]
