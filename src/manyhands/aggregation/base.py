"""What every aggregator is: frozen settings with `fit`, and how a consensus continues."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import Evidence, gather_evidence
from manyhands.aggregation.parameters import Parameters
from manyhands.aggregation.quality import Quality, estimate_quality
from manyhands.annotations import Annotations, Kind, recode_like
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.evaluation import apply_temperature

P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True, kw_only=True)
class Aggregator(ABC, Generic[P]):
    """Settings of a model; `fit` turns annotations into a `Consensus`. `P`: its parameters."""

    name: ClassVar[str]
    kind: ClassVar[Kind]
    parameters_type: ClassVar[type[Parameters]]

    def fit(self, annotations: Annotations, known: Mapping[Any, Any] | None = None) -> Consensus:
        """The consensus of these labels; `known` maps some items to their certain truths."""
        if annotations.n_annotations == 0:
            raise DataError("there is not a single label; nothing can be aggregated")
        evidence = gather_evidence(annotations.as_kind(self.kind), known)
        return self._fit(evidence, None)

    def predict(self, consensus: Consensus, annotations: Annotations) -> Consensus:
        """See `Consensus.predict`."""
        recoded = recode_like(annotations.as_kind(self.kind), consensus.annotations)
        evidence = gather_evidence(recoded)
        n_new = recoded.n_annotators - consensus.annotations.n_annotators
        before: P = consensus.parameters
        parameters = before.with_unseen_annotators(n_new).for_new_items(recoded.n_items)
        estimates = self._estimate_items(evidence, parameters)
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
            confusion=parameters.confusion(),
            annotator_traits=parameters.annotator_traits()
            or {  # estimated beside the model: nothing is known of unseen annotators
                name: np.append(trait, np.full(n_new, np.nan))
                for name, trait in consensus.annotator_traits.items()
            },
            codes=None,
            objective=(),
            **estimates,
        )

    def update(
        self, consensus: Consensus, more: Annotations, known: Mapping[Any, Any] | None
    ) -> Consensus:
        """See `Consensus.update`."""
        before = consensus.annotations
        merged = before.extended(more)
        evidence = gather_evidence(merged, consensus.evidence.known_by_name() | dict(known or {}))
        if merged.n_classes != before.n_classes:
            return self._fit(evidence, None)  # the old parameters know nothing of the new class
        start: P = consensus.parameters
        n_new = merged.n_annotators - before.n_annotators
        return self._fit(evidence, start.with_unseen_annotators(n_new))

    @abstractmethod
    def _fit(self, evidence: Evidence, start: P | None) -> Consensus:
        """Fit the model, from its own initial parameters or from the given ones."""

    @abstractmethod
    def _estimate_items(self, evidence: Evidence, parameters: P) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""

    @abstractmethod
    def _estimate_annotators(
        self, evidence: Evidence, parameters: P, estimates: Mapping[str, Any]
    ) -> tuple[Quality, Mapping[str, AnyArray]]:
        """The quality of annotators and their traits, given the estimates of items."""

    def _consensus(
        self,
        evidence: Evidence,
        parameters: P,
        estimates: Mapping[str, Any],
        objective: tuple[float, ...] = (),
        converged: bool = True,
    ) -> Consensus:
        quality, traits = self._estimate_annotators(evidence, parameters, estimates)
        return Consensus(
            annotations=evidence.annotations,
            known=evidence.known,
            method=self,
            parameters=parameters,
            quality=quality,
            confusion=parameters.confusion(),
            annotator_traits=traits,
            objective=objective,
            converged=converged,
            **estimates,
        )


@dataclass(frozen=True, kw_only=True)
class ClassAggregator(Aggregator[P]):
    """An aggregator of class labels."""

    kind: ClassVar[Kind] = "classes"

    def _estimate_annotators(
        self, evidence: Evidence, parameters: P, estimates: Mapping[str, Any]
    ) -> tuple[Quality, Mapping[str, AnyArray]]:
        quality = estimate_quality(evidence, estimates["probabilities"])
        return quality, parameters.annotator_traits()


@dataclass(frozen=True, kw_only=True)
class IterativeSettings:
    """When EM ends: after `max_iter` steps, or once a step gains less than `tol` per label."""

    max_iter: int = 100
    tol: float = 1e-6

    def __post_init__(self) -> None:
        require(
            isinstance(self.max_iter, int) and self.max_iter >= 1, "max_iter", ">= 1", self.max_iter
        )
        require(self.tol >= 0, "tol", ">= 0", self.tol)
