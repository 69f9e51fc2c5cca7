"""Reasons to doubt a choice of columns, although their names and cells fit."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from manyhands.annotations.columns import (
    BARE_ID,
    NONE,
    PHRASE,
    content_words,
    is_about,
    is_half,
    is_id,
    is_text,
    is_time,
    is_vague_label,
    strength,
)
from manyhands.annotations.plausible import (
    MOST_CLASSES,
    Cells,
    are_few_or_numbers,
    are_measurements,
    are_words,
    distinct_cells,
    is_prose,
)
from manyhands.core.errors import DataError, SettingName

_MAY_REPEAT = 0.1  # of the rows: an annotator who labelled an item again
_TOO_MANY = 1 / 3  # of the rows
_SAMPLE = 50_000  # rows
_MOST_LISTED = 4
_FEW_ITEMS = 5  # about which annotators may agree by chance, and say something else each time
_NEARLY_ALL = 0.9
_REPEAT_HALF_AGAIN = 1 / 3  # of the rows
ENOUGH = 10  # rows that repeat a name, to tell what is the same for all of its rows
# Labels that answer one of several questions that a table may ask.
_TOPICS = {"sentiment", "emotion", "stance", "polarity"}
# What is labelled in tables about the answers of people or models, and what the labels are called.
_JUDGED = {"answer", "response"}
_VERDICTS = {
    "correct", "correctness", "right", "wrong", "valid", "accurate", "accuracy", "helpful",
    "helpfulness", "harmful", "harm", "safe", "safety", "quality", "relevant", "relevance",
    "acceptable", "good", "overall", "preferred", "preference", "toxic", "toxicity",
}  # fmt: skip


class Reading(NamedTuple):
    """The names of the columns that were chosen."""

    item: str
    annotator: str
    label: str


def require_no_doubt(
    reading: Reading, columns: Sequence[str], cells: Cells, given: Mapping[str, str | None]
) -> None:
    """Raise a `DataError` if cells or other columns make a reading doubtful."""
    vague = given["annotator"] is None and strength(reading.annotator, "annotator") == BARE_ID
    if vague:
        _require_people(reading, cells)
        _require_no_author(reading, cells)
    if given["item"] is not None and given["annotator"] is not None:
        return
    others = [name for name in dict.fromkeys(columns) if name not in reading]
    unknown = [name for name in others if not _is_known(name)]
    texts = [name for name in others if is_text(name)]
    if not unknown and not texts:
        return
    item, annotator, _ = reading
    few = cells.sample(item, reading)
    if not few.is_unique(item):
        if few.repeated_share(item, annotator) > _TOO_MANY:
            _require_no_finer_item(reading, unknown, texts, cells)
        if given["item"] is None and few.n_distinct(item) < few.n_rows:
            _require_no_half(reading, [*unknown, *texts], cells)
        return
    if given["item"] is None and strength(item, "item") <= BARE_ID:
        _require_no_other_item(reading, unknown, cells)
    if vague:
        _require_no_other_annotator(reading, unknown, cells)


def weigh_other_labels(reading: Reading, columns: Sequence[str], cells: Cells) -> list[str]:
    """Notes about other columns that may be labels; if they may as well be, a `DataError`."""
    label = reading.label
    last = content_words(label)[-1].removesuffix("s")
    of_items = _describes_items(reading, cells)
    topic = strength(label, "label") <= PHRASE or last in _TOPICS
    if not (of_items or topic or is_vague_label(label) or last in _JUDGED):
        return []
    others = _other_labels(reading, columns, cells)
    varying = [name for name in others if not cells.determines(reading.item, name)]
    judged = last in _JUDGED and (
        any(not _VERDICTS.isdisjoint(content_words(name)) for name in others)
        or cells.repeated_share(reading.item, reading.annotator) > _MAY_REPEAT
    )
    if others and (is_vague_label(label) or judged):
        raise ambiguous(cells, "label", [label, *others])
    if of_items and varying:
        raise ambiguous(cells, "label", [label, *varying])
    if not (topic and others):
        return []
    more = " ..." if len(others) > _MOST_LISTED else ""
    names = ", ".join(others[:_MOST_LISTED])
    return [f"other columns may be labels too: {names}{more}; name the label to read one of them"]


def require_opinions(reading: Reading, cells: Cells) -> None:
    """Raise a `DataError` if a label is the same for all annotators and another for every item."""
    n_items = cells.n_distinct(reading.item)
    enough = n_items >= ENOUGH and cells.n_rows - n_items >= ENOUGH
    if enough and _describes_items(reading, cells):
        raise DataError(
            f"the column {reading.label!r}, taken for the label, is the same in all rows of an "
            f"item and another for nearly every item, such as {cells.example(reading.label)}: it "
            "may describe the item; name the column of labels with ", SettingName("label", ...),
            ", or say what they are with ", SettingName("kind", "numbers"), " or ",
            SettingName("kind", "classes"),
        )  # fmt: skip


def _other_labels(reading: Reading, columns: Sequence[str], cells: Cells) -> list[str]:
    """The columns of unknown names whose cells may be labels."""
    others = [name for name in dict.fromkeys(columns) if name not in reading]
    unknown = [name for name in others if not (_is_known(name) or is_id(name) or is_about(name))]
    return [
        name
        for name in cells.load_readable(unknown)
        if 1 < cells.n_distinct(name) <= MOST_CLASSES
        and not are_measurements(cells.columns[name])
        and not any(cells.determines(owner, name) for owner in _owners(reading, cells))
    ]


def _describes_items(reading: Reading, cells: Cells) -> bool:
    """Whether all labels of an item are equal and those of other items are others."""
    item, _, label = reading
    n_items = cells.n_distinct(item)
    if content_words(label) == ["label"] and n_items < _FEW_ITEMS:
        return False
    repeats = 1 < n_items < cells.n_rows and cells.n_distinct(label) >= _NEARLY_ALL * n_items
    return repeats and cells.determines(item, label)


def is_only_label(reading: Reading, cells: Cells) -> bool:
    """Whether the cells of a column of unknown name are labels, not facts."""
    facts = (cells.determines(owner, reading.label) for owner in _owners(reading, cells))
    return are_few_or_numbers(cells.columns[reading.label]) and not any(facts)


def require_header(columns: Sequence[str], cells: Cells) -> None:
    """Raise a `DataError` if the names of columns of unknown names look like the cells below."""
    below = [distinct_cells(cells.columns[name][:_SAMPLE]) for name in columns]
    names = list(map(str, columns))
    counted = [list(map(str, range(start, start + len(names)))) for start in (0, 1)]
    pairs = list(zip(names, below, strict=True))
    alike = all(
        is_prose([name]) or any(_shape(name) == _shape(cell) for cell in column)
        for name, column in pairs
    )
    if names in counted or not alike or not any(name in column for name, column in pairs):
        return
    shown = ", ".join(map(repr, names[:_MOST_LISTED]))
    raise DataError(
        f"the first line ({shown}) looks like data: add a line with the names of the columns, "
        "such as item,annotator,label"
    )


def _shape(cell: str) -> str:
    """What is alike in cells: d001 and d123 both are a letter and a number."""
    return re.sub(r"[0-9]+", "0", re.sub(r"[^\W\d_]+", "a", cell))


def _owners(reading: Reading, cells: Cells) -> list[str]:
    """The item and the annotator, if they are in enough rows to tell what is a fact about them."""
    return [name for name in reading[:2] if cells.n_rows - cells.n_distinct(name) >= ENOUGH]


def tells_items_apart(cells: Cells, name: str, annotator: str) -> bool:
    """Whether the cells of a column repeat as items do, and every annotator has them once."""
    if are_measurements(cells.columns[name]) or cells.is_unique(name):
        return False
    return cells.repeated_share(name, annotator) <= _MAY_REPEAT


def ambiguous(cells: Cells, role: str, names: Sequence[str]) -> DataError:
    """The error that lists columns of which each may have a role."""
    together = role == "item" and not cells.determines(names[0], names[1])
    shown = [f"{name!r} (first row: {cells.example(name)})" for name in names[:_MOST_LISTED]]
    more = " ..." if len(names) > _MOST_LISTED else ""
    return DataError(
        f"several columns may be the {role}: {', '.join(shown)}{more}; name it with ",
        SettingName(role, ...), one_column(names) if together else "",
    )  # fmt: skip


def one_column(names: Sequence[str]) -> str:
    """What to do if items are told apart by several columns."""
    example = "_".join(map(str, names[:2]))
    return f", or make one column of both (for example {example}) if they are the item together"


def _require_people(reading: Reading, cells: Cells) -> None:
    """Raise a `DataError` if annotators have the names of classes."""
    _, annotator, label = reading
    people, said = (distinct_cells(cells.columns[name][:_SAMPLE]) for name in (annotator, label))
    words = {name for name in said if not name.lstrip("+-").replace(".", "", 1).isdecimal()}
    if (len(words) > 1 and words.issubset(people)) or (people and words.issuperset(people)):
        raise DataError(
            f"the column {annotator!r}, taken for the annotator, holds the same cells as the "
            f"label {label!r}, such as {cells.example(label)}; name the column of annotators with ",
            SettingName("annotator", ...),
        )  # fmt: skip


def _require_no_author(reading: Reading, cells: Cells) -> None:
    """Raise a `DataError` if the users are the same for all labels of an item."""
    item, annotator, label = reading
    again = cells.repeated_share(item, annotator) > _MAY_REPEAT
    if again and cells.determines(item, annotator) and not cells.determines(item, label):
        raise DataError(
            f"the column {annotator!r}, taken for the annotator, is the same in all rows of an "
            "item, so that one person labelled it several times or wrote it; name the annotator "
            "with ", SettingName("annotator", ...),
        )  # fmt: skip


def _require_no_half(reading: Reading, names: list[str], cells: Cells) -> None:
    """Raise a `DataError` if a column tells apart what annotators labelled within an item."""
    names = cells.load_readable(names)
    few = cells.sample(reading.item, dict.fromkeys([*reading, *names]))
    halves = [name for name in names if _is_half(few, name, reading)]
    if halves:
        raise ambiguous(cells, "item", [reading.item, *halves])


def _is_half(cells: Cells, name: str, reading: Reading) -> bool:
    """Whether a column varies within items, is the same for some labels, and may be an item."""
    item, annotator, _ = reading
    of_people = not cells.is_unique(annotator) and cells.determines(annotator, name)
    if of_people or cells.determines(item, name):
        return False
    if cells.repeated_share(item, name) < _REPEAT_HALF_AGAIN:
        return False  # a remark about a label, or what happened before it
    if are_measurements(cells.columns[name]) or is_half(name) or is_about(name):
        return is_half(name)
    if _is_balanced(cells, item, name):
        return True
    texts = distinct_cells(cells.columns[name])
    finer = cells.n_distinct(name) > cells.n_distinct(item) and cells.determines(name, item)
    is_text_cells = is_text(name) or is_prose(texts) or len(texts) > MOST_CLASSES or finer
    once = cells.repeated_share(name, annotator) <= _MAY_REPEAT
    return is_text_cells and once and are_words(cells.columns[name])


def _is_balanced(cells: Cells, item: str, name: str) -> bool:
    """Whether nearly all items have several cells of a column, and each in as many rows."""
    n_items, n_pairs = cells.n_distinct(item), cells.n_distinct(item, name)
    sizes = cells.group_sizes(item, name)
    most = np.bincount(sizes).argmax()
    planned = most > 1 and np.mean(sizes == most) >= _NEARLY_ALL
    return bool(n_items >= _FEW_ITEMS and n_pairs >= 2 * _NEARLY_ALL * n_items and planned)


def _require_no_other_item(reading: Reading, unknown: list[str], cells: Cells) -> None:
    """Raise a `DataError` if the item is different in every row and another column repeats."""
    cells.load(unknown)
    names = [
        name
        for name in unknown
        if 1 < cells.n_distinct(name) <= cells.n_rows / 2
        and tells_items_apart(cells, name, reading.annotator)
    ]
    if names and not cells.is_unique(reading.annotator):
        raise ambiguous(cells, "item", [reading.item, *names])


def _require_no_other_annotator(reading: Reading, unknown: list[str], cells: Cells) -> None:
    """Raise a `DataError` if users may have written the items, and others labelled them."""
    cells.load(unknown)
    names = [
        name
        for name in unknown
        if not (is_id(name) or is_about(name) or are_measurements(cells.columns[name]))
    ]
    if names:
        raise ambiguous(cells, "annotator", [reading.annotator, *names])


def _require_no_finer_item(
    reading: Reading, unknown: list[str], texts: list[str], cells: Cells
) -> None:
    """Raise a `DataError` if annotators labelled items again and a column tells this apart."""
    cells.load(unknown)
    n_labels = cells.n_distinct(*reading)
    repeating = [
        name
        for name in unknown
        if not are_measurements(cells.columns[name]) and not cells.is_unique(name)
    ]
    varying = [name for name in [*texts, *repeating] if cells.n_distinct(*reading, name) > n_labels]
    if not varying:
        return
    shown = ", ".join(f"{name!r} ({cells.example(name)})" for name in varying[:_MOST_LISTED])
    raise DataError(
        f"with {reading.item!r} as the item and {reading.annotator!r} as the annotator, most "
        f"annotators labelled an item several times, and {shown} may tell these labels apart; "
        "name the columns with ", SettingName("item", ...), " and ", SettingName("annotator", ...),
        one_column([reading.item, varying[0]]),
    )  # fmt: skip


def _is_known(name: str) -> bool:
    """Whether the name of a column says that it tells no items apart."""
    return is_time(name) or is_text(name) or strength(name, "truth") > NONE
