"""Agreement by class and by annotator, of labels in parts: tables that follow from sums."""

from typing import NamedTuple

import numpy as np
from scipy import special

from manyhands.aggregation.evidence import Evidence
from manyhands.agreement.estimate import wilson, without_points
from manyhands.core.arrays import AnyArray, Floats
from manyhands.scale.agreement import one_label_each_n

Columns = dict[str, AnyArray]


class ClassSums(NamedTuple):
    """Sums over items with two labels or more, (k,).

    `count` are the labels of a class, and `same` the other labels of the item that are the same, as
    a share: sums of both, of their squares and of their product. `share` is the share of the class
    in an item, and `differ` the share of pairs of labels of which one is the class.
    """

    n_items: int
    count_k: Floats
    same_k: Floats
    squares_k: Floats
    products_k: Floats
    counts_k: Floats
    share_k: Floats
    differ_k: Floats


class AnnotatorSums(NamedTuple):
    """Labels of annotators, those of shared items, and how far the others agree with them (a,)."""

    labels_a: Floats
    n_a: Floats
    same_a: Floats


def class_sums(evidence: Evidence) -> ClassSums:
    """The sums of a part; of repeated labels of an annotator the last one counts."""
    counts_ik, _ = _counts(evidence)
    counts_ik = counts_ik[counts_ik.sum(axis=1) >= 2]
    n_i = counts_ik.sum(axis=1, keepdims=True)
    same_ik = counts_ik * (counts_ik - 1.0) / (n_i - 1.0)
    differ_ik = 2.0 * counts_ik * (n_i - counts_ik) / (n_i * (n_i - 1.0))
    every = (counts_ik, same_ik, same_ik**2, same_ik * counts_ik, counts_ik**2, counts_ik / n_i,
             differ_ik)  # fmt: skip
    return ClassSums(len(counts_ik), *(each.sum(axis=0) for each in every))


def annotator_sums(evidence: Evidence) -> AnnotatorSums:
    """The sums of a part; of repeated labels of an annotator the last one counts."""
    ann = evidence.annotations
    counts_ik, used = _counts(evidence)
    item_n, label_n, who_n = ann.item[used], ann.label[used], ann.annotator[used]
    others_n = counts_ik.sum(axis=1)[item_n] - 1.0
    same_n = counts_ik[item_n, label_n] - 1.0
    shared = others_n > 0
    share_n = same_n[shared] / others_n[shared]

    def by_annotator(who_n: AnyArray, weight_n: Floats) -> Floats:
        return np.bincount(who_n, weight_n, minlength=ann.n_annotators).astype(np.float64)

    return AnnotatorSums(
        by_annotator(who_n, np.ones(len(who_n))),
        by_annotator(who_n[shared], np.ones(len(share_n))),
        by_annotator(who_n[shared], share_n),
    )


def class_table(sums: ClassSums, classes: AnyArray) -> Columns:
    """Columns as those of `agreement.by_class`, without what classes are confused with."""
    n, n_k = sums.n_items, sums.count_k
    agreement_k = _ratio(sums.same_k, n_k)
    spread_k = sums.squares_k - 2.0 * agreement_k * sums.products_k
    spread_k = np.maximum(spread_k + agreement_k**2 * sums.counts_k, 0.0)
    error_k = np.sqrt(spread_k * n / max(n - 1, 1)) * _ratio(np.ones(len(n_k)), n_k)
    half_k = float(special.stdtrit(max(n - 1, 1), 0.975)) * error_k
    low_k, high_k = without_points(agreement_k - half_k, agreement_k + half_k)
    share_k, differ_k = sums.share_k / max(n, 1), sums.differ_k / max(n, 1)
    return {
        "class": classes, "n_labels": n_k.astype(np.int64), "share": n_k / max(n_k.sum(), 1.0),
        "agreement": agreement_k, "low": np.maximum(low_k, 0.0), "high": np.minimum(high_k, 1.0),
        "kappa": 1.0 - _ratio(differ_k, 2.0 * share_k * (1.0 - share_k)),
    }  # fmt: skip


def annotator_table(sums: AnnotatorSums, annotators: AnyArray) -> Columns:
    """Columns as those of `manyhands.agreement.by_annotator`, without kappas of pairs."""
    agreement_a = _ratio(sums.same_a, sums.n_a)
    low_a, high_a = wilson(agreement_a, sums.n_a)
    return {
        "annotator": annotators, "n_labels": sums.labels_a.astype(np.int64),
        "n_shared": sums.n_a.astype(np.int64),
        "agreement": agreement_a, "low": low_a, "high": high_a,
    }  # fmt: skip


def _counts(evidence: Evidence) -> tuple[Floats, AnyArray]:
    """Labels of items by class (i, k), and which labels count."""
    ann, used = evidence.annotations, one_label_each_n(evidence)
    cell_n = ann.item[used].astype(np.int64) * ann.n_classes + ann.label[used]
    counts = np.bincount(cell_n, minlength=ann.n_items * ann.n_classes)
    return counts.reshape(-1, ann.n_classes).astype(np.float64), used


def _ratio(above: Floats, below: Floats) -> Floats:
    found: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return found
