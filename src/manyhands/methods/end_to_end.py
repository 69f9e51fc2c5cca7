"""End-to-end methods: a network trained through a noise model, which learns the annotators."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from torch import nn

from manyhands.aggregation import Consensus, aggregate
from manyhands.core.errors import SettingError
from manyhands.core.settings import require_choice
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.regression import RegressionModule, init_regression_layer
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import Method, NetworkMethod, Problem
from manyhands.noise import NOISE, NoiseModel, RegressionLayer

INITS = ("auto", "own", "consensus")
# The best epoch of end-to-end training differs tenfold between crowds, so it is searched for with
# validation labels. Annotators are initialised from a consensus, unless it collapsed, with a unit
# normal prior around it, and may then learn fast. The network is warmed up on the label
# distribution first, or it may start with classes interchanged. All of these were chosen by the
# likelihood of validation labels on several crowds, never by truth.
NO_WARM_UP = {"epochs": 100, "validation_fraction": 0.15, "patience": 20, "refit": True}
SEARCH = {**NO_WARM_UP, "warm_up": 5}
FAST = {**SEARCH, "noise_learning_rate": 1e-2}
PRIOR = {"prior_precision": 1.0}
_LARGE_TABLE = 300_000  # parameters of annotators from which a dense optimiser step is felt
_LARGE_CROWD = 100_000  # annotators, for regression
_COLLAPSED = 0.2  # share of items that a consensus may move to classes that were not said of them


@dataclass(frozen=True)
class NoiseMethod(NetworkMethod):
    """A method with a noise model, its `settings`, and the initialisation of its annotators.

    `init="own"` initialises annotators as the noise model itself does, "consensus" from the
    annotators of an aggregator. "auto" takes the consensus unless it collapsed.
    """

    takes_noise_settings = True
    noise: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    init: Literal["auto", "own", "consensus"] = "own"

    def __post_init__(self) -> None:
        require_choice("init", self.init, INITS)

    @property
    def noise_spec(self) -> tuple[str, dict[str, Any]]:
        """See `Method.noise_spec`."""
        return self.noise, dict(self.settings)

    def configured(self, noise: Mapping[str, Any] | None, init: str | None) -> Self:
        """See `Method.configured`."""
        merged = {**self.settings, **(noise or {})}
        return replace(self, settings=merged, init=init or self.init)  # type: ignore[arg-type]


@dataclass(frozen=True)
class EndToEnd(NoiseMethod):
    """Train the network through a noise model of `NOISE`, which learns the annotators with it."""

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        large = ann.n_annotators * ann.n_classes**2 > _LARGE_TABLE
        layer = self._layer(problem, uses_sparse(settings, large))
        layer.set_label_counts(ann.labels_per_annotator)
        consensus = aggregate(ann, "dawid-skene") if self.init != "own" else None
        if consensus is not None and (self.init == "consensus" or not _collapsed(consensus)):
            assert consensus.confusion is not None, "Dawid-Skene estimates confusions"
            layer.init_from_confusions(consensus.confusion)
        return ClassificationModule(network, layer, problem.task.targets(ann))

    def _layer(self, problem: Problem, sparse: bool) -> NoiseModel:
        ann = problem.annotations
        try:
            return NOISE[self.noise](
                ann.n_annotators,
                ann.n_classes,
                n_features=problem.n_features,
                sparse=sparse,
                **self.settings,
            )
        except TypeError as error:
            raise SettingError(f"noise: a setting is of the wrong type: {error}") from error


@dataclass(frozen=True)
class RegressionEndToEnd(NoiseMethod):
    """Train the network through a `RegressionLayer`, which learns the annotators with it.

    `noise` is the kind of the layer: "S" for scales, "B" for biases, "SB" for both. The consensus
    that annotators are initialised from is that of `Gaussian`.
    """

    tasks = ("regression",)
    init: Literal["auto", "own", "consensus"] = "auto"

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        sparse = uses_sparse(settings, ann.n_annotators > _LARGE_CROWD)
        known = [name for name in RegressionLayer(1).settings if name != "kind"]
        for name in self.settings:
            if name not in known:
                listed = ", ".join(known)
                raise SettingError(f"the noise model has no setting {name!r}; known: {listed}")
        try:
            layer = RegressionLayer(
                ann.n_annotators, kind=self.noise, sparse=sparse, **self.settings
            )
        except TypeError as error:
            raise SettingError(f"noise: a setting is of the wrong type: {error}") from error
        init_regression_layer(layer, ann, consensus=self.init != "own")
        return RegressionModule(network, layer, problem.task.targets(ann))


def uses_sparse(settings: TrainingSettings, large: bool) -> bool:
    """Whether gradients of annotators are sparse: as set, or where there are many parameters.

    Not every backend of torch sums sparse gradients between processes.
    """
    return large and settings.devices == 1 if settings.sparse is None else settings.sparse


def _collapsed(consensus: Consensus) -> bool:
    """Whether a consensus finds the classes much less or more often than they were said.

    With few labels or many spammers a model may put nearly all items into one class.
    """
    ann = consensus.annotations
    found_k = np.asarray(consensus.probabilities).mean(axis=0)
    said_k = np.bincount(ann.label, minlength=ann.n_classes) / ann.n_annotations
    return bool(np.abs(found_k - said_k).sum() / 2 > _COLLAPSED)


ROWS: dict[str, Method] = {
    "crowd-layer-vw": EndToEnd("crowd-layer-vw", PRIOR, "auto", defaults=FAST),
    "crowd-layer-vb": EndToEnd("crowd-layer-vb", PRIOR, "auto", defaults=FAST),
    "crowd-layer-vwb": EndToEnd("crowd-layer-vwb", PRIOR, "auto", defaults=FAST),
    "crowd-layer-mw": EndToEnd("crowd-layer-mw", PRIOR, "auto", defaults=FAST),
    "crowd-layer-over": EndToEnd("crowd-layer-over", PRIOR, "auto", defaults=FAST),
    "softmax-crowd-layer": EndToEnd("softmax-crowd-layer", PRIOR, "auto", defaults=FAST),
    "speelfc": EndToEnd("speelfc", PRIOR, "auto", defaults=FAST),
    "speelfc-d": EndToEnd("speelfc-d", init="auto", defaults=SEARCH),
    "trace-reg": EndToEnd("trace-reg", PRIOR, "auto", defaults=FAST),
    "geocrowdnet": EndToEnd("geocrowdnet", PRIOR, "auto", defaults=FAST),
    "conal": EndToEnd("conal", PRIOR, "auto", defaults=FAST),
    "conal-groups": EndToEnd("conal-groups", PRIOR, "auto", defaults=FAST),
    "mixture-e2e": EndToEnd("mixture-e2e", init="auto", defaults=SEARCH),
    "crowd-layer-s": RegressionEndToEnd("S", defaults=FAST),
    "crowd-layer-b": RegressionEndToEnd("B", defaults=FAST),
    "crowd-layer-sb": RegressionEndToEnd("SB", defaults=FAST),
}
