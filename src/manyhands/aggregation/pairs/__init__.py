"""Comparisons of two items -> a score per item with its interval, and a ranking."""

from manyhands.aggregation.pairs.base import PairAggregator, as_comparisons
from manyhands.aggregation.pairs.bradley_terry import BradleyTerry
from manyhands.aggregation.pairs.catalog import (
    PAIR_AGGREGATORS,
    PAIR_DEFAULT,
    fit_ranking,
    make_pair_aggregator,
    means_pairs,
    parse_pair_settings,
)
from manyhands.aggregation.pairs.crowd_bt import CrowdBT
from manyhands.aggregation.pairs.files import load_ranking
from manyhands.aggregation.pairs.ranking import Ranking

__all__ = [
    "PAIR_AGGREGATORS",
    "PAIR_DEFAULT",
    "BradleyTerry",
    "CrowdBT",
    "PairAggregator",
    "Ranking",
    "as_comparisons",
    "fit_ranking",
    "load_ranking",
    "make_pair_aggregator",
    "means_pairs",
    "parse_pair_settings",
]
