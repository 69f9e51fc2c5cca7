"""How far every annotator agrees with the others when giving a class: a row for both."""

from typing import Any

import numpy as np

from manyhands.agreement.runs import one_label_each, same_labels
from manyhands.annotations import Annotations, Labels, as_annotations
from manyhands.annotations.columns import make_frame
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError


def by_annotator_and_class(labels: Labels) -> Any:
    """A row per annotator and class that the annotator gave to items which others labelled too.

    `agreement` is the mean share of the other labels of these items that are the class; `n_shared`
    is the number of the items. The mean of an annotator's rows, weighted by `n_shared`, is the
    `agreement` of `by_annotator`. Of labels that are sets every class of a set counts.

    >>> frame = by_annotator_and_class([["a", "a"], ["a", "b"], ["b", "b"]])
    >>> frame[["annotator", "class", "n_shared", "agreement"]].values.tolist()
    [[0, 'a', 2, 0.5], [0, 'b', 1, 1.0], [1, 'a', 1, 1.0], [1, 'b', 2, 0.5]]
    """
    ann = as_annotations(labels)
    columns = annotator_class_columns(ann)
    named = {
        "annotator": ann.annotators[columns["annotator"]],
        "class": ann.classes[columns["class"]],
    }
    return make_frame(columns | named, ann.backend)


def annotator_class_columns(annotations: Annotations) -> dict[str, AnyArray]:
    """The columns of `by_annotator_and_class`, with codes of annotators and classes."""
    if annotations.kind == "numbers":
        raise DataError("labels are numbers: there are no classes to compare")
    if annotations.kind == "multilabel":
        return _columns_of_members(annotations)
    ann = one_label_each(annotations)
    others_n = ann.labels_per_item[ann.item] - 1.0
    used = others_n > 0
    size = np.int64(max(ann.n_classes, 1))
    key_n = ann.annotator[used] * size + ann.label[used]
    key, row_n = np.unique(key_n, return_inverse=True)
    share_n = same_labels(ann)[used] / others_n[used]
    n_r = np.bincount(row_n, minlength=len(key))
    return {
        "annotator": (key // size).astype(np.int32), "class": (key % size).astype(np.int32),
        "n_shared": n_r, "agreement": np.bincount(row_n, share_n, len(key)) / n_r,
    }  # fmt: skip


def _columns_of_members(annotations: Annotations) -> dict[str, AnyArray]:
    """The same of labels that are sets: every class is one that a set has or not."""
    parts = []
    for k, name in enumerate(annotations.classes.tolist()):
        found = annotator_class_columns(annotations.of_class(name))
        has = found["class"] == 1
        code = {"class": np.full(int(has.sum()), k, dtype=np.int32)}
        parts.append({key: each[has] for key, each in found.items()} | code)
    whole = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    order = np.lexsort((whole["class"], whole["annotator"]))
    return {key: each[order] for key, each in whole.items()}
