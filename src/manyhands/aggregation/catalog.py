"""The table of aggregators, and how one is made by name."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from manyhands.aggregation.annotator_types import AnnotatorTypes
from manyhands.aggregation.averages import Mean, Median
from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.bsc_seq import BscSeq
from manyhands.aggregation.common_noise import CommonNoise
from manyhands.aggregation.dawid_skene import DawidSkene
from manyhands.aggregation.ebcc import Ebcc
from manyhands.aggregation.gaussian import Gaussian
from manyhands.aggregation.glad import Glad
from manyhands.aggregation.majority import Majority
from manyhands.aggregation.mixture import Mixture
from manyhands.aggregation.multilabel import MultilabelMajority
from manyhands.aggregation.multilabel_dawid_skene import MultilabelDawidSkene, MultilabelMixture
from manyhands.aggregation.one_coin import OneCoin
from manyhands.aggregation.ordinal_dawid_skene import OrdinalDawidSkene
from manyhands.aggregation.ordinal_thresholds import OrdinalThresholds
from manyhands.aggregation.parsing import parse_declared, require_setting
from manyhands.aggregation.worker_clustering import WorkerClustering
from manyhands.annotations import Annotations, Kind
from manyhands.core.settings import Registry

AGGREGATORS: Registry[type[Aggregator[Any]]] = Registry(
    "aggregator",
    {
        each.name: each
        for each in (
            Majority,
            DawidSkene,
            OneCoin,
            Glad,
            WorkerClustering,
            CommonNoise,
            Mixture,
            AnnotatorTypes,
            Ebcc,
            BscSeq,
            OrdinalThresholds,
            OrdinalDawidSkene,
            MultilabelMajority,
            MultilabelDawidSkene,
            MultilabelMixture,
            Mean,
            Median,
            Gaussian,
        )
    },
)

DEFAULTS: Mapping[Kind, str] = {
    "classes": "annotator-types",
    "ordinal": "ordinal-thresholds",
    "multilabel": "multilabel-mixture",
    "numbers": "gaussian",
}


def default_method(annotations: Annotations) -> str:
    """The aggregator of these labels if none is named."""
    return DEFAULTS["ordinal" if annotations.ordered else annotations.kind]


def aggregators_for(kind: Kind) -> list[str]:
    """The aggregators of a kind of labels; those of classes take ordinal labels too.

    >>> aggregators_for("numbers")
    ['mean', 'median', 'gaussian']
    """
    kinds = ("classes", "ordinal") if kind == "ordinal" else (kind,)
    return [name for name, method in AGGREGATORS.items() if method.kind in kinds]


def make_aggregator(method: str, settings: Mapping[str, Any]) -> Aggregator[Any]:
    """The aggregator of this name with these settings.

    >>> make_aggregator("mixture", {"n_group": 2})
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: mixture has no setting 'n_group'; did you mean n_groups? \
known: device, max_iter, tol, n_groups, n_restarts, pseudo_count, class_pseudo_count, seed
    """
    known = default_settings(method)
    for name in settings:
        require_setting(method, name, known)
    return AGGREGATORS[method](**settings)


def default_settings(method: str) -> dict[str, Any]:
    """The settings of a method of `AGGREGATORS`, with their defaults.

    >>> default_settings("one-coin")
    {'device': 'cpu', 'max_iter': 100, 'tol': 1e-06, 'prior_strength': 5.0, \
'class_pseudo_count': inf}
    """
    return {each.name: each.default for each in dataclasses.fields(AGGREGATORS[method])}


def parse_settings(method: str, pairs: Iterable[str]) -> dict[str, Any]:
    """Settings of a method from texts "NAME=VALUE", converted to the types that it declares.

    >>> parse_settings("dawid-skene", ["max_iter=5", "prior=flat", "tol=1e-4"])
    {'max_iter': 5, 'prior': 'flat', 'tol': 0.0001}
    """
    return parse_declared(method, AGGREGATORS[method], pairs)
