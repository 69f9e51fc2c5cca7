"""Compare several methods on the same labels, by truth or by labels held out of the fit."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.catalog import AGGREGATORS, aggregators_for
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.cost import require_confusions
from manyhands.aggregation.guard import ConsensusWarning
from manyhands.annotations import Annotations, Labels, Truth, as_annotations
from manyhands.core.arrays import AnyArray, Floats, symmetric_confusions
from manyhands.core.errors import DataError, SettingError, TooLargeError
from manyhands.core.settings import generator
from manyhands.evaluation import ClassificationScorecard, LabelPredictions

_SHOWN = ("mae", "rmse", "f1_macro", "f1_micro", "exact_match", "jaccard", "log_loss")
_MIN_LABELS = 3  # of an item before one of them is held out


@dataclass(frozen=True)
class Comparison:
    """A table of methods, best first."""

    columns: dict[str, AnyArray]
    ranked_by: str

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per method, NaN as None."""
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        return [
            {
                name: None if isinstance(value, float) and np.isnan(value) else value
                for name, value in zip(self.columns, row, strict=True)
            }
            for row in rows
        ]


def compare(
    annotations: Labels,
    methods: Sequence[str] | None = None,
    *,
    truth: Truth | None = None,
    seed: int = 0,
    done: Callable[[], None] = lambda: None,
) -> Comparison:
    """Fit methods of `AGGREGATORS` with their defaults and rank them.

    With truth they are ranked by accuracy, by the ranked probability score (`rps`) for ordinal
    labels, by macro F1 for sets of classes, or by mean absolute error for numbers. Without truth
    they are ranked by the column `validation`: the mean log-probability of labels held out of the
    fit (`validation_score`). It is NaN if no item has enough labels to hold one out.

    Without `methods` all are compared but those that would take too much memory or time; a
    `ConsensusWarning` names these. `done` is called after every method.
    """
    annotations = as_annotations(annotations)
    names = list(methods or affordable(_methods_for(annotations), annotations))
    require_comparable(names)
    rows = []
    for name in names:
        rows.append(_row(name, annotations, truth, seed))
        done()
    key, better, ranked_by = _ranking(rows[0])
    rows.sort(key=lambda row: (np.isnan(row[key]), -better * row[key]))
    columns = {
        name: np.array([row[name] for row in rows], dtype=_dtype(rows[0][name])) for name in rows[0]
    }
    return Comparison(columns, ranked_by)


def require_comparable(names: Sequence[str]) -> None:
    """Raise an error for unknown methods, and for a mix of methods for classes and numbers."""
    if len({AGGREGATORS[name].kind == "numbers" for name in names}) > 1:
        raise SettingError("methods must be all for classes or all for numbers to be compared")


def affordable(names: Sequence[str], annotations: Annotations) -> list[str]:
    """The methods that do not take too much memory or time; warns of the others.

    If all of them do, the error of the first is raised.
    """
    errors: dict[str, TooLargeError] = {}
    for name in names:
        try:
            AGGREGATORS[name]().require_affordable(annotations)
        except TooLargeError as error:
            errors[name] = error
    if len(errors) == len(names):
        raise next(iter(errors.values()))
    for reason in errors.values():
        warnings.warn(f"left out: {reason}", ConsensusWarning, stacklevel=3)
    return [name for name in names if name not in errors]


def _methods_for(annotations: Annotations) -> list[str]:
    return aggregators_for("ordinal" if annotations.ordered else annotations.kind)


def _row(name: str, annotations: Annotations, truth: Truth | None, seed: int) -> dict[str, Any]:
    method = AGGREGATORS[name]()
    began = time.perf_counter()
    consensus = method.fit(annotations)
    seconds = time.perf_counter() - began
    row: dict[str, Any] = {"method": name}
    if truth is not None:
        scores = consensus.score(truth)
        if isinstance(scores, ClassificationScorecard):
            told = scores.as_dict()
            row |= {name: told[name] for name in ("rps", "levels_off") if name in told}
            row |= {
                "accuracy": scores.accuracy,
                "log_loss": scores.log_loss,
                "calibration_error": scores.calibration_error,
            }
        else:
            told = scores.as_dict()
            row |= {name: told[name] for name in _SHOWN if name in told}
    try:
        row["validation"] = validation_score(method, annotations, seed=seed)
    except DataError:
        row["validation"] = float("nan")
    row |= {
        "confidence": float(consensus.confidence.mean()),
        "agreement": float(np.nanmean(consensus.agreement)),
        "seconds": seconds,
    }
    return row


def _ranking(row: Mapping[str, Any]) -> tuple[str, int, str]:
    if "rps" in row:
        return "rps", -1, "ranked probability score against the truth"
    if "accuracy" in row:
        return "accuracy", 1, "accuracy against the truth"
    if "f1_macro" in row:
        return "f1_macro", 1, "macro F1 against the truth"
    if "mae" in row:
        return "mae", -1, "mean absolute error against the truth"
    return "validation", 1, "mean log-probability of held-out labels (no truth was used)"


def _dtype(value: Any) -> Any:
    return object if isinstance(value, str) else np.float64


def validation_score(method: Aggregator[Any], annotations: Labels, *, seed: int = 0) -> float:
    """The mean log-probability of one held-out label per item; higher is better.

    p(y_n) = sum_k q_ik C[a_n, k, y_n] with q and C from the other labels. A method without
    confusions gets those of a coin with each annotator's quality. For numbers, labels are normal
    around the consensus, with each annotator's bias and noise. No label is held out of an item
    with fewer than three.
    """
    train, validation = leave_one_label_out(as_annotations(annotations, kind=method.kind), seed)
    consensus = method.fit(train)
    item, annotator, label = validation.item, validation.annotator, validation.label
    if train.kind == "multilabel":
        return float(_log_p_sets(consensus, validation).sum(axis=1).mean())
    if consensus.probabilities is None:
        return float(_log_p_numbers(consensus, item, annotator, label).mean())
    p_n = (consensus.probabilities[item] * _confusion(consensus)[annotator, :, label]).sum(axis=1)
    return float(_log(p_n).mean())


def _log_p_sets(consensus: Consensus, validation: Annotations) -> Floats:
    """The log-probability of whether held-out sets have each class, shape (n, k).

    p(y_nk) = sum_z q_ikz p(y_nk | z). A method without confusions gets coins that are right with
    each annotator's quality.
    """
    assert consensus.probabilities is not None, "a consensus of sets holds probabilities"
    applies_nk = consensus.probabilities[validation.item]
    if consensus.confusion is None:
        yes_nk = consensus.annotator_quality[validation.annotator][:, None]
        false_nk = 1.0 - yes_nk
    else:
        said_nkz = consensus.confusion[validation.annotator][..., 1]
        false_nk, yes_nk = said_nkz[..., 0], said_nkz[..., 1]
    said_nk = applies_nk * yes_nk + (1.0 - applies_nk) * false_nk
    return _log(np.where(validation.members, said_nk, 1.0 - said_nk))


def predict_validation_labels(
    method: Aggregator[Any], train: Annotations, validation: Annotations
) -> LabelPredictions:
    """Held-out class labels, and their probabilities by a method fitted to the others."""
    consensus = method.fit(train)
    assert consensus.probabilities is not None, "labels are classes here"
    item, row = np.unique(validation.item, return_inverse=True)
    class_nk, confusion_akl = consensus.probabilities[validation.item], _confusion(consensus)
    # Label by label: a matrix for every annotation would take K times the memory.
    p_nl = np.stack(
        [
            (class_nk * confusion_akl[validation.annotator, :, label]).sum(axis=1)
            for label in range(train.n_classes)
        ],
        axis=1,
    )
    log_class_ik = _log(consensus.probabilities[item])
    return LabelPredictions(item, row.astype(np.int32), validation.label, log_class_ik, _log(p_nl))


def _confusion(consensus: Consensus) -> Floats:
    """The confusions of a consensus; those of a coin where the method has none."""
    if consensus.confusion is not None:
        return consensus.confusion
    require_confusions(consensus.annotations)
    return symmetric_confusions(consensus.annotator_quality, consensus.annotations.n_classes)


def _log(probability: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(probability, np.finfo(np.float64).tiny)))


def leave_one_label_out(annotations: Labels, seed: int) -> tuple[Annotations, Annotations]:
    """The training labels, and one held-out label of every item with three labels or more.

    All labels of a held-out (item, annotator) pair leave the training labels: a repeat of the
    held-out label would reveal it.
    """
    annotations = as_annotations(annotations)
    validation = _one_label_each(annotations, seed)
    if len(validation) == 0:
        raise DataError("no item has three labels or more, so none can be held out")
    pair = annotations.item.astype(np.int64) * annotations.n_annotators + annotations.annotator
    return annotations.only(~np.isin(pair, pair[validation])), annotations.only(validation)


def _one_label_each(annotations: Annotations, seed: int) -> AnyArray:
    """The position of one random label of every item with enough labels."""
    n_i = annotations.labels_per_item
    eligible = np.flatnonzero(n_i >= _MIN_LABELS)
    draw = generator(seed, "held-out labels").random(len(eligible))
    return annotations.item_offsets[eligible] + (draw * n_i[eligible]).astype(np.int64)


def _log_p_numbers(
    consensus: Consensus, item: AnyArray, annotator: AnyArray, label: AnyArray
) -> Floats:
    assert consensus.spread is not None, "a consensus of numbers holds its spread"
    bias_a, noise_a = (consensus.annotator_traits[trait] for trait in ("bias", "noise"))
    variance = consensus.spread[item] ** 2 + noise_a[annotator] ** 2
    off = label - consensus.labels[item] - bias_a[annotator]
    return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + off**2 / variance))
