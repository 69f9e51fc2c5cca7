"""What annotations tell of labels that are sets: their members, and the labels about one class."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from manyhands.annotations.vocabulary import Vocabulary
from manyhands.core.arrays import AnyArray, Bools, read_only
from manyhands.core.errors import DataError


class SetViews:
    """Views of labels that are sets of classes; labels of other kinds raise a `DataError`."""

    label: AnyArray
    class_vocabulary: Vocabulary | None

    @property
    def members(self) -> Bools:
        """Which classes every label has, shape (n, k)."""
        return np.asarray(self._sets.member_sk[self.label])

    @property
    def label_sets(self) -> list[frozenset[Any]]:
        """Every label as a set of names of classes."""
        sets = self._sets.sets()
        return [sets[code] for code in self.label.tolist()]

    def of_class(self, name: Any) -> Self:
        """Whether every label has a class: labels of the classes False and True.

        >>> from manyhands.annotations import Annotations
        >>> ann = Annotations.from_arrays([1, 2], ["u", "u"], [{"cat"}, {"cat", "dog"}])
        >>> ann.of_class("dog").label_names().tolist()
        [False, True]
        """
        has_s = self._sets.member_sk[:, self._sets.classes.code(name)]
        label = read_only(has_s[self.label].astype(np.int32))
        classes = Vocabulary(read_only(np.array([False, True])), "class")
        whole: Any = self
        found: Self = replace(whole, label=label, class_vocabulary=classes)
        return found

    def as_wholes(self) -> Self:
        """Labels of classes, where every distinct set is a class.

        >>> from manyhands.annotations import Annotations
        >>> ann = Annotations.from_arrays([1, 2], ["u", "u"], [{"cat"}, {"cat", "dog"}])
        >>> ann.as_wholes().classes.tolist()
        ['cat', 'cat;dog']
        """
        whole: Any = self
        found: Self = replace(whole, class_vocabulary=self._sets.as_wholes())
        return found

    @property
    def _sets(self) -> Any:
        if self.class_vocabulary is None or self.class_vocabulary.kind != "multilabel":
            raise DataError(
                "labels are no sets of classes; read them with kind='multilabel', or convert them "
                "with Annotations.as_kind('multilabel')"
            )
        return self.class_vocabulary
