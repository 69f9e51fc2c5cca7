"""Methods that learn a model from a crowd's labels; `METHODS` lists them by name."""

from manyhands.methods.base import EndToEnd, Method, OnTruth, Problem, TwoStage
from manyhands.methods.catalog import METHODS
from manyhands.methods.crf import WordFeatures
from manyhands.methods.crf.method import CrfMa
from manyhands.methods.crf.network import CrfInputs, CrfNetwork
from manyhands.methods.doctor_net import AnnotatorHeadsModule, DoctorNet
from manyhands.methods.em import EM, CommonNoiseEM
from manyhands.methods.full_batch import FullBatchMethod, KernelPersonal, Linear
from manyhands.methods.max_mig import MaxMIG
from manyhands.methods.regression import EMRegression, RegressionEndToEnd
from manyhands.methods.semi_lfc import SemiLFC
from manyhands.methods.topics.classifier import TopicClassifier
from manyhands.methods.topics.method import TopicModel
from manyhands.methods.topics.regression_method import RegressionTopicModel
from manyhands.methods.topics.regressor import TopicRegressor

__all__ = [
    "EM",
    "METHODS",
    "AnnotatorHeadsModule",
    "CommonNoiseEM",
    "CrfInputs",
    "CrfMa",
    "CrfNetwork",
    "DoctorNet",
    "EMRegression",
    "EndToEnd",
    "FullBatchMethod",
    "KernelPersonal",
    "Linear",
    "MaxMIG",
    "Method",
    "OnTruth",
    "Problem",
    "RegressionEndToEnd",
    "RegressionTopicModel",
    "SemiLFC",
    "TopicClassifier",
    "TopicModel",
    "TopicRegressor",
    "TwoStage",
    "WordFeatures",
]
