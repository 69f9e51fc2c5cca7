"""What a model is fitted to: the annotations, and the truths that are known beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import DataError


@dataclass(frozen=True)
class Evidence:
    """Annotations and known truths: class codes (-1 unknown), or numbers (NaN unknown).

    `known` is empty when no truth is known, so that kernels can skip the look-up.
    """

    annotations: Annotations
    known: AnyArray

    @property
    def is_known(self) -> Bools:
        """Which items have a known truth."""
        if len(self.known) == 0:
            return np.zeros(self.annotations.n_items, dtype=bool)
        known: Bools = ~np.isnan(self.known) if self.known.dtype.kind == "f" else self.known >= 0
        return known

    def clamp(self, posterior_ik: Floats) -> Floats:
        """The posterior with probability 1 on known truths."""
        if len(self.known) == 0:
            return posterior_ik
        clamped = posterior_ik.copy()
        rows = np.flatnonzero(self.known >= 0)
        clamped[rows] = 0.0
        clamped[rows, self.known[rows]] = 1.0
        return clamped

    def known_by_name(self) -> dict[Any, Any]:
        """The known truths as {item: class name or number}."""
        ann, rows = self.annotations, np.flatnonzero(self.is_known)
        values = self.known[rows]
        truths = values if ann.class_vocabulary is None else ann.classes[values]
        return dict(zip(ann.items[rows], truths, strict=True))


def majority_posterior(evidence: Evidence, overall_k: Floats | None = None) -> Floats:
    """Label distributions of items, 1 for known truths: where iterative models start.

    An item without labels gets `overall_k`, by default the label distribution of the whole crowd.
    """
    counts_ik = evidence.annotations.label_counts()
    n_i = counts_ik.sum(axis=1, keepdims=True)
    np.divide(counts_ik, n_i, out=counts_ik, where=n_i > 0)
    without = n_i[:, 0] == 0
    if without.any():
        counts_ik[without] = label_distribution(evidence) if overall_k is None else overall_k
    return evidence.clamp(counts_ik)


def label_distribution(evidence: Evidence) -> Floats:
    """How often each class was said of all items together."""
    ann = evidence.annotations
    return np.bincount(ann.label, minlength=ann.n_classes) / max(ann.n_annotations, 1)


def nothing_known() -> AnyArray:
    """The `known` of an `Evidence` without known truths."""
    return np.zeros(0, dtype=np.int32)


def gather_evidence(annotations: Annotations, known: Mapping[Any, Any] | None = None) -> Evidence:
    """Evidence from names: `known` maps item names to class names or numbers."""
    if not known:
        return Evidence(annotations, nothing_known())
    rows = annotations.item_vocabulary.codes(known)
    if np.any(rows < 0):
        unlabelled = list(known)[int(np.flatnonzero(rows < 0)[0])]
        raise DataError(f"known truth of item {unlabelled!r}, which nobody labelled; leave it out")
    values: AnyArray
    if annotations.class_vocabulary is None:
        values = np.full(annotations.n_items, np.nan)
        values[rows] = _as_numbers(known)
    else:
        values = np.full(annotations.n_items, -1, dtype=np.int32)
        values[rows] = [annotations.class_vocabulary.code(name) for name in known.values()]
    return Evidence(annotations, values)


def _as_numbers(known: Mapping[Any, Any]) -> Floats:
    try:
        values = np.array([float(value) for value in known.values()])
    except (TypeError, ValueError):
        raise DataError("known truths must be numbers, as the labels are") from None
    if not np.isfinite(values).all():
        raise DataError("known truths must be finite numbers")
    return values
