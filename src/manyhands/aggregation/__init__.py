"""Many labels per item, one belief per item."""

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.catalog import AGGREGATORS, aggregate, name_of
from manyhands.aggregation.common_noise import CommonNoise
from manyhands.aggregation.common_noise_steps import (
    AnnotationShareSteps,
    AnnotatorShareSteps,
    Sources,
)
from manyhands.aggregation.comparison import Comparison, compare, require_comparable
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.dawid_skene import DawidSkene
from manyhands.aggregation.gaussian import Gaussian
from manyhands.aggregation.gaussian_steps import GaussianSteps, NetworkedParameters
from manyhands.aggregation.glad import Glad
from manyhands.aggregation.held_out import leave_one_label_out, validation_score
from manyhands.aggregation.majority import Majority
from manyhands.aggregation.mixture import Mixture
from manyhands.aggregation.numbers import Mean, Median
from manyhands.aggregation.one_coin import OneCoin
from manyhands.aggregation.profiles import estimate_confusions
from manyhands.aggregation.selection import Choice, choose, contenders, select
from manyhands.aggregation.steps import ConfusionSteps
from manyhands.aggregation.tokens import TokenConsensus, aggregate_tokens, decoded_tokens
from manyhands.aggregation.worker_clustering import WorkerClustering

__all__ = [
    "AGGREGATORS",
    "Aggregator",
    "AnnotationShareSteps",
    "AnnotatorShareSteps",
    "Choice",
    "CommonNoise",
    "Comparison",
    "ConfusionSteps",
    "Consensus",
    "DawidSkene",
    "Gaussian",
    "GaussianSteps",
    "Glad",
    "Majority",
    "Mean",
    "Median",
    "Mixture",
    "NetworkedParameters",
    "OneCoin",
    "Sources",
    "TokenConsensus",
    "WorkerClustering",
    "aggregate",
    "aggregate_tokens",
    "choose",
    "compare",
    "contenders",
    "decoded_tokens",
    "estimate_confusions",
    "leave_one_label_out",
    "name_of",
    "require_comparable",
    "select",
    "validation_score",
]
