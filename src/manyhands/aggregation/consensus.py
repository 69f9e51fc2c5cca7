"""What aggregation believes about every item and about every annotator."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from manyhands.aggregation.cost import require_confusions
from manyhands.aggregation.evidence import (
    Evidence,
    Quality,
    estimate_quality,
    most_probable,
    nothing_known,
)
from manyhands.aggregation.levels import level_columns
from manyhands.aggregation.sums import agreement_of_numbers
from manyhands.annotations import Annotations, Labels, Truth
from manyhands.annotations.columns import make_frame
from manyhands.annotations.html import HtmlTable
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import DataError
from manyhands.evaluation import apply_temperature, fit_temperature, scorecard

if TYPE_CHECKING:
    from manyhands.aggregation.base import Aggregator

_NO_METHOD = "this consensus has no aggregator to continue with; fit one to all labels"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Consensus(HtmlTable):
    """The result of aggregation; rows follow the items and annotators of `annotations`.

    For classes, `probabilities` has shape (i, k) and `confidence` is the probability of the
    label. These are the model's own probabilities. They are not calibrated unless `calibrated` has
    set a temperature: models assume independent mistakes, and real crowds share mistakes. For
    numbers, `spread` is the standard deviation of the belief about the item's value, and
    `confidence` is the share of the variance that is signal.

    `method` and `parameters` are the way to continue: `update` and `predict` use them. A consensus
    without a method is plain data; both then raise a `DataError` with the text `cannot_continue`.
    """

    annotations: Annotations
    quality: Quality
    probabilities: Floats | None = None
    values: Floats | None = None
    spread: Floats | None = None
    signal_share: Floats | None = None
    given_confusion: Floats | None = None  # where it does not come from the parameters
    item_traits: Mapping[str, AnyArray] = field(default_factory=dict)
    annotator_traits: Mapping[str, AnyArray] = field(default_factory=dict)
    known: AnyArray = field(default_factory=nothing_known)  # see `Evidence`
    method: "Aggregator[Any] | None" = None
    parameters: Any = None
    cannot_continue: str = _NO_METHOD
    objective: tuple[float, ...] = ()
    converged: bool = True
    warnings: tuple[str, ...] = ()  # why it should not be believed as it is
    chosen: str = ""  # why this method, where it was chosen for the labels
    temperature: float = 1.0
    raw_probabilities: Floats | None = None  # of the model itself, where `probabilities` are not
    codes: AnyArray | None = None  # labels that are not the most probable ones, such as valid tags

    @classmethod
    def from_probabilities(
        cls,
        annotations: Annotations,
        probabilities: Floats,
        *,
        confusion: Floats | None = None,
        annotator_traits: Mapping[str, AnyArray] | None = None,
        cannot_continue: str = _NO_METHOD,
    ) -> "Consensus":
        """A consensus from class probabilities (i, k) that come from elsewhere.

        The quality of an annotator is how often they are right by these probabilities.

        >>> ann = Annotations.from_arrays([1, 1], ["u", "v"], ["cat", "dog"])
        >>> Consensus.from_probabilities(ann, np.array([[0.9, 0.1]])).labels.tolist()
        ['cat']
        """
        if probabilities.shape != (annotations.n_items, annotations.n_classes):
            raise DataError(
                f"probabilities must have shape {(annotations.n_items, annotations.n_classes)}; "
                f"got {probabilities.shape}"
            )
        return cls(
            annotations=annotations,
            quality=estimate_quality(Evidence(annotations, nothing_known()), probabilities),
            probabilities=probabilities,
            given_confusion=confusion,
            annotator_traits=annotator_traits or {},
            cannot_continue=cannot_continue,
        )

    @classmethod
    def from_values(
        cls,
        annotations: Annotations,
        values: Floats,
        variance: Floats,
        *,
        between: float,
        quality: Quality,
        annotator_traits: Mapping[str, AnyArray] | None = None,
        cannot_continue: str = _NO_METHOD,
    ) -> "Consensus":
        """A consensus of numbers from the mean and variance of every item's value.

        `between` is the variance between items: the signal that `confidence` compares with.
        """
        if values.shape != (annotations.n_items,) or variance.shape != values.shape:
            raise DataError(
                f"values and variance must have shape {(annotations.n_items,)}; "
                f"got {values.shape} and {variance.shape}"
            )
        return cls(
            annotations=annotations,
            quality=quality,
            values=values,
            spread=np.sqrt(variance),
            signal_share=between / (between + variance),
            annotator_traits=annotator_traits or {},
            cannot_continue=cannot_continue,
        )

    @property
    def items(self) -> AnyArray:
        """The names of the items, a row of `probabilities` each."""
        return self.annotations.items

    @property
    def annotators(self) -> AnyArray:
        """The names of the annotators, a row of `confusion` each."""
        return self.annotations.annotators

    @property
    def classes(self) -> AnyArray:
        """The names of the classes, a column of `probabilities` each; none for numbers."""
        return self.annotations.classes

    @property
    def evidence(self) -> Evidence:
        """The annotations and the truths that were known beforehand."""
        return Evidence(self.annotations, self.known)

    @cached_property
    def _winners(self) -> tuple[AnyArray, Bools]:
        if self.probabilities is None:
            return self._numbers, np.zeros(len(self._numbers), dtype=bool)
        codes, tied = most_probable(self.probabilities)
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
        """Items for which another class is equally probable."""
        return self._winners[1]

    @cached_property
    def confidence(self) -> Floats:
        """How certain the model is of every label, between 0 and 1."""
        if self.probabilities is not None:
            return self._of_label(self.probabilities)
        assert self.signal_share is not None, "a consensus of numbers holds its signal share"
        return self.signal_share

    def _of_label(self, probabilities_ik: Floats) -> Floats:
        return np.asarray(np.take_along_axis(probabilities_ik, self._winners[0][:, None], 1)[:, 0])

    @cached_property
    def agreement(self) -> Floats:
        """Share of an item's labels that equal the consensus; NaN for an item without labels.

        For numbers: one minus the mean squared distance of the labels from the consensus divided
        by the variance of all labels, at least 0.
        """
        ann = self.annotations
        if self.probabilities is not None:
            same_n = ann.label == self._winners[0][ann.item]
            same_i = np.bincount(ann.item, weights=same_n, minlength=ann.n_items)
            with np.errstate(invalid="ignore"):
                return np.asarray(same_i / ann.labels_per_item)
        variance = float(np.var(ann.label)) if ann.n_annotations else 0.0
        return agreement_of_numbers(ann, self._numbers, variance)

    @cached_property
    def confusion(self) -> Floats | None:
        """Every annotator's confusion (a, k, l), row = true class; None if the model has none.

        It is computed when first asked for: with many classes it is by far the largest table.
        """
        if self.given_confusion is not None or self.parameters is None:
            return self.given_confusion
        require_confusions(self.annotations)
        return cast(Floats | None, self.parameters.confusion())

    @property
    def annotator_quality(self) -> Floats:
        """One number per annotator between 0 and 1; `quality` holds its interval too."""
        return self.quality.value

    @property
    def method_name(self) -> str:
        """The name of the aggregator in `AGGREGATORS`; empty without one."""
        return "" if self.method is None else self.method.name

    @property
    def n_iterations(self) -> int:
        """The number of EM steps."""
        return len(self.objective)

    def to_frame(self) -> Any:
        """One row per item: label, confidence, agreement, n_annotations, p_<class> and so on.

        Ordinal labels have `median`, `expected` (mean), `level_low` and `level_high` (90 %) too.
        """
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
            columns |= level_columns(self.probabilities, ann.classes) if ann.ordered else {}
            if self.raw_probabilities is not None:
                columns["raw_confidence"] = self._of_label(self.raw_probabilities)
        if self.spread is not None:
            columns["spread"] = self.spread
        return columns | dict(self.item_traits)

    def _preview(self, n_rows: int) -> dict[str, AnyArray]:
        return self.item_columns()

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
        right_ak = None if self.parameters is None else self.parameters.right()
        if self.given_confusion is not None:
            right_ak = np.einsum("akk->ak", self.given_confusion)
        if right_ak is not None:
            names = enumerate(self.annotations.classes)
            columns |= {f"right_{name}": right_ak[:, k] for k, name in names}
        return columns

    def predict(self, annotations: Labels) -> "Consensus":
        """The consensus of other items, by the parameters as they are; nothing is fitted.

        An annotator who was not seen before is treated as an average one.
        """
        return self._continuing().predict(self, annotations)

    def update(self, more: Labels, known: Truth | None = None) -> "Consensus":
        """The consensus of all labels once more have arrived, started from these parameters.

        Items, annotators and classes may be new. Truths that were known before stay known.
        """
        return self._continuing().update(self, more, known)

    def _continuing(self) -> "Aggregator[Any]":
        if self.method is None:
            raise DataError(self.cannot_continue)
        return self.method

    def save(self, folder: str | Path) -> None:
        """Write the consensus to a folder as safetensors and json; `mh.load` reads it."""
        from manyhands.aggregation.files import save_consensus  # it knows every model

        save_consensus(folder, self)

    def score(self, truth: Truth) -> scorecard.Scorecard:
        """The scores on items with a truth (see `as_truths`) that was not known beforehand."""
        truth = self.evidence.without_known(truth)
        items, classes = self.annotations.item_vocabulary, self.annotations.class_vocabulary
        if self.probabilities is None or classes is None:
            return scorecard.regression_scorecard(items, self._numbers, truth)
        return scorecard.classification_scorecard(
            items, classes, self.probabilities, self.labels, self.confidence, truth
        )

    def score_soft(self, truth: Mapping[Any, Mapping[Any, float]]) -> scorecard.SoftScorecard:
        """Score the probabilities against shares of labels, {item: {class: share}}; see `score`."""
        classes, p_ik = self.annotations.class_vocabulary, self.probabilities
        if p_ik is None or classes is None:
            raise DataError("shares of labels are truths of classes; these labels are numbers")
        items, truth = self.annotations.item_vocabulary, self.evidence.without_known(truth)
        return scorecard.soft_scorecard(items, classes, p_ik, self.labels, truth)

    def calibrated(self, truth: Truth) -> "Consensus":
        """The same consensus with a temperature for its probabilities, fitted to some truths.

        Labels do not change. Truths that were known beforehand are left out, as they tell nothing.
        Calibrate again after an `update`.
        """
        classes = self.annotations.class_vocabulary
        if self.probabilities is None or classes is None:
            raise DataError("only class probabilities can be calibrated; these labels are numbers")
        truth = self.evidence.without_known(truth)
        row, names = scorecard.match_truth(self.annotations.item_vocabulary, truth)
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

    def __repr__(self) -> str:
        method = "" if self.method is None else f"{type(self.method).__name__} of "
        return f"Consensus({method}{self.annotations!r})"
