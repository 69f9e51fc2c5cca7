"""A regressor trained from the disagreeing numbers of a crowd."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.core.settings import require, setting
from manyhands.engine.settings import FeatureOptions
from manyhands.estimators.base import Callback, CrowdEstimator, document
from manyhands.methods import Method


@document
@dataclass(eq=False, repr=False)
class CrowdRegressor(RegressorMixin, CrowdEstimator, FeatureOptions):  # type: ignore[misc]
    """A network that learns numbers, such as ratings, from many imperfect annotators.

    During training a layer behind the network learns the bias, scale and precision of each
    annotator; for predictions it is dropped. `fit(X, annotations)`: row i of X belongs to item i.
    Labels are standardised internally, so that settings suit any unit. Epochs are validated by the
    log density of validation labels.

    Examples
    --------
    >>> ann = Annotations.from_dense([[1.0, 2.0], [2.1, 3.0], [3.0, 4.2], [4.0, 5.1]])
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> reg = CrowdRegressor(network="logistic", epochs=200, learning_rate=0.1)
    >>> reg.fit(X, ann).predict([[1.5]]).round(1).tolist()
    [3.0]
    """

    task = "regression"
    method: str | Method = setting(
        "crowd-layer-b",
        "A name of `METHODS` that is for regression, or a method with its own settings, such as "
        "`EMRegression(biases=True)`.",
    )

    def fit(
        self,
        X: Any,
        y: Annotations,
        *,
        X_items: Iterable[Any] | None = None,
        truth: Iterable[Any] | Mapping[Any, Any] | None = None,
        resume: bool = False,
        callback: Callback | None = None,
    ) -> "CrowdRegressor":
        """Train on features and the numbers of annotators, and return `self`.

        See `CrowdClassifier.fit`. `truth` is the number of every item, for the method "truth".
        `callback` is called with a function `predict(X)`.
        """
        self._fit(X, y, X_items, truth, resume, callback)
        return self

    def predict(self, X: Any) -> Floats:
        """The number of every row, from the network alone."""
        return self._predictions(X)

    def predict_spread(self, X: Any) -> Floats:
        """The standard deviation of the truth around every prediction, the same for every row.

        It is the deviation of the network's error, estimated from the labels of training items and
        from the labels of validation items (`validation_fraction`, `validation_unit="items"`); the
        larger one is taken. Only validation items show that a network memorised its items. Errors
        that all annotators share are not part of it: no label shows them.
        """
        model = self._fitted()
        layer: Any = model.noise
        spread = model.scaler.scale * math.sqrt(layer.new_error_variance)
        return np.full(len(model.encoder.transform(X)), spread)

    def prediction_columns(self, X: Any) -> dict[str, AnyArray]:
        """The columns label and spread of a table of predictions."""
        return {"label": self.predict(X), "spread": self.predict_spread(X)}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the predictions.

        `y` is the truth of every row. With `Annotations` it is the mean label of every item, which
        is not the truth but all there is without it; rows without labels do not count.
        """
        found = self.predict(X)
        if isinstance(y, Annotations):
            means = np.asarray(y.as_kind(self.kind))
            kept = np.isfinite(means)
            if not kept.any():
                raise DataError("not one item has a label to score against")
            found, truth = found[kept], means[kept]
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[kept]
        else:
            truth = np.atleast_1d(np.asarray(y, dtype=np.float64))
        if len(truth) != len(found):
            raise DataError(f"{len(truth)} truths for {len(found)} rows of features")
        return float(r2_score(truth, found, sample_weight=sample_weight))

    def infer(self, X: Any, y: Annotations, *, X_items: Iterable[Any] | None = None) -> Consensus:
        """The consensus of network and labels about labelled items, with its spread.

        Unseen annotators are taken as average ones; nothing is learnt from these labels.
        """
        return self._posterior(*self._encode(X, y, X_items))

    def _check_settings(self) -> None:
        super()._check_settings()
        likelihood = self.monitor in (None, "likelihood")
        require(likelihood, "monitor", "likelihood for regression", self.monitor)
