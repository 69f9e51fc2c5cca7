"""A consensus whose annotators and items have numbers in place of names."""

from dataclasses import replace

from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations
from manyhands.annotations.vocabulary import Vocabulary


def without_names(consensus: Consensus) -> Consensus:
    """The same consensus; annotators and items are numbered in the order of their codes.

    Classes keep their names. Texts of items and the name of the file are dropped.

    >>> import manyhands as mh
    >>> labels = mh.Annotations.from_arrays(["x", "y"], ["Ann", "Bob"], ["cat", "dog"])
    >>> without_names(mh.aggregate(labels, "majority")).annotations.annotators.tolist()
    ['annotator 1', 'annotator 2']
    """
    return replace(consensus, annotations=_numbered(consensus.annotations))


def _numbered(annotations: Annotations) -> Annotations:
    def names(noun: str, n: int) -> Vocabulary:
        return Vocabulary.of([f"{noun} {number + 1}" for number in range(n)], noun)

    return replace(
        annotations,
        annotator_vocabulary=names("annotator", annotations.n_annotators),
        item_vocabulary=names("item", annotations.n_items),
        source=None,
    )
