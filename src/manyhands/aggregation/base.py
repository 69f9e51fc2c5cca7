"""What every aggregator is: frozen settings with `fit`, and the ways a consensus goes on."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import Evidence, gather_evidence
from manyhands.aggregation.quality import share_right
from manyhands.annotations import Annotations, Kind, recode_like
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.evaluation import apply_temperature

P = TypeVar("P")


@dataclass(frozen=True, kw_only=True)
class Aggregator(ABC, Generic[P]):
    """Settings of a model; `fit` turns annotations into a `Consensus`. `P`: its parameters."""

    kind: ClassVar[Kind]

    def fit(self, annotations: Annotations, known: Mapping[Any, Any] | None = None) -> Consensus:
        """The consensus of these labels; `known` maps some items to truths held for certain."""
        if annotations.n_annotations == 0:
            raise DataError("there is not a single label; nothing can be said")
        evidence = gather_evidence(annotations.as_kind(self.kind), known)
        return self._fit(evidence, None)

    def predict(self, consensus: Consensus, annotations: Annotations) -> Consensus:
        """See `Consensus.predict`."""
        recoded = recode_like(annotations.as_kind(self.kind), consensus.annotations)
        evidence = gather_evidence(recoded)
        n_new = recoded.n_annotators - consensus.annotations.n_annotators
        parameters = self._for_other_items(
            self._with_unseen_annotators(consensus.parameters, n_new), recoded.n_items
        )
        beliefs = self._beliefs(evidence, parameters)
        if consensus.temperature != 1.0:
            beliefs["probabilities"] = apply_temperature(
                beliefs["probabilities"], consensus.temperature
            )
        return replace(
            consensus,
            evidence=evidence,
            parameters=parameters,
            quality=consensus.quality.with_strangers(n_new),
            annotator_traits=self._annotator_traits(parameters)
            or {  # found beside the model: of strangers nothing is known
                name: np.append(trait, np.full(n_new, np.nan))
                for name, trait in consensus.annotator_traits.items()
            },
            codes=None,
            objective=(),
            **beliefs,
        )

    def update(
        self, consensus: Consensus, more: Annotations, known: Mapping[Any, Any] | None
    ) -> Consensus:
        """See `Consensus.update`."""
        merged = consensus.annotations.extended(more)
        before = consensus.evidence
        held = {
            before.annotations.items[row]: before.known[row]
            if self.kind == "numbers"
            else before.annotations.classes[before.known[row]]
            for row in np.flatnonzero(before.is_known)
        }
        evidence = gather_evidence(merged, held | dict(known or {}))
        if merged.n_classes != before.annotations.n_classes:
            return self._fit(evidence, None)  # the old portraits know nothing of the new class
        n_new = merged.n_annotators - before.annotations.n_annotators
        return self._fit(evidence, self._with_unseen_annotators(consensus.parameters, n_new))

    def confusion(self, consensus: Consensus) -> Floats | None:
        """Every annotator's confusion (a, k, l), where the model has one."""
        return None

    @abstractmethod
    def _fit(self, evidence: Evidence, start: P | None) -> Consensus:
        """Fit the model, from the start of its own or from given parameters."""

    @abstractmethod
    def _beliefs(self, evidence: Evidence, parameters: P) -> dict[str, Any]:
        """What the parameters say about items: the item-side fields of a `Consensus`."""

    @abstractmethod
    def _with_unseen_annotators(self, parameters: P, n_new: int) -> P:
        """The parameters with average annotators added behind the known ones."""

    def _for_other_items(self, parameters: P, n_items: int) -> P:
        """The parameters without what they hold about single items."""
        return parameters

    def _annotator_traits(self, parameters: P) -> Mapping[str, AnyArray]:
        """Columns of the annotators table that only this model has."""
        return {}


@dataclass(frozen=True, kw_only=True)
class ClassAggregator(Aggregator[P]):
    """An aggregator of class labels."""

    kind: ClassVar[Kind] = "classes"

    def _consensus(
        self,
        evidence: Evidence,
        parameters: P,
        beliefs: Mapping[str, Any],
        objective: tuple[float, ...] = (),
        converged: bool = True,
    ) -> Consensus:
        return Consensus(
            method=self,
            evidence=evidence,
            parameters=parameters,
            quality=share_right(evidence, beliefs["probabilities"]),
            annotator_traits=self._annotator_traits(parameters),
            objective=objective,
            converged=converged,
            **beliefs,
        )


@dataclass(frozen=True, kw_only=True)
class IterativeSettings:
    """How long an iterative model may run: steps, and the gain per label that ends it."""

    max_iter: int = 100
    tol: float = 1e-6

    def __post_init__(self) -> None:
        require(
            isinstance(self.max_iter, int) and self.max_iter >= 1, "max_iter", ">= 1", self.max_iter
        )
        require(self.tol >= 0, "tol", ">= 0", self.tol)
