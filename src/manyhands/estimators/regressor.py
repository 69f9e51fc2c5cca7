"""A regressor trained from the disagreeing numbers of a crowd."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from manyhands.annotations import Labels
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import require, setting
from manyhands.engine.encoders import known_features
from manyhands.estimators.base import document
from manyhands.estimators.items import ItemEstimator
from manyhands.methods import Method


@document
@dataclass(eq=False, repr=False)
class CrowdRegressor(RegressorMixin, ItemEstimator):  # type: ignore[misc]
    """A network that learns numbers, such as ratings, from many imperfect annotators.

    During training a layer behind the network learns the bias, scale and precision of each
    annotator; for predictions it is dropped. `fit(X, annotations)`: row i of X belongs to item i.
    Labels are standardised internally, so that settings suit any unit. Epochs are validated by the
    log density of validation labels.

    Examples
    --------
    >>> from manyhands import Annotations
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

    def partial_fit(
        self, X: Any, y: Labels, sample_weight: Any = None, *, X_items: Iterable[Any] | None = None
    ) -> Self:
        """Learn from some rows more: one epoch over them, from the model as it is.

        See `CrowdClassifier.partial_fit`. The first rows also set the unit of the labels, so they
        should be like those that follow.
        """
        return self._partial_fit(X, y, sample_weight, X_items)

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
        return np.full(len(model.encoder.transform(known_features(X))), spread)

    def prediction_columns(self, X: Any) -> dict[str, AnyArray]:
        """The columns label and spread of a table of predictions."""
        return {"label": self.predict(X), "spread": self.predict_spread(X)}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the predictions.

        `y` is the truth of every row. With labels of a crowd it is the mean label of every item,
        which is not the truth but all there is without it; rows without labels do not count.
        """
        found, truth, weights = self._scored_rows(X, self.predict(X), y, sample_weight, np.asarray)
        return float(r2_score(truth.astype(np.float64), found, sample_weight=weights))

    def _check_settings(self) -> None:
        super()._check_settings()
        likelihood = self.monitor in (None, "likelihood")
        require(likelihood, "monitor", "likelihood for regression", self.monitor)
