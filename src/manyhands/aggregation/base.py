"""What every aggregator is: settings with `fit`, parameters to continue from, the one EM loop."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np

from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.cost import Cost, require_affordable
from manyhands.aggregation.device import DEVICE, require_device_pass
from manyhands.aggregation.em import EMRun, best_run, run_em
from manyhands.aggregation.evidence import (
    Evidence,
    Quality,
    count_confirmed,
    gather_evidence,
    quality_of_counts,
)
from manyhands.aggregation.kernels.passes import labels_on_device
from manyhands.aggregation.parts import PartState
from manyhands.annotations import (
    Annotations,
    Kind,
    Labels,
    Truth,
    as_annotations,
    as_truths,
    recode_like,
)
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import AT_LEAST_ONE, NOT_NEGATIVE, Rule, setting, settings_of
from manyhands.evaluation import apply_temperature

MAY_BE_INFINITE = Rule(lambda value: value >= 0, ">= 0")
_MIN_GAIN = 1e-9  # per label; two starts whose objectives differ by less are equally good
CLASS_PSEUDO_COUNT = "Pseudo-items per class in the class prior; inf: all classes are equal."


@dataclass(frozen=True)
class Parameters:
    """Base of every model's parameters: a dataclass whose fields are arrays and floats.

    Rows of arrays whose names end in `_a` follow the annotators of the consensus, those in `_i` its
    items. A consensus is saved with its parameters field by field.
    """

    def confusion(self) -> Floats | None:
        """Every annotator's confusion, shape (a, k, l); None if the model has none."""
        return None

    def right(self) -> Floats | None:
        """How often every annotator is right about every class (a, k): confusions' diagonals."""
        confusion_akl = self.confusion()
        return None if confusion_akl is None else np.einsum("akk->ak", confusion_akl)

    def annotator_traits(self) -> Mapping[str, AnyArray]:
        """Columns of the annotators table that only this model has."""
        return {}

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same parameters with `n_new` average annotators appended."""
        return self

    def on_host(self) -> Self:
        """The same parameters as arrays of numpy."""
        return self

    def for_new_items(self, n_items: int) -> Self:
        """The same parameters for `n_items` other items, about which nothing is known."""
        return self

    def of_part(self, load: Callable[[PartState], AnyArray]) -> Self:
        """The same parameters with arrays of items that lie in parts loaded for one of them."""
        return self


P = TypeVar("P", bound=Parameters)
S = TypeVar("S")
T = TypeVar("T")


class ItemTotal(Protocol):
    """The sum of `statistic(evidence, estimates, *arguments)` over the items of all parts."""

    def __call__(self, statistic: Callable[..., T], *arguments: Any) -> T:
        """The sum."""


@dataclass(frozen=True, kw_only=True)
class Aggregator(ABC, Generic[P]):
    """Settings of a model; `fit` turns annotations into a `Consensus`. `P`: its parameters."""

    name: ClassVar[str]
    kind: ClassVar[Kind]
    parameters_type: ClassVar[type[Parameters]]
    has_device_pass: ClassVar[bool] = False
    works_in_parts: ClassVar[bool] = True  # whether a fit takes labels that are in parts
    consensus_type: ClassVar[type[Consensus]] = Consensus

    device: Literal["cpu", "cuda"] = setting("cpu", DEVICE)

    def __post_init__(self) -> None:
        for name, declared in settings_of(type(self)).items():
            object.__setattr__(self, name, declared.checked(getattr(self, name)))
        require_device_pass(self.name, self.device, self.has_device_pass)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name, as scikit-learn asks for them: `sklearn.base.clone` works."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """A new aggregator with some settings changed; this one stays as it is.

        scikit-learn's estimators change themselves. An aggregator does not, because every consensus
        that it made refers to it: use what is returned.
        """
        known = self.get_params()
        for name in params:
            if name not in known:
                raise SettingError(
                    f"{self.name} has no setting {name!r}; known: {', '.join(known)}"
                )
        return replace(self, **params)

    def fit(self, annotations: Labels, known: Truth | None = None) -> Consensus:
        """The consensus of these labels; `known` maps some items to their certain truths.

        Labels are `Annotations`, or a frame or a matrix as `as_annotations` takes them. `known` may
        also be a frame, a series or a list; see `annotations.as_truths`.
        """
        annotations = as_annotations(annotations, kind=read_kind(self.kind))
        if annotations.n_annotations == 0:
            raise DataError("there is not a single label; nothing can be aggregated")
        annotations = annotations.as_kind(self.kind)
        self.require_affordable(annotations)
        return self._fit(gather_evidence(annotations, known), None)

    @property
    def needs_few_rows(self) -> bool:
        """Whether a fit needs confusions of pairs of annotator and label alone that occur."""
        return False

    def require_affordable(self, annotations: Annotations) -> None:
        """Raise a `TooLargeError` if a fit would take too much memory or time."""

    def predict(self, consensus: Consensus, annotations: Labels) -> Consensus:
        """See `Consensus.predict`."""
        labels = as_annotations(annotations, kind=consensus.annotations.kind)
        recoded = recode_like(labels, consensus.annotations)
        self.require_affordable(recoded)
        evidence = gather_evidence(recoded)
        n_new = recoded.n_annotators - consensus.annotations.n_annotators
        before: P = consensus.parameters
        parameters = before.with_unseen_annotators(n_new).for_new_items(recoded.n_items)
        estimates = self.estimate_items(evidence, parameters)
        if consensus.temperature != 1.0:
            estimates["probabilities"] = apply_temperature(
                estimates["probabilities"], consensus.temperature
            )
        return replace(
            consensus,
            annotations=recoded,
            known=evidence.known,
            parameters=parameters,
            quality=consensus.quality.with_unseen_annotators(n_new),
            annotator_traits=parameters.annotator_traits()
            or {  # estimated beside the model: nothing is known of unseen annotators
                name: np.append(trait, np.full(n_new, np.nan))
                for name, trait in consensus.annotator_traits.items()
            },
            codes=None,
            objective=(),
            **estimates,
        )

    def update(self, consensus: Consensus, more: Labels, known: Truth | None) -> Consensus:
        """See `Consensus.update`."""
        before = consensus.annotations
        merged = before.extended(as_annotations(more, kind=before.kind))
        self.require_affordable(merged)
        more_known = {} if known is None else as_truths(known, merged.item_vocabulary)
        evidence = gather_evidence(merged, consensus.evidence.known_by_name() | dict(more_known))
        if merged.n_classes != before.n_classes:
            return self._fit(evidence, None)  # the old parameters know nothing of the new class
        start: P = consensus.parameters
        n_new = merged.n_annotators - before.n_annotators
        return self._fit(evidence, start.with_unseen_annotators(n_new))

    def _fit(self, evidence: Evidence, start: P | None) -> Consensus:
        held = labels_on_device(evidence, self.device)  # they are moved there once
        run = self.fit_parameters(evidence, start)
        estimates = self.estimate_items(evidence, run.state)
        del held

        def total(statistic: Callable[..., T], *arguments: Any) -> T:
            return statistic(evidence, estimates, *arguments)

        quality, traits = self.estimate_annotators(evidence, run.state, total)
        return self.consensus_type(
            annotations=evidence.annotations,
            known=evidence.known,
            method=self,
            parameters=run.state,
            quality=quality,
            annotator_traits=traits,
            objective=run.objective,
            converged=run.converged,
            **estimates,
        )

    @abstractmethod
    def fit_parameters(self, evidence: Evidence, start: P | None = None) -> EMRun[P]:
        """Fit the model, from its own initial parameters or from the given ones."""

    @abstractmethod
    def estimate_items(self, evidence: Evidence, parameters: P) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""

    @abstractmethod
    def estimate_annotators(
        self, evidence: Evidence, parameters: P, total: ItemTotal
    ) -> tuple[Quality, Mapping[str, AnyArray]]:
        """The quality of annotators and their traits, from sums over the estimates of items."""


@dataclass(frozen=True, kw_only=True)
class ClassAggregator(Aggregator[P]):
    """An aggregator of class labels."""

    kind: ClassVar[Kind] = "classes"
    cheaper: ClassVar[str] = ""  # settings that decide how long a fit takes

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        return Cost(item_tables=4.2)

    def require_affordable(self, annotations: Annotations) -> None:
        """Raise a `TooLargeError` if a fit would take too much memory or time."""
        require_affordable(self.name, self.cost(annotations), annotations, self.cheaper)

    def estimate_annotators(
        self, evidence: Evidence, parameters: P, total: ItemTotal
    ) -> tuple[Quality, Mapping[str, AnyArray]]:
        """How often annotators are right, and their traits by the model."""
        return quality_of_counts(*total(_count_right)), parameters.annotator_traits()


def read_kind(kind: Kind) -> Kind | None:
    """What frames are read as for a method of this kind; None: what their labels look like."""
    return kind if kind == "multilabel" else None


def _count_right(evidence: Evidence, estimates: Mapping[str, Any]) -> tuple[Floats, Floats]:
    probabilities = estimates.get("raw_probabilities", estimates["probabilities"])
    return count_confirmed(evidence, probabilities)


class Expected(Protocol):
    """The result of an E-step."""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the labels under the parameters of the step."""


E = TypeVar("E", bound=Expected)


@dataclass(frozen=True, kw_only=True)
class IterativeAggregator(Aggregator[P]):
    """An aggregator that is fitted by EM."""

    max_iter: int = setting(100, "Largest number of EM steps.", rule=AT_LEAST_ONE)
    tol: float = setting(1e-6, "EM ends once a step gains less per label.", rule=NOT_NEGATIVE)

    def _run(
        self,
        evidence: Evidence,
        start: S,
        step: Callable[[S], tuple[S, float]],
        begun: EMRun[S] | None = None,
    ) -> EMRun[S]:
        tol, parts = self.tol * evidence.annotations.n_annotations, evidence.parts
        if parts is None:
            return run_em(start, step, max_iter=self.max_iter, tol=tol)
        begun = begun or parts.continued(start)
        return run_em(start, step, max_iter=self.max_iter, tol=tol, begun=begun, keep=parts.keep)

    def _best_of(self, annotations: Annotations, runs: Iterable[EMRun[S]]) -> EMRun[S]:
        """The run that ends highest, and among equal ones the first."""
        margin = max(self.tol, _MIN_GAIN) * annotations.n_annotations
        return best_run(runs, margin)

    def _alternate(
        self,
        evidence: Evidence,
        start: tuple[P, float],
        expect: Callable[[P], E],
        maximise: Callable[[E, P], tuple[P, float]],
        begun: EMRun[tuple[P, float]] | None = None,
    ) -> EMRun[P]:
        """EM from `start`, parameters with their log-prior.

        `maximise` returns better parameters and their log-prior, given the expectation under the
        parameters before. The objective is log-likelihood + log-prior.
        """

        def step(state: tuple[P, float]) -> tuple[tuple[P, float], float]:
            parameters, log_prior = state
            expected = expect(parameters)
            return maximise(expected, parameters), expected.log_likelihood + log_prior

        run = self._run(evidence, start, step, begun)
        return EMRun(run.state[0].on_host(), run.objective, run.converged)
