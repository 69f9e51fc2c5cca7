"""manyhands learns from labels that many imperfect people gave.

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
        annotations,
        datasets,
        doctor,
        estimators,
        evaluation,
        experiments,
        io,
        networks,
        noise,
        simulation,
        training,
    )
    from manyhands.aggregation import AGGREGATORS, Consensus, aggregate
    from manyhands.annotations import Annotations
    from manyhands.core.errors import ManyhandsError
    from manyhands.datasets import DATASETS, ITEM_SETS
    from manyhands.estimators import CrowdClassifier, load
    from manyhands.experiments import EXPERIMENTS
    from manyhands.io import read_annotations
    from manyhands.networks import NETWORKS
    from manyhands.noise import NOISE
    from manyhands.simulation import SCENARIOS
    from manyhands.training import METHODS

__version__ = "0.1.0"

__all__ = [
    "AGGREGATORS",
    "DATASETS",
    "EXPERIMENTS",
    "ITEM_SETS",
    "METHODS",
    "NETWORKS",
    "NOISE",
    "SCENARIOS",
    "Annotations",
    "Consensus",
    "CrowdClassifier",
    "ManyhandsError",
    "aggregate",
    "aggregation",
    "annotations",
    "datasets",
    "doctor",
    "estimators",
    "evaluation",
    "experiments",
    "io",
    "load",
    "networks",
    "noise",
    "read_annotations",
    "simulation",
    "training",
]

_HOMES = {
    "AGGREGATORS": "aggregation",
    "Annotations": "annotations",
    "Consensus": "aggregation",
    "CrowdClassifier": "estimators",
    "DATASETS": "datasets",
    "EXPERIMENTS": "experiments",
    "ITEM_SETS": "datasets",
    "ManyhandsError": "core.errors",
    "METHODS": "training",
    "NETWORKS": "networks",
    "NOISE": "noise",
    "SCENARIOS": "simulation",
    "aggregate": "aggregation",
    "load": "estimators",
    "read_annotations": "io",
}

_LEARNING = {"torch", "lightning_fabric", "safetensors"}  # what the extra "learn" brings


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
