"""Labels of a file without those of some annotators."""

from dataclasses import replace
from typing import Any, TypeVar

from manyhands.annotations import Annotations, Comparisons
from manyhands.annotations.labels import as_list
from manyhands.core.errors import DataError

Read = TypeVar("Read", Annotations, Comparisons)


def without_excluded(found: Read, exclude: Any, shown: str) -> Read:
    """The labels of a file without those of the annotators in `exclude`; a note says how many.

    An unknown name, or no label that is left, raises a `DataError` with the name of the file.
    """
    names = as_list(() if exclude is None else exclude)
    if not names:
        return found
    rest: Any
    try:
        rest = found.without_annotators(names)
    except DataError as error:
        raise DataError(f"{shown}: {error}") from None
    if rest.n_annotations == 0:
        raise DataError(f"{shown}: no label is left without the excluded annotators")
    n, n_labels = found.n_annotators - rest.n_annotators, found.n_annotations - rest.n_annotations
    note = f"{n} annotator{'' if n == 1 else 's'} excluded, with {n_labels} labels"
    source = rest.source and replace(rest.source, notes=(*rest.source.notes, note))
    noted: Read = replace(rest, source=source)
    return noted
