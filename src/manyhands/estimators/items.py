"""What estimators share whose items are rows of features or texts."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations, Labels, as_annotations, form_of
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import seed_for
from manyhands.engine.settings import FeatureOptions
from manyhands.estimators.base import Callback, CrowdEstimator
from manyhands.estimators.cross_fitting import (
    cross_fitted_posterior,
    draw_folds,
    n_folds,
    n_rows,
    with_warning,
)
from manyhands.estimators.fitting import Fitting
from manyhands.estimators.labels import labels_of_rows
from manyhands.methods.base import MethodFit

_ONE_EPOCH: dict[str, Any] = {
    "epochs": 1, "warm_up": 0, "validation_fraction": 0.0, "patience": None, "refit": False,
    "schedule": "constant", "milestones": None, "gamma": None, "learning_rate_warm_up": 0.0,
}  # fmt: skip


class ItemEstimator(CrowdEstimator, FeatureOptions):
    """What estimators share whose items are rows of features or texts."""

    fits_many = True

    def fit(
        self,
        X: Any,
        y: Labels,
        sample_weight: Any = None,
        *,
        X_items: Iterable[Any] | None = None,
        truth: Iterable[Any] | Mapping[Any, Any] | None = None,
        resume: bool = False,
        callback: Callback | None = None,
    ) -> Self:
        """Train on features and the labels of annotators, and return `self`.

        Labels are `Annotations`, a long frame or a matrix of items x annotators (see
        `as_annotations`); one label per row is taken as those of one annotator. Row i of X belongs
        to item i; `X_items` names the item of every row of X where rows have another order. Images
        of files (`read_images`) are matched with items by their names.
        `sample_weight` says how much every row counts in the loss of end-to-end and two-stage
        methods; a consensus that they start from, or train on, is that of all labels. `truth`
        is only for the method "truth": the class, or the number, of every item. `resume` continues
        from the checkpoint. `callback` is called after every epoch, also while the best
        epoch is searched, with a function of X that predicts with the model at that time, class
        probabilities or numbers; the numbers by name that it returns are added to the history. An
        epoch that is chosen by a truth seen in a callback is chosen with truth.
        """
        self._fit(
            X, y, X_items, truth=truth, sample_weight=sample_weight, resume=resume,
            callback=callback,
        )  # fmt: skip
        return self

    def _take(self, fitting: Fitting, fit: MethodFit) -> None:
        super()._take(fitting, fit)
        self.n_batches_ = 0

    def _partial_fit(
        self,
        features: Any,
        labels: Labels,
        sample_weight: Any,
        items: Iterable[Any] | None,
        classes: Annotations | None = None,
    ) -> Self:
        """One epoch over these rows, from the model as it is, or from a new one."""
        method = self._resolve_method()
        if not method.takes_more_labels:
            raise SettingError(
                f"partial_fit is for end-to-end methods; {self._method_text()} fits all labels at "
                "once: call fit"
            )
        if self.checkpoint is not None:
            raise SettingError("checkpoint is for fit; partial_fit has no epochs to resume")
        start = self._fitted() if hasattr(self, "network_") else None
        number = getattr(self, "n_batches_", 0)  # every batch has random numbers of its own
        fixed = _ONE_EPOCH | {"seed": seed_for(self.seed, f"batch {number}")}
        self._fit(
            features, labels, items, sample_weight=sample_weight, start=start, classes=classes,
            fixed=fixed,
        )  # fmt: skip
        self.n_batches_ = number + 1
        return self

    def infer(
        self,
        X: Any,
        y: Labels,
        *,
        X_items: Iterable[Any] | None = None,
        cross_fit: bool | int = False,
    ) -> Consensus:
        """The consensus of network and labels about labelled items.

        Unseen annotators are taken as average ones; nothing is learnt from these labels. For items
        that the model was trained on, the network repeats the labels it has learnt, and mistakes
        count twice: the `warnings` of the consensus say so, unless the model was loaded.
        `cross_fit` is then the number of folds (True: 5), drawn by the seed. Every item is judged
        by a copy of this estimator that is trained on the labels of the other folds; this
        estimator itself is not used and need not be fitted. With a checkpoint, the folds are kept
        in its folders `fold-0` and so on, and continued from there.
        """
        folds = n_folds(cross_fit)
        if folds:
            items = None if X_items is None else list(X_items)
            labels = labels_of_rows(y, self.kind, n_rows(X), items, X)
            fold_i = draw_folds(labels.labels_per_item > 0, folds, self.seed)
            return cross_fitted_posterior(self, X, labels, fold_i, labels.items.tolist())
        inputs, annotations = self._encode(X, y, X_items)
        found = self._posterior(inputs, annotations)
        return with_warning(found, annotations, getattr(self, "trained_on_", None))

    def _scored_rows(
        self,
        features: Any,
        predicted: AnyArray,
        y: Any,
        weights: Any,
        values: Callable[[Annotations], AnyArray],
    ) -> tuple[AnyArray, AnyArray, Any]:
        """Predictions, truths and weights of the rows that count.

        With labels of a crowd in place of the truth, `values` of the labelled items are taken.
        """
        if _is_crowd(y):
            labels = as_annotations(y, kind=self.kind)
            if getattr(features, "has_names", False):  # images, in the order of their files
                labels = labels_of_rows(labels, self.kind, len(features), None, features)
            kept = labels.labels_per_item > 0
            if not kept.any():
                raise DataError("not one item has a label to score against")
            predicted, truth = predicted[kept], values(labels)[kept]
            weights = None if weights is None else np.asarray(weights)[kept]
        else:
            truth = np.atleast_1d(np.asarray(y))
        if len(truth) != len(predicted):
            raise DataError(f"{len(truth)} truths for {len(predicted)} rows of features")
        return predicted, truth, weights


def _is_crowd(labels: Any) -> bool:
    """Whether labels are those of a crowd, and not one truth per row."""
    return np.ndim(labels) > 0 and form_of(labels) in ("annotations", "frame", "matrix")
