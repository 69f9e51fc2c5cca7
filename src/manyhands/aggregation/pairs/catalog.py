"""The table of aggregators of comparisons."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from manyhands.aggregation.pairs.base import PairAggregator, as_comparisons
from manyhands.aggregation.pairs.bradley_terry import BradleyTerry
from manyhands.aggregation.pairs.crowd_bt import CrowdBT
from manyhands.aggregation.pairs.ranking import Ranking
from manyhands.aggregation.parsing import parse_declared, require_setting
from manyhands.annotations.columns import open_frame
from manyhands.annotations.convert import is_frame
from manyhands.annotations.pair_columns import has_pairs
from manyhands.core.settings import Registry

PAIR_AGGREGATORS: Registry[type[PairAggregator]] = Registry(
    "aggregator of comparisons", {each.name: each for each in (CrowdBT, BradleyTerry)}
)
PAIR_DEFAULT = "crowd-bt"
_COLUMNS = ("left", "right", "annotator", "winner", "winner_is", "outcomes", "missing")


def make_pair_aggregator(method: str | None, settings: Mapping[str, Any]) -> PairAggregator:
    """The aggregator of comparisons of this name with these settings.

    >>> make_pair_aggregator("bradley-terry", {"ties": "half"}).ties
    'half'
    """
    model = PAIR_AGGREGATORS[method or PAIR_DEFAULT]
    known = [each.name for each in fields(model)]
    for name in settings:
        require_setting(model.name, name, known)
    return model(**settings)


def parse_pair_settings(method: str, pairs: Iterable[str]) -> dict[str, Any]:
    """Settings of a method from texts "NAME=VALUE", converted to the types that it declares.

    >>> parse_pair_settings("crowd-bt", ["ties=half", "prior_scale=inf"])
    {'ties': 'half', 'prior_scale': inf}
    """
    owner: Any = PAIR_AGGREGATORS[method]
    return parse_declared(method, owner, pairs)


def means_pairs(labels: Any, method: str | None = None) -> bool:
    """Whether labels are comparisons, or a frame of comparisons by its columns or the method."""
    if getattr(labels, "kind", None) == "pairs":
        return True
    if hasattr(labels, "kind") or not is_frame(labels):
        return False
    return method in PAIR_AGGREGATORS or has_pairs(open_frame(labels).columns)


def fit_ranking(labels: Any, method: str | None, settings: Mapping[str, Any]) -> Ranking:
    """The ranking of comparisons; settings of columns are for a frame."""
    columns = {name: settings[name] for name in _COLUMNS if name in settings}
    others = {name: each for name, each in settings.items() if name not in columns}
    return make_pair_aggregator(method, others).fit(as_comparisons(labels, **columns))
