"""A classifier of several classes per item, trained from the disagreeing sets of a crowd."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from manyhands.aggregation import aggregate
from manyhands.aggregation.set_consensus import decide, independent_confidence
from manyhands.annotations import Annotations, form_of
from manyhands.annotations.set_cells import cells_of_members
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require, setting
from manyhands.estimators.base import document
from manyhands.estimators.items import ItemEstimator
from manyhands.evaluation import SetScorecard
from manyhands.evaluation.set_scores import set_scorecard
from manyhands.methods import Method


@document
@dataclass(eq=False, repr=False)
class CrowdMultilabelClassifier(ItemEstimator):
    """A network that learns sets of classes, such as topics, from many imperfect annotators.

    The network has a logit per class. During training a layer behind it learns how often each
    annotator says a class that applies, and does not say one that does not; for predictions it is
    dropped. `fit(X, annotations)`: row i of X belongs to item i.

    Examples
    --------
    >>> from manyhands import Annotations
    >>> sets = [{"cat"}, {"cat"}, {"cat", "dog"}, {"dog"}, {"dog"}, {"dog"}]
    >>> ann = Annotations.from_arrays([0, 0, 1, 1, 2, 2], ["u", "v"] * 3, sets)
    >>> X = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> clf = CrowdMultilabelClassifier(network="logistic", epochs=60, learning_rate=0.1)
    >>> clf.fit(X, ann).predict_sets([[1.0, 0.0], [0.0, 1.0]])
    [frozenset({'cat'}), frozenset({'dog'})]
    """

    task = "multilabel"
    method: str | Method = setting(
        "multilabel-layer",
        "A name of `METHODS` that is for multilabel, or a method with its own settings, such as "
        "`TwoStage(MultilabelMixture(n_patterns=8))`.",
    )

    @property
    def classes_(self) -> AnyArray:
        """The names of the classes, in the order of the columns of `predict`."""
        check_is_fitted(self, "noise_")
        return self.crowd_.classes

    def predict_proba(self, X: Any) -> Floats:
        """The probability that each class applies (i, k), in the order of `classes_`."""
        return self._predictions(X)

    def predict(self, X: Any) -> Bools:
        """Which classes apply to every row (i, k), in the order of `classes_`."""
        return np.asarray(self.predict_proba(X) > 0.5)

    def predict_sets(self, X: Any) -> list[frozenset[Any]]:
        """The classes that apply to every row, by name."""
        names = self.classes_.tolist()
        return [frozenset(names[k] for k in np.flatnonzero(row)) for row in self.predict(X)]

    @property
    def confusion_(self) -> Floats:
        """P(y | z) of every annotator and class (a, k, z, y); z and y are 1 where it applies."""
        check_is_fitted(self, "noise_")
        noise: Any = self.noise_
        return np.asarray(noise.confusion().double().cpu().numpy())

    def profile(self, annotator: Any) -> Floats:
        """One annotator's confusion (k, z, y), by name."""
        return np.asarray(self.confusion_[self.crowd_.annotator_vocabulary.code(annotator)])

    def prediction_columns(self, X: Any) -> dict[str, AnyArray]:
        """The columns label, confidence and p_<class> of a table of predictions."""
        applies_ik = self.predict_proba(X)
        names = enumerate(self.classes_)
        return {
            "label": cells_of_members(applies_ik > 0.5, self.classes_.tolist(), self._separator),
            "confidence": independent_confidence(applies_ik),
        } | {f"p_{name}": applies_ik[:, k] for k, name in names}

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose whole set is right.

        `y` are the sets of all rows, or a matrix (i, k) of 0 and 1. With labels of a crowd it is
        the majority of every class, which is not the truth but all there is without it.
        """
        return float((self.predict(X) == self._members(y)).all(axis=1).mean())

    def scorecard(self, X: Any, truth: Sequence[Any] | Mapping[Any, Any]) -> SetScorecard:
        """Scores per class, over all classes and of whole sets; `truth` are the sets of all rows.

        A mapping has the sets of some rows by their number.
        """
        applies_ik = self.predict_proba(X)
        given = truth if isinstance(truth, Mapping) else dict(enumerate(truth))
        rows = Annotations.from_arrays([], [], [], kind="classes", items=range(len(applies_ik)))
        return set_scorecard(
            rows.item_vocabulary, self._sets.classes, self._separator, decide(applies_ik)[0],
            applies_ik, given,
        )  # fmt: skip

    @property
    def _sets(self) -> Any:
        return self.crowd_.class_vocabulary

    @property
    def _separator(self) -> str:
        return str(self._sets.separator)

    def _members(self, y: Any) -> Bools:
        """Which classes apply to every row, from sets, a matrix or labels of a crowd."""
        if isinstance(y, np.ndarray) and y.ndim == 2:
            if y.shape[1] != len(self.classes_):
                raise DataError(
                    f"y: {y.shape[1]} columns for {len(self.classes_)} classes; give one per class"
                )
            return y.astype(bool)
        if form_of(y) in ("annotations", "frame"):
            return np.asarray(aggregate(y, "multilabel-majority").members)
        return np.asarray(self._sets.members(list(y)))

    def _check_settings(self) -> None:
        super()._check_settings()
        likelihood = self.monitor in (None, "likelihood")
        require(likelihood, "monitor", "likelihood for sets of classes", self.monitor)
