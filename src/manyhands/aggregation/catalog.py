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
from manyhands.aggregation.worker_clustering import WorkerClustering
from manyhands.annotations import Annotations, Kind
from manyhands.core.errors import SettingError
from manyhands.core.settings import Registry, Setting, nearest_names, settings_of

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
        _require_setting(method, name, known)
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
    known = default_settings(method)
    declared = settings_of(AGGREGATORS[method])
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            raise SettingError(f"a setting must be NAME=VALUE; got {pair!r}")
        _require_setting(method, name, known)
        if name in settings:
            raise SettingError(f"the setting {name} of {method} is given twice; give it once")
        settings[name] = _parsed(declared.get(name), name, text.strip())
    return settings


def _require_setting(method: str, name: str, known: Mapping[str, Any]) -> None:
    if name in known:
        return
    near = nearest_names(name, known)
    hint = f" did you mean {' or '.join(near)}?" if near else ""
    raise SettingError(f"{method} has no setting {name!r};{hint} known: {', '.join(known)}")


def _parsed(declared: Setting | None, name: str, text: str) -> Any:
    """A text as a value of the declared type; rules are checked by the method itself."""
    if declared is None:
        raise SettingError(f"{name} cannot be given as text; set it in Python")
    if declared.type is str:
        return text
    try:
        return declared.type(text)
    except ValueError:
        what = "a whole number" if declared.type is int else "a number"
        raise SettingError(f"{name} must be {what}; got {text!r}") from None
