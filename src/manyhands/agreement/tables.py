"""Where annotators agree: by class, by annotator, by pair of annotators, and by item.

Every table is a dictionary of columns; the functions `by_...` of the room give it as a frame.
Only items with labels of two annotators or more count, and one label per item and annotator.
"""

from typing import Any

import numpy as np
from scipy import sparse, special

from manyhands.agreement.chance import ChanceStatistic
from manyhands.agreement.estimate import wilson, without_points
from manyhands.agreement.pair_table import PairTable
from manyhands.agreement.pairwise import pair_moments
from manyhands.agreement.runs import LabelRuns, one_label_each, same_labels
from manyhands.agreement.set_tables import SetPairs
from manyhands.agreement.spans import SpanPairs
from manyhands.annotations import Annotations, Labels, TokenLabels, as_annotations
from manyhands.annotations.columns import make_frame
from manyhands.core.arrays import AnyArray, Codes, Floats
from manyhands.core.errors import DataError
from manyhands.core.kernels import kernel

Columns = dict[str, AnyArray]


def by_class(labels: Labels) -> Any:
    """A row per class: how often it is used, and how far annotators agree about it.

    `agreement` is the probability that another annotator of the item says the class too, given
    that one said it, with its interval over items; `kappa` is Fleiss' kappa of this class against
    all others. `confused_with` is the class that the others say most often instead, in the share
    `confused` of the cases; labels that are sets have neither.

    >>> frame = by_class([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]])
    >>> frame["agreement"].round(3).tolist(), frame["confused_with"].tolist()
    ([0.667, 0.8], ['b', 'a'])
    """
    ann = as_annotations(labels)
    return make_frame(class_columns(ann), ann.backend)


def by_annotator(labels: Labels) -> Any:
    """A row per annotator: agreement with the other annotators of the same items.

    For classes `agreement` is the mean share of other labels that are the same, with a Wilson
    interval over items, and `kappa` the mean of Cohen's kappas with the others, weighted by common
    items. For sets `agreement` is the mean MASI, here and in the other tables. For numbers there
    are `correlation` with the mean of the others, `bias` (the mean difference to it) and
    `difference` (the mean absolute difference).
    """
    ann = as_annotations(labels)
    return make_frame(annotator_columns(ann), ann.backend)


def by_pair(labels: Labels, *, min_shared: int = 1) -> Any:
    """A row per pair of annotators with at least `min_shared` common items.

    For classes there are `agreement`, Cohen's `kappa` and its interval, NaN where the common items
    show no spread; for numbers `correlation` and `bias`, the mean of the first minus that of the
    second.
    """
    ann = as_annotations(labels)
    return make_frame(pair_columns(ann, min_shared=min_shared), ann.backend)


def by_item(labels: Labels) -> Any:
    """A row per item: the number of labels, and how far they agree; NaN with one label.

    For classes `agreement` is the share of pairs of labels that are the same; for numbers there are
    `mean` and `spread`, the standard deviation.
    """
    ann = as_annotations(labels)
    return make_frame(item_columns(ann), ann.backend)


def class_columns(annotations: Annotations) -> Columns:
    """The columns of `by_class`."""
    if annotations.kind == "numbers":
        raise DataError("labels are numbers: there are no classes to compare")
    if annotations.kind == "multilabel":
        return _columns_of_members(annotations)
    ann = one_label_each(annotations)
    runs = LabelRuns.of(ann, ann.label, ann.n_classes)
    whole = runs.whole
    paired_r = whole.is_paired_i[runs.item_r]
    count_r, code_r = whole.mass_r[paired_r], runs.code_r[paired_r]
    size_r = whole.labels_i[runs.item_r][paired_r]
    n_k, n_items = _sum(count_r, code_r, ann.n_classes), int(whole.is_paired_i.sum())
    # of the other labels of an item, those of the class: sums of a ratio
    same_r = count_r * (count_r - 1) / (size_r - 1)
    agreement_k = _ratio(_sum(same_r, code_r, ann.n_classes), n_k)
    spread_k = _sum((same_r - agreement_k[code_r] * count_r) ** 2, code_r, ann.n_classes)
    error_k = np.sqrt(spread_k * n_items / max(n_items - 1, 1)) * _ratio(np.ones(len(n_k)), n_k)
    half_k = float(special.stdtrit(max(n_items - 1, 1), 0.975)) * error_k
    low_k, high_k = without_points(agreement_k - half_k, agreement_k + half_k)
    confused_k, with_k = _confusions(runs)
    return {
        "class": ann.classes, "n_labels": n_k.astype(np.int64), "share": n_k / max(n_k.sum(), 1.0),
        "agreement": agreement_k, "low": np.maximum(low_k, 0.0), "high": np.minimum(high_k, 1.0),
        "kappa": _kappas_by_class(code_r, count_r, size_r, n_items, ann.n_classes),
        "confused_with": _named(ann.classes, with_k), "confused": _ratio(confused_k, n_k),
    }  # fmt: skip


def _columns_of_members(annotations: Annotations) -> Columns:
    """The same of labels that are sets: every class is one that a set has or not."""
    rows = [class_columns(annotations.of_class(name)) for name in annotations.classes.tolist()]
    names = ("n_labels", "share", "agreement", "low", "high", "kappa")
    has = {name: np.array([row[name][1] for row in rows]) for name in names}
    return {"class": annotations.classes} | has


def _kappas_by_class(
    code_r: Codes, count_r: Floats, size_r: Floats, n_items: int, n_classes: int
) -> Floats:
    """Fleiss' kappa of every class against all others."""
    share_k = _sum(count_r / size_r, code_r, n_classes) / max(n_items, 1)
    differ_r = 2.0 * count_r * (size_r - count_r) / (size_r * (size_r - 1.0))
    differ_k = _sum(differ_r, code_r, n_classes) / max(n_items, 1)
    return 1.0 - _ratio(differ_k, 2.0 * share_k * (1.0 - share_k))


def _confusions(runs: LabelRuns) -> tuple[Floats, Codes]:
    """How often another label is of the class most often said instead, and this class or -1."""
    whole = runs.whole
    scale_i = np.divide(
        1.0, whole.labels_i - 1.0, out=np.zeros(runs.n_items), where=whole.is_paired_i
    )
    place = (runs.item_r, runs.code_r)
    shape = (runs.n_items, runs.n_codes)
    count_ik = sparse.csr_array((whole.mass_r, place), shape=shape)
    scaled_ik = sparse.csr_array((whole.mass_r * scale_i[runs.item_r], place), shape=shape)
    pairs_kk = sparse.coo_array(scaled_ik.T @ count_ik)
    other = pairs_kk.row != pairs_kk.col
    row, column, mass = pairs_kk.row[other], pairs_kk.col[other], pairs_kk.data[other]
    order = np.lexsort((column, -mass, row))
    row, column, mass = row[order], column[order], mass[order]
    first = np.flatnonzero(np.diff(row, prepend=-1))
    confused_k, with_k = np.zeros(runs.n_codes), np.full(runs.n_codes, -1, dtype=np.int32)
    confused_k[row[first]], with_k[row[first]] = mass[first], column[first]
    return confused_k, np.where(confused_k > 0, with_k, -1)


def annotator_columns(annotations: Annotations, table: PairTable | None = None) -> Columns:
    """The columns of `by_annotator`; `table` are the pairs of annotators, if they are known."""
    if annotations.kind == "multilabel":
        return SetPairs.of(annotations).annotator_columns()
    ann = one_label_each(annotations)
    others_n = np.asarray(ann.labels_per_item[ann.item] - 1.0, dtype=np.float64)
    used = others_n > 0
    who_n, others_n = ann.annotator[used], others_n[used]
    n_a = _sum(np.ones(len(who_n)), who_n, ann.n_annotators)
    columns: Columns = {
        "annotator": ann.annotators, "n_labels": ann.labels_per_annotator,
        "n_shared": n_a.astype(np.int64),
    }  # fmt: skip
    if ann.kind == "numbers":
        return columns | _number_columns(ann, used, who_n, others_n, n_a)
    same_n = same_labels(ann)
    agreement_a = _ratio(_sum(same_n[used] / others_n, who_n, ann.n_annotators), n_a)
    low_a, high_a = wilson(agreement_a, n_a)
    pairs = table or PairTable.of(ann, ann.label, None)
    return columns | {
        "agreement": agreement_a, "low": low_a, "high": high_a,
        "kappa": _mean_kappas(pairs, ann.n_annotators),
    }  # fmt: skip


def _number_columns(
    ann: Annotations, used: AnyArray, who_n: Codes, others_n: Floats, n_a: Floats
) -> Columns:
    value_n = ann.label[used]
    total_i = np.bincount(ann.item, weights=ann.label, minlength=ann.n_items)
    rest_n = (total_i[ann.item[used]] - value_n) / others_n
    n = ann.n_annotators
    mean_a, rest_mean_a = _ratio(_sum(value_n, who_n, n), n_a), _ratio(_sum(rest_n, who_n, n), n_a)
    own_n, other_n = value_n - mean_a[who_n], rest_n - rest_mean_a[who_n]
    scale_a = np.sqrt(_sum(own_n**2, who_n, n) * _sum(other_n**2, who_n, n))
    return {
        "correlation": _ratio(_sum(own_n * other_n, who_n, n), scale_a),
        "bias": mean_a - rest_mean_a,
        "difference": _ratio(_sum(np.abs(value_n - rest_n), who_n, n), n_a),
    }


def _mean_kappas(table: PairTable, n_annotators: int) -> Floats:
    """The mean of Cohen's kappas with the others, weighted by common items."""
    found = table.usual
    weight_p = found.shared * ~np.isnan(found.value)
    ends = np.append(table.first, table.second)
    total_a = _sum(np.tile(weight_p * np.nan_to_num(found.value), 2), ends, n_annotators)
    return _ratio(total_a, _sum(np.tile(weight_p, 2), ends, n_annotators))


def pair_columns(
    annotations: Annotations, table: PairTable | None = None, *, min_shared: int = 1
) -> Columns:
    """The columns of `by_pair`; `table` are the pairs of annotators, if they are known."""
    if annotations.kind == "multilabel":
        return SetPairs.of(annotations, min_shared=min_shared).pair_columns()
    ann = one_label_each(annotations)
    if ann.kind == "numbers":
        # differences between annotators are small beside a large mean
        centred = ann.label - ann.label.mean() if len(ann.label) else ann.label
        found = pair_moments(ann, centred, min_shared=min_shared)
        return {
            "first": ann.annotators[found.first], "second": ann.annotators[found.second],
            "n_shared": found.shared, "correlation": found.correlation(),
            "bias": (found.sum_first - found.sum_second) / found.shared,
        }  # fmt: skip
    table = table or PairTable.of(ann, ann.label, None, min_shared=min_shared)
    kappas = table.usual
    low, high = kappas.ends(table)
    return {
        "first": ann.annotators[table.first], "second": ann.annotators[table.second],
        "n_shared": kappas.shared.astype(np.int64), "agreement": kappas.observed,
        "kappa": kappas.value, "low": low, "high": high,
    }  # fmt: skip


def item_columns(annotations: Annotations) -> Columns:
    """The columns of `by_item`."""
    if annotations.kind == "multilabel":
        return SetPairs.of(annotations).item_columns()
    ann = one_label_each(annotations)
    columns: Columns = {"item": ann.items, "n_labels": ann.labels_per_item}
    if ann.kind == "numbers":
        n_i = ann.labels_per_item.astype(np.float64)
        mean_i = _ratio(_sum(ann.label, ann.item, ann.n_items), n_i)
        square_i = _sum((ann.label - mean_i[ann.item]) ** 2, ann.item, ann.n_items)
        return columns | {"mean": mean_i, "spread": np.sqrt(_ratio(square_i, n_i - 1.0))}
    runs = LabelRuns.of(ann, ann.label, ann.n_classes)
    agreement_i = ChanceStatistic(runs, "percent", None).agreement_of_items(runs.whole)
    top_i = _most_frequent(runs.item_offsets, runs.code_r, runs.whole.mass_r)
    agreement_i = np.where(runs.whole.is_paired_i, agreement_i, np.nan)
    return columns | {"agreement": agreement_i, "label": _named(ann.classes, top_i)}


def type_columns(labels: TokenLabels) -> Columns:
    """A row per type of span: the number of spans, and F1 exact and by overlap."""
    table = SpanPairs.of(labels)
    type_t, n = table.type_s[table.span_t], len(table.types)
    total_k = _sum(np.ones(len(type_t)), type_t, n)
    exact_k, overlap_k = (_sum(each * 1.0, type_t, n) for each in _matches(table))
    return {
        "class": np.array(table.types, dtype=object),
        "n_spans": np.bincount(table.type_s, minlength=n),
        "f1": _ratio(exact_k, total_k), "f1_overlap": _ratio(overlap_k, total_k),
    }  # fmt: skip


def span_pair_columns(labels: TokenLabels) -> Columns:
    """A row per pair of annotators who marked spans in common sentences: F1 of their spans."""
    ann, table = labels.annotations, SpanPairs.of(labels)
    own_t, other_t = table.annotator_s[table.span_t].astype(np.int64), table.other_t
    low_t, high_t = np.minimum(own_t, other_t), np.maximum(own_t, other_t)
    pairs, row_t = np.unique(low_t * max(ann.n_annotators, 1) + high_t, return_inverse=True)
    first, second = np.divmod(pairs, max(ann.n_annotators, 1))
    total_p = _sum(np.ones(len(row_t)), row_t, len(pairs))
    exact_p, overlap_p = (_sum(each * 1.0, row_t, len(pairs)) for each in _matches(table))
    return {
        "first": ann.annotators[first], "second": ann.annotators[second],
        "n_spans": total_p.astype(np.int64), "f1": _ratio(exact_p, total_p),
        "f1_overlap": _ratio(overlap_p, total_p),
    }  # fmt: skip


def span_annotator_columns(labels: TokenLabels) -> Columns:
    """A row per annotator: F1 of their spans with those of all others."""
    ann, table = labels.annotations, SpanPairs.of(labels)
    own_t, n = table.annotator_s[table.span_t], ann.n_annotators
    ends = np.append(own_t, table.other_t)
    total_a = _sum(np.ones(len(ends)), ends, n)
    exact_a, overlap_a = (_sum(np.tile(each, 2) * 1.0, ends, n) for each in _matches(table))
    return {
        "annotator": ann.annotators, "n_labels": ann.labels_per_annotator,
        "n_spans": np.bincount(table.annotator_s, minlength=n),
        "f1": _ratio(exact_a, total_a), "f1_overlap": _ratio(overlap_a, total_a),
    }  # fmt: skip


def _matches(table: SpanPairs) -> tuple[AnyArray, AnyArray]:
    return table.is_exact_t, table.is_overlap_t


def _named(names: AnyArray, code: Codes) -> AnyArray:
    """The names of codes; None for -1."""
    if len(code) and (code >= 0).all():
        return np.asarray(names[code])
    return np.asarray(np.array([*names.tolist(), None], dtype=object)[code])


def _sum(value: Floats, group: AnyArray, n_groups: int) -> Floats:
    return np.asarray(np.bincount(group, weights=value, minlength=n_groups), dtype=np.float64)


def _ratio(above: Floats, below: Floats) -> Floats:
    """The ratio; NaN where nothing is below."""
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


@kernel
def _most_frequent(offsets: AnyArray, code_r: Codes, mass_r: Floats) -> Codes:
    """The most frequent code of every item, the lowest of those that tie; -1 without labels."""
    top_i = np.full(len(offsets) - 1, -1, dtype=np.int32)
    for i in range(len(offsets) - 1):
        most = 0.0
        for r in range(offsets[i], offsets[i + 1]):
            if mass_r[r] > most:
                most, top_i[i] = mass_r[r], code_r[r]
    return top_i
