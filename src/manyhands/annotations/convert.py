"""Labels as users have them: frames, matrices and dictionaries become annotations."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np

from manyhands.annotations.annotations import Annotations
from manyhands.annotations.choose import choose_columns
from manyhands.annotations.columns import (
    arrow_columns,
    find_column,
    is_candidate,
    numbered_annotators,
    open_frame,
)
from manyhands.annotations.dense import as_grid, filler
from manyhands.annotations.labels import Kind
from manyhands.annotations.vocabulary import encode
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError

# What is taken where annotations are: `Annotations`, a frame, a matrix, nested dictionaries.
Labels = Any
Form = Literal["annotations", "frame", "dictionaries", "matrix", "column"]

_NO_LABEL = (-1, "?")
_FORMS = (
    "a long frame (item, annotator, label), a matrix of items x annotators, "
    "{item: {annotator: label}} or Annotations"
)


def as_annotations(labels: Labels, *, kind: Kind | None = None) -> Annotations:
    """The annotations that a frame, a matrix or nested dictionaries hold.

    - `Annotations` are returned as they are.
    - A frame (pandas, polars, pyarrow ...) has one row per label. Its columns are found by their
      names, as in a file; `Annotations.from_frame` takes other names. A frame with a column of
      items and columns annotator_1, annotator_2 ... has one row per item. So has a pandas frame
      with columns 0, 1, 2, 3 ... and the items as its index.
    - A matrix (array, tensor or lists) has one row per item and one column per annotator. NaN, None
      and blank cells are no label. -1 is no label where the other labels are whole numbers, 0 or
      more, of two kinds or more; where -1 may as well be a label it is refused:
      `Annotations.from_dense` takes `missing`.
    - {item: {annotator: label}}.

    `kind` is the kind of labels that is needed; an error if they are not of it.

    >>> as_annotations([[0, 1, -1], [1, 1, 0]]).n_annotations
    5
    >>> as_annotations({"a": {"u": "cat", "v": "dog"}}).classes.tolist()
    ['cat', 'dog']
    """
    form, given = form_of(labels), _read_as(kind)
    if form == "annotations":
        found: Annotations = labels
    elif form == "frame":
        found = _from_frame(labels, given)
    elif form == "dictionaries":
        found = _from_dicts(labels, given)
    elif form == "matrix":
        _refuse_records(labels)
        found = Annotations.from_dense(labels, _missing_codes(_as_grid(labels)), kind=given)
    else:
        raise DataError(
            f"expected {_FORMS}; got one column of {len(_as_grid(labels))} labels: it does not say "
            "who gave them to which item"
        )
    return found if kind is None else found.as_kind(kind)


def _read_as(kind: Kind | None) -> Kind | None:
    """The kind to read labels as: text such as cat;dog is a set only if sets are needed."""
    return kind if kind == "multilabel" else None


def form_of(labels: Labels) -> Form:
    """The form of labels; a `DataError` if they have none of the forms that are known.

    >>> form_of([["cat", "dog"]]), form_of(["cat", "dog"]), form_of({"a": {"u": "cat"}})
    ('matrix', 'column', 'dictionaries')
    """
    if isinstance(labels, Annotations):
        return "annotations"
    if getattr(labels, "kind", None) == "pairs":
        raise DataError(
            f"expected {_FORMS}; got comparisons of two items: rank these with aggregate, or train "
            "on them with CrowdRanker"
        )
    if is_frame(labels):
        return "frame"
    if isinstance(labels, Mapping):
        return "dictionaries"
    n_axes = _as_grid(labels).ndim
    if n_axes not in (1, 2):
        raise DataError(f"expected {_FORMS}; got {_described(labels)}")
    return "column" if n_axes == 1 else "matrix"


def is_frame(labels: Labels) -> bool:
    """Whether labels are a table of pandas, polars, pyarrow and the like, with named columns."""
    wrapped = nw.from_native(labels, pass_through=True)
    return isinstance(wrapped, nw.DataFrame | nw.LazyFrame)


def _refuse_records(labels: Labels) -> None:
    """Raise a `DataError` for a list of (item, annotator, label), which is no matrix."""
    rows = labels if isinstance(labels, list) else []
    if not all(isinstance(row, tuple) and len(row) == 3 for row in rows) or not rows:
        return
    item, annotator, label = (set(map(str, column)) for column in zip(*rows, strict=True))
    if item.isdisjoint(annotator) and label.isdisjoint(item | annotator):
        raise DataError(
            "a list of tuples may be rows of (item, annotator, label), or a matrix of items x "
            "annotators: give Annotations.from_arrays(*zip(*rows)), or a list of lists"
        )


def one_annotator(labels: Labels) -> Annotations:
    """One label of every item by one annotator, called 0, from a column of labels.

    >>> one_annotator(["dog", "cat"]).label.tolist()
    [1, 0]
    """
    if not hasattr(labels, "__len__"):
        labels = np.asarray(labels)
    rows = np.arange(len(labels))
    return Annotations.from_arrays(rows, np.zeros_like(rows), labels, items=rows)


def items_in_order(frame: Any) -> bool:
    """Whether the items of a long frame first appear in the order that annotations give them.

    Annotations sort items by name. Where the frame has another order, the rows of features that
    belong to it may follow either.
    """
    table = open_frame(frame)
    if _wide_columns(table.columns)[1]:
        return True
    chosen = choose_columns(table.columns, arrow_columns(table), check_labels=False)
    codes, names = encode(chosen.cells[0], "item")
    if np.array_equal(names.names, np.arange(len(names))):
        return True  # the numbers of the rows
    first = np.unique(codes, return_index=True)[1]
    return bool((np.diff(first) > 0).all())


def _from_frame(frame: Any, kind: Kind | None) -> Annotations:
    table = open_frame(frame)
    item, named = _wide_columns(table.columns)
    if named:
        cells = [table.get_column(name).to_list() for name in named]
        grid = np.array(cells, dtype=object).T
        names = table.get_column(item).to_list()
        owners: Any = {"items": names, "annotators": named}
        return Annotations.from_dense(grid, _missing_codes(grid), kind=kind, **owners)
    if _is_unnamed(table.columns):
        index = getattr(frame, "index", None)
        rows = None if index is None else index.tolist()
        return Annotations.from_dense(frame, _missing_codes(_as_grid(frame)), kind=kind, items=rows)
    try:
        return Annotations.from_frame(frame, kind=kind)
    except DataError as error:
        raise DataError(
            *error.args,
            "; these are settings of Annotations.from_frame, and Annotations.from_dense takes a "
            "frame with a column per annotator",
        ) from None


def _is_unnamed(columns: Sequence[Any]) -> bool:
    """Whether a frame is a matrix: its columns are counted. Three may be those of a long frame."""
    return len(columns) > 3 and list(columns) == list(range(len(columns)))


def _wide_columns(columns: Sequence[str]) -> tuple[str, list[str]]:
    """The columns of items and of numbered annotators; no annotators for another frame."""
    named = numbered_annotators(columns)
    items = [name for name in columns if name not in named and is_candidate(name, "item")]
    return (find_column(items, "item"), named) if named and items else ("", [])


def _from_dicts(labels: Mapping[Any, Any], kind: Kind | None) -> Annotations:
    if not labels or not all(isinstance(row, Mapping) for row in labels.values()):
        raise DataError(f"expected {_FORMS}; got a dictionary of another form")
    return Annotations.from_dicts(labels, kind=kind)


def _as_grid(labels: Any) -> AnyArray:
    rows = isinstance(labels, Iterable) or hasattr(labels, "__array__")
    if isinstance(labels, str | Path):
        raise DataError(f"expected {_FORMS}; got {str(labels)!r}: read a file with mh.read(path)")
    if not rows:
        raise DataError(f"expected {_FORMS}; got {_described(labels)}")
    try:
        return as_grid(labels)
    except (TypeError, ValueError):  # lists of different lengths
        raise DataError("the rows of the matrix of labels have different lengths") from None


def _described(labels: Any) -> str:
    shape = getattr(labels, "shape", None)
    name = type(labels).__name__
    return name if shape is None else f"{name} of shape {tuple(shape)}"


def _missing_codes(grid: AnyArray) -> tuple[Any, ...]:
    """The codes of a matrix that mean "no label"; an error where -1 may be a label."""
    numbers = _whole_matrix(grid)
    code = None if numbers is None else filler(numbers, (-1,))
    if code is not None:
        return (code,)
    if numbers is None or not (numbers == -1).any():
        return _NO_LABEL
    others = np.unique(numbers[~np.isnan(numbers) & (numbers != -1)])
    if len(others) and others[0] < 0:
        return ()  # -1 is one of several numbers below 0
    codes = len(others) == 0 or (len(others) >= 2 and bool((others % 1 == 0).all()))
    if codes and not np.isnan(numbers).any():
        return _NO_LABEL
    raise DataError(
        "-1 may be a label or stand for 'no label' in this matrix; say which with "
        "Annotations.from_dense(matrix, missing=-1) or Annotations.from_dense(matrix, missing=())"
    )


def _whole_matrix(grid: AnyArray) -> AnyArray | None:
    """The cells as numbers, NaN for empty ones; None if some cells are words."""
    if grid.dtype.kind in "biuf":
        return grid.astype(np.float64)
    try:
        return np.array([[_cell(cell) for cell in row] for row in grid.tolist()], dtype=float)
    except ValueError:
        return None


def _cell(cell: object) -> float:
    blank = cell is None or str(cell).strip() in ("", "?", "<NA>", "NaT")
    return float("nan") if blank else float(str(cell))
