"""Labels in other codes: of known people for new items, of other items."""

from dataclasses import replace

import numpy as np

from manyhands.annotations.annotations import Annotations
from manyhands.annotations.grouping import pair_order
from manyhands.annotations.vocabulary import Vocabulary
from manyhands.core.arrays import read_only


def in_codes_of(known: Annotations, new: Annotations) -> Annotations:
    """New labels with the codes that others have for annotators and classes.

    Annotators who are not among the known come behind them; a class must be among theirs.
    """
    annotators = known.annotator_vocabulary.extended(new.annotator_vocabulary)
    annotator = annotators.codes(new.annotators)[new.annotator]
    label, classes = new.label, known.class_vocabulary
    if classes is not None:
        recode = np.array([classes.code(name) for name in new.classes], dtype=np.int32)
        label = recode[label] if len(recode) else label
    order = pair_order(new.item, annotator, new.n_items, len(annotators))
    if order is not None:
        annotator, label = annotator[order], label[order]
    return replace(
        new,
        annotator=read_only(annotator),
        label=read_only(label),
        annotator_vocabulary=annotators,
        class_vocabulary=classes,
    )


def of_items(annotations: Annotations, names: Vocabulary) -> Annotations:
    """The same labels with these items, in this order; all that have labels must be among them."""
    place_i = names.codes(annotations.items.tolist())
    place_n = place_i[annotations.item]
    order = np.argsort(place_n, kind="stable")
    return replace(
        annotations,
        item=read_only(place_n[order]),
        annotator=read_only(annotations.annotator[order]),
        label=read_only(annotations.label[order]),
        item_vocabulary=names,
    )
