"""How far annotators agree, of labels in parts: coefficients that follow from sums over items."""

from typing import NamedTuple

import numpy as np

from manyhands.aggregation.evidence import Evidence
from manyhands.annotations.grouping import duplicated_pairs
from manyhands.core.arrays import Bools, Floats


class AgreementSums(NamedTuple):
    """Sums over items: those with two labels, their agreement; those with one, label shares.

    `margin_k` counts the labels of items with two or more, and `apart` is the number of their
    labels weighted by the share of other labels of the item that differ.
    """

    n_paired: int
    same: float
    n_labelled: int
    share_k: Floats
    margin_k: Floats
    apart: float


def one_label_each_n(evidence: Evidence) -> Bools:
    """Which labels count: of repeated labels of an annotator the last one."""
    ann = evidence.annotations
    repeats: Bools = duplicated_pairs(ann.item, ann.annotator)
    return ~np.append(repeats[1:], False)[: ann.n_annotations]


def agreement_sums(evidence: Evidence) -> AgreementSums:
    """The sums of a part; of repeated labels of an annotator the last one counts."""
    ann, k = evidence.annotations, evidence.annotations.n_classes
    used = one_label_each_n(evidence)
    cell_n = ann.item[used].astype(np.int64) * k + ann.label[used]
    counts_ik = np.bincount(cell_n, minlength=ann.n_items * k).reshape(-1, k).astype(np.float64)
    n_i = counts_ik.sum(axis=1)
    paired_ik, n_paired_i = counts_ik[n_i >= 2], n_i[n_i >= 2]
    same_i = (paired_ik * (paired_ik - 1.0)).sum(axis=1)
    labelled_ik = counts_ik[n_i >= 1]
    return AgreementSums(
        len(paired_ik),
        float((same_i / (n_paired_i * (n_paired_i - 1.0))).sum()),
        len(labelled_ik),
        (labelled_ik / labelled_ik.sum(axis=1, keepdims=True)).sum(axis=0),
        paired_ik.sum(axis=0),
        float((n_paired_i - same_i / (n_paired_i - 1.0)).sum()),
    )


def fleiss_kappa(sums: AgreementSums) -> tuple[float, int]:
    """Fleiss' kappa, and the number of items that it is of; see `agreement.fleiss`."""
    return coefficients(sums)["fleiss"], sums.n_paired


def coefficients(sums: AgreementSums) -> dict[str, float]:
    """Coefficients by the names that `manyhands.agreement` gives them; NaN if undefined.

    Alpha is that of the nominal level.
    """
    names = ("percent", "fleiss", "gwet", "brennan_prediger", "alpha")
    if sums.n_paired == 0:
        return dict.fromkeys(names, float("nan"))
    k, share_k = len(sums.share_k), sums.share_k / sums.n_labelled
    observed = sums.same / sums.n_paired
    gwet, even = 1.0, 1.0  # expected agreement
    if k > 1:
        gwet, even = float(share_k @ (1.0 - share_k)) / (k - 1.0), 1.0 / k
    n = float(sums.margin_k.sum())
    differ = n * n - float(sums.margin_k @ sums.margin_k)
    alpha = 1.0 - (n - 1.0) * sums.apart / differ if differ > 0 else float("nan")
    by_chance = float(share_k @ share_k) if share_k.max() < 1.0 else 1.0
    found = [_above_chance(observed, expected) for expected in (by_chance, gwet, even)]
    return dict(zip(names, (observed, *found, alpha), strict=True))


def _above_chance(observed: float, expected: float) -> float:
    return (observed - expected) / (1.0 - expected) if expected < 1.0 else float("nan")
