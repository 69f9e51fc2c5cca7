"""Variances of numbers between items, between annotators, and of the rest.

They come from an analysis of variance. Where labels are missing it is that of Henderson's
third method, which needs the sums of squares of additive fits only: with N labels of n items by r
annotators in c connected parts, and R(.) the reductions of the sum of squares::

    E R(items | annotators) = (N - r) v_items + (n - c) v_error
    E R(annotators | items) = (N - n) v_annotators + (r - c) v_error
    E (rest)                = (N - n - r + c) v_error

For complete tables these are the mean squares of Shrout and Fleiss.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import lsmr

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats

Model = Literal[1, 2, 3]
ROUNDING = 1e-9
_TINY = 1e-12  # of the whole variance: less is a rounding error


@dataclass(frozen=True, eq=False)
class Ratings:
    """Numbers with the codes of their items and annotators, each used, counted from 0."""

    item_n: AnyArray
    annotator_n: AnyArray
    value_n: Floats
    n_items: int
    n_annotators: int

    @classmethod
    def of(cls, ann: Annotations) -> "Ratings":
        """The ratings of annotations with two labels or more per item."""
        items, item_n = np.unique(ann.item, return_inverse=True)
        annotators, annotator_n = np.unique(ann.annotator, return_inverse=True)
        value_n = ann.label.astype(np.float64)
        centred_n = value_n - value_n.mean() if len(value_n) else value_n
        return cls(item_n, annotator_n, centred_n, len(items), len(annotators))

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.value_n)

    @property
    def is_complete(self) -> bool:
        """Whether every annotator labelled every item."""
        return self.n_labels == self.n_items * self.n_annotators

    @property
    def labels_per_item(self) -> float:
        """The harmonic mean of the numbers of labels of the items."""
        return float(self.n_items / (1.0 / np.bincount(self.item_n)).sum())

    def icc(self, model: Model, average: bool) -> float:
        """The intraclass correlation; NaN if it is undefined."""
        found = self.one_way if model == 1 else self.two_way
        if found is None:
            return float("nan")
        error = found.error + (found.annotators if model == 2 else 0.0)
        error /= self.labels_per_item if average else 1.0
        total = found.items + error
        is_left = total > ROUNDING * (abs(found.items) + error)
        return found.items / total if is_left else float("nan")

    @cached_property
    def one_way(self) -> "Components | None":
        """The variances between and within items."""
        df_error = self.n_labels - self.n_items
        whole = float(self.value_n @ self.value_n)
        if self.n_items < 2 or df_error < 1 or whole == 0.0:
            return None
        explained, size_i = self._explained(self.item_n)
        error = _clean(whole - explained, whole) / df_error
        size = (self.n_labels - float(size_i @ size_i) / self.n_labels) / (self.n_items - 1)
        mean_square = explained / (self.n_items - 1)
        return Components(
            (mean_square - error) / size, 0.0, error, mean_square, error, size, 0.0,
            self.n_items - 1, 0, df_error,
        )  # fmt: skip

    @cached_property
    def two_way(self) -> "Components | None":
        """The variances of items, annotators and the rest."""
        n_parts = self._n_parts()
        df_items, df_annotators = self.n_items - n_parts, self.n_annotators - n_parts
        df_error = self.n_labels - self.n_items - self.n_annotators + n_parts
        whole = float(self.value_n @ self.value_n)
        if df_items < 1 or df_annotators < 1 or df_error < 1 or whole == 0.0:
            return None
        by_items, _ = self._explained(self.item_n)
        by_annotators, _ = self._explained(self.annotator_n)
        by_both = self._explained_by_both(by_items + by_annotators)
        error = _clean(whole - by_both, whole) / df_error
        items, annotators = by_both - by_annotators, by_both - by_items
        size_items = (self.n_labels - self.n_annotators) / df_items
        size_annotators = (self.n_labels - self.n_items) / df_annotators
        mean_items, mean_annotators = items / df_items, annotators / df_annotators
        return Components(
            (mean_items - error) / size_items, (mean_annotators - error) / size_annotators, error,
            mean_items, mean_annotators, size_items, size_annotators,
            df_items, df_annotators, df_error,
        )  # fmt: skip

    def _explained(self, group_n: AnyArray) -> tuple[float, Floats]:
        """The sum of squares of the means of groups, and the sizes of the groups."""
        size = np.bincount(group_n).astype(np.float64)
        total = np.bincount(group_n, weights=self.value_n)
        return float((total**2 / size).sum()), size

    def _explained_by_both(self, if_complete: float) -> float:
        if self.is_complete:
            return if_complete
        n, rows = self.n_labels, np.arange(self.n_labels)
        shape = (n, self.n_items + self.n_annotators)
        place = np.concatenate([self.item_n, self.n_items + self.annotator_n])
        # columns of length 1: the solver then needs few steps
        scale = 1.0 / np.sqrt(np.bincount(place, minlength=shape[1]))
        design = sparse.csr_array((scale[place], (np.append(rows, rows), place)), shape=shape)
        solution = lsmr(design, self.value_n, atol=1e-12, btol=1e-12, maxiter=10_000)[0]
        rest_n = self.value_n - design @ solution
        return float(self.value_n @ self.value_n - rest_n @ rest_n)

    def _n_parts(self) -> int:
        """Into how many parts without common items or annotators the labels fall."""
        size = self.n_items + self.n_annotators
        edges = (np.ones(self.n_labels), (self.item_n, self.n_items + self.annotator_n))
        graph = sparse.coo_array(edges, shape=(size, size))
        return int(csgraph.connected_components(graph, directed=False)[0])

    def drawn(self, rng: np.random.Generator) -> "Ratings":
        """As many items, drawn with replacement; an item that is drawn twice is two items."""
        order = np.argsort(self.item_n, kind="stable")
        offsets = np.append(0, np.cumsum(np.bincount(self.item_n)))
        items = rng.integers(self.n_items, size=self.n_items)
        rows = [order[offsets[i] : offsets[i + 1]] for i in items]
        row_n = np.concatenate(rows)
        item_n = np.repeat(np.arange(self.n_items), [len(each) for each in rows])
        annotators, annotator_n = np.unique(self.annotator_n[row_n], return_inverse=True)
        value_n = self.value_n[row_n] - self.value_n[row_n].mean()
        return Ratings(item_n, annotator_n, value_n, self.n_items, len(annotators))


@dataclass(frozen=True)
class Components:
    """Variances of items, annotators and error, and the mean squares that they come from."""

    items: float
    annotators: float
    error: float
    square_items: float
    square_annotators: float
    size: float  # labels per item, as the mean square of items counts them
    size_annotators: float  # labels per annotator, likewise
    df_items: int
    df_annotators: int
    df_error: int


def _clean(squares: float, whole: float) -> float:
    return 0.0 if squares < _TINY * whole else squares
