"""Training a network from disagreeing labels: one epoch loop, and the methods that drive it."""

from manyhands.training.alternating import EM, CommonNoiseEM
from manyhands.training.bundle import read_bundle, read_header, under, write_bundle
from manyhands.training.catalog import METHODS
from manyhands.training.chains import WordFeatures
from manyhands.training.chains.method import CrfMa
from manyhands.training.chains.network import ChainInputs, ChainNetwork
from manyhands.training.crowd import Crowd, CrowdBatch
from manyhands.training.doctors import DoctorLearner, DoctorNets
from manyhands.training.hold_out import split_items, split_labels
from manyhands.training.inputs import DatasetInputs, Inputs, SparseInputs, TensorInputs
from manyhands.training.judging import epoch_scores, held_labels, mean_log_label
from manyhands.training.learner import Learner, Trainee, require_logits
from manyhands.training.loop import Job, Outcome, train
from manyhands.training.max_mig import MaxMIG
from manyhands.training.methods import EndToEnd, Method, OnTruth, Problem, TwoStage
from manyhands.training.number_methods import EMRegression, NumberCrowdLayer
from manyhands.training.numbers import NumberLearner
from manyhands.training.semi_lfc import SemiLFC
from manyhands.training.settings import TrainingSettings
from manyhands.training.solved import KernelPersonal, Linear, Solved
from manyhands.training.threads import fitting_threads
from manyhands.training.topics.classifier import TopicClassifier
from manyhands.training.topics.method import TopicModel
from manyhands.training.topics.number_method import NumberTopicModel
from manyhands.training.topics.regressor import TopicRegressor
from manyhands.training.word_inputs import TextInputs, TokenInputs

__all__ = [
    "EM",
    "METHODS",
    "ChainInputs",
    "ChainNetwork",
    "CommonNoiseEM",
    "CrfMa",
    "Crowd",
    "CrowdBatch",
    "DatasetInputs",
    "DoctorLearner",
    "DoctorNets",
    "EMRegression",
    "EndToEnd",
    "Inputs",
    "Job",
    "KernelPersonal",
    "Learner",
    "Linear",
    "MaxMIG",
    "Method",
    "NumberCrowdLayer",
    "NumberLearner",
    "NumberTopicModel",
    "OnTruth",
    "Outcome",
    "Problem",
    "SemiLFC",
    "Solved",
    "SparseInputs",
    "TensorInputs",
    "TextInputs",
    "TokenInputs",
    "TopicClassifier",
    "TopicModel",
    "TopicRegressor",
    "Trainee",
    "TrainingSettings",
    "TwoStage",
    "WordFeatures",
    "epoch_scores",
    "fitting_threads",
    "held_labels",
    "mean_log_label",
    "read_bundle",
    "read_header",
    "require_logits",
    "split_items",
    "split_labels",
    "train",
    "under",
    "write_bundle",
]
