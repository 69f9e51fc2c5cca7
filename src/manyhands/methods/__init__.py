"""Methods that learn a model from a crowd's labels; `METHODS` lists them by name."""

from manyhands.methods.annot_mix import AnnotMix
from manyhands.methods.base import Method, Problem
from manyhands.methods.catalog import METHODS
from manyhands.methods.coinnet import COINNet
from manyhands.methods.cross_fit.method import CrossFitted
from manyhands.methods.crowdlab import TrainOnCrowdlab
from manyhands.methods.doctor_net import DoctorNet
from manyhands.methods.em import EM, CommonNoiseEM
from manyhands.methods.em_regression import EMRegression
from manyhands.methods.end_to_end import EndToEnd
from manyhands.methods.full_batch import FullBatchMethod
from manyhands.methods.max_mig import MaxMIG
from manyhands.methods.mixture import MixtureEM
from manyhands.methods.presets import PUBLISHED
from manyhands.methods.semi_lfc import SemiLFC
from manyhands.methods.two_stage import TwoStage

__all__ = [
    "EM",
    "METHODS",
    "PUBLISHED",
    "AnnotMix",
    "COINNet",
    "CommonNoiseEM",
    "CrossFitted",
    "DoctorNet",
    "EMRegression",
    "EndToEnd",
    "FullBatchMethod",
    "MaxMIG",
    "Method",
    "MixtureEM",
    "Problem",
    "SemiLFC",
    "TrainOnCrowdlab",
    "TwoStage",
]
