"""Many labels per item -> one consensus label per item, with its probability."""

from manyhands.aggregation.annotator_types import AnnotatorTypes
from manyhands.aggregation.averages import Mean, Median
from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.bsc_seq import BscSeq
from manyhands.aggregation.catalog import (
    AGGREGATORS,
    DEFAULTS,
    aggregators_for,
    default_method,
    make_aggregator,
    parse_settings,
)
from manyhands.aggregation.choose import AUTO, aggregate
from manyhands.aggregation.common_noise import CommonNoise
from manyhands.aggregation.compare import (
    Comparison,
    compare,
    leave_one_label_out,
    require_comparable,
    validation_score,
)
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.dawid_skene import DawidSkene, estimate_confusions
from manyhands.aggregation.ebcc import Ebcc
from manyhands.aggregation.evidence import Quality
from manyhands.aggregation.files import load_consensus
from manyhands.aggregation.gaussian import Gaussian
from manyhands.aggregation.glad import Glad
from manyhands.aggregation.guard import ConsensusWarning, fit_guarded
from manyhands.aggregation.majority import Majority
from manyhands.aggregation.mixture import Mixture
from manyhands.aggregation.multilabel import MultilabelMajority
from manyhands.aggregation.multilabel_dawid_skene import MultilabelDawidSkene, MultilabelMixture
from manyhands.aggregation.one_coin import OneCoin
from manyhands.aggregation.ordinal_dawid_skene import OrdinalDawidSkene
from manyhands.aggregation.ordinal_thresholds import OrdinalThresholds
from manyhands.aggregation.pairs import (
    PAIR_AGGREGATORS,
    PAIR_DEFAULT,
    BradleyTerry,
    CrowdBT,
    PairAggregator,
    Ranking,
    load_ranking,
    parse_pair_settings,
)
from manyhands.aggregation.pairs.compare import compare_rankings
from manyhands.aggregation.select import Choice, candidates, select
from manyhands.aggregation.set_consensus import SetConsensus
from manyhands.aggregation.tokens import TokenConsensus, aggregate_tokens
from manyhands.aggregation.worker_clustering import WorkerClustering

__all__ = [
    "AGGREGATORS",
    "AUTO",
    "DEFAULTS",
    "PAIR_AGGREGATORS",
    "PAIR_DEFAULT",
    "Aggregator",
    "AnnotatorTypes",
    "BradleyTerry",
    "BscSeq",
    "Choice",
    "CommonNoise",
    "Comparison",
    "Consensus",
    "ConsensusWarning",
    "CrowdBT",
    "DawidSkene",
    "Ebcc",
    "Gaussian",
    "Glad",
    "Majority",
    "Mean",
    "Median",
    "Mixture",
    "MultilabelDawidSkene",
    "MultilabelMajority",
    "MultilabelMixture",
    "OneCoin",
    "OrdinalDawidSkene",
    "OrdinalThresholds",
    "PairAggregator",
    "Quality",
    "Ranking",
    "SetConsensus",
    "TokenConsensus",
    "WorkerClustering",
    "aggregate",
    "aggregate_tokens",
    "aggregators_for",
    "candidates",
    "compare",
    "compare_rankings",
    "default_method",
    "estimate_confusions",
    "fit_guarded",
    "leave_one_label_out",
    "load_consensus",
    "load_ranking",
    "make_aggregator",
    "parse_pair_settings",
    "parse_settings",
    "require_comparable",
    "select",
    "validation_score",
]
