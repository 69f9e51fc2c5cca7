"""Labels that are read in batches: classes or numbers, and which cells cannot be used."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations.label_kinds import classes_as_numbers, numbers_as_classes
from manyhands.annotations.labels import (
    EMPTY,
    INFINITE,
    OUTSIDE,
    USED,
    Kind,
    MixedLabelsError,
    encode_labels,
)
from manyhands.annotations.rows import refusal
from manyhands.annotations.vocabulary import LARGEST, Vocabulary, join_names
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.io.numbers import number_of_cell, require_clear_numbers
from manyhands.scale.words import Place, WordCodes, Words

MAX_WORDS = 1_000_000  # distinct labels; more are numbers, and not kept
# Levels are put in order, and sets are coded, once all labels are known.
IN_MEMORY = ("ordinal", "multilabel")
_MAX_SAMPLE = 100_000


@dataclass(frozen=True)
class LabelReading:
    """What a caller says about labels; see `manyhands.read`."""

    name: str = "label"
    kind: Kind | None = None
    classes: Sequence[Any] | None = None
    missing: tuple[Any, ...] = ()
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind in IN_MEMORY:
            raise SettingError(
                SettingName("kind", self.kind), " needs all labels in memory; leave it out, or "
                "read the labels with mh.read"
            )  # fmt: skip


@dataclass
class LabelSurvey:
    """What one file, or several, have in their column of labels."""

    reading: LabelReading
    words: Words = field(default_factory=Words)
    decimal: bool = False  # whether a column of floats has numbers with a decimal part
    bad: dict[int, tuple[int, Place]] = field(default_factory=dict)  # of floats, by state
    outside: Place | None = None
    sample: list[Floats] = field(default_factory=list)
    n_floats: int = 0

    def add(self, column: Any, begin: Place) -> None:
        """Look at the labels of a batch whose first row is at `begin`."""
        if pa.types.is_floating(column.type) and self._may_be_numbers:
            self._add_floats(column, begin)
            if self.decimal or self.reading.kind == "numbers":
                return
        if len(self.words.codes) <= MAX_WORDS:
            self.words.add(column, begin)
        elif self._may_be_numbers:
            self._add_floats(as_floats(column), begin)

    @property
    def _may_be_numbers(self) -> bool:
        return self.reading.kind != "classes" and self.reading.classes is None

    def _add_floats(self, column: Any, begin: Place) -> None:
        floats = encode_labels(column, kind="numbers", missing=self.reading.missing)
        values, used = floats.values, floats.state == USED
        for state in (EMPTY, INFINITE):
            rows = np.flatnonzero(floats.state == state)
            if len(rows):
                n, first = self.bad.get(state, (0, Place(begin.file, begin.row + int(rows[0]))))
                self.bad[state] = (n + len(rows), first)
        kept = values[used]
        self.decimal |= bool((kept % 1 != 0).any() or (np.abs(kept) >= LARGEST).any())
        self.decimal |= INFINITE in self.bad
        if self.reading.bounds is not None and self.outside is None:
            low, high = self.reading.bounds
            rows = np.flatnonzero(used & ~((values >= low) & (values <= high)))
            self.outside = Place(begin.file, begin.row + int(rows[0])) if len(rows) else None
        self.n_floats += len(kept)
        step = max(1, len(kept) * 64 // _MAX_SAMPLE)
        if len(kept):
            self.sample.append(np.append(kept[::step], [kept.min(), kept.max()]))

    def merge(self, other: "LabelSurvey") -> None:
        """Add what the next file has."""
        self.words.merge(other.words)
        self.decimal |= other.decimal
        for state, (n, first) in other.bad.items():
            known = self.bad.get(state)
            self.bad[state] = (n, first) if known is None else (known[0] + n, known[1])
        self.outside = self.outside or other.outside
        self.sample += other.sample
        self.n_floats += other.n_floats

    def coded(
        self, place: Callable[[Place], str], cells: Callable[[Place], tuple[object, object]]
    ) -> "LabelCodes":
        """How labels become codes; an error with its place for those that cannot be used."""
        numbers = self.decimal or (self.reading.kind == "numbers" and self.n_floats > 0)
        if numbers or len(self.words.codes) > MAX_WORDS:
            codes = LabelCodes(None, None, self.reading.missing)
            _refuse(self.bad, None, place)
            outside = self.outside
        else:
            codes, outside = self._coded_words(place)
        if outside is not None:
            raise self._outside(codes, outside, place, cells)
        return codes

    def _coded_words(self, place: Callable[[Place], str]) -> "tuple[LabelCodes, Place | None]":
        words, reading = self.words, self.reading
        column, kind, note = words.column(), reading.kind, ""
        if self._may_be_numbers and pa.types.is_string(column.type):
            marks = [str(code) for code in reading.missing]
            found = number_of_cell(filter(None, words.codes), marks)
            if found is None:
                require_clear_numbers(reading.name, column)
            else:
                column = pa.array([found[0].get(word, word) or None for word in words.codes])
                kind, note = "numbers", found[1]
        try:
            labels = encode_labels(
                column, kind=kind, classes=reading.classes, missing=reading.missing
            )
        except MixedLabelsError as error:
            raise error.at(place(words.first[error.row])) from None
        counts = np.array(words.counts, dtype=np.int64)
        bad = {}
        for state in (EMPTY, OUTSIDE, INFINITE):
            found_words = np.flatnonzero(labels.state == state)
            if len(found_words):
                first = min(words.first[word] for word in found_words)
                bad[state] = (int(counts[found_words].sum()), first)
        codes = LabelCodes(labels.classes, (labels.values, labels.state), reading.missing, note,
                           dict(words.codes))  # fmt: skip
        outside = None
        if reading.bounds is not None:
            low, high = reading.bounds
            far = (labels.state == USED) & ~((labels.values >= low) & (labels.values <= high))
            outside = min((words.first[word] for word in np.flatnonzero(far)), default=None)
        if outside is None:
            _refuse(bad, labels.classes, place)
        if labels.classes is None:
            used = labels.state == USED
            self.sample = [np.repeat(labels.values[used], np.minimum(counts[used], _MAX_SAMPLE))]
        return codes, outside

    def _outside(
        self, codes: "LabelCodes", at: Place, place: Callable[[Place], str],
        cells: Callable[[Place], tuple[object, object]],
    ) -> DataError:  # fmt: skip
        who, label = cells(at)
        value = float(codes(pa.array([label]))[0])
        return DataError(
            f"{place(at)}: label {value:g} of annotator {who!s} is outside of ",
            SettingName("bounds", self.reading.bounds), "; correct it, or drop it with ",
            SettingName("missing", f"{value:g}"),
        )  # fmt: skip


@dataclass(frozen=True)
class LabelCodes:
    """The codes of labels in batches: `words` maps texts to values; without it they are numbers."""

    classes: Vocabulary | None
    of_word: tuple[AnyArray, AnyArray] | None
    missing: tuple[Any, ...] = ()
    note: str = ""
    words: dict[str, int] = field(default_factory=dict)

    def as_kind(self, kind: Kind) -> "LabelCodes":
        """The same labels as classes or as numbers; a `DataError` if that would lose something."""
        if (kind == "numbers") == (self.classes is None):
            return self
        if self.of_word is None:
            numbers_as_classes(np.array([0.5]))  # raises the error
        assert self.of_word is not None, "numbers that are not kept as words have decimals"
        values, state = self.of_word
        used = state == USED
        recoded = np.zeros(len(values), dtype=np.float64 if kind == "numbers" else np.int32)
        classes = None
        if self.classes is not None:
            recoded[used] = classes_as_numbers(values[used], self.classes)
        else:
            recoded[used], classes = numbers_as_classes(values[used])
        return replace(self, classes=classes, of_word=(recoded, state))

    def __call__(self, column: Any) -> AnyArray:
        """Class codes or numbers of a batch; -1 or NaN for labels that are dropped."""
        if self.of_word is None:
            found = encode_labels(as_floats(column), kind="numbers", missing=self.missing)
            return np.where(found.state == USED, found.values, np.nan)
        values, state = self.of_word
        none: AnyArray = np.array(np.nan if self.classes is None else -1)
        value_of_word = np.append(np.where(state == USED, values, none), none)
        return value_of_word[WordCodes(self.words)(column)]  # -1 is the last one


def as_floats(column: Any) -> Any:
    """A column of numbers as floats; a `DataError` for a word among them."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        return column
    try:
        if pa.types.is_string(column.type):
            column = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
        return column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"there are more than {MAX_WORDS:,} distinct labels, and some are no numbers "
            f"({error}); check that the column of labels is the right one"
        ) from None


def _refuse(
    bad: dict[int, tuple[int, Place]], classes: Vocabulary | None, place: Callable[[Place], str]
) -> None:
    """Raise the error for labels that cannot be used, as for a table in memory."""
    known = "" if classes is None else f"they are {join_names(classes.names)}"
    reasons: Iterable[tuple[int, str, tuple[str | SettingName, ...]]] = (
        (EMPTY, "the label is blank", ("drop such rows with ", SettingName("missing", ""))),
        (OUTSIDE, "the label is outside the classes", (known,)),
        (INFINITE, "the label is infinite", ("give a finite number",)),
    )
    for state, what, remedy in reasons:
        if state in bad:
            n, first = bad[state]
            raise refusal(place(first), n, what, *remedy)
