"""Labels or comparisons without those of some annotators."""

from dataclasses import replace
from typing import Any, Self

from manyhands.annotations.labels import as_list
from manyhands.core.arrays import read_only


class AnnotatorChoice:
    """What has `annotator` codes, an `annotator_vocabulary`, and `only` for some of its rows."""

    def without_annotators(self, names: Any) -> Self:
        """Without the labels of some annotators, who are no annotators any more; items stay.

        An unknown name raises a `DataError` with the nearest names.

        >>> import manyhands as mh
        >>> labels = ["a", "a", "b"], ["u", "w", "u"], ["cat", "dog", "cat"]
        >>> mh.Annotations.from_arrays(*labels).without_annotators("u")
        Annotations(1 labels of 2 items by 1 annotators, 2 classes)
        """
        own: Any = self
        code_a, left = own.annotator_vocabulary.without(as_list(names))
        rest = own.only(code_a[own.annotator] >= 0)
        codes = read_only(code_a[rest.annotator])
        found: Self = replace(rest, annotator=codes, annotator_vocabulary=left)
        return found
