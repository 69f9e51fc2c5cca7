"""A classifier trained straight from the disagreeing labels of a crowd."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations, Vocabulary
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.estimators.class_base import ClassEstimator
from manyhands.estimators.feature_encoder import Callback
from manyhands.estimators.new_network import Network
from manyhands.estimators.text_encoder import Vectors
from manyhands.methods import Method


class CrowdClassifier(ClassifierMixin, ClassEstimator):  # type: ignore[misc]
    """A network that learns classes from many imperfect annotators.

    While it trains, a noise model stands behind the network and learns who makes which mistakes;
    for predictions it is dropped. `fit(X, annotations)`: row i of X belongs to item i.

    Parameters
    ----------
    network:
        None for one that fits the features (an MLP with a hidden layer of 128 and half of it
        dropped out, a small CNN for images); a name of `NETWORKS`; a torch module that gives class
        logits, of which a copy is trained; or a function of (shape, n_classes) that makes one.
    method:
        a name of `METHODS`, or a method with settings of its own such as
        `TwoStage(DawidSkene(prior_strength=5))`.
    noise:
        settings of the noise model, such as {"omega": 0.0} for conal.
    init:
        "own" for the noise model's own start, "consensus" to start it from the portraits of a
        Dawid-Skene consensus, "auto" for the consensus unless it has collapsed; None is the
        method's default.
    scale:
        how features are brought to size: "rms", "standard", "none", or "auto", which chooses by
        the features and leaves those for a network of your own as they are.
    word_vectors:
        where X are texts, the vectors that words start from: a file of GloVe's format or an .npz
        (`read_word_vectors`). With `freeze_embeddings` they are not learnt. Of a text the first
        `max_tokens` words are read.
    checkpoint:
        a folder for checkpoints and the log; `fit(..., resume=True)` goes on from there.
    progress:
        a bar on a terminal.

    The others are the settings of training (`TrainingSettings`); None is the method's default.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1]])
    >>> X = [[0.0, 1.0], [1.0, 0.1], [0.1, 0.9], [0.9, 0.0]]
    >>> clf = CrowdClassifier(method="speelfc", network="logistic", epochs=20, learning_rate=0.1)
    >>> clf.fit(X, ann).predict(X).tolist()
    [0, 1, 0, 1]
    """

    task = "classes"

    def __init__(
        self,
        network: Network | None = None,
        method: str | Method = "conal",
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
        validation_unit: str | None = None,
        monitor: str | None = None,
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
        self.monitor = monitor
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
    ) -> "CrowdClassifier":
        """Train on features and the labels people gave; `self`.

        `X_items` names the item of every row of X where rows are not in the order of the items.
        `truth` is only for the method "truth": the class of every item. `resume` goes on from the
        checkpoint there is. `watch` is called after every epoch, of the search too, with a function
        `predict_proba(X)` of the model as it is then; the numbers by name that it gives stand in
        the history. Choosing an epoch by a truth that was watched is choosing with truth.
        """
        self._learn(X, y, X_items, truth, resume, callback)
        return self

    def predict(self, X: Any) -> AnyArray:
        """The most probable class of every row, by name."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is found.

        `y` is the truth of every row by name; with `Annotations` it is the label most people said,
        which is not the truth but all there is without it (rows without labels do not count).
        """
        codes = self.predict_proba(X).argmax(axis=1)
        if isinstance(y, Annotations):
            y = y.as_kind("classes")
            said = np.asarray(y)
            kept = said >= 0
            if not kept.any():
                raise DataError("not one item has a label to score against")
            codes, wanted = codes[kept], y.classes[said[kept]]
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[kept]
        else:
            wanted = np.atleast_1d(np.asarray(y))
        if len(wanted) != len(codes):
            raise DataError(f"{len(wanted)} truths for {len(codes)} rows of features")
        right = Vocabulary(self.classes_).codes(wanted.tolist()) == codes
        return float(np.average(right, weights=sample_weight))

    def infer(
        self,
        X: Any,
        y: Annotations,
        *,
        X_items: Iterable[Any] | None = None,
    ) -> Consensus:
        """What network and labels together say of labelled items.

        Annotators not seen in training are taken for average ones; nothing is learnt from these
        labels.
        """
        return self._infer(*self._seen(X, y, X_items))
