"""Numbers as text."""

from typing import Any

from benchmarks.processes import OK, OVER, SKIPPED

NOTHING = "-"


def number(value: float | None) -> str:
    """A number with three significant digits and no exponent.

    >>> number(0.01234), number(12.345), number(1234.5), number(None)
    ('0.0123', '12.3', '1,234', '-')
    """
    if value is None:
        return NOTHING
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".") if abs(value) >= 1e-4 else f"{value:.6f}"


def count(value: int) -> str:
    """A count, in words if it is round.

    >>> count(20_000), count(2_000_000), count(500)
    ('20 thousand', '2 million', '500')
    """
    for size, word in ((1_000_000, "million"), (1_000, "thousand")):
        if value >= size and value % size == 0:
            return f"{value // size} {word}"
    return f"{value:,}"


def duration(seconds: float) -> str:
    """A duration in minutes or seconds.

    >>> duration(120), duration(10)
    ('2 min', '10 s')
    """
    whole = seconds >= 60 and seconds % 60 == 0
    return f"{seconds / 60:g} min" if whole else f"{seconds:g} s"


def ratio(theirs: float | None, ours: float | None) -> str:
    """Theirs divided by ours.

    >>> ratio(30.0, 2.0), ratio(None, 2.0)
    ('15.0', '-')
    """
    if theirs is None or ours is None or ours <= 0 or theirs <= 0:
        return NOTHING
    return number(theirs / ours)


def mebibytes(row: dict[str, Any], name: str) -> float | None:
    """Peak memory, or what was added to the baseline, in MiB; None if not measured."""
    if "peak_bytes" not in row:
        return None
    base = row["baseline_bytes"] if name == "added" else 0
    return float(row["peak_bytes"] - base) / 2**20


def milliseconds(row: dict[str, Any]) -> float | None:
    """Time of one iteration or fit; None if it was not measured within the limit."""
    seconds = row.get("seconds") if row["status"] == OK else None
    return None if seconds is None or seconds <= 0 else float(seconds) * 1e3


def time_cell(row: dict[str, Any]) -> str:
    """The time, or why there is none."""
    status = row["status"]
    if status == OK:
        value = milliseconds(row)
        return "not resolved" if value is None else number(value)
    if status == OVER:
        return f"> {duration(row['limit_s'])}"
    if status == SKIPPED:
        return f"not run: {row['why']}"
    return str(status)
