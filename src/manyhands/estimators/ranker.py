"""A ranker: scores of items from their features, trained from comparisons of a crowd."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from manyhands.aggregation.pairs import as_comparisons
from manyhands.annotations import Annotations, Comparisons, Vocabulary
from manyhands.annotations.columns import make_frame
from manyhands.annotations.comparisons import LEFT, OUTCOMES, TIE
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import setting
from manyhands.engine.settings import FeatureOptions
from manyhands.estimators.base import document
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.notebooks import NotebookEstimator
from manyhands.evaluation import RankingScorecard, pair_accuracy, ranking_scorecard
from manyhands.methods import METHODS, Method
from manyhands.networks.pair_network import PREFIX

_BATCH = 8192


@document
@dataclass(eq=False, repr=False)
class CrowdRanker(FeatureOptions, NotebookEstimator):
    """A network that scores items, such as a reward model, from comparisons of many annotators.

    The network gives every item one score, and the chance that one item is preferred to another
    grows with the difference of their scores. During training a noise model behind it learns how
    each annotator chooses instead: at random, against the scores, or rather the left side. Any
    method for classes trains it, on pairs of items whose classes are left, right and tie.
    `fit(X, comparisons)`: row i of X belongs to item i.

    Examples
    --------
    >>> from manyhands import Comparisons
    >>> X = [[0.0], [1.0], [2.0]]
    >>> pairs = Comparisons.from_arrays([0, 1, 2], [1, 2, 0], ["u", "u", "v"], [1, 2, 2])
    >>> ranker = CrowdRanker(network="logistic", epochs=20, learning_rate=0.1)
    >>> ranker.fit(X, pairs).predict(X).argmax()
    np.int64(2)
    """

    task: ClassVar[str] = "ranking"
    network: str | None = setting(
        None,
        "Name of the network that scores one item, such as mlp (the default) or logistic.",
        group="Network",
    )
    method: str | Method = setting(
        "crowd-layer-mw",
        "A name of `METHODS` that is for classification, or a method with its own settings.",
    )
    position_bias: bool | None = setting(
        None,
        "Whether annotators may prefer a side. Pairs are then items of their own in either order; "
        "without it both orders are one item, which pools the answers about it. By default yes for "
        "methods that train through a noise model, and no for two-stage methods.",
    )

    def fit(
        self, X: Any, y: Any, *, X_items: Iterable[Any] | None = None, resume: bool = False
    ) -> Self:
        """Train on features of items and comparisons, and return `self`.

        Row i of X belongs to item i of the comparisons; `X_items` names the item of every row
        where rows have another order. Features are numbers. `resume` continues from the checkpoint.
        """
        self._require_method()
        pairs = as_comparisons(y)
        rows = _rows_of_items(_matrix(X), pairs, X_items)
        mean, deviation = _scaling(rows, self.scale)
        scaled = (rows - mean) / deviation
        own_sides = self._own_sides() and pairs.has_sides
        labels, first, second = _pair_labels(pairs, own_sides)
        classifier = CrowdClassifier(**self._settings_of_classifier())
        both = np.stack([scaled[first], scaled[second]], axis=1)
        classifier.fit(both, labels, resume=resume)
        network: Any = classifier.network_
        network.set_scaling(torch.tensor(mean), torch.tensor(deviation))
        if own_sides:
            classifier.annotator_columns_["p_left"] = _share_of_left(classifier.confusion_)
        self._take(classifier)
        return self

    def predict(self, X: Any) -> Floats:
        """The score of every row, in log-odds; only differences of scores mean something."""
        check_is_fitted(self, "classifier_")
        rows = _matrix(X)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"features have {rows.shape[1]} columns; the model was trained on "
                f"{self.n_features_in_}"
            )
        network: Any = self.classifier_.network_
        device = next(network.parameters()).device
        with torch.no_grad():
            parts = [
                network.scores(torch.from_numpy(rows[at : at + _BATCH]).to(device)).cpu().numpy()
                for at in range(0, len(rows), _BATCH)
            ]
        return np.concatenate(parts).astype(np.float64) if parts else np.empty(0)

    def predict_proba(self, left: Any, right: Any) -> Floats:
        """The probabilities that left wins, that right wins, and of a tie if there were ties."""
        check_is_fitted(self, "classifier_")
        return self.classifier_.predict_proba(np.stack([_matrix(left), _matrix(right)], axis=1))

    def score(self, X: Any, y: Any) -> float:
        """The share of pairs in the right order.

        `y` are the true scores of all rows: all pairs of rows count. With comparisons it is the
        share of those, ties left out, whose winner has the higher score.
        """
        scores = self.predict(X)
        if getattr(y, "kind", None) != "pairs":
            return pair_accuracy(scores, np.asarray(y, dtype=np.float64))
        lead = scores[y.left] - scores[y.right]
        decided = y.outcome != TIE
        right = 0.5 + 0.5 * np.sign(lead) * np.where(y.outcome == LEFT, 1.0, -1.0)
        return float(right[decided].mean())

    def scorecard(
        self, X: Any, truth: Mapping[Any, Any], *, X_items: Iterable[Any]
    ) -> RankingScorecard:
        """Rank correlations of the scores of rows with true scores, {item: number}."""
        return ranking_scorecard(Vocabulary.of(X_items, "item"), self.predict(X), truth)

    @property
    def confusion_(self) -> Floats:
        """Every annotator's confusion (a, k, l): what would be true, and what they say."""
        check_is_fitted(self, "classifier_")
        return self.classifier_.confusion_

    def annotators_frame(self) -> Any:
        """A row per annotator: quality, its interval, n_annotations, p_left."""
        check_is_fitted(self, "classifier_")
        return make_frame(self.annotator_columns_, self.classifier_.crowd_.backend)

    def prediction_columns(self, X: Any) -> dict[str, AnyArray]:
        """The column score of a table of predictions."""
        return {"score": self.predict(X)}

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder as safetensors and JSON. `mh.load` reads it."""
        check_is_fitted(self, "classifier_")
        self.classifier_.save(folder)

    def _take(self, classifier: CrowdClassifier) -> None:
        self.classifier_: CrowdClassifier = classifier
        self.annotator_columns_ = classifier.annotator_columns_
        self.history_, self.epoch_ = classifier.history_, classifier.epoch_
        self.search_history_, self.settings_ = classifier.search_history_, classifier.settings_
        self.n_features_in_ = classifier.n_features_in_ // 2

    @property
    def _method(self) -> Method:
        return METHODS[self.method] if isinstance(self.method, str) else self.method

    def _require_method(self) -> None:
        """Refuse methods that cannot train a network of scores."""
        method, reason = self._method, ""
        if "classification" not in method.tasks:
            reason = f"is for {method.tasks[0]}"
        elif method.needs_truth:
            reason = "needs the truth of every pair"
        elif method.needs_order:
            reason = "is for levels with an order"
        elif method.required_network is not None:
            reason = "fits a model of its own, not a network of scores"
        elif method.replaces_output:
            reason = "has a last layer per annotator in the place of the network's"
        if reason:
            raise SettingError(
                f"{self.method} cannot rank items: it {reason}; use crowd-layer-mw, em or "
                "two-stage-majority"
            )

    def _own_sides(self) -> bool:
        if self.position_bias is not None:
            return self.position_bias
        return self._method.takes_more_labels

    def _settings_of_classifier(self) -> dict[str, Any]:
        if self.network is not None and not isinstance(self.network, str):
            raise SettingError("network must be the name of a network that scores one item")
        known = {each.name for each in fields(CrowdClassifier)}
        given = {name: value for name, value in self.get_params().items() if name in known}
        return given | {"network": PREFIX + (self.network or "mlp"), "scale": "none"}


def as_ranker(model: Any) -> Any:
    """The ranker of a loaded classifier of pairs; any other model stays as it is."""
    name = model.network_spec_[0]
    if not (isinstance(name, str) and name.startswith(PREFIX)):
        return model
    known = {each.name for each in fields(CrowdRanker)}
    given = {key: value for key, value in model.get_params(deep=False).items() if key in known}
    given |= {"network": name.removeprefix(PREFIX), "scale": "auto"}
    ranker = CrowdRanker(**given, position_bias="p_left" in model.annotator_columns_)
    ranker._take(model)
    return ranker


def _matrix(X: Any) -> AnyArray:
    """Features as a matrix of 32-bit floats."""
    try:
        rows = np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        raise DataError(
            "features of a ranker are numbers; encode texts first, for example by an encoder of "
            "sentences"
        ) from None
    if rows.ndim != 2:
        raise DataError(f"features must be a row of numbers per item; got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise DataError("features hold a number that is missing or infinite; fill it in")
    return rows


def _rows_of_items(rows: AnyArray, pairs: Comparisons, names: Iterable[Any] | None) -> AnyArray:
    """The features of the items in code order."""
    if names is None:
        if len(rows) != pairs.n_items:
            raise DataError(
                f"there are {len(rows)} rows of features and {pairs.n_items} compared items; name "
                "the item of every row with X_items"
            )
        return rows
    row = Vocabulary.of(names, "item").codes(pairs.items.tolist())
    if (row < 0).any():
        lacking = join_names(pairs.items[row < 0].tolist(), limit=3)
        raise DataError(f"no features of the compared items {lacking}")
    return rows[row]


def _scaling(rows: AnyArray, scale: str) -> tuple[AnyArray, AnyArray]:
    """Mean and deviation of every feature; 0 and 1 where they are not scaled."""
    mean, deviation = np.zeros(rows.shape[1], np.float32), np.ones(rows.shape[1], np.float32)
    if scale in ("auto", "standard"):
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    elif scale == "rms":
        deviation = deviation * np.sqrt((rows.astype(np.float64) ** 2).mean()).astype(np.float32)
    return mean, np.where(deviation > 0, deviation, 1.0).astype(np.float32)


def _pair_labels(pairs: Comparisons, own_sides: bool) -> tuple[Annotations, AnyArray, AnyArray]:
    """Comparisons as labels of pairs of items, and the first and second item of every pair."""
    turned = np.zeros(len(pairs), dtype=bool) if own_sides else pairs.left > pairs.right
    first = np.where(turned, pairs.right, pairs.left).astype(np.int64)
    second = np.where(turned, pairs.left, pairs.right)
    outcome = np.where((pairs.outcome == TIE) | ~turned, pairs.outcome, 1 - pairs.outcome)
    keys, item = np.unique(first * pairs.n_items + second, return_inverse=True)
    classes = list(OUTCOMES[: 3 if pairs.n_ties else 2])
    labels = Annotations.from_arrays(
        item, pairs.annotator, np.array(OUTCOMES)[outcome], items=range(len(keys)),
        annotators=range(pairs.n_annotators), classes=classes,
    )  # fmt: skip
    return _with_names(labels, pairs), keys // pairs.n_items, keys % pairs.n_items


def _with_names(labels: Annotations, pairs: Comparisons) -> Annotations:
    return replace(labels, annotator_vocabulary=pairs.annotator_vocabulary, backend=pairs.backend)


def _share_of_left(confusion_akl: Floats) -> Floats:
    """How often annotators say left if left and right are equally often true, ties left out."""
    said_al = confusion_akl[:, :2, :2].mean(axis=1)
    return np.asarray(said_al[:, 0] / said_al.sum(axis=1))
