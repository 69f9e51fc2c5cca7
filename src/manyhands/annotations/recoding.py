"""The same labels under other codes: those of another table, or those of other items."""

from dataclasses import replace

import numpy as np

from manyhands.annotations.annotations import Annotations
from manyhands.annotations.grouping import pair_order
from manyhands.annotations.vocabulary import Vocabulary
from manyhands.core.arrays import read_only


def recode_like(annotations: Annotations, reference: Annotations) -> Annotations:
    """The labels with the annotator and class codes of a reference.

    New annotators get the codes after those of the reference. A class that the reference does not
    have raises a `DataError`.
    """
    annotators = reference.annotator_vocabulary.extended(annotations.annotator_vocabulary)
    annotator = annotators.codes(annotations.annotators)[annotations.annotator]
    label, classes = annotations.label, reference.class_vocabulary
    if classes is not None:
        code_k = np.array([classes.code(name) for name in annotations.classes], dtype=np.int32)
        label = code_k[label] if len(code_k) else label
    order = pair_order(annotations.item, annotator, annotations.n_items, len(annotators))
    if order is not None:
        annotator, label = annotator[order], label[order]
    return replace(
        annotations,
        annotator=read_only(annotator),
        label=read_only(label),
        annotator_vocabulary=annotators,
        class_vocabulary=classes,
    )


def reindex_items(annotations: Annotations, items: Vocabulary) -> Annotations:
    """The labels with these items in this order; every labelled item must be among them."""
    code_i = items.codes(annotations.items.tolist())
    item_n = code_i[annotations.item]
    order = np.argsort(item_n, kind="stable")
    return replace(
        annotations,
        item=read_only(item_n[order]),
        annotator=read_only(annotations.annotator[order]),
        label=read_only(annotations.label[order]),
        item_vocabulary=items,
    )
