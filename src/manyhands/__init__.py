"""manyhands learns from labels that many imperfect annotators gave.

>>> import manyhands as mh
>>> ann = mh.Annotations.from_arrays([1, 1, 1], ["u", "v", "w"], ["cat", "dog", "cat"])
>>> mh.aggregate(ann, method="majority").labels.tolist()
['cat']

Everything here is loaded on first use, so that importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manyhands import (
        aggregation,
        agreement,
        annotations,
        checks,
        datasets,
        estimators,
        evaluation,
        experiments,
        io,
        methods,
        networks,
        noise,
        report,
        scale,
        selection,
        simulation,
    )
    from manyhands.aggregation import (
        AGGREGATORS,
        PAIR_AGGREGATORS,
        Consensus,
        aggregate,
        aggregate_tokens,
    )
    from manyhands.annotations import Annotations, Comparisons, Sentences, TokenLabels
    from manyhands.checks import check
    from manyhands.core.errors import ManyhandsError
    from manyhands.datasets import DATASETS, ITEM_SETS
    from manyhands.estimators import (
        CrowdClassifier,
        CrowdMultilabelClassifier,
        CrowdRanker,
        CrowdRegressor,
        CrowdTagger,
        consensus,
        fit_many,
    )
    from manyhands.experiments import EXPERIMENTS
    from manyhands.io import (
        read,
        read_annotations,
        read_bio,
        read_comparisons,
        read_conll,
        read_features,
        read_images,
        read_spans,
        read_texts,
        read_truth,
        read_word_vectors,
    )
    from manyhands.loading import load
    from manyhands.methods import METHODS
    from manyhands.networks import NETWORKS
    from manyhands.noise import NOISE
    from manyhands.report import plot
    from manyhands.simulation import SCENARIOS

__version__ = "0.2.0"

__all__ = [
    "AGGREGATORS",
    "DATASETS",
    "EXPERIMENTS",
    "ITEM_SETS",
    "METHODS",
    "NETWORKS",
    "NOISE",
    "PAIR_AGGREGATORS",
    "SCENARIOS",
    "Annotations",
    "Comparisons",
    "Consensus",
    "CrowdClassifier",
    "CrowdMultilabelClassifier",
    "CrowdRanker",
    "CrowdRegressor",
    "CrowdTagger",
    "ManyhandsError",
    "Sentences",
    "TokenLabels",
    "aggregate",
    "aggregate_tokens",
    "aggregation",
    "agreement",
    "annotations",
    "check",
    "checks",
    "consensus",
    "datasets",
    "estimators",
    "evaluation",
    "experiments",
    "fit_many",
    "io",
    "load",
    "methods",
    "networks",
    "noise",
    "plot",
    "read",
    "read_annotations",
    "read_bio",
    "read_comparisons",
    "read_conll",
    "read_features",
    "read_images",
    "read_spans",
    "read_texts",
    "read_truth",
    "read_word_vectors",
    "report",
    "scale",
    "selection",
    "simulation",
]

_HOMES = {
    "AGGREGATORS": "aggregation",
    "Annotations": "annotations",
    "Comparisons": "annotations",
    "Consensus": "aggregation",
    "CrowdClassifier": "estimators",
    "CrowdMultilabelClassifier": "estimators",
    "CrowdRanker": "estimators",
    "CrowdRegressor": "estimators",
    "CrowdTagger": "estimators",
    "DATASETS": "datasets",
    "EXPERIMENTS": "experiments",
    "ITEM_SETS": "datasets",
    "ManyhandsError": "core.errors",
    "METHODS": "methods",
    "NETWORKS": "networks",
    "NOISE": "noise",
    "PAIR_AGGREGATORS": "aggregation",
    "SCENARIOS": "simulation",
    "Sentences": "annotations",
    "TokenLabels": "annotations",
    "aggregate": "aggregation",
    "aggregate_tokens": "aggregation",
    "check": "checks",
    "consensus": "estimators",
    "fit_many": "estimators",
    "load": "loading",
    "plot": "report",
    "read": "io",
    "read_annotations": "io",
    "read_bio": "io",
    "read_comparisons": "io",
    "read_conll": "io",
    "read_features": "io",
    "read_images": "io",
    "read_spans": "io",
    "read_texts": "io",
    "read_truth": "io",
    "read_word_vectors": "io",
}

_LEARNING = {"torch", "lightning_fabric"}  # what the extra "learn" brings


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(_room(_HOMES[name]), name)
    if name in __all__:
        return _room(name)
    raise AttributeError(f"module 'manyhands' has no attribute {name!r}")


def _room(name: str) -> Any:
    try:
        return importlib.import_module(f"manyhands.{name}")
    except ModuleNotFoundError as error:
        if error.name not in _LEARNING:
            raise
        raise ModuleNotFoundError(
            f"manyhands.{name} needs {error.name}: pip install 'manyhands[learn]'", name=error.name
        ) from None


def __dir__() -> list[str]:
    return sorted(__all__)
