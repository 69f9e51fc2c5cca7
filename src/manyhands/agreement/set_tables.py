"""Where annotators agree whose labels are sets: by annotator, by pair of annotators and by item.

Two labels of an item agree as far as their MASI says.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.agreement.estimate import wilson
from manyhands.agreement.pair_table import PairTable
from manyhands.agreement.sets import masi_of_codes
from manyhands.annotations import Annotations
from manyhands.annotations.label_sets import set_members
from manyhands.core.arrays import AnyArray, Floats, object_array

Columns = dict[str, AnyArray]


@dataclass(frozen=True, eq=False)
class SetPairs:
    """Every pair of labels of one item by two annotators, and how far it agrees."""

    annotations: Annotations
    table: PairTable
    masi_t: Floats

    @classmethod
    def of(cls, annotations: Annotations, *, min_shared: int = 1) -> "SetPairs":
        """The pairs of labels of annotators with so many common items."""
        table = PairTable.of(annotations, annotations.label, None, min_shared=min_shared)
        masi_t = masi_of_codes(set_members(annotations), table.code_t, table.other_t)
        return cls(annotations, table, masi_t)

    def annotator_columns(self) -> Columns:
        """A row per annotator: mean MASI with the other labels of the same items."""
        ann, table, n = self.annotations, self.table, self.annotations.n_annotators
        ends = np.append(table.first[table.pair_t], table.second[table.pair_t])
        total_a = np.bincount(ends, weights=np.tile(self.masi_t, 2), minlength=n)
        pairs_a = np.bincount(ends, minlength=n)
        is_shared_n = ann.labels_per_item[ann.item] > 1
        shared_a = np.bincount(ann.annotator[is_shared_n], minlength=n).astype(np.float64)
        agreement_a = _ratio(total_a, pairs_a)
        low_a, high_a = wilson(agreement_a, shared_a)
        return {
            "annotator": ann.annotators, "n_labels": ann.labels_per_annotator,
            "n_shared": shared_a.astype(np.int64), "agreement": agreement_a,
            "low": low_a, "high": high_a,
        }  # fmt: skip

    def pair_columns(self) -> Columns:
        """A row per pair of annotators: mean MASI over their common items."""
        table, names = self.table, self.annotations.annotators
        n_p = np.bincount(table.pair_t, minlength=len(table.first))
        total_p = np.bincount(table.pair_t, weights=self.masi_t, minlength=len(table.first))
        return {
            "first": names[table.first], "second": names[table.second], "n_shared": n_p,
            "agreement": _ratio(total_p, n_p),
        }  # fmt: skip

    def item_columns(self) -> Columns:
        """A row per item: mean MASI of its pairs of labels, and the classes that half of them have.

        `label` has the classes that more than half of the labels have.
        """
        ann, n = self.annotations, self.annotations.n_items
        total_i = np.bincount(self.table.item_t, weights=self.masi_t, minlength=n)
        pairs_i = np.bincount(self.table.item_t, minlength=n)
        most_ik = 2.0 * ann.label_counts() > ann.labels_per_item[:, None]
        names, separator = ann.classes.astype(str), ";"
        said = [separator.join(names[row]) or "[]" for row in most_ik]
        return {
            "item": ann.items, "n_labels": ann.labels_per_item,
            "agreement": _ratio(total_i, pairs_i), "label": object_array(said),
        }  # fmt: skip


def _ratio(above: AnyArray, below: AnyArray) -> Floats:
    """The ratio; NaN where nothing is below."""
    found = np.full(len(above), np.nan)
    return np.asarray(np.divide(above, below, out=found, where=below > 0))
