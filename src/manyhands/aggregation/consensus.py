"""What aggregation believes: about every item, and about every annotator."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from manyhands.aggregation.beliefs import agreement_with, winners
from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.quality import Quality
from manyhands.annotations import Annotations
from manyhands.annotations.frames import make_frame
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import DataError
from manyhands.evaluation import (
    ClassificationScorecard,
    RegressionScorecard,
    apply_temperature,
    classification_scorecard,
    fit_temperature,
    regression_scorecard,
)
from manyhands.evaluation.scorecard import match_truth

if TYPE_CHECKING:
    from manyhands.aggregation.base import Aggregator


@dataclass(frozen=True, eq=False, repr=False)
class Consensus:
    """The outcome of an aggregator; rows follow the items and annotators of `annotations`.

    For classes, `probabilities` has shape (i, k) and `confidence` is the probability of the
    label; these are the model's own probabilities, as good as the model: they are not calibrated
    (real crowds make the same mistakes, which models take for independent) unless `calibrated`
    has set a temperature. For numbers, `spread` is the standard deviation of what is believed
    about the item's value, and `confidence` the share of variance that is signal rather than doubt.
    """

    method: "Aggregator[Any]"
    evidence: Evidence
    parameters: Any
    quality: Quality
    probabilities: Floats | None = None
    values: Floats | None = None
    spread: Floats | None = None
    signal_share: Floats | None = None
    item_traits: Mapping[str, AnyArray] = field(default_factory=dict)
    annotator_traits: Mapping[str, AnyArray] = field(default_factory=dict)
    objective: tuple[float, ...] = ()
    converged: bool = True
    temperature: float = 1.0
    codes: AnyArray | None = None

    @property
    def annotations(self) -> Annotations:
        """The labels this consensus was drawn from."""
        return self.evidence.annotations

    @cached_property
    def _winners(self) -> tuple[AnyArray, Bools]:
        if self.probabilities is None:
            return self._numbers, np.zeros(len(self._numbers), dtype=bool)
        codes, tied = winners(self.probabilities)
        return (codes if self.codes is None else self.codes), tied

    @property
    def _numbers(self) -> Floats:
        assert self.values is not None, "a consensus holds probabilities or values"
        return self.values

    @property
    def labels(self) -> AnyArray:
        """The consensus label of every item: a class name, or a number."""
        codes, _ = self._winners
        return codes if self.probabilities is None else self.annotations.classes[codes]

    @property
    def tied(self) -> Bools:
        """Items for which another class is just as probable."""
        return self._winners[1]

    @cached_property
    def confidence(self) -> Floats:
        """How sure the model is of every label, between 0 and 1."""
        if self.probabilities is not None:
            return np.asarray(
                np.take_along_axis(self.probabilities, self._winners[0][:, None], 1)[:, 0]
            )
        assert self.signal_share is not None, "a consensus of numbers holds its signal share"
        return self.signal_share

    @cached_property
    def agreement(self) -> Floats:
        """Share of an item's labels that equal the consensus.

        For numbers: one minus the labels' mean squared distance from it over the variance of all
        labels, not below 0. NaN for an item without labels.
        """
        if self.probabilities is not None:
            return agreement_with(self.annotations, self._winners[0])
        ann = self.annotations
        off_n = (ann.label - self._numbers[ann.item]) ** 2
        off_i = np.bincount(ann.item, weights=off_n, minlength=ann.n_items)
        variance = float(np.var(ann.label)) if ann.n_annotations else 0.0
        with np.errstate(invalid="ignore"):
            mean_i = off_i / ann.labels_per_item
        return (
            np.clip(1.0 - mean_i / variance, 0.0, 1.0)
            if variance > 0
            else np.where(np.isnan(mean_i), np.nan, 1.0)
        )

    @property
    def annotator_quality(self) -> Floats:
        """One number per annotator between 0 and 1; `quality` holds its interval too."""
        return self.quality.value

    @cached_property
    def confusion(self) -> Floats | None:
        """Row = true class, column = label said, shape (a, k, l); None if the model has none."""
        return self.method.confusion(self)

    @property
    def n_iterations(self) -> int:
        """How many EM steps were made."""
        return len(self.objective)

    def to_frame(self) -> Any:
        """One row per item: label, confidence, agreement, n_annotations, p_<class>, tied."""
        return make_frame(self.item_columns(), self.annotations.backend)

    def annotators_frame(self) -> Any:
        """One row per annotator: quality, its interval, n_annotations, and the model's traits."""
        return make_frame(self.annotator_columns(), self.annotations.backend)

    def item_columns(self) -> dict[str, AnyArray]:
        """The columns of the consensus table."""
        ann = self.annotations
        columns: dict[str, AnyArray] = {
            "item": ann.items,
            "label": self.labels,
            "confidence": self.confidence,
            "agreement": self.agreement,
            "n_annotations": ann.labels_per_item,
        }
        if self.probabilities is not None:
            for k, name in enumerate(ann.classes):
                columns[f"p_{name}"] = self.probabilities[:, k]
            columns["tied"] = self.tied
        if self.spread is not None:
            columns["spread"] = self.spread
        return columns | dict(self.item_traits)

    def annotator_columns(self) -> dict[str, AnyArray]:
        """The columns of the annotators table."""
        columns: dict[str, AnyArray] = {
            "annotator": self.annotations.annotators,
            "quality": self.quality.value,
            "quality_low": self.quality.low,
            "quality_high": self.quality.high,
            "n_annotations": self.annotations.labels_per_annotator,
        }
        columns |= dict(self.annotator_traits)
        if self.confusion is not None:
            right_ak = np.einsum("akk->ak", self.confusion)
            columns |= {
                f"right_{name}": right_ak[:, k] for k, name in enumerate(self.annotations.classes)
            }
        return columns

    def predict(self, annotations: Annotations) -> "Consensus":
        """Beliefs about other items from the portraits as they are; nothing is learnt.

        An annotator who was not seen before is taken for an average member of the crowd.
        """
        return self.method.predict(self, annotations)

    def update(self, more: Annotations, known: Mapping[Any, Any] | None = None) -> "Consensus":
        """The consensus once more labels have arrived, starting from where this one ended.

        Items, annotators and classes may be new; truths known before stay known.
        """
        return self.method.update(self, more, known)

    def score(self, truth: Mapping[Any, Any]) -> ClassificationScorecard | RegressionScorecard:
        """How well this consensus does on the items whose truth is given as {item: truth}.

        Items whose truth it was told beforehand do not count.
        """
        truth = self._not_known(truth)
        items, classes = self.annotations.item_vocabulary, self.annotations.class_vocabulary
        if self.probabilities is None or classes is None:
            return regression_scorecard(items, self._numbers, truth)
        return classification_scorecard(
            items, classes, self.probabilities, self.labels, self.confidence, truth
        )

    def calibrated(self, truth: Mapping[Any, Any]) -> "Consensus":
        """The same consensus with its probabilities tempered to fit some truths.

        Labels stay as they are; confidence becomes what it was on items like these. Truths that
        were known beforehand tell nothing and are left out. After an `update`, calibrate again.
        """
        classes = self.annotations.class_vocabulary
        if self.probabilities is None or classes is None:
            raise DataError("only class probabilities can be calibrated; these labels are numbers")
        row, names = match_truth(self.annotations.item_vocabulary, self._not_known(truth))
        code = classes.codes(names)
        if not np.any(code >= 0):
            raise DataError("the truths to calibrate with are all classes that nobody said")
        temperature = fit_temperature(code[code >= 0], self.probabilities[row[code >= 0]])
        return replace(
            self,
            probabilities=apply_temperature(self.probabilities, temperature),
            temperature=self.temperature * temperature,
            codes=self._winners[0],
        )

    def _not_known(self, truth: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """The truths of items that were not known beforehand."""
        known = self.evidence.is_known
        if not known.any():
            return truth
        codes = self.annotations.item_vocabulary.codes(truth)
        fresh = {
            name: value
            for (name, value), code in zip(truth.items(), codes, strict=True)
            if code < 0 or not known[code]
        }
        if not fresh:
            raise DataError("all these truths were known beforehand; give others")
        return fresh

    def __repr__(self) -> str:
        return f"Consensus({type(self.method).__name__} of {self.annotations!r})"
