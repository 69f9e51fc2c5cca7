"""A classifier trained from the disagreeing labels of a crowd."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from manyhands.annotations import Annotations, Labels, Vocabulary
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import setting
from manyhands.engine.classification_posterior import confusions_of
from manyhands.estimators.base import CrowdEstimator, document
from manyhands.estimators.items import ItemEstimator
from manyhands.evaluation import LabelPredictions
from manyhands.methods import Method
from manyhands.noise import NoiseModel


class ConfusionEstimator(CrowdEstimator):
    """What estimators of classes and of tags share: class probabilities and confusions."""

    noise_: NoiseModel

    @property
    def classes_(self) -> AnyArray:
        """The names of the classes, in the order of the columns of `predict_proba`."""
        check_is_fitted(self, "noise_")
        return self.crowd_.classes

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of every row, in the order of `classes_`, from the network alone."""
        return self._predictions(X)

    def predict_labels(
        self, X: Any, y: Labels, *, X_items: Iterable[Any] | None = None
    ) -> LabelPredictions:
        """Labels with their predicted log-probabilities, for the criteria of evaluation.

        On labels that were not trained on, `crowd_metrics` of them ranks models without any truth.
        Labels of unseen annotators are left out.
        """
        module: Any
        module, crowd = self._labels_of_known(X, y, X_items)
        with self._threads():
            predictions: LabelPredictions = module.label_predictions(crowd)
        return predictions

    @property
    def confusion_(self) -> Floats:
        """Every annotator's confusion (a, k, l): row = true class, column = label said."""
        check_is_fitted(self, "noise_")
        return confusions_of(self.noise_)

    def profile(self, annotator: Any) -> Floats:
        """One annotator's confusion (k, l), by name."""
        check_is_fitted(self, "noise_")
        code = self.crowd_.annotator_vocabulary.code(annotator)
        one: Floats = confusions_of(self.noise_, torch.tensor([code]))[0]
        return one

    def prediction_columns(self, X: Any) -> dict[str, AnyArray]:
        """The columns label, confidence and p_<class> of a table of predictions."""
        probability_ik = self.predict_proba(X)
        codes = self._codes(X, probability_ik)
        columns: dict[str, AnyArray] = {
            "label": self.classes_[codes],
            "confidence": probability_ik[np.arange(len(codes)), codes],
        }
        names = enumerate(self.classes_)
        return columns | {f"p_{name}": probability_ik[:, k] for k, name in names}

    def _codes(self, X: Any, probability_ik: Floats) -> AnyArray:
        """The class that is predicted for every row, as a place in `classes_`."""
        return np.asarray(probability_ik.argmax(axis=1))


@document
@dataclass(eq=False, repr=False)
class CrowdClassifier(ClassifierMixin, ConfusionEstimator, ItemEstimator):  # type: ignore[misc]
    """A network that learns classes from many imperfect annotators.

    During training a noise model behind the network learns which mistakes each annotator makes; for
    predictions it is dropped. `fit(X, annotations)`: row i of X belongs to item i.

    Examples
    --------
    >>> from manyhands import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1]])
    >>> X = [[0.0, 1.0], [1.0, 0.1], [0.1, 0.9], [0.9, 0.0]]
    >>> clf = CrowdClassifier(method="speelfc", network="logistic", epochs=20, learning_rate=0.1)
    >>> clf.fit(X, ann).predict(X).tolist()
    [0, 1, 0, 1]
    """

    task = "classification"
    method: str | Method = setting(
        "conal",
        "A name of `METHODS`, or a method with its own settings, such as "
        "`TwoStage(DawidSkene(prior_strength=5))`.",
    )

    def partial_fit(
        self,
        X: Any,
        y: Labels,
        classes: Iterable[Any] | None = None,
        sample_weight: Any = None,
        *,
        X_items: Iterable[Any] | None = None,
    ) -> Self:
        """Learn from some rows more: one epoch over them, from the model as it is.

        For labels that arrive in parts, and end-to-end methods. The first call makes the network
        and scales features by the rows it is given. `classes` are all classes, and are needed there
        if the first labels do not have all of them. New annotators may come at any time. The
        optimiser starts anew in every call, so that rows should come in parts of many batches.
        """
        crowd = None
        if classes is not None:
            crowd = Annotations.from_arrays([], [], [], kind="classes", classes=classes)
            if hasattr(self, "network_") and list(crowd.classes) != list(self.classes_):
                raise DataError(
                    f"classes are {list(crowd.classes)}, and the model was made for "
                    f"{list(self.classes_)}: call fit to start anew"
                )
        return self._partial_fit(X, y, sample_weight, X_items, crowd)

    def predict(self, X: Any) -> AnyArray:
        """The most probable class of every row, by name."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of the predictions.

        `y` is the truth of every row by name. With labels of a crowd it is the majority label of
        every item, which is not the truth but all there is without it; rows without labels do not
        count.
        """
        found = self.predict_proba(X).argmax(axis=1)
        codes, truth, weights = self._scored_rows(
            X, found, y, sample_weight, lambda labels: labels.classes[np.asarray(labels)]
        )
        right = Vocabulary(self.classes_).codes(truth.tolist()) == codes
        return float(np.average(right, weights=weights))
