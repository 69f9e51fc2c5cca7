"""Truths of items as users have them: dictionaries, frames, and lists in the order of the items."""

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals as nw
import numpy as np

from manyhands.annotations.columns import find_column, is_candidate, open_frame
from manyhands.annotations.vocabulary import (
    Vocabulary,
    normalize_classes,
    normalize_names,
    repeated,
)
from manyhands.core.errors import DataError

# What is taken where truths are: {item: truth}, a frame, a series, or a list with one per item.
Truth = Any

_REMEDY = "name the columns of a truth table item and truth"
_MISSING = frozenset(["", "nan", "none", "<na>", "nat"])


class ListedTruths(dict[int, Any]):
    """{0: truth, 1: truth ...}: truths in the order of the items, without the names of these.

    `n_items` counts the items, also those without a truth, and `path` is the file, if it is one.
    """

    def __init__(self, truths: Iterable[Any], path: str = "") -> None:
        cells = list(truths)
        given = [row for row, cell in enumerate(cells) if not _is_blank(cell)]
        values = normalize_classes([cells[row] for row in given]).tolist()
        super().__init__(zip(given, values, strict=True))
        self.n_items, self.path = len(cells), path

    def of_rows(self, items: Vocabulary) -> "ListedTruths":
        """These truths, if the items are 0, 1, 2 ... and as many; a `DataError` otherwise."""
        where = f"{self.path}: " if self.path else ""
        if self.n_items != len(items):
            raise DataError(
                f"{where}{self.n_items} truths in a list, and there are {len(items)} items; give a "
                "table with columns item and truth"
            )
        if not np.array_equal(np.sort(items.names), np.arange(len(items))):
            raise DataError(
                f"{where}a list of truths is for items that are the rows of a matrix, 0, 1, 2 ...; "
                f"these are called {items.names[0]!s} ...; give a table with columns item and truth"
            )
        return self

    def __reduce__(self) -> Any:
        cells = [self.get(row) for row in range(self.n_items)]
        return type(self), (cells, self.path)


def as_truths(truth: Truth, items: Vocabulary) -> Mapping[Any, Any]:
    """The truths of items by their names.

    - A dictionary {item: truth} is returned as it is.
    - A frame (pandas, polars, pyarrow ...) has columns item and truth.
    - A pandas series with names of items as its index.
    - A list or array has one truth per item, None or NaN where it is not known. Only items that are
      the rows of a matrix, 0, 1, 2 ..., have an order to follow; others are refused.

    >>> items = Vocabulary.of([0, 1, 2], "item")
    >>> as_truths(["cat", None, "dog"], items)
    {0: 'cat', 2: 'dog'}
    """
    if hasattr(truth, "of_rows"):
        listed: ListedTruths = truth
        return listed.of_rows(items)
    if isinstance(truth, Mapping):
        return truth
    wrapped = nw.from_native(truth, pass_through=True, allow_series=True)
    if isinstance(wrapped, nw.DataFrame | nw.LazyFrame):
        return _of_frame(truth)
    index = getattr(truth, "index", None)
    if isinstance(wrapped, nw.Series) and index is not None and not _counts_rows(index):
        return _by_name(index.tolist(), wrapped.to_list())
    if isinstance(truth, str) or not hasattr(truth, "__len__") or np.ndim(truth) != 1:
        raise DataError(
            "expected truths as {item: truth}, a frame with columns item and truth, or one truth "
            f"per item; got {type(truth).__name__}"
        )
    return ListedTruths(np.asarray(truth, dtype=object).tolist()).of_rows(items)


def _counts_rows(index: Any) -> bool:
    return np.array_equal(np.asarray(index), np.arange(len(index)))


def _of_frame(frame: Any) -> dict[Any, Any]:
    table = open_frame(frame)
    item = item_column(table.columns)
    truth = truth_column([name for name in table.columns if name != item])
    return _by_name(table.get_column(item).to_list(), table.get_column(truth).to_list())


def item_column(columns: list[str], given: str | None = None) -> str:
    """The column of items of a table of truths."""
    if given is None and columns.count("item") == 1:
        return "item"
    return find_column(columns, "item", given, _REMEDY)


def truth_column(columns: list[str], given: str | None = None) -> str:
    """The column of truths: of such a name, or else of labels."""
    if given is None and columns.count("truth") == 1:
        return "truth"
    candidates = any(is_candidate(column, "truth") for column in columns)
    labels = any(is_candidate(column, "label") for column in columns)
    role = "label" if given is None and labels and not candidates else "truth"
    return find_column(columns, role, given, _REMEDY)


def _by_name(items: list[Any], truths: list[Any]) -> dict[Any, Any]:
    rows = [row for row, cell in enumerate(truths) if not _is_blank(cell)]
    names = normalize_names([items[row] for row in rows]).tolist()
    twice = repeated(names)
    if twice:
        raise DataError(f"the truth of item {twice[0]!r} is given more than once")
    values = normalize_classes([truths[row] for row in rows]).tolist()
    return dict(zip(names, values, strict=True))


def _is_blank(cell: Any) -> bool:
    return cell is None or str(cell).strip().lower() in _MISSING
