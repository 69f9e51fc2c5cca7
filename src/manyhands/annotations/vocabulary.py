"""Vocabularies: names become integer codes once, when data is read."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations.grouping import count_pairs
from manyhands.core.arrays import AnyArray, Codes, Floats, read_only
from manyhands.core.errors import DataError
from manyhands.core.settings import nearest_names

BLANK = -2  # the code of a blank cell
LARGEST = 2.0**63  # larger whole numbers stay text
WHOLE_NUMBER = r"^(?:0|-?[1-9][0-9]{0,17})$"
_WHOLE_CLASS = re.compile(r"(0|-?[1-9][0-9]{0,17})(?:\.0+)?")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The names of codes 0, 1, 2 ...: whole numbers or strings; sorted if they come from data.

    Names of classes may be bool. Classes are levels if they are `ordered`, from lowest to highest.

    >>> Vocabulary.of(["cat", "dog"]).codes(["dog", "cow"]).tolist()
    [1, -1]
    """

    kind: ClassVar[str] = "classes"  # of labels with these names
    joins_repeats: ClassVar[bool] = False  # whether labels of one item and annotator are one label

    names: AnyArray
    noun: str = "name"
    ordered: bool = False

    @classmethod
    def of(cls, names: Iterable[Any], noun: str = "name") -> "Vocabulary":
        """A vocabulary in the given order; a name given twice raises a `DataError`."""
        array = normalize_names(list(names))
        twice = repeated(array.tolist())
        if twice:
            raise DataError(f"the {noun} {twice[0]!r} is listed twice; list every name once")
        return cls(read_only(array), noun)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and np.array_equal(self.names, other.names)

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_whole_numbers(self) -> bool:
        """Whether the names are whole numbers."""
        return self.names.dtype.kind == "i"

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {name_to_text(name): code for code, name in enumerate(self.names.tolist())}

    def codes(self, names: Iterable[Any]) -> Codes:
        """The code of every name, -1 for an unknown name; 7 and "7" are the same name."""
        return np.array(
            [self._code_of.get(name_to_text(name), -1) for name in names], dtype=np.int32
        )

    def code(self, name: object) -> int:
        """The code of one name; an unknown name raises a `DataError` with the nearest names."""
        code = self._code_of.get(name_to_text(name), -1)
        if code < 0:
            near = nearest_names(str(name), self._code_of)
            hint = f"nearest: {', '.join(near)}" if near else f"known: {join_names(self.names)}"
            raise DataError(f"no {self.noun} {name!r}; {hint}")
        return code

    def without(self, names: Iterable[Any]) -> tuple[Codes, "Vocabulary"]:
        """The new code of every name, -1 for those left out, and the vocabulary without these.

        An unknown name raises a `DataError` with the nearest names.

        >>> codes, rest = Vocabulary.of(["Ann", "Bob", "Cy"]).without(["Bob"])
        >>> codes.tolist(), rest.names.tolist()
        ([0, -1, 1], ['Ann', 'Cy'])
        """
        kept = np.ones(len(self), dtype=bool)
        kept[[self.code(name) for name in names]] = False
        codes = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        return codes, replace(self, names=read_only(self.names[kept]))

    @property
    def class_names(self) -> AnyArray:
        """The names of the classes; for labels that are sets, of the classes in them."""
        return self.names

    @property
    def note(self) -> str:
        """How labels were read, if a user should know."""
        return ""

    def counts(self, group: Codes, label: Codes, n_groups: int) -> Floats:
        """How many labels of each group have each class, shape (g, k)."""
        return count_pairs(group, label, n_groups, len(self))

    def including(self, names: Iterable[Any]) -> "Vocabulary":
        """The vocabulary in which truths are found: the same, as truths are among its classes."""
        return self

    def codes_of(self, other: "Vocabulary") -> Codes:
        """The code here of every name of another vocabulary, -1 for an unknown one."""
        return self.codes(other.names.tolist())

    def matched(self, other: "Vocabulary") -> tuple[Codes, "Vocabulary"]:
        """The codes of the names of another vocabulary, and the vocabulary that has them all.

        An unknown name raises a `DataError`.
        """
        return np.array([self.code(name) for name in other.names.tolist()], dtype=np.int32), self

    def extended(self, more: "Vocabulary") -> "Vocabulary":
        """These names in their order, then the new names of the other vocabulary.

        Levels have no place for a new one: a `DataError`.
        """
        fresh = more.names[self.codes(more.names.tolist()) < 0]
        if len(fresh) == 0:
            return self
        if self.ordered:
            raise DataError(
                f"the label {fresh[0]} is none of the levels {join_names(self.names)}; list all "
                "levels when the first labels are read"
            )
        if len(self) == 0:
            return Vocabulary(fresh, self.noun)
        if self.names.dtype != fresh.dtype:
            everything = [name_to_text(name) for name in [*self.names.tolist(), *fresh.tolist()]]
            return Vocabulary(read_only(np.array(everything, dtype=object)), self.noun)
        return Vocabulary(read_only(np.concatenate([self.names, fresh])), self.noun)


def encode(values: Any, noun: str, *, as_text: bool = False) -> tuple[Codes, Vocabulary]:
    """Codes (`BLANK` for an empty cell) and the sorted vocabulary of a column of names.

    Whole numbers sort as numbers and other names as text: the order of rows has no influence. All
    names are text with `as_text`, for a part of a column that has other names too.

    >>> codes, names = encode(["b", "a", None, "b"], "item")
    >>> codes.tolist(), names.names.tolist()
    ([1, 0, -2, 1], ['a', 'b'])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "i":
        return _encode_whole_numbers(values, noun)
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else _arrow_of(values)
    infinite = pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py()
    if infinite and noun != "label":  # labels are refused with their row
        raise DataError(f"an {noun} is a number that is too large, or infinite; write it as text")
    encoded = as_arrow(column)
    if pa.types.is_integer(encoded.type) and encoded.null_count == 0:
        return _encode_whole_numbers(encoded.to_numpy(), noun)
    return _encode_arrow(encoded, noun, as_text)


def as_arrow(values: Any) -> pa.Array:
    """A column as one arrow array of whole numbers or text, possibly dictionary-encoded."""
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = _arrow_of(values)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_floating(values.type):
        values = _whole_floats_as_integers(values)
    if pa.types.is_dictionary(values.type) or _fits_64_bits(values):
        return values
    return _as_text(values)


def normalize_names(names: Sequence[Any] | AnyArray) -> AnyArray:
    """Names as whole numbers if all are written as such, as bool if all are, otherwise as text.

    >>> normalize_names(["1", "20"]).tolist(), normalize_names(["1", "007"]).tolist()
    ([1, 20], ['1', '007'])
    """
    if isinstance(names, np.ndarray) and names.dtype.kind == "i":
        return names.astype(np.int64)
    if len(names) and all(isinstance(name, bool | np.bool_) for name in names):
        return np.array(names, dtype=bool)
    texts = [name_to_text(name) for name in names]
    whole = re.compile(WHOLE_NUMBER)
    if texts and all(whole.fullmatch(text) for text in texts):
        return np.array(texts, dtype=np.int64)
    return np.array(texts, dtype=object)


def normalize_classes(names: Sequence[Any] | AnyArray) -> AnyArray:
    """Normalized names of classes or truths: if all are whole numbers, 1.0 is 1.

    Most tools write a column of whole numbers with missing values in this way.

    >>> normalize_classes(["1.0", "2"]).tolist(), normalize_classes(["1.0", "1.5"]).tolist()
    ([1, 2], ['1.0', '1.5'])
    """
    normalized = normalize_names(names)
    whole = [_WHOLE_CLASS.fullmatch(str(name)) for name in normalized.tolist()]
    return normalize_names([found[1] for found in whole if found]) if all(whole) else normalized


def repeated(names: Iterable[Any]) -> list[Any]:
    """The names that occur more than once, in the order of their first occurrence."""
    return [name for name, count in Counter(names).items() if count > 1]


def join_names(names: Iterable[Any], limit: int = 6) -> str:
    """The first names, joined by commas, for an error message.

    >>> join_names(range(9), limit=3)
    '0, 1, 2 and 6 more'
    """
    everything = [str(name) for name in names]
    shown = ", ".join(everything[:limit])
    return shown + (f" and {len(everything) - limit} more" if len(everything) > limit else "")


def _encode_whole_numbers(values: AnyArray, noun: str) -> tuple[Codes, Vocabulary]:
    if len(values) and values.min() >= 0 and values.max() < 4 * len(values) + 1024:
        # Nearly codes already: mark which values occur instead of sorting them.
        occurs = np.zeros(int(values.max()) + 1, dtype=bool)
        occurs[values] = True
        names = np.flatnonzero(occurs)
        codes = values if occurs.all() else (np.cumsum(occurs, dtype=np.int32) - 1)[values]
    else:
        names, codes = np.unique(values, return_inverse=True)
    vocabulary = Vocabulary(read_only(names.astype(np.int64, copy=False)), noun)
    return codes.astype(np.int32, copy=codes is values), vocabulary


def _encode_arrow(values: pa.Array, noun: str, as_text: bool = False) -> tuple[Codes, Vocabulary]:
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    words, index = values.dictionary, values.indices
    words = words if _fits_64_bits(words) else _as_text(words)
    if index.null_count:
        index = pc.fill_null(index.cast(pa.int64()), len(words))
    positions = index.to_numpy()
    named = np.zeros(len(words) + 1, dtype=bool)
    named[positions] = True  # a dictionary may have words that no row uses
    blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(_as_text(words)), ""), True)
    named = named[:-1] & ~blank.to_numpy(zero_copy_only=False)
    rank, names = _sorted_names(words.filter(pa.array(named)), as_text)
    code_of_word = np.full(len(words) + 1, BLANK, dtype=np.int32)
    code_of_word[:-1][named] = rank
    return code_of_word[positions], Vocabulary(read_only(names), noun)


def _sorted_names(words: pa.Array, as_text: bool) -> tuple[Codes, AnyArray]:
    """The rank of every word, and the sorted distinct names; equal words have one rank."""
    if len(words) == 0:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=object)
    whole = pa.types.is_integer(words.type)
    if not (whole or as_text) and pc.all(pc.match_substring_regex(words, WHOLE_NUMBER)).as_py():
        words = words.cast(pa.int64())
    again = words.dictionary_encode()  # a dictionary may have a word twice
    order = pc.sort_indices(again.dictionary).to_numpy()
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    distinct = again.dictionary.take(pa.array(order))
    if pa.types.is_integer(words.type):
        names = distinct.to_numpy().astype(np.int64)
    else:
        names = distinct.to_numpy(zero_copy_only=False).astype(object)
    return rank[again.indices.to_numpy()], names


def _arrow_of(values: Any) -> pa.Array | pa.ChunkedArray:
    try:
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            # names of several types, or whole numbers of more than 64 bits
            plain = np.asarray(values).tolist() if hasattr(values, "__array__") else values
            return pa.array([None if _is_blank(value) else name_to_text(value) for value in plain])
    except UnicodeEncodeError:
        raise DataError("a name is not valid text: it contains half of a UTF-16 pair") from None


def _as_text(values: pa.Array) -> pa.Array:
    if pa.types.is_string(values.type):
        return values
    try:
        return values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"a column of type {values.type} cannot be read as names; give text or numbers"
        ) from None


def _fits_64_bits(values: pa.Array) -> bool:
    if pa.types.is_uint64(values.type):
        return (pc.max(values).as_py() or 0) < LARGEST
    return bool(pa.types.is_integer(values.type))


def _whole_floats_as_integers(values: pa.Array) -> pa.Array:
    # Most tools store a column of whole numbers with missing values as floats.
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    values = pc.if_else(pc.is_nan(values), None, values)
    whole = pc.and_(pc.equal(values, pc.floor(values)), pc.less(pc.abs(values), LARGEST))
    return values.cast(pa.int64()) if pc.all(whole).as_py() in (True, None) else values


def name_to_text(name: object) -> str:
    """A name as text; 7 and 7.0 are both "7"."""
    if isinstance(name, float | np.floating):
        number = float(name)
        return str(int(number)) if number.is_integer() and abs(number) < LARGEST else str(name)
    # as arrow and JSON write it: the name does not depend on the source
    return str(name).lower() if isinstance(name, bool | np.bool_) else str(name)


def _is_blank(value: object) -> bool:
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
