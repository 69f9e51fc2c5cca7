"""Annotator models as torch modules: crowd layers to put behind any network."""

from manyhands.noise.base import AnnotatorModel, AnnotatorTable, NoiseModel
from manyhands.noise.batch import AnnotatedDataset, AnnotationBatch, collate
from manyhands.noise.catalog import NOISE
from manyhands.noise.conal import CoNAL, CoNALGroups
from manyhands.noise.crowd_layer import CrowdLayer, OverCrowdLayer
from manyhands.noise.geocrowdnet import GeoCrowdNet
from manyhands.noise.loss import annotation_loss
from manyhands.noise.mixture import Mixture
from manyhands.noise.regression import RegressionLayer, regression_loss
from manyhands.noise.softmax_crowd_layer import SoftmaxCrowdLayer
from manyhands.noise.speelfc import SpeeLFC, TraceReg
from manyhands.noise.speelfc_d import SpeeLFCD

__all__ = [
    "NOISE",
    "AnnotatedDataset",
    "AnnotationBatch",
    "AnnotatorModel",
    "AnnotatorTable",
    "CoNAL",
    "CoNALGroups",
    "CrowdLayer",
    "GeoCrowdNet",
    "Mixture",
    "NoiseModel",
    "OverCrowdLayer",
    "RegressionLayer",
    "SoftmaxCrowdLayer",
    "SpeeLFC",
    "SpeeLFCD",
    "TraceReg",
    "annotation_loss",
    "collate",
    "regression_loss",
]
