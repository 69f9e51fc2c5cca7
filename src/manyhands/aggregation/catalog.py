"""The table of aggregators, and the one call that uses it."""

from collections.abc import Mapping
from typing import Any

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.common_noise import CommonNoise
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.dawid_skene import DawidSkene
from manyhands.aggregation.gaussian import Gaussian
from manyhands.aggregation.glad import Glad
from manyhands.aggregation.majority import Majority
from manyhands.aggregation.mixture import Mixture
from manyhands.aggregation.numbers import Mean, Median
from manyhands.aggregation.one_coin import OneCoin
from manyhands.aggregation.worker_clustering import WorkerClustering
from manyhands.annotations import Annotations
from manyhands.core.registry import Registry

AGGREGATORS: Registry[type[Aggregator[Any]]] = Registry(
    "aggregator",
    {
        "majority": Majority,
        "dawid-skene": DawidSkene,
        "one-coin": OneCoin,
        "glad": Glad,
        "worker-clustering": WorkerClustering,
        "common-noise": CommonNoise,
        "mixture": Mixture,
        "mean": Mean,
        "median": Median,
        "gaussian": Gaussian,
    },
)

DEFAULTS = {"classes": "dawid-skene", "numbers": "gaussian"}


def name_of(method: Aggregator[Any]) -> str:
    """The name under which a method stands in `AGGREGATORS`; its class name if it does not."""
    found = [name for name, made in AGGREGATORS.items() if made is type(method)]
    return found[0] if found else type(method).__name__


def aggregate(
    annotations: Annotations,
    method: str | None = None,
    *,
    known: Mapping[Any, Any] | None = None,
) -> Consensus:
    """The consensus of a set of labels by a method of `AGGREGATORS` with its default settings.

    Without a method: dawid-skene for classes, gaussian for numbers. For other settings make the
    aggregator yourself: `DawidSkene(max_iter=20).fit(annotations)`.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> aggregate(ann, method="majority").confidence.round(2).tolist()
    [0.67, 1.0, 1.0]
    """
    return AGGREGATORS[method or DEFAULTS[annotations.kind]]().fit(annotations, known)
