"""Training a network from disagreeing labels: one epoch loop, and the methods that drive it."""

from manyhands.training.alternating import EM
from manyhands.training.bundle import read_bundle, read_header, under, write_bundle
from manyhands.training.catalog import METHODS
from manyhands.training.crowd import Crowd, CrowdBatch
from manyhands.training.doctors import DoctorNets
from manyhands.training.hold_out import split_labels
from manyhands.training.inputs import DatasetInputs, Inputs, SparseInputs, TensorInputs
from manyhands.training.judging import epoch_scores, held_labels, mean_log_label
from manyhands.training.learner import Learner, require_logits
from manyhands.training.loop import Job, Outcome, train
from manyhands.training.max_mig import MaxMIG
from manyhands.training.methods import EndToEnd, Method, OnTruth, Problem, TwoStage
from manyhands.training.semi_lfc import SemiLFC
from manyhands.training.settings import TrainingSettings
from manyhands.training.solved import Solved
from manyhands.training.threads import fitting_threads

__all__ = [
    "EM",
    "METHODS",
    "Crowd",
    "CrowdBatch",
    "DatasetInputs",
    "DoctorNets",
    "EndToEnd",
    "Inputs",
    "Job",
    "Learner",
    "MaxMIG",
    "Method",
    "OnTruth",
    "Outcome",
    "Problem",
    "SemiLFC",
    "Solved",
    "SparseInputs",
    "TensorInputs",
    "TrainingSettings",
    "TwoStage",
    "epoch_scores",
    "fitting_threads",
    "held_labels",
    "mean_log_label",
    "read_bundle",
    "read_header",
    "require_logits",
    "split_labels",
    "train",
    "under",
    "write_bundle",
]
