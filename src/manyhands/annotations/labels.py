"""Columns of labels: class codes or numbers, and which cells cannot be used."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa

from manyhands.annotations.levels import level_order, number_of
from manyhands.annotations.vocabulary import (
    BLANK,
    LARGEST,
    Vocabulary,
    encode,
    name_to_text,
    normalize_classes,
)
from manyhands.core.arrays import AnyArray, Codes, read_only
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.core.settings import require_choice

# What labels are read as, and what a method takes; ordinal labels are classes with an order.
# Pairs are comparisons of two items, which have a type of their own: `Comparisons`.
Kind = Literal["classes", "numbers", "ordinal", "multilabel", "pairs"]
KINDS = ("classes", "numbers", "ordinal", "multilabel", "pairs")

# States of a cell: used, dropped as missing, blank, not a listed class, infinite.
USED, DROPPED, EMPTY, OUTSIDE, INFINITE = range(5)

_MANY_WHOLE_NUMBERS = 20
# What people and programs write for "no label".
_MARKS = {"na", "n/a", "#n/a", "<na>", "none", "null", "nil", "missing", "-", "--", ".", "?"}


class LabelColumn(NamedTuple):
    """Labels in row order: codes or numbers, the state of every cell, and the classes or None."""

    values: AnyArray
    state: AnyArray
    classes: Vocabulary | None


def encode_labels(
    values: Any,
    *,
    kind: Kind | None = None,
    classes: Iterable[Any] | None = None,
    missing: Iterable[Any] = (),
) -> LabelColumn:
    """Encode a column of labels; `kind` and `classes` override the guess of the kind.

    Labels are guessed to be numbers if one of them has a decimal part, or if they are more than 20
    distinct whole numbers, some below zero. Otherwise they are classes. A categorical column lists
    its classes itself, in its order; those that no label has are classes too.

    "ordinal" labels are classes in the order of `levels`: the listed classes, an ordered
    categorical column, numbers by their value, or the words of a scale that is known.

    >>> encode_labels(["yes", "no", "yes"]).values.tolist()
    [1, 0, 1]
    >>> encode_labels([0.5, 1.0, 0.25]).classes is None
    True
    """
    if kind == "pairs":
        raise SettingError(
            SettingName("kind", "pairs"), " is for tables with two items in a row, which become "
            "Comparisons, not Annotations; use Comparisons.from_frame or read_comparisons",
        )  # fmt: skip
    if kind is not None:
        require_choice("kind", kind, KINDS[:-1])
    if classes is not None and kind == "numbers":
        raise DataError("classes are listed, but kind is 'numbers'; give only one of the two")
    if classes is None:
        classes = declared_classes(values, kind)
    missing = list(missing)
    may_be_numbers = kind in (None, "numbers") and classes is None
    floats = _float_column(values) if may_be_numbers else None
    if floats is not None and (kind == "numbers" or has_decimals(floats)):
        return _plain_numbers(floats, missing)
    codes, words = encode(values, "label")
    if words.names.tolist() and _is_bool_column(values):
        words = Vocabulary(read_only(words.names == "true"), "label")
    texts = [name_to_text(name) for name in words.names.tolist()]
    dropped = {"" if is_blank(code) else name_to_text(code) for code in missing}
    state_of_word = np.array(
        [state_of_text(text, dropped) for text in texts] + [0, 0], dtype=np.int8
    )
    state_of_word[BLANK] = DROPPED if "" in dropped else EMPTY
    state = state_of_word[codes]
    used = state_of_word[: len(texts)] == USED
    given = None
    if classes is not None:
        given = Vocabulary.of(normalize_classes(list(classes)), "class")
    else:
        kept = [text for text, use in zip(texts, used, strict=True) if use]
        has_blanks = bool((state == EMPTY).any())
        if (kind or _guess_kind(kept, codes, texts, has_blanks)) == "numbers":
            return _numbers(codes, texts, used, state)
    column = _classes(codes, words, state, used, given)
    return column if kind != "ordinal" else _in_order(column, is_given=given is not None)


def _in_order(column: LabelColumn, is_given: bool) -> LabelColumn:
    """The same labels with codes in the order of the levels."""
    assert column.classes is not None, "these labels are classes"
    if is_given:
        return column._replace(classes=replace(column.classes, ordered=True))
    code_k, levels = in_order_of_levels(column.classes)
    return column._replace(values=np.append(code_k, [BLANK, -1])[column.values], classes=levels)


def in_order_of_levels(classes: Vocabulary) -> tuple[Codes, Vocabulary]:
    """The place of every class among the levels, and the levels; see `level_order`."""
    if classes.ordered:
        return np.arange(len(classes), dtype=np.int32), classes
    order = level_order(classes.names.tolist())
    place_k = np.empty(len(order), dtype=np.int32)
    place_k[order] = np.arange(len(order), dtype=np.int32)
    return place_k, Vocabulary(read_only(classes.names[order]), classes.noun, ordered=True)


def _guess_kind(kept: list[str], codes: AnyArray, texts: list[str], has_blanks: bool) -> Kind:
    """Guess the kind from the distinct labels; words among numbers raise `MixedLabelsError`."""
    numbers = [number_of(text) for text in kept]
    n_words = sum(number is None for number in numbers)
    if n_words == len(kept):
        return "classes"
    if n_words:
        words_are_odd = 2 * n_words <= len(kept)
        pairs = zip(kept, numbers, strict=True)
        odd = next(text for text, number in pairs if (number is None) == words_are_odd)
        row = int(np.flatnonzero(codes == texts.index(odd))[0])
        marks = [text for text in kept if text.strip().lower() in _MARKS and text != odd]
        likewise = [repr(text) for text in marks] + ["blank cells"] * has_blanks
        raise MixedLabelsError(odd, row, words_are_odd, likewise=likewise if words_are_odd else ())
    present = np.array(numbers, dtype=float)
    decimal = bool(np.any((present != np.floor(present)) | np.isinf(present)))
    many_below_zero = len(present) > _MANY_WHOLE_NUMBERS and present.min() < 0
    return "numbers" if decimal or many_below_zero else "classes"


class MixedLabelsError(DataError):
    """Some labels are numbers and some are words; `row` is the row of the odd one.

    `likewise` are other cells that seem to mean "no label".
    """

    def __init__(
        self,
        label: str,
        row: int,
        is_word: bool,
        where: str = "",
        likewise: Sequence[str] = (),
    ) -> None:
        self.label, self.row, self.is_word, self.where = label, row, is_word, where
        self.likewise = tuple(likewise)
        others = f" (likewise {', '.join(self.likewise)})" if likewise else ""
        what, rest = ("a word", "numbers") if is_word else ("a number", "words")
        super().__init__(
            f"{where}: " * bool(where),
            f"the label {label!r} is {what} among {rest}; drop it with ",
            SettingName("missing", label), f"{others}, or set ", SettingName("kind", "classes"),
            " if it is a class",
        )  # fmt: skip

    def at(self, place: object) -> Self:
        """The same error with its place in a file."""
        return type(self)(self.label, self.row, self.is_word, str(place), self.likewise)


def _classes(
    codes: AnyArray, words: Vocabulary, state: AnyArray, used: AnyArray, given: Vocabulary | None
) -> LabelColumn:
    """Class codes of the words: of the given classes, or of the classes that are found."""
    names = normalize_classes(words.names[used])  # numbers, if a word for "missing" was dropped
    class_of_used: AnyArray
    if given is not None:
        classes, class_of_used = given, given.codes(names.tolist())
    elif used.all() and np.array_equal(names, words.names):
        return LabelColumn(codes, state, Vocabulary(words.names, "class"))
    else:
        distinct, class_of_used = np.unique(names, return_inverse=True)
        classes = Vocabulary(read_only(distinct), "class")
    class_of_word = np.full(len(words) + 2, -1, dtype=np.int32)
    class_of_word[np.flatnonzero(used)] = class_of_used
    values = class_of_word[codes]
    state = np.where((state == USED) & (values < 0), OUTSIDE, state).astype(np.int8)
    return LabelColumn(values, state, classes)


def _numbers(codes: AnyArray, texts: list[str], used: AnyArray, state: AnyArray) -> LabelColumn:
    number_of_word = np.full(len(texts) + 2, np.nan)
    for position in np.flatnonzero(used):
        number = number_of(texts[position])
        if number is None:
            row = int(np.flatnonzero(codes == position)[0])
            raise MixedLabelsError(texts[position], row, is_word=True)
        number_of_word[position] = number
    values = number_of_word[codes]
    state = np.where(np.isinf(values), INFINITE, state).astype(np.int8)
    return LabelColumn(values, state, None)


def _float_column(values: Any) -> AnyArray | None:
    if isinstance(values, pa.ChunkedArray | pa.Array) and pa.types.is_floating(values.type):
        values = values.to_numpy(zero_copy_only=False)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return values.astype(np.float64)  # a copy: the caller's array must not change
    return None


def declared_classes(values: Any, kind: Kind | None = None) -> list[Any] | None:
    """All categories of a categorical column (pandas, or Enum of polars) in their order, or None.

    Categorical columns of polars and dictionaries of arrow have the order of the rows, which means
    nothing. For labels that are to be ordinal a column of pandas must be ordered itself.
    """
    dtype = getattr(values, "dtype", None)
    categories: Any = getattr(dtype, "categories", None)
    declares = kind is None or (kind == "ordinal" and getattr(dtype, "ordered", True))
    return list(categories.to_list()) if declares and hasattr(categories, "to_list") else None


def _is_bool_column(values: Any) -> bool:
    if hasattr(values, "dtype") and getattr(values.dtype, "kind", "") == "b":
        return True
    if isinstance(values, pa.ChunkedArray | pa.Array):
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        return bool(pa.types.is_boolean(kind))
    return all(isinstance(value, bool | np.bool_) or is_blank(value) for value in values)


def has_decimals(floats: AnyArray) -> bool:
    """Whether some number is not a whole number of 64 bits; NaN is ignored."""
    finite = floats[np.isfinite(floats)]
    return bool(
        np.isinf(floats).any() or np.any(finite % 1 != 0) or np.any(np.abs(finite) >= LARGEST)
    )


def _plain_numbers(floats: AnyArray, missing: list[Any]) -> LabelColumn:
    blank = DROPPED if any(is_blank(code) for code in missing) else EMPTY
    state = np.where(np.isnan(floats), blank, USED).astype(np.int8)
    state[np.isinf(floats)] = INFINITE
    codes = [number for code in missing if (number := number_of(str(code))) is not None]
    state[np.isin(floats, codes)] = DROPPED
    return LabelColumn(floats, state, None)


def state_of_text(text: str, dropped: set[str]) -> int:
    """The state of a cell that is this text."""
    if text in dropped:
        return DROPPED
    if text.lower() == "nan":
        return DROPPED if "" in dropped else EMPTY
    return USED


def is_blank(code: object) -> bool:
    """Whether a cell holds nothing, or white space of any kind."""
    return code is None or (isinstance(code, float) and np.isnan(code)) or str(code).strip() == ""


def with_levels(
    kind: Kind | None, classes: Iterable[Any] | None, levels: Iterable[Any] | None
) -> tuple[Kind | None, Iterable[Any] | None]:
    """The kind and the classes of labels whose `levels` may be listed, from lowest to highest.

    >>> with_levels(None, None, ["low", "high"])
    ('ordinal', ['low', 'high'])
    """
    if levels is None:
        return kind, classes
    if kind not in (None, "ordinal") or classes is not None:
        other = "classes" if classes is not None else "kind"
        raise SettingError(
            SettingName("levels"), " lists the classes of ordinal labels; leave out ",
            SettingName(other),
        )  # fmt: skip
    return "ordinal", list(levels)


def as_list(missing: Any) -> list[Any]:
    """One code for "no label", or several of them, as a list."""
    if isinstance(missing, str) or not isinstance(missing, Iterable):
        return [missing]
    return list(missing)
