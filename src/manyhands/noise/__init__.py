"""Annotator models as torch modules: crowd layers to place behind any network."""

from manyhands.noise.annotator_table import AnnotatorTable
from manyhands.noise.base import AnnotatorModel, NoiseModel, annotation_loss
from manyhands.noise.batch import AnnotationBatch
from manyhands.noise.catalog import NOISE
from manyhands.noise.conal import CoNAL, CoNALGroups
from manyhands.noise.crowd_layer import CrowdLayer, OverCrowdLayer, SoftmaxCrowdLayer
from manyhands.noise.dataset import AnnotatedDataset, collate
from manyhands.noise.madl import MaDL
from manyhands.noise.mixture import Mixture
from manyhands.noise.multilabel import MultilabelLayer
from manyhands.noise.ordinal import CumulativeLink
from manyhands.noise.regression import RegressionLayer
from manyhands.noise.speelfc import GeoCrowdNet, SpeeLFC, SpeeLFCD, TraceReg

__all__ = [
    "NOISE",
    "AnnotatedDataset",
    "AnnotationBatch",
    "AnnotatorModel",
    "AnnotatorTable",
    "CoNAL",
    "CoNALGroups",
    "CrowdLayer",
    "CumulativeLink",
    "GeoCrowdNet",
    "MaDL",
    "Mixture",
    "MultilabelLayer",
    "NoiseModel",
    "OverCrowdLayer",
    "RegressionLayer",
    "SoftmaxCrowdLayer",
    "SpeeLFC",
    "SpeeLFCD",
    "TraceReg",
    "annotation_loss",
    "collate",
]
