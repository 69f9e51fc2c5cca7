"""When labels were given and how many seconds each took, where a table or an export tells it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manyhands.annotations.columns import find_column, split_name
from manyhands.core.arrays import AnyArray, Codes, Floats, read_only
from manyhands.core.errors import DataError

Select = Callable[[Sequence[str]], Mapping[str, Any]]

# Names of columns, the best first. A bare number under "time" may be anything, and is not taken.
_SECONDS = (
    "seconds", "work time in seconds", "duration seconds", "duration in seconds", "lead time",
    "work time", "working time", "annotation time", "labeling time", "labelling time",
    "response time", "reaction time", "time spent", "time taken", "time seconds",
    "elapsed seconds", "elapsed time", "elapsed", "duration", "duration ms", "time ms",
    "response time ms", "reaction time ms", "elapsed ms", "milliseconds",
)  # fmt: skip
_TIMES = (
    "time", "timestamp", "submit time", "submitted at", "submission time", "submitted",
    "annotated at", "labeled at", "labelled at", "completed at", "finished at", "end time",
    "created at", "created", "inserted at", "updated at", "datetime", "date time", "date",
)  # fmt: skip
_MILLISECONDS = {"ms", "milliseconds"}
_EPOCHS = ((1e8, 1e11, 1e3), (1e11, 1e14, 1.0), (1e14, 1e17, 1e-3), (1e17, 1e20, 1e-6))  # to ms
_ENOUGH = 0.5  # of the filled cells that must be times
_NOT_A_TIME = np.datetime64("NaT", "ms")
_ZONES = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000", "EST": "-0500",
          "EDT": "-0400"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Times:
    """Seconds that each label took, and when it was given; parallel to the labels.

    `seconds` has NaN and `at` (in UTC, to the millisecond) has NaT where it is not known; None if
    it is known of no label.
    """

    seconds: Floats | None = None
    at: AnyArray | None = None

    def only(self, kept: AnyArray) -> "Times":
        """Those of some labels, by mask or by position."""
        seconds, at = self.seconds, self.at
        return Times(
            None if seconds is None else read_only(seconds[kept]),
            None if at is None else read_only(at[kept]),
        )

    def columns(self) -> dict[str, AnyArray]:
        """The columns `seconds` and `time` of a long table, where they are known."""
        found = {"seconds": self.seconds, "time": self.at}
        return {name: column for name, column in found.items() if column is not None}


def joined_times(
    first: Times | None, n_first: int, second: Times | None, n_second: int
) -> Times | None:
    """The times of some labels and those of more labels; unknown where one has none."""
    if first is None and second is None:
        return None
    first, second = first or Times(), second or Times()

    def column(one: AnyArray | None, two: AnyArray | None, unknown: Any) -> AnyArray | None:
        if one is None and two is None:
            return None
        parts = (np.full(n, unknown) if each is None else each
                 for each, n in ((one, n_first), (two, n_second)))  # fmt: skip
        return np.concatenate(list(parts))

    return Times(
        column(first.seconds, second.seconds, np.nan), column(first.at, second.at, _NOT_A_TIME)
    )


def encode_times(seconds: Any, time: Any, n_labels: int) -> Times | None:
    """The times of two columns that a caller gave, of which either may be None."""
    if seconds is None and time is None:
        return None
    for noun, column in (("seconds", seconds), ("time", time)):
        if column is not None and len(column) != n_labels:
            raise DataError(f"{noun} must have one entry per label ({n_labels}); got {len(column)}")
    return Times(
        None if seconds is None else _required("seconds", _as_seconds(_arrow(seconds), "seconds")),
        None if time is None else _required("time", _as_moments(_arrow(time))),
    )


def find_times(
    columns: Sequence[str],
    select: Select,
    item: Codes,
    *,
    taken: Sequence[str] = (),
    seconds: str | None = None,
    time: str | None = None,
) -> tuple[Times | None, str, str]:
    """The times of the labels of a table, and the columns that they were taken from.

    Columns that are given must hold times. Others are found by their names, and only taken if
    their cells are times of labels: what all labels of every item share is a fact about the items,
    such as when a message was written or how long a clip is.
    """
    free = [name for name in columns if name not in taken]
    found: dict[str, AnyArray] = {}
    names = {"seconds": "", "time": ""}
    readers: dict[str, Any] = {"seconds": _as_seconds, "time": lambda cells, _: _as_moments(cells)}
    for role, given in (("seconds", seconds), ("time", time)):
        known = _SECONDS if role == "seconds" else _TIMES
        wanted = _by_name(free, known) if given is None else [find_column(columns, role, given)]
        for name in wanted:
            read = readers[role](_arrow(select([name])[name]), name)
            if given is not None:
                found[role] = _required(given, read)
            elif read is None or _is_of_items(item, read):
                continue
            else:
                found[role] = read
            names[role] = name
            break
    if not found:
        return None, "", ""
    return Times(found.get("seconds"), found.get("time")), names["seconds"], names["time"]


def _by_name(columns: Sequence[str], known: Sequence[str]) -> list[str]:
    """The columns with one of some names, the best name first.

    >>> _by_name(["label", "SubmitTime", "created_at"], _TIMES)
    ['SubmitTime', 'created_at']
    """
    place = {name: " ".join(split_name(name)) for name in columns}
    ranked = sorted((known.index(words), name) for name, words in place.items() if words in known)
    return [name for _, name in ranked]


def _required(name: str, read: AnyArray | None) -> AnyArray:
    if read is None:
        raise DataError(
            f"{name!r} does not hold times; expected seconds such as 4.2, or dates and times such "
            "as 2024-05-01T12:30:00"
        )
    return read


def _is_of_items(item: Codes, value_n: AnyArray) -> bool:
    """Whether all labels of an item have the same value, for every item with several labels."""
    known = ~(np.isnan(value_n) if value_n.dtype.kind == "f" else np.isnat(value_n)) & (item >= 0)
    codes, values = item[known], value_n[known]
    order = np.argsort(codes, kind="stable")
    again = codes[order][1:] == codes[order][:-1]
    same = values[order][1:] == values[order][:-1]
    return bool(again.any()) and bool(same[again].all())


def _arrow(column: Any) -> Any:
    """A column of any kind as an arrow array; cells of several types become text."""
    try:
        known = isinstance(column, pa.Array | pa.ChunkedArray)
        values = column if known else pa.array(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if cell is None else str(cell) for cell in column])
    is_coded = pa.types.is_dictionary(values.type)
    return values.cast(values.type.value_type) if is_coded else values


def _as_seconds(column: Any, name: str) -> Floats | None:
    """Durations in seconds, NaN where a cell has none; None if the cells are no durations."""
    if pa.types.is_duration(column.type):
        column, scale = column.cast(pa.duration("ms")).cast(pa.int64()), 1e-3
    else:
        scale = 1e-3 if _MILLISECONDS & set(split_name(name)) else 1.0
    found = _numbers(column, _clock)
    if found is None:
        return None
    value = np.where(found < 0, np.nan, found * scale)
    filled = value[np.isfinite(value)]
    if len(filled) == 0 or float(np.median(filled)) > _EPOCHS[0][0]:
        return None
    return read_only(np.where(np.isfinite(value), value, np.nan))


def _as_moments(column: Any) -> AnyArray | None:
    """Moments, NaT where a cell has none; None if the cells are no dates and times."""
    if pa.types.is_temporal(column.type):
        if pa.types.is_duration(column.type) or pa.types.is_time(column.type):
            return None
        return read_only(_numpy(column.cast(pa.timestamp("ms"), safe=False)))
    numbers = _numbers(column, lambda _: None)
    if numbers is None:
        return _written_moments(column)
    for low, high, scale in _EPOCHS:
        if low <= float(np.nanmedian(numbers)) < high:
            whole = np.where(np.isfinite(numbers), numbers * scale, np.nan)
            known = np.isfinite(whole)
            at = np.full(len(whole), _NOT_A_TIME)
            at[known] = whole[known].astype(np.int64).astype("datetime64[ms]")
            return read_only(at)
    return None


def _numbers(column: Any, other: Callable[[str], float | None]) -> Floats | None:
    """The cells as numbers, NaN for others; None if too few of the filled cells are numbers."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        value = np.array(_numpy(column.cast(pa.float64())), dtype=np.float64)
        return value if np.isfinite(value).any() else None
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    distinct = column.dictionary_encode()
    distinct = distinct.combine_chunks() if isinstance(distinct, pa.ChunkedArray) else distinct
    read = [_number(cell, other) for cell in distinct.dictionary.to_pylist()]
    codes = _numpy(distinct.indices.fill_null(len(read))).astype(np.int64)
    value = np.array([*read, np.nan], dtype=np.float64)[codes]
    n_filled = sum(1 for cell in column.to_pylist() if cell is not None and cell.strip())
    return value if np.isfinite(value).sum() > _ENOUGH * n_filled else None


def _number(cell: str, other: Callable[[str], float | None]) -> float:
    try:
        return float(cell)
    except ValueError:
        found = other(cell)
        return float("nan") if found is None else found


def _clock(cell: str) -> float | None:
    """Seconds of a duration that is written as on a clock.

    >>> _clock("0:01:30"), _clock("2024-01-01")
    (90.0, None)
    """
    found = re.fullmatch(r"\s*(?:(\d+):)?([0-5]?\d):([0-5]?\d(?:\.\d+)?)\s*", cell)
    if found is None:
        return None
    hours, minutes, seconds = found.groups()
    return 3600.0 * int(hours or 0) + 60.0 * int(minutes) + float(seconds)


def _written_moments(column: Any) -> AnyArray | None:
    """Moments from text, ISO 8601 or as Mechanical Turk writes them."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    filled = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
    for kind in (pa.timestamp("ms"), pa.timestamp("ms", "UTC")):
        try:
            return read_only(_numpy(filled.cast(kind).cast(pa.timestamp("ms"))))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    cells = filled.to_pylist()
    read = {cell: _moment(cell) for cell in set(cells) if cell is not None}
    at = np.array([read.get(cell, _NOT_A_TIME) for cell in cells], dtype="datetime64[ms]")
    n_filled = len(cells) - filled.null_count
    return read_only(at) if (~np.isnat(at)).sum() > _ENOUGH * n_filled else None


def _moment(cell: str) -> Any:
    """One moment in UTC; NaT for any other text, and for dates that may be read in two ways."""
    try:
        moment = datetime.fromisoformat(cell.strip())
    except ValueError:
        words = " ".join(_ZONES.get(word, word) for word in cell.split())
        try:
            moment = datetime.strptime(words, "%a %b %d %H:%M:%S %z %Y")
        except ValueError:
            return _NOT_A_TIME
    plain, offset = moment.replace(tzinfo=None), moment.utcoffset()
    return np.datetime64(plain if offset is None else plain - offset, "ms")


def _numpy(column: Any) -> AnyArray:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.asarray(whole.to_numpy(zero_copy_only=False))
