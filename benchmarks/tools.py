"""manyhands and crowd-kit behind one interface; each is imported only when it is measured."""

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.crowds import CrowdData

# method: its class in crowd-kit, its class in manyhands
METHODS = {
    "majority": ("MajorityVote", "Majority"),
    "dawid-skene": ("DawidSkene", "DawidSkene"),
    "one-coin": ("OneCoinDawidSkene", "OneCoin"),
    "glad": ("GLAD", "Glad"),
}


class Tool(Protocol):
    """A table from three arrays, a fit of the table, and the result of the fit."""

    name: str

    def take(self, crowd: CrowdData) -> Any:
        """The crowd in the format of this tool."""

    def fit(self, table: Any, method: str, n_iterations: int | None = None) -> Any:
        """Fit until all items have labels; None: stop by the tool's default rule."""

    def labels(self, fitted: Any) -> NDArray[Any]:
        """The consensus class of every item, in item order."""

    def n_iterations(self, fitted: Any) -> int:
        """The number of EM iterations made."""


class CrowdKit:
    """crowd-kit: a pandas table with columns task, worker and label."""

    name = "crowd-kit"

    def take(self, crowd: CrowdData) -> Any:
        """A data frame over the three arrays."""
        import pandas as pd

        return pd.DataFrame({"task": crowd.item, "worker": crowd.annotator, "label": crowd.label})

    def fit(self, table: Any, method: str, n_iterations: int | None = None) -> Any:
        """Fit with the tool's defaults; a tolerance of minus infinity never stops early."""
        from crowdkit import aggregation

        make = getattr(aggregation, METHODS[method][0])
        if method == "majority" or n_iterations is None:
            return make().fit(table)
        return make(n_iter=n_iterations, tol=-math.inf).fit(table)

    def labels(self, fitted: Any) -> NDArray[Any]:
        """Labels come as a series indexed by item."""
        return np.asarray(fitted.labels_.sort_index())

    def n_iterations(self, fitted: Any) -> int:
        """Every iteration adds one entry to the loss history."""
        return len(getattr(fitted, "loss_history_", ()))


class Manyhands:
    """manyhands: `Annotations` from three arrays."""

    name = "manyhands"

    def take(self, crowd: CrowdData) -> Any:
        """Encoded, checked and sorted annotations."""
        from manyhands.annotations import Annotations

        return Annotations.from_arrays(crowd.item, crowd.annotator, crowd.label)

    def fit(self, table: Any, method: str, n_iterations: int | None = None) -> Any:
        """Fit with the tool's defaults; with tol=0 only a falling objective stops early."""
        from manyhands import aggregation

        make = getattr(aggregation, METHODS[method][1])
        if method == "majority" or n_iterations is None:
            model = make()
        else:
            model = make(max_iter=n_iterations, tol=0.0)
        consensus = model.fit(table)
        _ = consensus.labels  # computed on first use; crowd-kit computes them in fit
        return consensus

    def labels(self, fitted: Any) -> NDArray[Any]:
        """Labels are in item order already."""
        return np.asarray(fitted.labels)

    def n_iterations(self, fitted: Any) -> int:
        """Every iteration adds one entry to the objective."""
        return int(fitted.n_iterations)


TOOLS: dict[str, Tool] = {tool.name: tool for tool in (CrowdKit(), Manyhands())}
