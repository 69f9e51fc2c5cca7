"""A classifier trained straight from the disagreeing labels of a crowd."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations, Vocabulary, in_codes_of
from manyhands.annotations.frames import make_frame
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingError
from manyhands.estimators.alignment import (
    aligned,
    require_annotations,
    require_learnable,
    truth_codes,
)
from manyhands.estimators.features import as_inputs, feature_names
from manyhands.estimators.fitting import Fitting
from manyhands.estimators.new_network import Network, takes_codes
from manyhands.estimators.posterior import NetworkPosterior, joint_posterior
from manyhands.estimators.scaling import fit_scaling
from manyhands.estimators.sight import Sight, Watch
from manyhands.evaluation import HeldLabels
from manyhands.training import (
    METHODS,
    Crowd,
    EndToEnd,
    Inputs,
    Learner,
    Method,
    Problem,
    TrainingSettings,
    held_labels,
    mean_log_label,
)


class CrowdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    start:
        "own" for the noise model's own start, "consensus" to start it from the portraits of a
        Dawid-Skene consensus, "auto" for the consensus unless it has collapsed; None is the
        method's default.
    scale:
        how features are brought to size: "rms", "standard", "none", or "auto", which chooses by
        the features and leaves those for a network of your own as they are.
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

    def __init__(
        self,
        network: Network | None = None,
        method: str | Method = "conal",
        *,
        noise: Mapping[str, Any] | None = None,
        start: str | None = None,
        scale: str = "auto",
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        noise_learning_rate: float | None = None,
        noise_weight_decay: float | None = None,
        warm_up: int | None = None,
        clip: float | None = None,
        schedule: str | None = None,
        sam: float | None = None,
        hold_out: float | None = None,
        patience: int | None = None,
        judge: str | None = None,
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
        self.start = start
        self.scale = scale
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.noise_learning_rate = noise_learning_rate
        self.noise_weight_decay = noise_weight_decay
        self.warm_up = warm_up
        self.clip = clip
        self.schedule = schedule
        self.sam = sam
        self.hold_out = hold_out
        self.patience = patience
        self.judge = judge
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
        watch: Watch | None = None,
    ) -> "CrowdClassifier":
        """Train on features and the labels people gave; `self`.

        `X_items` names the item of every row of X where rows are not in the order of the items.
        `truth` is only for the method "truth": the class of every item. `resume` goes on from the
        checkpoint there is. `watch` is called after every epoch, of the search too, with a function
        `predict_proba(X)` of the model as it is then; the numbers by name that it gives stand in
        the history. Choosing an epoch by a truth that was watched is choosing with truth.
        """
        if resume and self.checkpoint is None:
            raise SettingError("checkpoint must be a folder to resume from; got None")
        inputs = as_inputs(X, keep_codes=takes_codes(self.network))
        ann = aligned(require_annotations(y), len(inputs), X_items)
        require_learnable(ann)
        method = self._method()
        settings = self._settings(method, ann)
        scaling = fit_scaling(inputs, self._scale())
        inputs = inputs if scaling is None else scaling.apply(inputs)
        problem = Problem(annotations=ann, shape=inputs.shape, truth=truth_codes(truth, ann))
        sight = Sight(inputs.shape, feature_names(X), scaling, takes_codes(self.network))
        look = None if watch is None else sight.watching(watch, settings)
        learner, outcome = Fitting(self, method, inputs, settings, resume, look).run(problem)
        # Nothing is set before training is done: where it fails, an older fit stays whole.
        self.network_, self.noise_, self.scaling_ = learner.network, learner.noise, scaling
        self.noise_made_ = method.noise_made
        self.settings_, self.shape_ = settings, inputs.shape
        self.history_, self.epoch_ = outcome.history, outcome.epoch
        self.search_history_ = outcome.search
        self.crowd_ = ann[:0]  # its names only
        self.classes_ = ann.classes
        self.n_features_in_ = int(np.prod(inputs.shape))
        self.__dict__.pop("feature_names_in_", None)
        if sight.names is not None:
            self.feature_names_in_ = sight.names
        self.annotator_columns_ = self._infer(inputs, ann).annotator_columns()
        return self

    def predict(self, X: Any) -> AnyArray:
        """The most probable class of every row, by name."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of every row, in the order of `classes_`; labels play no part."""
        sight = self._sight()
        return sight.probabilities(X, self.network_, self._home(), self.settings_)

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

    def log_likelihood(
        self,
        X: Any,
        y: Annotations,
        *,
        X_items: Iterable[Any] | None = None,
    ) -> float:
        """The mean log-probability of these labels under network and noise model.

        On labels that were not trained on it ranks models without any truth. Labels of annotators
        who are not known do not count.
        """
        learner, crowd = self._before(X, y, X_items)
        with self._sight().threads(self.network_, self.settings_):
            return mean_log_label(learner, crowd)

    def foretell(
        self,
        X: Any,
        y: Annotations,
        *,
        X_items: Iterable[Any] | None = None,
    ) -> HeldLabels:
        """Labels beside what network and noise model say of them, for the criteria of evaluation.

        On labels that were not trained on, `crowd_scores` of it ranks models without any truth.
        Labels of annotators who are not known are left out.
        """
        learner, crowd = self._before(X, y, X_items)
        with self._sight().threads(self.network_, self.settings_):
            return held_labels(learner, crowd)

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

    @property
    def confusion_(self) -> Floats:
        """Every annotator's portrait (a, k, l): row = true class, column = label said."""
        check_is_fitted(self, "noise_")
        portrait = self.noise_.confusion().double()
        return np.asarray((portrait / portrait.sum(-1, keepdim=True)).cpu().numpy())

    def portrait(self, annotator: Any) -> Floats:
        """One annotator's confusion (k, l), by name."""
        check_is_fitted(self, "noise_")
        code = self.crowd_.annotator_vocabulary.code(annotator)
        one = self.noise_.confusion(torch.tensor([code])).double()[0]
        return np.asarray((one / one.sum(-1, keepdim=True)).cpu().numpy())

    def annotators_frame(self) -> Any:
        """A row per annotator: quality, its interval, n_annotations, and right_<class>."""
        check_is_fitted(self, "noise_")
        return make_frame(self.annotator_columns_, self.crowd_.backend)

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder: safetensors and json. `mh.load` reads it."""
        from manyhands.estimators.files import save_classifier

        check_is_fitted(self, "noise_")
        save_classifier(self, folder)

    def _method(self) -> Method:
        method = METHODS[self.method] if isinstance(self.method, str) else self.method
        if not isinstance(method, Method):
            raise SettingError(f"method must be a name of METHODS or a Method; got {method!r}")
        if not isinstance(self.noise, Mapping | None):
            raise SettingError(f"noise must be settings by name, or None; got {self.noise!r}")
        only = method.only_network
        if only is not None and self.network not in (None, only):
            raise SettingError(f"{self.method} is for the network {only!r}; leave network out")
        if isinstance(method, EndToEnd):
            return method.with_settings(self.noise, self.start)
        if self.noise or self.start not in (None, "own"):
            raise SettingError(f"noise and start are for noise models; {self.method} has none")
        return method

    def _settings(self, method: Method, annotations: Annotations) -> TrainingSettings:
        given = {each.name: getattr(self, each.name) for each in fields(TrainingSettings)}
        return method.settled(given, annotations)

    def _scale(self) -> str:
        own = takes_codes(self.network)
        return "none" if self.scale == "auto" and own else self.scale

    def _sight(self) -> Sight:
        check_is_fitted(self, "network_")
        names = getattr(self, "feature_names_in_", None)
        return Sight(self.shape_, names, self.scaling_, takes_codes(self.network))

    def _seen(
        self, features: Any, labels: Annotations, items: Iterable[Any] | None
    ) -> tuple[Inputs, Annotations]:
        inputs = self._sight().inputs(features)
        ann = aligned(require_annotations(labels), len(inputs), items)
        return inputs, in_codes_of(self.crowd_, ann)

    def _before(
        self, features: Any, labels: Annotations, items: Iterable[Any] | None
    ) -> tuple[Learner, Crowd]:
        """The model, and the labels of the annotators it knows."""
        inputs, ann = self._seen(features, labels, items)
        known = ann.only(ann.annotator < self.noise_.n_annotators)
        if known.n_annotations == 0:
            raise DataError("not one label is of an annotator seen in training")
        learner = Learner(self.network_, self.noise_, torch.zeros(0))
        return learner, Crowd(inputs, known, self._home())

    def _infer(self, inputs: Inputs, ann: Annotations) -> Consensus:
        crowd = Crowd(inputs, ann, self._home())
        with self._sight().threads(self.network_, self.settings_):
            confusion_akl = self.confusion_
            n_new = ann.n_annotators - len(confusion_akl)
            if n_new:
                stranger_akl = confusion_akl.mean(axis=0, keepdims=True)
                confusion_akl = np.concatenate([confusion_akl, np.repeat(stranger_akl, n_new, 0)])
            posterior_ik = joint_posterior(self.network_, self.noise_, crowd, confusion_akl)
        return NetworkPosterior().consensus(ann, posterior_ik, confusion_akl)

    def _home(self) -> torch.device:
        return next(self.noise_.parameters()).device  # a network may have none
