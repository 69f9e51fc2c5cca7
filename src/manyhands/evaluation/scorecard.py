"""Scorecards: all scores of a consensus, on the items whose truth is known."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Truth, Vocabulary, as_truths
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.evaluation import scores, soft

LEWIDI_EPS = 1e-9  # the smallest probability that the scorer of LeWiDi 2023 takes a logarithm of


@dataclass(frozen=True)
class ClassificationScorecard:
    """Scores of classes, on the items whose truth is known."""

    n_items: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    log_loss: float
    brier: float
    calibration_error: float

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        return asdict(self)


@dataclass(frozen=True)
class OrdinalScorecard(ClassificationScorecard):
    """Scores of levels: those of classes, and two that count how far off a level is.

    `rps` is the ranked probability score, `levels_off` the mean distance of the median from the
    truth, both in levels.
    """

    rps: float
    levels_off: float


@dataclass(frozen=True)
class RegressionScorecard:
    """Scores of numbers, on the items whose truth is known."""

    n_items: int
    mae: float
    rmse: float

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        return asdict(self)


Scorecard = ClassificationScorecard | RegressionScorecard


@dataclass(frozen=True)
class SoftScorecard:
    """Scores of class probabilities against the shares of labels that people gave.

    `cross_entropy` is in nats, with probabilities of at least 1e-9. `manhattan` is 0..2, the
    Jensen-Shannon divergence (base 2) and its root, the distance, are 0..1. `wasserstein` is given
    where the classes are numbers, in their unit. `f1_micro` and `f1_macro` compare the predicted
    labels with the most frequent ones, without the `n_tied` items that have several.
    """

    n_items: int
    n_tied: int
    cross_entropy: float
    manhattan: float
    js_divergence: float
    js_distance: float
    wasserstein: float | None
    f1_micro: float | None
    f1_macro: float | None

    def as_dict(self) -> dict[str, float]:
        """The scores by name, without those that do not exist."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def classification_scorecard(
    items: Vocabulary, classes: Vocabulary, probabilities_ik: Floats, labels: AnyArray,
    confidence: Floats, truth: Truth,
) -> ClassificationScorecard:  # fmt: skip
    """Score class probabilities and labels; rows follow the order of `items`.

    Classes that are ordered give an `OrdinalScorecard`.
    """
    row, names = match_truth(items, truth)
    code = classes.codes(names)
    if not (code >= 0).any():
        raise DataError(
            f"no truth is a class of the labels: the truths are {join_names(dict.fromkeys(names))}"
            f", the classes {join_names(classes.names)}; check the names of the classes"
        )
    # A true class without any label has no column and counts as an error.
    wide_ik = np.concatenate([probabilities_ik[row], np.zeros((len(row), 1))], axis=1)
    code = np.where(code < 0, wide_ik.shape[1] - 1, code)
    correct = classes.codes(labels[row].tolist()) == code
    low, high = scores.accuracy_interval(int(correct.sum()), len(row))
    of_classes = (
        len(row),
        scores.accuracy_score(np.ones(len(row)), correct),
        low,
        high,
        scores.log_loss(code, wide_ik),
        scores.brier_score(code, wide_ik),
        scores.calibration_curve(confidence[row], correct).calibration_error,
    )
    if not classes.ordered:
        return ClassificationScorecard(*of_classes)
    if code.max() == len(classes):
        name = names[int(np.argmax(code))]
        raise DataError(f"the truth {name!s} is none of the levels {join_names(classes.names)}")
    median_i = (np.cumsum(probabilities_ik[row], axis=1)[:, :-1] < 0.5).sum(axis=1)
    rps = scores.ranked_probability_score(code, probabilities_ik[row])
    return OrdinalScorecard(*of_classes, rps, float(np.abs(median_i - code).mean()))


def regression_scorecard(items: Vocabulary, values: Floats, truth: Truth) -> RegressionScorecard:
    """Score numbers, which follow the order of `items`."""
    row, names = match_truth(items, truth)
    try:
        true_values = np.array([float(name) for name in names])
    except (TypeError, ValueError):
        raise DataError("the truth has words, but the labels are numbers; give numbers") from None
    if not np.isfinite(true_values).all():
        raise DataError("the truth has numbers that are not finite; leave those items out")
    error = true_values - values[row]
    mae, rmse = float(np.abs(error).mean()), float(np.sqrt((error**2).mean()))
    return RegressionScorecard(len(row), mae, rmse)


def soft_scorecard(
    items: Vocabulary, classes: Vocabulary, probabilities_ik: Floats, labels: AnyArray,
    truth: Mapping[Any, Mapping[Any, float]],
) -> SoftScorecard:  # fmt: skip
    """Score class probabilities against {item: {class: share}}; rows follow the order of `items`.

    A class that nobody is predicted to give, because it has no label, has the probability 0.
    """
    row, shares = match_truth(items, truth)
    named = Vocabulary.of({str(name): name for each in shares for name in each}.values(), "class")
    if not np.any(classes.codes(named.names.tolist()) >= 0):
        raise DataError(
            f"the shares are of the classes {join_names(named.names)}, the labels of "
            f"{join_names(classes.names)}; check the names of the classes"
        )
    both = classes.extended(named)
    target_ik = np.zeros((len(row), len(both)))
    for target_k, share in zip(target_ik, shares, strict=True):
        target_k[both.codes(share)] = list(share.values())
    predicted_ik = np.zeros_like(target_ik)
    predicted_ik[:, : len(classes)] = probabilities_ik[row]
    if both.is_whole_numbers:
        order = np.argsort(both.names)
        wasserstein = soft.wasserstein_distance(
            target_ik[:, order], predicted_ik[:, order], values=both.names[order]
        )
    top_ik = target_ik == target_ik.max(axis=1, keepdims=True)
    clear = top_ik.sum(axis=1) == 1
    hard = target_ik[clear].argmax(axis=1), both.codes(labels[row][clear].tolist())
    return SoftScorecard(
        len(row),
        int((~clear).sum()),
        soft.soft_cross_entropy(target_ik, predicted_ik, eps=LEWIDI_EPS),
        soft.manhattan_distance(target_ik, predicted_ik),
        soft.jensen_shannon_divergence(target_ik, predicted_ik),
        soft.jensen_shannon_distance(target_ik, predicted_ik),
        wasserstein if both.is_whole_numbers else None,
        scores.f1_score(*hard, average="micro") if clear.any() else None,
        scores.f1_score(*hard, average="macro") if clear.any() else None,
    )


def match_truth(items: Vocabulary, truth: Truth) -> tuple[AnyArray, list[Any]]:
    """The rows of the items whose truth is known, and their truths; see `as_truths`."""
    truth = as_truths(truth, items)
    codes = items.codes(truth)
    names = [value for value, code in zip(truth.values(), codes, strict=True) if code >= 0]
    if not names:
        raise DataError("no item of the truth table has labels; check that the item names match")
    return codes[codes >= 0], names
