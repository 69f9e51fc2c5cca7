"""Methods that learn a model from a crowd's labels; `METHODS` lists them by name."""

from manyhands.methods.base import EndToEnd, Method, OnTruth, Problem, TwoStage
from manyhands.methods.catalog import METHODS
from manyhands.methods.crf import CrfInputs, CrfMa, CrfNetwork, TokenFeatures
from manyhands.methods.doctor_net import AnnotatorHeadsModule, DoctorNet
from manyhands.methods.em import EM, CommonNoiseEM
from manyhands.methods.full_batch import FullBatchFit, FullBatchMethod
from manyhands.methods.linear import (
    KernelClassifier,
    KernelPersonal,
    MaLR,
    PersonalClassifiers,
    Raykar,
)
from manyhands.methods.max_mig import MaxMIG
from manyhands.methods.regression import EMRegression, RegressionEndToEnd
from manyhands.methods.semi_lfc import SemiLFC
from manyhands.methods.topics import (
    RegressionTopicModel,
    TopicClassifier,
    TopicModel,
    TopicRegressor,
)

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
    "FullBatchFit",
    "FullBatchMethod",
    "KernelClassifier",
    "KernelPersonal",
    "MaLR",
    "MaxMIG",
    "Method",
    "OnTruth",
    "PersonalClassifiers",
    "Problem",
    "Raykar",
    "RegressionEndToEnd",
    "RegressionTopicModel",
    "SemiLFC",
    "TokenFeatures",
    "TopicClassifier",
    "TopicModel",
    "TopicRegressor",
    "TwoStage",
]
