"""What estimators of classes share, be it of items or of the tokens of sentences."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations, recode_like
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError
from manyhands.engine.batches import CrowdData
from manyhands.engine.crowd_module import ClassificationModule
from manyhands.engine.inputs import Inputs
from manyhands.engine.validation import label_predictions, mean_log_label
from manyhands.estimators.alignment import (
    aligned,
    require_annotations,
    require_learnable,
    truth_codes,
)
from manyhands.estimators.base import CrowdEstimator
from manyhands.estimators.feature_encoder import Callback, probabilities
from manyhands.estimators.posterior import NetworkPosterior, joint_posterior
from manyhands.evaluation import LabelPredictions
from manyhands.methods import AnnotatorHeadsModule
from manyhands.networks import AnnotatorHeads
from manyhands.noise import NoiseModel


class ClassEstimator(CrowdEstimator):
    """A network that gives class logits, and everybody's confusion."""

    kind = "classes"
    noise_: NoiseModel

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of every row, in the order of `classes_`; labels play no part."""
        return probabilities(self._outputs(X))

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
        module, crowd = self._before(X, y, X_items)
        with self._sight().threads(self.network_, self.settings_):
            return mean_log_label(module, crowd)

    def predict_labels(
        self,
        X: Any,
        y: Annotations,
        *,
        X_items: Iterable[Any] | None = None,
    ) -> LabelPredictions:
        """Labels beside what network and noise model say of them, for the criteria of evaluation.

        On labels that were not trained on, `crowd_scores` of it ranks models without any truth.
        Labels of annotators who are not known are left out.
        """
        module, crowd = self._before(X, y, X_items)
        with self._sight().threads(self.network_, self.settings_):
            return label_predictions(module, crowd)

    @property
    def confusion_(self) -> Floats:
        """Every annotator's portrait (a, k, l): row = true class, column = label said."""
        check_is_fitted(self, "noise_")
        profile = self.noise_.confusion().double()
        return np.asarray((profile / profile.sum(-1, keepdim=True)).cpu().numpy())

    def profile(self, annotator: Any) -> Floats:
        """One annotator's confusion (k, l), by name."""
        check_is_fitted(self, "noise_")
        code = self.crowd_.annotator_vocabulary.code(annotator)
        one = self.noise_.confusion(torch.tensor([code])).double()[0]
        return np.asarray((one / one.sum(-1, keepdim=True)).cpu().numpy())

    def _learn(
        self,
        features: Any,
        labels: Annotations,
        items: Iterable[Any] | None,
        truth: Iterable[Any] | Mapping[Any, Any] | None,
        resume: bool,
        callback: Callback | None,
    ) -> None:
        inputs, words = self._read(features)
        ann = aligned(require_annotations(labels), len(inputs), items)
        require_learnable(ann)
        truths = truth_codes(truth, ann)
        inputs = self._train(features, inputs, ann, truths, resume, callback, probabilities, words)
        self.noise_made_ = self._method().noise_made
        self.classes_ = ann.classes
        self.annotator_columns_ = self._infer(inputs, ann).annotator_columns()

    def _seen(
        self, features: Any, labels: Annotations, items: Iterable[Any] | None
    ) -> tuple[Inputs, Annotations]:
        inputs = self._sight().inputs(features)
        ann = aligned(require_annotations(labels), len(inputs), items)
        return inputs, recode_like(ann, self.crowd_)

    def _before(
        self, features: Any, labels: Annotations, items: Iterable[Any] | None
    ) -> tuple[ClassificationModule, CrowdData]:
        """The model, and the labels of the annotators it knows."""
        inputs, ann = self._seen(features, labels, items)
        known = ann.only(ann.annotator < self.noise_.n_annotators)
        if known.n_annotations == 0:
            raise DataError("not one label is of an annotator seen in training")
        module = ClassificationModule(self.network_, self.noise_, torch.zeros(0))
        if isinstance(self.network_, AnnotatorHeads):  # a head says what its annotator would
            module = AnnotatorHeadsModule(self.network_, self.noise_, torch.zeros(0), None)
        return module, CrowdData(inputs, known, self._home())

    def _infer(self, inputs: Inputs, ann: Annotations) -> Consensus:
        crowd = CrowdData(inputs, ann, self._home())
        with self._sight().threads(self.network_, self.settings_):
            confusion_akl = self.confusion_
            n_new = ann.n_annotators - len(confusion_akl)
            if n_new:
                stranger_akl = confusion_akl.mean(axis=0, keepdims=True)
                confusion_akl = np.concatenate([confusion_akl, np.repeat(stranger_akl, n_new, 0)])
            posterior_ik = joint_posterior(self.network_, self.noise_, crowd, confusion_akl)
        return NetworkPosterior().consensus(ann, posterior_ik, confusion_akl)
