"""The same labels with the codes of other annotations, or with other items."""

from dataclasses import replace

from manyhands.annotations.annotations import Annotations, from_rows_like
from manyhands.annotations.vocabulary import Vocabulary


def recode_like(annotations: Annotations, reference: Annotations) -> Annotations:
    """The labels with the annotator and class codes of a reference.

    New annotators get the codes after those of the reference. A class that the reference does not
    have raises a `DataError`.
    """
    annotators = reference.annotator_vocabulary.extended(annotations.annotator_vocabulary)
    annotator = annotators.codes(annotations.annotators)[annotations.annotator]
    label, classes = annotations.label, reference.class_vocabulary
    if classes is not None and annotations.n_classes:
        assert annotations.class_vocabulary is not None, "these labels are of the same kind"
        code_k, classes = classes.matched(annotations.class_vocabulary)
        label = code_k[label]
    rows = replace(annotations.to_rows(), annotator=annotator, annotators=annotators)
    return from_rows_like(annotations, replace(rows, label=label, classes=classes))


def reindex_items(annotations: Annotations, items: Vocabulary) -> Annotations:
    """The labels with these items in this order; every labelled item must be among them."""
    item = items.codes(annotations.items.tolist())[annotations.item]
    return from_rows_like(annotations, replace(annotations.to_rows(), item=item, items=items))
