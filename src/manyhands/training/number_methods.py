"""Methods for labels that are numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torch import nn

from manyhands.aggregation import Gaussian, GaussianSteps
from manyhands.annotations import Kind
from manyhands.core.errors import SettingError
from manyhands.core.settings import require, require_choice
from manyhands.noise import NumberLayer
from manyhands.training.learner import Trainee
from manyhands.training.methods import STARTS, About, Method, Problem
from manyhands.training.numbers import EMNumberLearner, NumberLearner, number_means, started
from manyhands.training.settings import TrainingSettings

_LARGE_CROWD = 100_000  # annotators from which a dense optimiser step is felt


class NumberMethod(Method):
    """A method for numbers only."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """See `Method.kinds`."""
        return ("numbers",)


@dataclass(frozen=True)
class NumberCrowdLayer(NumberMethod):
    """Train the network through a `NumberLayer`, which learns the annotators with it.

    `kind` is the layer's, `settings` are others of it. `start="consensus"`, or "auto", starts the
    annotators from those of the aggregator `Gaussian`, "own" from average ones.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: Literal["auto", "own", "consensus"] = "auto"
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        require_choice("start", self.start, STARTS)

    def with_settings(
        self, noise: Mapping[str, Any] | None, start: str | None
    ) -> "NumberCrowdLayer":
        """The same method with other settings of its layer, and another start."""
        merged = {**self.settings, **(noise or {})}
        return replace(self, settings=merged, start=start or self.start)  # type: ignore[arg-type]

    def learner(self, network: nn.Module, problem: Problem, settings: TrainingSettings) -> Trainee:
        """See `Method.learner`."""
        ann, sparse = problem.annotations, settings.sparse
        if sparse is None:
            # Between processes not every backend of torch adds up sparse gradients.
            sparse = ann.n_annotators > _LARGE_CROWD and settings.devices == 1
        known = [name for name in NumberLayer(1).settings if name != "kind"]
        for name in self.settings:
            if name not in known:
                listed = ", ".join(known)
                raise SettingError(f"the noise model has no setting {name!r}; known: {listed}")
        try:
            layer = NumberLayer(ann.n_annotators, kind=self.kind, sparse=sparse, **self.settings)
        except TypeError as error:
            raise SettingError(f"noise: a setting is of the wrong kind: {error}") from error
        started(layer, ann, consensus=self.start != "own")
        return NumberLearner(network, layer, number_means(ann))


@dataclass(frozen=True)
class EMRegression(NumberMethod):
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

    def learner(self, network: nn.Module, problem: Problem, settings: TrainingSettings) -> Trainee:
        """See `Method.learner`."""
        ann = problem.annotations
        steps = GaussianSteps(
            ann[ann.labels_per_item > 0],  # others would count for the network's precision
            self.annotators,
            biases=self.biases,
            fixed_precision=self.network_precision,
        )
        layer = NumberLayer(ann.n_annotators, kind="B" if self.biases else "none")
        started(layer, ann, consensus=False)
        return EMNumberLearner(network, layer, number_means(ann), steps)
