"""The same labels as another kind: classes, levels, sets of classes or numbers."""

from typing import cast

import numpy as np

from manyhands.annotations.label_sets import SetVocabulary
from manyhands.annotations.labels import Kind, has_decimals, in_order_of_levels
from manyhands.annotations.levels import number_of_level
from manyhands.annotations.vocabulary import (
    Vocabulary,
    join_names,
    name_to_text,
    normalize_classes,
)
from manyhands.core.arrays import AnyArray, read_only
from manyhands.core.errors import DataError

_NEEDED = {"classes": "one class is", "ordinal": "one level is", "numbers": "numbers are"}


def labels_as_kind(
    label: AnyArray, classes: Vocabulary | None, kind: Kind
) -> tuple[AnyArray, Vocabulary | None]:
    """Labels as classes, levels, sets or numbers, and their classes; see `Annotations.as_kind`."""
    if classes is None:
        if kind == "multilabel":
            return classes_as_sets(*numbers_as_classes(label))
        return (numbers_as_levels if kind == "ordinal" else numbers_as_classes)(label)
    if kind == "multilabel":
        return classes_as_sets(label, classes)
    if classes.kind == "multilabel":
        label, classes = sets_as_classes(label, cast(SetVocabulary, classes), kind)
    if kind == "classes":
        return label, classes
    if kind == "ordinal":
        place_k, levels = in_order_of_levels(classes)
        return place_k[label], levels
    return classes_as_numbers(label, classes), None


def classes_as_sets(label: AnyArray, classes: Vocabulary) -> tuple[AnyArray, SetVocabulary]:
    """Every label as the set of one class."""
    plain = Vocabulary(classes.names, classes.noun)  # sets of levels have no order
    return label, SetVocabulary.of_members(plain, np.eye(len(classes), dtype=bool))


def sets_as_classes(
    label: AnyArray, sets: SetVocabulary, kind: Kind
) -> tuple[AnyArray, Vocabulary]:
    """Sets of one class each as these classes; other sets raise a `DataError`."""
    n_classes_n = sets.member_sk[label].sum(axis=1)
    if (n_classes_n != 1).any():
        example = sets.names[label[int(n_classes_n.argmax())]]
        raise DataError(
            f"labels are sets of classes ({example}) where {_NEEDED[kind]} "
            "needed; use a method for sets such as multilabel-dawid-skene, or take the labels "
            "about one class with Annotations.of_class"
        )
    return sets.member_sk.argmax(axis=1).astype(np.int32)[label], sets.classes


def numbers_as_classes(label: AnyArray) -> tuple[AnyArray, Vocabulary]:
    """Whole numbers as class codes; numbers with decimals raise a `DataError`."""
    if has_decimals(label):
        raise DataError(
            "labels are numbers with decimals where classes are needed; "
            "use a method for numbers: gaussian, mean or median"
        )
    names, codes = np.unique(label.astype(np.int64), return_inverse=True)
    return codes.astype(np.int32), Vocabulary(read_only(names), "class")


def numbers_as_levels(label: AnyArray) -> tuple[AnyArray, Vocabulary]:
    """Every distinct number as a level, from the lowest to the highest."""
    value_k, codes = np.unique(label, return_inverse=True)
    names = normalize_classes([name_to_text(value) for value in value_k.tolist()])
    return codes.astype(np.int32), Vocabulary(read_only(names), "class", ordered=True)


def classes_as_numbers(label: AnyArray, classes: Vocabulary) -> AnyArray:
    """Classes whose names are numbers as these numbers; words raise a `DataError`."""
    numbers = [number_of_level(name) for name in classes.names.tolist()]
    if any(number is None or not np.isfinite(number) for number in numbers):
        raise DataError(
            f"labels are classes ({join_names(classes.names, 3)}) where numbers are needed; "
            "use a method for classes such as dawid-skene"
        )
    return np.array(numbers, dtype=np.float64)[label]
