"""A regressor trained straight from the disagreeing numbers of a crowd."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from torch import Tensor

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations, recode_like
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.engine.batches import CrowdData
from manyhands.engine.inputs import Inputs
from manyhands.engine.regression_module import RegressionModule
from manyhands.engine.validation import mean_log_label
from manyhands.estimators.alignment import (
    aligned,
    require_annotations,
    require_learnable,
    truth_numbers,
)
from manyhands.estimators.base import CrowdEstimator
from manyhands.estimators.feature_encoder import Callback
from manyhands.estimators.new_network import Network
from manyhands.estimators.regression_posterior import people_of, regression_consensus
from manyhands.estimators.target_scaler import TargetScaler, fit_target_scaler
from manyhands.estimators.text_encoder import Vectors
from manyhands.methods import Method
from manyhands.noise import RegressionLayer


class CrowdRegressor(RegressorMixin, CrowdEstimator):  # type: ignore[misc]
    """A network that learns numbers, such as ratings, from many imperfect annotators.

    While it trains, annotators with biases, scales and precisions of their own stand behind the
    network; for predictions they are dropped. `fit(X, annotations)`: row i of X belongs to item i.
    Labels are standardised inside, so that settings hold for any unit.

    Parameters
    ----------
    network:
        None for one that fits the features, a name of `NETWORKS`, a torch module that gives one
        number per item in shape (b, 1), of which a copy is trained, or a function of (shape, 1)
        that makes one.
    method:
        a name of `METHODS` that is for numbers, or a method with settings of its own such as
        `EMRegression(biases=True)`.
    noise:
        settings of the crowd layer, such as {"precision": "equal"} for plain squared error.
    init:
        where the crowd layer's annotators start: "own" for average ones, "consensus" or "auto" for
        those of the aggregator `Gaussian`; None is the method's default.

    The others are as in `CrowdClassifier`. Epochs are judged by the density of labels kept aside.

    >>> ann = Annotations.from_dense([[1.0, 2.0], [2.1, 3.0], [3.0, 4.2], [4.0, 5.1]])
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> reg = CrowdRegressor(network="logistic", epochs=200, learning_rate=0.1)
    >>> reg.fit(X, ann).predict([[1.5]]).round(1).tolist()
    [3.0]
    """

    kind = "numbers"
    task = "numbers"
    noise_: RegressionLayer

    def __init__(
        self,
        network: Network | None = None,
        method: str | Method = "crowd-layer-b",
        *,
        noise: Mapping[str, Any] | None = None,
        init: str | None = None,
        scale: str = "auto",
        word_vectors: Vectors | None = None,
        freeze_embeddings: bool = False,
        max_tokens: int | None = 1000,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        noise_learning_rate: float | None = None,
        noise_weight_decay: float | None = None,
        warm_up: int | None = None,
        max_grad_norm: float | None = None,
        schedule: str | None = None,
        sam_rho: float | None = None,
        validation_fraction: float | None = None,
        patience: int | None = None,
        validation_unit: str | None = "items",
        refit: bool | None = None,
        sparse: bool | None = None,
        device: str = "auto",
        devices: int = 1,
        precision: str = "32",
        threads: int | None = None,
        seed: int = 0,
        checkpoint: str | Path | None = None,
        progress: bool = True,
    ) -> None:
        self.network = network
        self.method = method
        self.noise = noise
        self.init = init
        self.scale = scale
        self.word_vectors = word_vectors
        self.freeze_embeddings = freeze_embeddings
        self.max_tokens = max_tokens
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.noise_learning_rate = noise_learning_rate
        self.noise_weight_decay = noise_weight_decay
        self.warm_up = warm_up
        self.max_grad_norm = max_grad_norm
        self.schedule = schedule
        self.sam_rho = sam_rho
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.validation_unit = validation_unit
        self.refit = refit
        self.sparse = sparse
        self.device = device
        self.devices = devices
        self.precision = precision
        self.threads = threads
        self.seed = seed
        self.checkpoint = checkpoint
        self.progress = progress

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
        """Train on features and the numbers people gave; `self`.

        See `CrowdClassifier.fit`. `truth` is the number of every item, for the method "truth";
        `watch` is called with a function `predict(X)`.
        """
        inputs, words = self._read(X)
        ann = aligned(require_annotations(y, self.kind), len(inputs), X_items)
        require_learnable(ann)
        unit, numbers = fit_target_scaler(ann), truth_numbers(truth, ann)
        truths = None if numbers is None else unit.standardised(numbers)

        def read(outputs: Tensor) -> Floats:
            return _told(unit, outputs)

        plain = unit.without(ann)
        inputs = self._train(X, inputs, plain, truths, resume, callback, read, words)
        self.unit_ = unit
        settings = self.noise_.settings
        self.noise_made_ = settings.pop("kind"), settings
        self.annotator_columns_ = self._infer(inputs, ann).annotator_columns()
        return self

    def predict(self, X: Any) -> Floats:
        """The number of every row; labels play no part."""
        outputs = self._outputs(X)
        return _told(self.unit_, outputs)

    def predict_spread(self, X: Any) -> Floats:
        """The standard deviation of the truth around every prediction, the same for every row.

        It is that of the network's error, as labels tell it: those of the items it learnt from, and
        those of items kept aside (`validation_fraction`, `validation_unit="items"`), whichever is larger. A network that
        knows its items by heart is found out by the latter alone. What the whole crowd has wrong
        together is not in it: no label shows it.
        """
        spread = self.unit_.size * math.sqrt(self.noise_.new_error_variance)
        return np.full(len(self._sight().inputs(X)), spread)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the predictions.

        `y` is the truth of every row; with `Annotations` it is the mean label, which is not the
        truth but all there is without it (rows without labels do not count).
        """
        found = self.predict(X)
        if isinstance(y, Annotations):
            said = np.asarray(y.as_kind(self.kind))
            kept = np.isfinite(said)
            if not kept.any():
                raise DataError("not one item has a label to score against")
            found, wanted = found[kept], said[kept]
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[kept]
        else:
            wanted = np.atleast_1d(np.asarray(y, dtype=np.float64))
        if len(wanted) != len(found):
            raise DataError(f"{len(wanted)} truths for {len(found)} rows of features")
        return float(r2_score(wanted, found, sample_weight=sample_weight))

    def log_likelihood(
        self, X: Any, y: Annotations, *, X_items: Iterable[Any] | None = None
    ) -> float:
        """The mean log density of these labels under network and annotators, in their unit.

        On labels that were not trained on it ranks models without any truth. Labels of annotators
        who are not known do not count.
        """
        inputs, ann = self._seen(X, y, X_items)
        known = ann.only(ann.annotator < self.noise_.n_annotators)
        if known.n_annotations == 0:
            raise DataError("not one label is of an annotator seen in training")
        module = RegressionModule(self.network_, self.noise_, torch.zeros(0))
        crowd = CrowdData(inputs, self.unit_.without(known), self._home())
        with self._sight().threads(self.network_, self.settings_):
            return mean_log_label(module, crowd) - math.log(self.unit_.size)

    def infer(self, X: Any, y: Annotations, *, X_items: Iterable[Any] | None = None) -> Consensus:
        """What network and labels together say of labelled items, with its spread.

        Annotators not seen in training are taken for average ones; nothing is learnt from these
        labels.
        """
        return self._infer(*self._seen(X, y, X_items))

    def _seen(
        self, features: Any, labels: Annotations, items: Iterable[Any] | None
    ) -> tuple[Inputs, Annotations]:
        inputs = self._sight().inputs(features)
        ann = aligned(require_annotations(labels, self.kind), len(inputs), items)
        return inputs, recode_like(ann, self.crowd_)

    def _infer(self, inputs: Inputs, ann: Annotations) -> Consensus:
        outputs = self._sight().seen(inputs, self.network_, self._home(), self.settings_)
        people = people_of(self.noise_, self.unit_, ann.n_annotators - self.noise_.n_annotators)
        return regression_consensus(ann, outputs.squeeze(1).numpy(), people)


def _told(unit: TargetScaler, outputs: Tensor) -> Floats:
    return unit.told(outputs.squeeze(1).numpy())
