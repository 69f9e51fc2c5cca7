"""Better labels in one call: the consensus of labels and features."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from manyhands.aggregation import Consensus
from manyhands.annotations import Labels
from manyhands.checks import Finding
from manyhands.engine.features import as_inputs
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.cross_fitting import n_rows
from manyhands.estimators.labels import labels_of_rows
from manyhands.methods.cross_fit.beliefs import fit_cross_fit
from manyhands.methods.cross_fit.learners import Regressions
from manyhands.methods.cross_fit.method import NETWORK, CrossFitted
from manyhands.methods.cross_fit.shared_mistakes import compare_sides
from manyhands.methods.cross_fit.smoothers import fit_smoothers
from manyhands.methods.full_batch import feature_matrix


def consensus(
    X: Any,
    annotations: Labels,
    *,
    X_items: Iterable[Any] | None = None,
    learner: Any = None,
    seed: int = 0,
) -> Consensus:
    """The consensus about classes of items, from their labels and their features together.

    Row i of `X` belongs to item i of the annotations, or to the item that `X_items` names. What the
    features say of an item is learnt from the other items, and so is what is known of the
    annotators: see the method `cross-fit`. Items without labels have the class frequencies. For
    labels without features use `aggregate`.

    `learner` learns from the features. None stands for ridge regressions, for rows of numbers such
    as those of a pretrained network: nothing is random unless there are more than 1500 items. A
    scikit-learn classifier with `predict_proba` takes `X` as it is, so that a pipeline may begin
    with texts. A name of `NETWORKS` or a torch module is a network with default settings of
    training, and a `CrowdClassifier` is one with its own; if it has a checkpoint, an interrupted
    call continues from there. A learner is trained anew on 4 of 5 folds in every round, up to 50
    times in all. `seed` draws the folds.
    """
    items = None if X_items is None else list(X_items)
    if isinstance(learner, str | nn.Module):
        learner = CrowdClassifier(network=learner, progress=False, seed=seed)
    if getattr(learner, "task", None) == CrowdClassifier.task:
        return _by_network(learner, X, annotations, items)
    features = feature_matrix(as_inputs(X)) if learner is None else X
    labels = labels_of_rows(annotations, "classes", n_rows(features), items, features)
    return CrossFitted(learner=learner).consensus(features, labels, seed=seed)


def find_shared_mistakes(
    X: Any, annotations: Labels, *, X_items: Iterable[Any] | None = None, seed: int = 0
) -> list[Finding]:
    """A warning if annotators seem to make the same mistakes on the same items; else nothing.

    Then labels agree on mistakes, and no consensus and no criterion by labels shows it. What the
    features say of an item, learnt from other items, may: see `compare_sides`. The finding
    names the items whose labels and features contradict each other, and the remedy says how many of
    them need a truth to tell which side is right. `X` are rows of numbers. A mistake that all
    annotators make is not found, because nobody's label shows the class.
    """
    items = None if X_items is None else list(X_items)
    features = feature_matrix(as_inputs(X))
    labels = labels_of_rows(annotations, "classes", len(features), items)
    seen = np.flatnonzero(labels.labels_per_item > 0)
    labelled = labels[seen]
    fit = fit_cross_fit(Regressions(fit_smoothers(features[seen], seed=seed)), labelled)
    test = compare_sides(fit.feature_class_i, labelled, seed=seed)
    if not test.found:
        return []
    names = tuple(str(name) for name in labelled.items[test.contradicted])
    return [
        Finding(
            "warning", test.message, test.remedy, len(names), names=names, check="shared-mistakes"
        )
    ]


def _by_network(
    learner: CrowdClassifier, features: Any, annotations: Labels, items: list[Any] | None
) -> Consensus:
    labels = labels_of_rows(annotations, "classes", n_rows(features), items, features)
    learner = replace(learner, method=CrossFitted(learner=NETWORK))
    fitting = learner._prepare(features, labels, labels.items.tolist())
    return CrossFitted(learner=NETWORK).inputs_consensus(
        fitting.inputs, fitting.problem, fitting.plan
    )
