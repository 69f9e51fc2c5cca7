"""The consensus of labels in parts: parameters and annotators here, the table of items in parts."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.evidence import Evidence, Quality, most_probable
from manyhands.aggregation.guard import (
    ConsensusWarning,
    agreement_warnings,
    collapse_reason,
    collapse_sums,
)
from manyhands.aggregation.parts import Parts
from manyhands.aggregation.regression import squared_distances
from manyhands.aggregation.sums import agreement_of_numbers
from manyhands.annotations.columns import make_frame
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingError
from manyhands.io.batches import write_tables
from manyhands.scale.agreement import AgreementSums, agreement_sums, coefficients, fleiss_kappa
from manyhands.scale.agreement_tables import (
    annotator_sums,
    annotator_table,
    class_sums,
    class_table,
)

T = TypeVar("T")


class TableFacts(NamedTuple):
    """What the row of an item depends on beside its own labels.

    The mean probability of classes decides ties; agreement compares with the variance of numbers.
    """

    mean_k: Floats
    variance: float


@dataclass(frozen=True, eq=False, kw_only=True)
class PartedConsensus:
    """A consensus whose items are not in memory: `write` writes their table.

    `annotators_frame`, `annotator_quality`, `confusion` and `parameters` are as those of
    `Consensus`.
    """

    parts: Parts
    crowd: Consensus  # of annotators; it has no items
    facts: TableFacts
    mean_confidence: float
    n_ties: int
    agreement: Mapping[str, float]  # coefficients of `manyhands.agreement`; NaN if undefined

    @property
    def method_name(self) -> str:
        """The name of the aggregator."""
        return self.crowd.method_name

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.crowd.annotations.n_items

    @property
    def n_annotations(self) -> int:
        """Number of labels."""
        return self.crowd.annotations.n_annotations

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return self.crowd.annotations.n_annotators

    @property
    def annotators(self) -> AnyArray:
        """Names of annotators."""
        return self.crowd.annotations.annotators

    @property
    def classes(self) -> AnyArray:
        """Names of classes; empty if labels are numbers."""
        return self.crowd.annotations.classes

    @property
    def parameters(self) -> Any:
        """The parameters of the model."""
        return self.crowd.parameters

    @property
    def confusion(self) -> Floats | None:
        """Every annotator's confusion (a, k, l), row = true class; None if the model has none."""
        return self.crowd.confusion

    @property
    def annotator_quality(self) -> Floats:
        """One number per annotator between 0 and 1."""
        return self.crowd.annotator_quality

    @property
    def converged(self) -> bool:
        """Whether EM ended before its largest number of steps."""
        return self.crowd.converged

    @property
    def n_iterations(self) -> int:
        """The number of EM steps."""
        return self.crowd.n_iterations

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why it should not be believed as it is, and what was left out."""
        return self.crowd.warnings

    def annotators_frame(self) -> Any:
        """One row per annotator: quality, its interval, n_annotations, and the model's traits."""
        return self.crowd.annotators_frame()

    def annotator_columns(self) -> dict[str, AnyArray]:
        """The columns of the annotators table."""
        return self.crowd.annotator_columns()

    def agreement_by_class(self) -> Any:
        """A row per class as in `agreement.by_class`; one pass over the labels."""
        self._require_classes()
        sums = self.parts.total(class_sums)
        return make_frame(class_table(sums, self.classes), self.crowd.annotations.backend)

    def agreement_by_annotator(self) -> Any:
        """A row per annotator as in `agreement.by_annotator`, without kappas of pairs."""
        self._require_classes()
        ann, sums = self.crowd.annotations, self.parts.total(annotator_sums)
        columns = annotator_table(sums, self.annotators)
        return make_frame(columns, ann.backend)

    def _require_classes(self) -> None:
        if self.crowd.annotations.class_vocabulary is None:
            raise DataError("labels are numbers: agreement in parts is for classes")

    @property
    def table_arguments(self) -> tuple[Any, ...]:
        """The arguments of `item_columns`."""
        return self.crowd.method, self.crowd.parameters, self.facts, self.crowd.quality

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.method_name} of {self.crowd.annotations!r})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StreamedConsensus(PartedConsensus):
    """The consensus of labels in parts on disk; the parts are there until `close`.

    In a `with` statement they are removed at its end, unless an error ends it and another run can
    continue.
    """

    each: Callable[..., Iterator[dict[str, AnyArray]]]
    close: Callable[[], None]
    stop: Callable[[], None]

    def item_tables(self) -> Iterator[dict[str, AnyArray]]:
        """The columns of the consensus table, some items at a time, in the order of their names."""
        return self.each(item_columns, *self.table_arguments, with_names=True)

    def write(self, path: str | Path) -> None:
        """Write the consensus table (.csv .tsv .parquet .jsonl), completely or not at all."""
        write_tables(self.item_tables(), path)

    def __enter__(self) -> "StreamedConsensus":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        (self.close if error is None else self.stop)()


def item_columns(
    evidence: Evidence,
    model: Aggregator[Any],
    parameters: Any,
    facts: TableFacts,
    quality: Quality,
) -> dict[str, AnyArray]:
    """The columns of the consensus table for the items of a part."""
    estimates = model.estimate_items(evidence, parameters)
    ann = evidence.annotations
    codes = None
    if ann.class_vocabulary is not None:
        codes = most_probable(estimates["probabilities"], facts.mean_k)[0]
    found = Consensus(
        annotations=ann, quality=quality, known=evidence.known, codes=codes, **estimates
    )
    columns = found.item_columns()
    if ann.class_vocabulary is None:
        columns["agreement"] = agreement_of_numbers(ann, estimates["values"], facts.variance)
    return columns


def require_parts(model: Aggregator[Any]) -> None:
    """Raise a `SettingError` for a model that needs all labels in memory, or a GPU."""
    if not model.works_in_parts:
        raise SettingError(f"{model.name} needs all labels in memory; take another method")
    if model.device != "cpu":
        raise SettingError(f"device={model.device!r} needs all labels in memory; leave it out")


def fit_parts(
    model: Aggregator[Any], evidence: Evidence, skipped: tuple[str, ...]
) -> Mapping[str, Any]:
    """Fit a model to labels in parts: the fields of a `PartedConsensus`.

    `skipped` are warnings about labels that were left out.
    """
    parts = evidence.parts
    assert parts is not None, "these labels are in parts"
    run = model.fit_parameters(evidence)
    known: list[_ItemSums] = []

    def total(statistic: Callable[..., T], *arguments: Any) -> T:
        """The sum of a statistic; the first pass over all parts sums up items too."""
        more = () if known else (_with_items,)
        found = parts.total(_of_estimates, model, run.state, *more, statistic, *arguments)
        if not known:
            found, sums = found
            known.append(sums)
        result: T = found
        return result

    quality, traits = model.estimate_annotators(evidence, run.state, total)
    sums = known[0] if known else total(_sum_items)
    mean_k = sums.mass_k / evidence.annotations.n_items
    variance = 0.0
    texts = list(skipped)
    if evidence.annotations.class_vocabulary is None:
        variance = _label_variance(evidence)
    else:
        reason = collapse_reason(
            total(collapse_sums, mean_k), model.name, evidence.annotations.classes
        )
        texts += agreement_warnings(*fleiss_kappa(sums.agreement))
        if reason:
            texts.append(f"the consensus of {model.name} collapsed: {reason}; do not rely on it")
    for text in texts:
        warnings.warn(text, ConsensusWarning, stacklevel=4)
    crowd = Consensus(
        annotations=evidence.annotations, quality=quality, annotator_traits=traits, method=model,
        parameters=run.state, objective=run.objective, converged=run.converged,
        warnings=tuple(texts),
    )  # fmt: skip
    return {
        "parts": parts, "crowd": crowd, "facts": TableFacts(mean_k, variance),
        "agreement": coefficients(sums.agreement),
        "mean_confidence": sums.confidence / evidence.annotations.n_items, "n_ties": sums.n_ties,
    }  # fmt: skip


class _ItemSums(NamedTuple):
    mass_k: Floats
    confidence: float
    n_ties: int
    agreement: AgreementSums


def _of_estimates(
    evidence: Evidence,
    model: Aggregator[Any],
    parameters: Any,
    statistic: Callable[..., T],
    *arguments: Any,
) -> T:
    return statistic(evidence, model.estimate_items(evidence, parameters), *arguments)


def _with_items(
    evidence: Evidence, estimates: Mapping[str, Any], statistic: Callable[..., T], *arguments: Any
) -> tuple[T, _ItemSums]:
    return statistic(evidence, estimates, *arguments), _sum_items(evidence, estimates)


def _sum_items(evidence: Evidence, estimates: Mapping[str, Any]) -> _ItemSums:
    if evidence.annotations.class_vocabulary is None:
        none = AgreementSums(0, 0.0, 0, np.zeros(0), np.zeros(0), 0.0)
        return _ItemSums(np.zeros(0), float(estimates["signal_share"].sum()), 0, none)
    p_ik = estimates["probabilities"]
    codes, tied = most_probable(p_ik)
    confidence = np.take_along_axis(p_ik, codes[:, None], 1).sum()
    agreement = agreement_sums(evidence)
    return _ItemSums(p_ik.sum(axis=0), float(confidence), int(tied.sum()), agreement)


def _label_variance(evidence: Evidence) -> float:
    n_labels = evidence.annotations.n_annotations
    centre = evidence.total(_sum_labels) / n_labels
    return evidence.total(squared_distances, centre) / n_labels


def _sum_labels(evidence: Evidence) -> float:
    return float(evidence.annotations.label.sum())
