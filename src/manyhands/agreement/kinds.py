"""Labels of the kind that a coefficient needs, or an error that names a coefficient for them."""

import numpy as np

from manyhands.annotations import Annotations, Labels, as_annotations
from manyhands.annotations.vocabulary import join_names
from manyhands.core.errors import DataError, SettingName

_LARGEST = 1e100


def default_level(annotations: Annotations) -> str:
    """The level of measurement that labels have if nothing else is said."""
    if annotations.kind == "numbers":
        return "interval"
    if annotations.kind == "multilabel":
        return "sets"
    return "ordinal" if annotations.ordered else "nominal"


def class_labels(labels: Labels, name: str) -> Annotations:
    """Annotations with classes."""
    annotations = as_annotations(labels)
    try:
        return annotations.as_kind("classes")
    except DataError:
        require_no_sets(annotations, name)
        raise DataError(
            f"{name} compares classes, and the labels are numbers with decimals; use icc, or alpha "
            "with ", SettingName("level", "interval"),
        ) from None  # fmt: skip


def number_labels(labels: Labels, name: str) -> Annotations:
    """Annotations with numbers."""
    annotations = as_annotations(labels)
    try:
        numbers = annotations.as_kind("numbers")
    except DataError:
        require_no_sets(annotations, name)
        raise DataError(
            f"{name} compares numbers, and the labels are classes "
            f"({join_names(annotations.classes, 3)}); use alpha with ",
            SettingName("level", "nominal"), " or ", SettingName("level", "ordinal"),
        ) from None  # fmt: skip
    if len(numbers.label) and np.abs(numbers.label).max() > _LARGEST:
        raise DataError(
            f"{name} needs numbers between -1e100 and 1e100; the squares of larger ones cannot be "
            "computed"
        )
    return numbers


def require_no_sets(annotations: Annotations, name: str) -> None:
    """Raise a `DataError` for labels that are sets of classes."""
    if annotations.kind == "multilabel":
        raise DataError(
            f"{name} compares single labels, and the labels are sets of classes; use alpha with "
            "the level sets, or the labels about one class with Annotations.of_class"
        )
