"""Methods that learn a model from a crowd's labels; `METHODS` lists them by name."""

from manyhands.methods.base import Method, NetworkMethod, Problem
from manyhands.methods.catalog import METHODS
from manyhands.methods.crf.crf_ma import CrfMa
from manyhands.methods.doctor_net import DoctorNet
from manyhands.methods.em import EM, CommonNoiseEM
from manyhands.methods.em_regression import EMRegression
from manyhands.methods.end_to_end import EndToEnd, RegressionEndToEnd
from manyhands.methods.full_batch import FullBatchMethod
from manyhands.methods.linear.kernel_machine import KernelPersonal
from manyhands.methods.linear.ma_lr import MaLR
from manyhands.methods.linear.personal import PersonalClassifiers
from manyhands.methods.linear.raykar import Raykar
from manyhands.methods.max_mig import MaxMIG
from manyhands.methods.mixture import MixtureEM
from manyhands.methods.semi_lfc import SemiLFC
from manyhands.methods.topics.classification import TopicModel
from manyhands.methods.topics.regression import RegressionTopicModel
from manyhands.methods.two_stage import TrainOnTruth, TwoStage

__all__ = [
    "EM",
    "METHODS",
    "CommonNoiseEM",
    "CrfMa",
    "DoctorNet",
    "EMRegression",
    "EndToEnd",
    "FullBatchMethod",
    "KernelPersonal",
    "MaLR",
    "MaxMIG",
    "Method",
    "MixtureEM",
    "NetworkMethod",
    "PersonalClassifiers",
    "Problem",
    "Raykar",
    "RegressionEndToEnd",
    "RegressionTopicModel",
    "SemiLFC",
    "TopicModel",
    "TrainOnTruth",
    "TwoStage",
]
