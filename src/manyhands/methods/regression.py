"""Methods for labels that are numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torch import nn

from manyhands.aggregation import Gaussian, GaussianSteps
from manyhands.annotations import Kind
from manyhands.core.errors import SettingError
from manyhands.core.settings import require, require_choice
from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.regression_module import RegressionModule, label_means, started
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import INITS, About, Method, Problem
from manyhands.methods.em_regression import EMRegressionModule
from manyhands.noise import RegressionLayer

_LARGE_CROWD = 100_000  # annotators from which a dense optimiser step is felt


class RegressionMethod(Method):
    """A method for numbers only."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """See `Method.kinds`."""
        return ("numbers",)


@dataclass(frozen=True)
class RegressionEndToEnd(RegressionMethod):
    """Train the network through a `RegressionLayer`, which learns the annotators with it.

    `kind` is the layer's, `settings` are others of it. `init="consensus"`, or "auto", starts the
    annotators from those of the aggregator `Gaussian`, "own" from average ones.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    init: Literal["auto", "own", "consensus"] = "auto"
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        require_choice("init", self.init, INITS)

    def with_settings(
        self, noise: Mapping[str, Any] | None, init: str | None
    ) -> "RegressionEndToEnd":
        """The same method with other settings of its layer, and another start."""
        merged = {**self.settings, **(noise or {})}
        return replace(self, settings=merged, init=init or self.init)  # type: ignore[arg-type]

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `Method.learner`."""
        ann, sparse = problem.annotations, settings.sparse
        if sparse is None:
            # Between processes not every backend of torch adds up sparse gradients.
            sparse = ann.n_annotators > _LARGE_CROWD and settings.devices == 1
        known = [name for name in RegressionLayer(1).settings if name != "kind"]
        for name in self.settings:
            if name not in known:
                listed = ", ".join(known)
                raise SettingError(f"the noise model has no setting {name!r}; known: {listed}")
        try:
            layer = RegressionLayer(
                ann.n_annotators, kind=self.kind, sparse=sparse, **self.settings
            )
        except TypeError as error:
            raise SettingError(f"noise: a setting is of the wrong kind: {error}") from error
        started(layer, ann, consensus=self.init != "own")
        return RegressionModule(network, layer, label_means(ann))


@dataclass(frozen=True)
class EMRegression(RegressionMethod):
    """EM with a network for numbers: E- and M-step before every epoch (`GaussianSteps`).

    `annotators` holds the priors; with `biases` everybody has one. A `network_precision` that is
    given is not learnt; with 0 the network learns what labels alone say.
    """

    annotators: Gaussian = field(default_factory=Gaussian)
    biases: bool = False
    network_precision: float | None = None
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        fine = self.network_precision is None or self.network_precision >= 0
        require(fine, "network_precision", ">= 0", self.network_precision)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `Method.learner`."""
        ann = problem.annotations
        steps = GaussianSteps(
            ann[ann.labels_per_item > 0],  # others would count for the network's precision
            self.annotators,
            biases=self.biases,
            fixed_precision=self.network_precision,
        )
        layer = RegressionLayer(ann.n_annotators, kind="B" if self.biases else "none")
        started(layer, ann, consensus=False)
        return EMRegressionModule(network, layer, label_means(ann), steps)
