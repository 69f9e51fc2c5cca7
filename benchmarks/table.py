"""Numbers as a person reads them, and Markdown tables of them."""

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.measure import OK, OVER, SKIPPED

NOTHING = "-"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 0) -> str:
    """A table; the first `left` columns hold words, the others numbers.

    >>> print(markdown_table(["a", "b"], [["x", "1"]], left=1))
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def number(value: float | None) -> str:
    """Three digits that count, and no exponent.

    >>> number(0.01234), number(12.345), number(1234.5), number(None)
    ('0.0123', '12.3', '1,234', '-')
    """
    if value is None:
        return NOTHING
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".") if abs(value) >= 1e-4 else f"{value:.6f}"


def count(value: int) -> str:
    """A count in words where it is round.

    >>> count(20_000), count(2_000_000), count(500)
    ('20 thousand', '2 million', '500')
    """
    for size, word in ((1_000_000, "million"), (1_000, "thousand")):
        if value >= size and value % size == 0:
            return f"{value // size} {word}"
    return f"{value:,}"


def duration(seconds: float) -> str:
    """A limit in words.

    >>> duration(120), duration(10)
    ('2 min', '10 s')
    """
    whole = seconds >= 60 and seconds % 60 == 0
    return f"{seconds / 60:g} min" if whole else f"{seconds:g} s"


def ratio(theirs: float | None, ours: float | None) -> str:
    """How many times as much theirs is.

    >>> ratio(30.0, 2.0), ratio(None, 2.0)
    ('15.0', '-')
    """
    if theirs is None or ours is None or ours <= 0 or theirs <= 0:
        return NOTHING
    return number(theirs / ours)


def mebibytes(row: dict[str, Any], name: str) -> float | None:
    """Peak memory, or what was added to the baseline, in MiB."""
    if "peak_bytes" not in row:
        return None
    base = row["baseline_bytes"] if name == "added" else 0
    return float(row["peak_bytes"] - base) / 2**20


def milliseconds(row: dict[str, Any]) -> float | None:
    """Time of one iteration or fit; None where it was not measured, or not within the limit."""
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
