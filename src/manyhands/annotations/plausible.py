"""Whether the cells of a column can be items, annotators or labels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations.columns import is_text
from manyhands.annotations.out_of_scope import refusal, regions_of_cells, tool_for
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName

Select = Callable[[Sequence[str]], Mapping[str, Any]]
_ENOUGH_ROWS = 20  # before cells that all differ mean anything
_NEARLY_ALL = 0.9
_SAMPLED = 2_000  # items that tell whether annotators label an item once
_LOOKED_AT = 20_000  # rows that tell whether nearly all cells differ
_PROSE = 4.0  # words in a cell, on average
_TEXTS_PER_ITEM = 1.1  # with more, a text is no text of the item
MOST_CLASSES = 20  # that a column of unknown name has, if it holds labels
_MOST_REGIONS = 100  # cells that tell whether they are boxes or masks
_LONGEST = 40  # characters of a cell in an error message
_TIME = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$"


class Cells:
    """Columns of a table, read when they are needed, and how they vary with each other.

    `select` gives the cells of some columns by their names.
    """

    def __init__(self, select: Select, names: Iterable[str]) -> None:
        self._select = select
        self.columns: dict[str, Any] = {}
        self._codes: dict[str, AnyArray] = {}
        self.load(names)

    def load(self, names: Iterable[str]) -> None:
        """Read columns that were not read yet."""
        new = [name for name in dict.fromkeys(names) if name not in self.columns]
        self.columns |= self._select(new) if new else {}

    def load_readable(self, names: Iterable[str]) -> list[str]:
        """Read columns that nobody asked for; those that cannot be read are left out."""
        names = list(names)
        try:
            self.load(names)
        except DataError:
            if len(names) == 1:
                return []
            names = [each for name in names for each in self.load_readable([name])]
        return names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def codes(self, name: str) -> AnyArray:
        """A whole number for every different cell of a column; blank cells have one too."""
        if name not in self._codes:
            self._codes[name] = _coded(self.columns[name])
        return self._codes[name]

    def n_distinct(self, *names: str) -> int:
        """Number of different cells of a column, or of combinations of cells of several."""
        return len(self.group_sizes(*names))

    def group_sizes(self, *names: str) -> AnyArray:
        """Number of rows of every different cell, or combination of cells of several columns."""
        codes = self.codes(names[0])
        for name in names[1:]:
            more = self.codes(name)
            codes = np.unique(codes * (int(more.max(initial=0)) + 1) + more, return_inverse=True)[1]
        sizes: AnyArray = np.bincount(codes)
        return sizes[sizes > 0]

    def is_unique(self, name: str) -> bool:
        """Whether every row has another cell."""
        return self.n_rows > 1 and self.n_distinct(name) == self.n_rows

    def determines(self, name: str, other: str) -> bool:
        """Whether rows with equal cells in a column have equal cells in another one too."""
        return self.n_distinct(name, other) == self.n_distinct(name)

    def same_groups(self, name: str, other: str) -> bool:
        """Whether two columns tell the same rows apart."""
        return self.determines(name, other) and self.determines(other, name)

    def repeated_share(self, name: str, other: str) -> float:
        """The share of rows that repeat the cells of two columns of a row before them."""
        return 1 - self.n_distinct(name, other) / self.n_rows if self.n_rows else 0.0

    def example(self, name: str) -> str:
        """The first cell of a column that is not blank, for an error message."""
        found = next(iter(distinct_cells(self.columns[name])), "")
        return repr(found if len(found) <= _LONGEST else found[:_LONGEST] + " ...")

    def sample(self, key: str, names: Iterable[str]) -> "Cells":
        """Some columns; of a long table, all rows of the first cells of a key."""
        columns = {name: self.columns[name] for name in names}
        if self.n_rows > _LOOKED_AT:
            keys = _compact(columns[key])
            few = pc.is_in(keys, value_set=pc.unique(keys[:_LOOKED_AT])[:_SAMPLED])
            columns = {name: column.filter(few) for name, column in columns.items()}
        return Cells(lambda _: columns, columns)


def require_labels(name: str, column: Any) -> None:
    """Raise a `DataError` for labels that are lists, texts, times, ids, boxes or masks."""
    problem = why_no_labels(column)
    if problem is None:
        return
    if problem in ("boxes", "masks"):
        raise refusal(problem, f"the column {name!r}, taken for the label")
    some = repr(next(iter(distinct_cells(column[:_LOOKED_AT])), ""))
    start = f"the column {name!r}, taken for the label, "
    if problem == "lists":
        raise DataError(
            f"{start}holds lists such as {some}: several "
            "labels in a cell; read them as sets of classes with ",
            SettingName("kind", "multilabel"), ", keep one label per row, name another column "
            "with ", SettingName("label", ...), ", or take every list for a class with ",
            SettingName("kind", "classes"),
        )  # fmt: skip
    if problem == "times":
        raise DataError(
            f"{start}holds times such as {some}; name the column of labels with ",
            SettingName("label", ...),
        )
    raise DataError(
        f"{start}has {len(distinct_cells(column))} different values in "
        f"{len(column)} rows, such as {some}: these are no classes; name the column of labels "
        "with ", SettingName("label", ...), ", or say what they are with ",
        SettingName("kind", "numbers"), " or ", SettingName("kind", "classes"),
        *text_advice(column),
    )  # fmt: skip


def text_advice(column: Any) -> tuple[str, ...]:
    """What to do with cells if they are free texts."""
    prose = is_prose(distinct_cells(column[:_LOOKED_AT]))
    return (f"; to combine free texts, {tool_for('texts')}",) if prose else ()


def why_no_labels(column: Any) -> str | None:
    """What cells are instead of labels: "boxes", "masks", "lists", "times", "texts"; or None."""
    distinct = distinct_cells(column[:_LOOKED_AT])
    regions = regions_of_cells(distinct[:_MOST_REGIONS])
    if regions is not None:
        return regions
    if distinct and sum(map(_is_list, distinct)) > len(distinct) / 2:
        return "lists"
    if pa.types.is_temporal(column.type) or _are_times(distinct):
        return "times"
    if not _nearly_all_differ(column) or (_all_numbers(distinct) and are_measurements(column)):
        return None
    prose = len(distinct) > 1 and is_prose(distinct)
    return "texts" if prose or len(column) >= _ENOUGH_ROWS else None


def require_annotators(name: str, column: Any) -> None:
    """Raise a `DataError` for annotators that are texts, or different in nearly every row."""
    if are_annotators(column):
        return
    raise DataError(
        f"the column {name!r}, taken for the annotator, holds texts or is different in nearly "
        f"every row, such as {next(iter(distinct_cells(column[:_LOOKED_AT])), '')!r}; name the "
        "column of annotators with ", SettingName("annotator", ...),
    )  # fmt: skip


def are_annotators(column: Any) -> bool:
    """Whether cells may be annotators: no texts, no times, and not different in every row."""
    if pa.types.is_temporal(column.type):
        return False
    if not _nearly_all_differ(column):
        return True
    return len(column) < _ENOUGH_ROWS and not is_prose(distinct_cells(column))


def are_measurements(column: Any) -> bool:
    """Whether cells are decimal numbers or times."""
    if pa.types.is_floating(column.type) or pa.types.is_temporal(column.type):
        return True
    distinct = distinct_cells(column[:_LOOKED_AT])
    if not distinct or not _all_numbers(distinct):
        return _are_times(distinct)
    return not all(map(_is_whole, distinct))


def is_prose(cells: Iterable[str]) -> bool:
    """Whether cells hold texts of several words."""
    lengths = [len(cell.split()) for cell in cells]
    return bool(lengths) and sum(lengths) >= _PROSE * len(lengths)


def are_few_or_numbers(column: Any) -> bool:
    """Whether cells are some classes that repeat, or numbers."""
    distinct = distinct_cells(column[:_LOOKED_AT])
    if why_no_labels(column) is not None or is_prose(distinct):
        return False
    return 1 < len(distinct) <= MOST_CLASSES or are_measurements(column)


def are_words(column: Any) -> bool:
    """Whether some cell of a column is no number."""
    return not _all_numbers(distinct_cells(column[:_LOOKED_AT]))


def are_stored_numbers(column: Any) -> bool:
    """Whether cells are no text: numbers, booleans or times of a frame."""
    return bool(pa.types.is_primitive(column.type))


def begin_with_space(column: Any) -> bool:
    """Whether all cells of a column begin with a space, as after the commas of "a, b"."""
    first = [] if are_stored_numbers(column) else distinct_cells(column[:1])
    return bool(first) and all(cell[:1] == " " for cell in [*first, *distinct_cells(column)])


def without_spaces(column: Any) -> Any:
    """A column without the spaces at the start of its cells."""
    return column if are_stored_numbers(column) else pc.utf8_ltrim_whitespace(_decoded(column))


def text_notes(item: str, texts: Iterable[str], cells: Cells) -> list[str]:
    """Notes about items and their texts."""
    if is_text(item):
        return [f"items are told apart by their {item}: rows with equal {item} are one item"]
    notes = []
    for name in texts:
        n_pairs = cells.n_distinct(item, name)
        n_repeated = n_pairs - cells.n_distinct(name)
        if n_repeated and n_pairs <= _TEXTS_PER_ITEM * cells.n_distinct(item):
            notes.append(
                f"{n_repeated} items repeat the {name} of another item; they stay different items"
            )
    return notes


def distinct_cells(column: Any) -> list[str]:
    """The different cells of a column as text, in their order; blank cells are left out."""
    if pa.types.is_nested(column.type):
        return []  # its reader raises the error
    return [str(cell) for cell in pc.unique(_decoded(column)).to_pylist() if cell not in (None, "")]


def _nearly_all_differ(column: Any) -> bool:
    """Whether nearly every row has another cell; the first rows tell if it is not so."""
    few = column[:_LOOKED_AT]
    n_distinct = len(distinct_cells(few))
    if n_distinct and len(few) < len(column) and n_distinct >= _NEARLY_ALL * len(few):
        few, n_distinct = column, len(distinct_cells(column))
    return n_distinct > 0 and n_distinct >= _NEARLY_ALL * len(few)


def _coded(column: Any) -> AnyArray:
    if pa.types.is_nested(column.type):
        column = pa.array([str(cell) for cell in column.to_pylist()])
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    index = pc.fill_null(column.indices.cast(pa.int64()), len(column.dictionary))
    codes: AnyArray = index.to_numpy()
    return codes


def _compact(column: Any) -> Any:
    """A column, or the codes in its place if it has some."""
    if not pa.types.is_dictionary(column.type):
        return column
    if not isinstance(column, pa.ChunkedArray):
        return column.indices
    shared = {getattr(chunk.dictionary.buffers()[-1], "address", 0) for chunk in column.chunks}
    unified = column if len(shared) == 1 else column.unify_dictionaries()
    return pa.chunked_array([chunk.indices for chunk in unified.chunks])


def _decoded(column: Any) -> Any:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _is_list(cell: str) -> bool:
    return cell.startswith("[") and cell.endswith("]")


def _are_times(cells: list[str]) -> bool:
    return bool(cells) and bool(pc.all(pc.match_substring_regex(pa.array(cells), _TIME)).as_py())


def _is_whole(cell: str) -> bool:
    return cell.lstrip("+-").isdecimal()


def _all_numbers(cells: list[str]) -> bool:
    try:
        for cell in cells:
            float(cell)
    except ValueError:
        return False
    return True
