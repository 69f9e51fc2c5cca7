"""Which columns of a long table are item, annotator and label: by their names and their cells.

Names propose, cells decide. A reading is plausible if items repeat, because several annotators
label an item, and if an annotator labels an item once. If two readings are plausible, the table is
refused and both are listed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from manyhands.annotations.columns import (
    BARE_ID,
    NONE,
    OTHER_ID,
    PHRASE,
    TEXT,
    content_words,
    find_column,
    is_candidate,
    is_id,
    is_part_id,
    is_text,
    is_vague_label,
    may_be_label,
    numbered_items,
    split_name,
    strength,
)
from manyhands.annotations.doubts import (
    ENOUGH,
    Reading,
    ambiguous,
    is_only_label,
    one_column,
    require_header,
    require_no_doubt,
    require_opinions,
    tells_items_apart,
    weigh_other_labels,
)
from manyhands.annotations.plausible import (
    Cells,
    Select,
    are_annotators,
    are_measurements,
    are_stored_numbers,
    begin_with_space,
    distinct_cells,
    is_prose,
    require_annotators,
    require_labels,
    text_notes,
    why_no_labels,
    without_spaces,
)
from manyhands.annotations.source import Source
from manyhands.core.errors import DataError, SettingName

ROLES = ("item", "annotator", "label")
_HALF_AGAIN = 1 / 3  # of the rows repeat an item: it has one and a half labels on average
_BY_CHANCE = 0.05  # of the rows: texts of different items that are equal
_MOST = 0.8  # of texts that repeat, if the rows are numbered
_FEW_ROWS, _MANY_ROWS = 6, 20
_NAMES_PER_ID = 0.9
_ENOUGH_NAMES = 5  # so that two columns do not go together by chance


@dataclass(frozen=True)
class ChosenColumns:
    """The names of the three columns, their cells, and notes about the choice."""

    names: tuple[str, str, str]
    cells: tuple[Any, Any, Any]
    notes: tuple[str, ...] = ()

    def source(self, path: object = "") -> Source:
        """What was taken for item, annotator and label."""
        item, annotator, label = (str(name).strip() for name in self.names)
        return Source(str(path), "long", item, annotator, label, self.notes)


def choose_columns(
    columns: Sequence[str],
    select: Select,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    check_labels: bool = True,
) -> ChosenColumns:
    """Choose the three columns of a long table; those that are given are taken as they are.

    `select` gives the cells of some columns. A choice that is not safe raises a `DataError` that
    lists the candidates. `check_labels` is off where the caller said what the labels are.
    """
    given = {"item": item, "annotator": annotator, "label": label}
    if not any(given.values()) and not any(
        is_candidate(c, role) for c in columns for role in ROLES
    ):
        require_header(columns, Cells(select, columns))
    names = {role: _candidates(columns, role, given) for role in ROLES}
    texts = [name for name in columns if is_text(name) and name not in given.values()]
    cells = Cells(select, chain(*names.values(), texts))
    choice = _Choice(columns, given, cells)
    annotator = choice.annotator(names["annotator"])
    item = choice.item(names["item"], annotator)
    label = choice.label(names["label"], item, annotator, check_labels)
    if len({item, annotator, label}) < len(ROLES):
        raise DataError(
            "item, annotator and label must be three columns; "
            f"got {item!r}, {annotator!r}, {label!r}"
        )
    reading = Reading(item, annotator, label)
    require_no_doubt(reading, columns, cells, given)
    notes = choice.notes + text_notes(item, [name for name in texts if name not in reading], cells)
    taken, more = _tidy_cells(columns[0], reading, cells)
    return ChosenColumns(reading, taken, (*notes, *more))


def _tidy_cells(
    first: str, reading: Reading, cells: Cells
) -> tuple[tuple[Any, Any, Any], list[str]]:
    """The cells of the three columns; of a table like "a, b, c", without the spaces before them."""
    item, annotator, label = (cells.columns[name] for name in reading)
    spaced = [name for name in reading if begin_with_space(cells.columns[name])]
    if not spaced:
        return (item, annotator, label), []
    texts = [name for name in reading[1:] if not are_stored_numbers(cells.columns[name])]
    if reading.item != first or spaced != texts:
        names = ", ".join(str(name).strip() for name in spaced)
        return (item, annotator, label), [f"cells begin with a space, which is kept: {names}"]
    annotator, label = map(without_spaces, (annotator, label))
    return (item, annotator, label), ["cells begin with a space, which is left out"]


def _candidates(columns: Sequence[str], role: str, given: Mapping[str, str | None]) -> list[str]:
    """The columns that may have a role by their names, the best first."""
    if given[role] is not None:
        return [find_column(columns, role, given[role])]
    free = [name for name in columns if name not in given.values()]
    ranked = sorted(free, key=lambda name: -strength(name, role))
    found = [name for name in ranked if strength(name, role) > NONE]
    if not found:
        return _unnamed(columns, free, role, given)
    for name in found:
        if free.count(name) > 1:
            raise DataError(f"the column {name!r} appears more than once; rename one of them")
    stems = [split_name(name) for name in found]
    return found + [name for name in free if _stem(name) in stems and name not in found]


def _unnamed(
    columns: Sequence[str], free: list[str], role: str, given: Mapping[str, str | None]
) -> list[str]:
    """The only column that is left for a label; an error for other roles and tables."""
    pair = numbered_items(free) if role == "item" else []
    if pair:
        raise DataError(
            "no column is called an item; name it with ", SettingName("item", ...),
            one_column(pair),
        )  # fmt: skip
    item = [name for name in free if is_candidate(name, "item")]
    people = [name for name in free if strength(name, "annotator") >= PHRASE]
    left = [name for name in free if name not in (*item, *people) and may_be_label(name)]
    found = (given["item"] or len(item) == 1) and (given["annotator"] or len(people) == 1)
    if role == "label" and len(columns) == len(ROLES) and found and len(left) == 1:
        return left
    find_column(free, role)  # raises the error
    return []


def _stem(name: str) -> list[str] | None:
    """The words of a name without the number at its end, such as label_2; None without one."""
    words = split_name(name)
    return words[:-1] if words and words[-1].isdigit() else None


class _Choice:
    """The choice among candidates by their cells."""

    def __init__(
        self, columns: Sequence[str], given: Mapping[str, str | None], cells: Cells
    ) -> None:
        self.columns, self.given, self.cells = columns, given, cells
        self.notes: list[str] = []

    def annotator(self, names: list[str]) -> str:
        if self.given["annotator"] is not None:
            return names[0]
        # a word for people that may have written the items gives way to one that cannot
        sure = [name for name in names if strength(name, "annotator") != BARE_ID]
        names = sure or names
        fit = [name for name in names if are_annotators(self.cells.columns[name])]
        if not fit and (len(names) > 1 or not self._only_annotator(names[0])):
            require_annotators(names[0], self.cells.columns[names[0]])
        fit = fit or names
        if len(fit) > 1 and self.cells.n_rows >= _MANY_ROWS:
            fit = [name for name in fit if not self.cells.is_unique(name)] or fit
        return self._one_of("annotator", fit)

    def _only_annotator(self, name: str) -> bool:
        """Whether no other column can be the annotator, and this one holds no texts."""
        if len(self.columns) > len(ROLES) or is_prose(distinct_cells(self.cells.columns[name])):
            return False
        self.notes.append("nearly every label is by another annotator")
        return True

    def item(self, names: list[str], annotator: str) -> str:
        if self.given["item"] is not None or len(names) == 1:
            return names[0]
        fit = [name for name in names if tells_items_apart(self.cells, name, annotator)]
        sure = self.cells.n_rows >= _MANY_ROWS
        ids = [name for name in names if strength(name, "item") != TEXT]
        if sure:  # what is the id of a group, such as thread_id, does not count
            ids = [name for name in ids if not self._is_group(name, fit)]
        if not ids:
            texts = [name for name in fit if is_text(name)]
            return self._one_of("item", texts if sure and texts else names)
        if strength(ids[0], "item") >= PHRASE:
            return self._named_item(ids, fit)
        return self._id_item(ids, fit)

    def _named_item(self, ids: list[str], fit: list[str]) -> str:
        """The item among columns of which some are called an item."""
        named = [name for name in ids if strength(name, "item") >= PHRASE]
        rivals = [name for name in ids if strength(name, "item") == BARE_ID or is_part_id(name)]
        found = [name for name in [*named, *rivals] if name in fit]
        phrases = [name for name in named if strength(name, "item") == PHRASE]
        heads = [content_words(name)[-1] for name in phrases]
        if len(set(heads)) < len(heads):  # left_image and right_image: the item may be the pair
            return self._one_of("item", phrases)
        if any(name in named or is_part_id(name) for name in found):
            # few rows do not tell that a name that is called an item is none
            unfit = [name for name in named if name not in found]
            pool = [*found, *unfit] if self.cells.n_rows < _MANY_ROWS else found
            return self._with_its_texts(self._one_of("item", pool), fit)
        others = [name for name in fit if self._repeats(name, _HALF_AGAIN)]
        return self._one_of("item", list(dict.fromkeys([*named, *found, *others])))

    def _id_item(self, ids: list[str], fit: list[str]) -> str:
        """The item if the names are just ids, which may as well number the rows."""
        best = [name for name in ids if strength(name, "item") == strength(ids[0], "item")]
        found = [name for name in ids if name in fit]
        if any(name in best for name in found):
            return self._with_its_texts(self._one_of("item", found), self.columns)
        others = [name for name in fit if self._repeats(name, _BY_CHANCE)]
        if not others:
            return self._with_its_texts(self._one_of("item", best), self.columns)
        if len(others) == 1 and self._numbers_rows(best, others[0]):
            self.notes.append(f"{best[0]} numbers the rows, so items are told apart by {others[0]}")
            return others[0]
        return self._one_of("item", [*best, *others])

    def _is_group(self, name: str, fit: list[str]) -> bool:
        """Whether the id of something unknown repeats, but not as items do."""
        unknown = strength(name, "item") == OTHER_ID
        return unknown and name not in fit and not self.cells.is_unique(name)

    def label(self, names: list[str], item: str, annotator: str, check: bool) -> str:
        if self.given["label"] is not None:
            return names[0]
        if any(content_words(name) == ["label"] for name in names):
            # beside a label, a score tells how sure somebody is
            names = [name for name in names if content_words(name)[-1:] != ["score"]]
        stems = [content_words(name)[:-1] for name in names]  # toxicity, beside toxicity_score
        others = [name for name in self.columns if content_words(name) and name not in names]
        names = names + [name for name in others if content_words(name) in stems]
        self.cells.load(names)
        fit = [name for name in names if why_no_labels(self.cells.columns[name]) is None]
        if len(fit) > 1:
            fit = self._varying(fit, (item, annotator))
        chosen = self._one_of("label", fit or names)
        reading = Reading(item, annotator, chosen)
        if strength(chosen, "label") == NONE and chosen not in others:
            if not is_only_label(reading, self.cells):
                find_column([name for name in self.columns if name not in reading[:2]], "label")
            self.notes.append(f"{chosen} is the only column left, so it is taken for the label")
        self.notes += weigh_other_labels(reading, self.columns, self.cells)
        if check:
            require_labels(chosen, self.cells.columns[chosen])
            require_opinions(reading, self.cells)
        return chosen

    def _varying(self, names: list[str], owners: Iterable[str]) -> list[str]:
        """The labels without vague names that hold a fact about items or annotators, or numbers."""
        facts = [
            name
            for name in names
            for owner in owners
            if self.cells.n_rows - self.cells.n_distinct(owner) >= ENOUGH
            and is_vague_label(name)
            and self.cells.determines(owner, name)
        ]
        kept = [name for name in names if name not in facts] or names
        if all(map(is_vague_label, kept)):
            return kept
        numbers = [name for name in kept if are_measurements(self.cells.columns[name])]
        return [name for name in kept if not (name in numbers and is_vague_label(name))]

    def _repeats(self, name: str, share: float) -> bool:
        """Whether more than a share of the rows repeats a cell of a row before."""
        return self.cells.n_rows - self.cells.n_distinct(name) > share * self.cells.n_rows

    def _numbers_rows(self, bare: list[str], other: str) -> bool:
        """Whether an id counts the rows while nearly all cells of another column repeat."""
        if len(bare) > 1 or self.cells.n_rows < _FEW_ROWS:
            return False
        cells = set(map(str, self.cells.columns[bare[0]].to_pylist()))
        counted = [set(map(str, range(start, start + len(cells)))) for start in (0, 1)]
        rows_per_cell = np.bincount(self.cells.codes(other))
        repeated = rows_per_cell[rows_per_cell > 0] > 1
        return cells in counted and float(repeated.mean()) >= _MOST

    def _with_its_texts(self, item: str, names: Sequence[str]) -> str:
        """The item, if every item has one text in each column of texts among some names."""
        texts = [name for name in names if is_text(name) and name != item]
        if self.cells.n_rows >= _MANY_ROWS:  # a text that never repeats is a remark about a label
            texts = [name for name in texts if not self.cells.is_unique(name)]
        other = [name for name in texts if not self.cells.determines(item, name)]
        if other:
            raise ambiguous(self.cells, "item", [item, *other])
        return item

    def _one_of(self, role: str, names: list[str]) -> str:
        """The only one of some columns, or the best of columns that mean the same."""
        # an id beats a name: two people may have one name
        ids = [name for name in names if role != "label" and is_id(name)]
        first = ids[0] if ids else min(names, key=lambda name: len(split_name(name)))
        if all(self._means_the_same(role, first, name) for name in names):
            return first
        raise ambiguous(self.cells, role, names)

    def _means_the_same(self, role: str, first: str, name: str) -> bool:
        """Whether two columns tell the same rows apart, or one has the names of the other's ids."""
        if name == first:
            return True
        same_words = content_words(first) == content_words(name)
        if same_words and role != "label":
            # few people have the same name, so that names are nearly as many as ids
            n_ids, n_names = self.cells.n_distinct(first), self.cells.n_distinct(name)
            return self.cells.determines(first, name) and n_names >= _NAMES_PER_ID * n_ids
        if strength(first, role) == TEXT:
            return False  # different texts
        many = self.cells.n_rows >= _MANY_ROWS and self.cells.n_distinct(first) >= _ENOUGH_NAMES
        enough = same_words or many
        same = self.cells.determines(first, name) and self.cells.determines(name, first)
        return enough and same
