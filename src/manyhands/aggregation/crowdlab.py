"""CROWDLAB: a consensus of labels and the probabilities of any classifier, without dense tables."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Labels, as_annotations
from manyhands.core.arrays import Codes, Floats
from manyhands.core.errors import DataError

_LEAST = 1e-6  # of weights and of the error of the most frequent class


@dataclass(frozen=True, eq=False)
class Crowdlab:
    """The result of `crowdlab`; rows follow the items and the annotators of the labels.

    `quality` is the probability that the consensus label is right, between 0 and 1. The weights say
    how much every annotator and the classifier count.
    """

    annotations: Annotations
    codes: Codes
    quality: Floats
    probabilities: Floats
    agreement: Floats
    annotator_quality: Floats
    annotator_weight: Floats
    model_weight: float

    @property
    def labels(self) -> Any:
        """The consensus label of every item."""
        return self.annotations.classes[self.codes]


def crowdlab(annotations: Labels, probabilities: Any) -> Crowdlab:
    """CROWDLAB: the consensus of labels and the probabilities (i, k) of any classifier.

    ::

        p_ik = (w_M f_k(x_i) + sum_n w_a P_nk) / (w_M + sum_n w_a)    over the labels n of item i
        P_nk = P if y_n = k, else (1 - P) / (K - 1)
        w_a  = 1 - (1 - s_a) / E,    w_M = (1 - E_M / E) sqrt(mean labels per item)

    s_a is how often annotator a agrees with others who labelled the same items. E is the error of
    always saying the most frequent consensus label, E_M that of the classifier, and P how often
    labels agree with the consensus; all three are of items with more than one label, and so they
    are as far from the truth as the consensus is. The consensus is first the majority (ties: the
    classifier, then the rarer class), then the most probable class of p_ik; the weights and p_ik
    are computed for both.

    The classifier must not have been trained on labels of the item that it predicts: give
    probabilities of cross-validation. An item without labels has the classifier's probabilities.

    Source: Goh, Tkachenko and Mueller 2022.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, -1], [0, 0, 0]])
    >>> crowdlab(ann, np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])).quality.round(2).tolist()
    [0.9, 0.83, 0.76]
    """
    ann, model_ik = checked(annotations, probabilities)
    first_ik = _pooled(ann, model_ik, majority_codes(ann, model_ik))[0]
    codes_i = first_ik.argmax(axis=1).astype(np.int32)
    pooled_ik, weight_a, model_weight, agreement_i = _pooled(ann, model_ik, codes_i)
    return Crowdlab(
        annotations=ann,
        codes=codes_i,
        quality=pooled_ik[np.arange(ann.n_items), codes_i],
        probabilities=pooled_ik,
        agreement=agreement_i,
        annotator_quality=_annotator_quality(ann, pooled_ik, codes_i, weight_a, model_weight),
        annotator_weight=weight_a,
        model_weight=model_weight,
    )


def require_probabilities(ann: Annotations, probabilities: Any) -> Floats:
    """Class probabilities (i, k) as an array; a `DataError` says what is wrong with them."""
    p_ik = np.asarray(probabilities, dtype=np.float64)
    wanted = (ann.n_items, ann.n_classes)
    if p_ik.shape != wanted:
        raise DataError(
            f"probabilities must have shape {wanted}, a row per item and a column per class; "
            f"got {p_ik.shape}"
        )
    sums_to_one = np.allclose(p_ik.sum(axis=1), 1.0, atol=1e-4)
    if not (np.isfinite(p_ik).all() and (p_ik >= 0).all() and sums_to_one):
        raise DataError("probabilities must be between 0 and 1, and rows must sum to 1")
    return p_ik


def checked(annotations: Labels, probabilities: Any) -> tuple[Annotations, Floats]:
    """Labels of classes and probabilities of the same items; a `DataError` if they are not."""
    ann = as_annotations(annotations, kind="classes")
    if ann.n_annotations == 0 or ann.n_classes < 2:
        raise DataError("CROWDLAB needs labels of two classes or more")
    return ann, require_probabilities(ann, probabilities)


def majority_codes(ann: Annotations, model_ik: Floats) -> Codes:
    """The most frequent label; ties go to the more probable class, then to the rarer one."""
    counts_ik = ann.label_counts()
    tied_ik = counts_ik == counts_ik.max(axis=1, keepdims=True)
    model_ik = np.where(tied_ik, model_ik, -1.0)
    tied_ik = model_ik == model_ik.max(axis=1, keepdims=True)
    rarity_k = -counts_ik.sum(axis=0)
    best_i: Codes = np.where(tied_ik, rarity_k, -np.inf).argmax(axis=1).astype(np.int32)
    return best_i


def _pooled(
    ann: Annotations, model_ik: Floats, codes_i: Codes
) -> tuple[Floats, Floats, float, Floats]:
    """Probabilities, weights of annotators, weight of the classifier, agreement of the items."""
    n_i, n_classes = ann.labels_per_item, ann.n_classes
    with np.errstate(invalid="ignore"):
        agreement_i = np.bincount(ann.item, ann.label == codes_i[ann.item], ann.n_items) / n_i
    several = n_i > 1
    if not several.any():
        raise DataError("CROWDLAB needs items with more than one label; there are none")
    likelihood = float(agreement_i[several].mean())
    frequency_k = np.bincount(codes_i[several], minlength=n_classes)
    frequent_error = max(1.0 - float(frequency_k.max()) / several.sum(), _LEAST)
    weight_a = np.maximum(1.0 - (1.0 - _agreement_with_others(ann)) / frequent_error, _LEAST)
    model_error = float(np.mean(model_ik[several].argmax(axis=1) != codes_i[several]))
    mean_labels = float(n_i[n_i > 0].mean())
    model_weight = max(1.0 - model_error / frequent_error, _LEAST) * mean_labels**0.5
    weight_n = weight_a[ann.annotator]
    cell_n = ann.item.astype(np.int64) * n_classes + ann.label
    said_ik = np.bincount(cell_n, weight_n, ann.n_items * n_classes).reshape(model_ik.shape)
    total_i1 = said_ik.sum(axis=1, keepdims=True)
    other = (1.0 - likelihood) / (n_classes - 1)
    pooled_ik = model_weight * model_ik + (likelihood - other) * said_ik + other * total_i1
    return pooled_ik / (model_weight + total_i1), weight_a, model_weight, agreement_i


def _agreement_with_others(ann: Annotations) -> Floats:
    """How often an annotator's labels equal others' of the same items; the mean if there are none.

    Pairs of labels are counted from the numbers of equal labels, not one by one.
    """
    same_n = ann.label_counts()[ann.item, ann.label] - 1.0
    others_n = ann.labels_per_item[ann.item] - 1.0
    same_a = np.bincount(ann.annotator, same_n, ann.n_annotators)
    others_a = np.bincount(ann.annotator, others_n, ann.n_annotators)
    shared = others_a > 0
    agreement_a = np.divide(same_a, others_a, out=np.zeros(ann.n_annotators), where=shared)
    agreement_a[~shared] = agreement_a[shared].mean()
    return agreement_a


def _annotator_quality(
    ann: Annotations, pooled_ik: Floats, codes_i: Codes, weight_a: Floats, model_weight: float
) -> Floats:
    """The mean quality of an annotator's labels, and how often they agree with the consensus.

    The second is of items with more than one label; NaN for who labelled no such item.
    """
    n_a = ann.labels_per_annotator
    several_n = ann.labels_per_item[ann.item] > 1
    right_n = several_n & (ann.label == codes_i[ann.item])
    with np.errstate(invalid="ignore"):
        quality_a = np.bincount(ann.annotator, pooled_ik[ann.item, ann.label], len(n_a)) / n_a
        agreement_a = np.bincount(ann.annotator, right_n, len(n_a)) / np.bincount(
            ann.annotator, several_n, len(n_a)
        )
    labelled = ann.labels_per_item > 0
    crowd_weight = float(weight_a.mean()) * float(ann.labels_per_item[labelled].mean())
    share = model_weight / (model_weight + crowd_weight)
    return np.asarray(share * quality_a + (1.0 - share) * agreement_a)
