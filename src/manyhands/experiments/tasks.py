"""One run, and the record that is kept of it."""

import platform
import resource
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import manyhands
from manyhands.core.errors import first_line
from manyhands.experiments.measures import MEASURES, measured
from manyhands.experiments.methods import fit_method
from manyhands.experiments.records import content_key
from manyhands.experiments.sources import Source


class Task(ABC):
    """Something to run once and record."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Everything that matters to the outcome, the version included."""

    @abstractmethod
    def outcome(self, data: str | None) -> dict[str, Any]:
        """What the record tells of it when it went well."""

    @property
    def key(self) -> str:
        """The name of its record."""
        return content_key(self.identity())


@dataclass(frozen=True)
class MethodTask(Task):
    """A method with its settings, on a crowd, with a seed."""

    source: Source
    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """See `Task.identity`."""
        return {
            "source": self.source.identity(),
            "method": self.method,
            "settings": dict(self.settings),
            "seed": self.seed,
            "measures": MEASURES,
            "manyhands": manyhands.__version__,
        }

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The scores of the trained model."""
        material = self.source.load(data, self.seed)
        model = fit_method(material.trial, self.method, self.seed, self.settings)
        scores = measured(material, model)
        return {"scores": {name: _rounded(value) for name, value in scores.items()}}


def run_task(task: Task, data: str | None) -> dict[str, Any]:
    """Run it; its record, which tells of a failure too."""
    began = time.perf_counter()
    record = {"key": task.key, **task.identity(), "versions": _versions()}
    try:
        record |= task.outcome(data)
    except Exception as error:  # a failed run is shown, not dropped
        record |= {"error": f"{type(error).__name__}: {first_line(error)}"}
    return record | {
        "seconds": round(time.perf_counter() - began, 3),
        "peak_mib": round(peak_mib(), 1),
    }


def peak_mib() -> float:
    """The most memory that this process has had so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _rounded(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
