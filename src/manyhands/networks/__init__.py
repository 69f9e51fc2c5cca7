"""Networks to train from crowds: from the input of an item to the logits of its classes."""

from manyhands.networks.annotator_heads import (
    AnnotatorHeads,
    ClassificationHeads,
    RegressionHeads,
)
from manyhands.networks.catalog import NETWORKS, NetworkMaker, default_network
from manyhands.networks.cnn import SmallCNN
from manyhands.networks.last_layer import rescale_output
from manyhands.networks.logistic import LogisticRegression
from manyhands.networks.mlp import MLP
from manyhands.networks.tagger import Tagger
from manyhands.networks.text_cnn import TextCNN
from manyhands.networks.word_embeddings import WordEmbeddings

__all__ = [
    "MLP",
    "NETWORKS",
    "AnnotatorHeads",
    "ClassificationHeads",
    "LogisticRegression",
    "NetworkMaker",
    "RegressionHeads",
    "SmallCNN",
    "Tagger",
    "TextCNN",
    "WordEmbeddings",
    "default_network",
    "rescale_output",
]
