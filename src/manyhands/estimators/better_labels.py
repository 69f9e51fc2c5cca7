"""Better labels in one call: the consensus of labels and features."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from torch import nn

from manyhands.aggregation import Consensus
from manyhands.aggregation.tokens import decode_tokens
from manyhands.annotations import Kind, Labels, TokenLabels, as_annotations, form_of
from manyhands.checks import Finding
from manyhands.core.arrays import Floats
from manyhands.engine.encoders import known_features
from manyhands.engine.features import EncoderOptions, as_inputs, is_text
from manyhands.engine.text import TextEncoder, as_sentences
from manyhands.estimators.base import CrowdEstimator
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.cross_fitting import n_rows
from manyhands.estimators.labels import labels_of_rows
from manyhands.estimators.regressor import CrowdRegressor
from manyhands.estimators.tagger import CrowdTagger, token_annotations
from manyhands.methods.cross_fit.beliefs import TWO_STARTS, fit_cross_fit
from manyhands.methods.cross_fit.feature_rows import feature_rows
from manyhands.methods.cross_fit.learners import Regressions
from manyhands.methods.cross_fit.method import NETWORK, CrossFitted
from manyhands.methods.cross_fit.shared_mistakes import compare_sides
from manyhands.methods.cross_fit.smoothers import fit_smoothers

_ESTIMATORS: dict[Kind, type[CrowdEstimator]] = {
    "classes": CrowdClassifier,
    "numbers": CrowdRegressor,
}
_PLAIN = EncoderOptions()


def consensus(
    X: Any,
    annotations: Labels | TokenLabels,
    *,
    X_items: Iterable[Any] | None = None,
    learner: Any = None,
    seed: int = 0,
) -> Any:
    """The consensus about items, from their labels and their features together.

    Row i of `X` belongs to item i of the annotations, or to the item that `X_items` names. What the
    features say of an item is learnt from the other items, and so is what is known of the
    annotators: see the method `cross-fit`. Items without labels have the class frequencies, or the
    mean. For labels without features use `aggregate`.

    Labels are classes or numbers; those of tokens are `TokenLabels`, with sentences as `X`. The
    result is a `Consensus`, or a `TokenConsensus` for tokens.

    `learner` learns from the features. None stands for ridge regressions, for words and for rows of
    numbers such as those of a pretrained network: nothing is random unless there are words or more
    than 1500 items. A scikit-learn classifier with `predict_proba`, or a regressor for numbers,
    takes `X` as it is, so that a pipeline may begin with texts. A name of `NETWORKS` or a torch
    module is a network with default settings of training, and an estimator such as
    `CrowdClassifier` one with its own; if it has a checkpoint, an interrupted call continues from
    there. It is trained anew on 4 of 5 folds in every round, up to 50 times in all, unless its
    method is `cross-fit`, which then says what learns. `seed` draws the folds.
    """
    items = None if X_items is None else list(X_items)
    if hasattr(annotations, "sentences"):  # of tokens
        tagger = _estimator(CrowdTagger, learner, seed) or CrowdTagger(
            method=CrossFitted(learner=learner), progress=False, seed=seed
        )
        labels = token_annotations(annotations, X)
        return decode_tokens(as_sentences(X), _by_estimator(tagger, X, labels))
    kind = _kind(annotations, learner)
    estimator = _estimator(_ESTIMATORS[kind], learner, seed)
    features = _rows(X, seed) if learner is None else X
    labels = labels_of_rows(annotations, kind, n_rows(features), items, features)
    if estimator is not None:
        return _by_estimator(estimator, features, labels, labels.items.tolist())
    return CrossFitted(learner=learner).consensus(features, labels, seed=seed)


def find_shared_mistakes(
    X: Any, annotations: Labels, *, X_items: Iterable[Any] | None = None, seed: int = 0
) -> list[Finding]:
    """A warning if annotators seem to make the same mistakes on the same items; else nothing.

    Then labels agree on mistakes, and no consensus and no criterion by labels shows it. What the
    features say of an item, learnt from other items, may: see `compare_sides`. The finding
    names the items whose labels and features contradict each other, and the remedy says how many of
    them need a truth to tell which side is right. `X` are rows of numbers, or texts. A mistake that
    all annotators make is not found, because nobody's label shows the class.
    """
    items = None if X_items is None else list(X_items)
    features = _rows(X, seed)
    labels = labels_of_rows(annotations, "classes", len(features), items)
    seen = np.flatnonzero(labels.labels_per_item > 0)
    labelled = labels[seen]
    learner = Regressions(fit_smoothers(features[seen], seed=seed))
    fit = fit_cross_fit(learner, labelled, starts=TWO_STARTS)
    test = compare_sides(fit.feature_class_i, labelled, seed=seed)
    if not test.found:
        return []
    names = tuple(str(name) for name in labelled.items[test.contradicted])
    return [
        Finding(
            "warning", test.message, test.remedy, len(names), names=names, check="shared-mistakes"
        )
    ]


def _kind(annotations: Labels, learner: Any) -> Kind:
    """Numbers if the labels look like these, or if the learner is made for these."""
    if hasattr(learner, "get_params") and not isinstance(learner, type):
        return "numbers" if is_regressor(learner) else "classes"
    if form_of(annotations) == "column":
        return "classes"
    return "numbers" if as_annotations(annotations).kind == "numbers" else "classes"


def _rows(X: Any, seed: int) -> Floats:
    """A row of numbers for every item."""
    features = known_features(X)
    if is_text(features):
        return feature_rows(TextEncoder.fit_transform(features, _PLAIN, tokens=False)[1], seed)
    return feature_rows(as_inputs(features), seed)


def _estimator(kind: type[CrowdEstimator], learner: Any, seed: int) -> CrowdEstimator | None:
    """The estimator whose network learns, or None for another learner."""
    if isinstance(learner, str | nn.Module):
        learner = kind(network=learner, progress=False, seed=seed)
    if getattr(learner, "task", None) != kind.task:
        return None
    estimator: CrowdEstimator = learner
    if hasattr(estimator._resolve_method(), "inputs_consensus"):  # it says itself what learns
        return estimator
    return replace(estimator, method=CrossFitted(learner=NETWORK))


def _by_estimator(
    estimator: CrowdEstimator, features: Any, labels: Any, items: list[Any] | None = None
) -> Consensus:
    fitting = estimator._prepare(features, labels, items)
    problem = replace(fitting.problem, annotations=fitting.annotations)  # in their own unit
    method: Any = fitting.method
    found: Consensus = method.inputs_consensus(fitting.inputs, problem, fitting.plan)
    return found
