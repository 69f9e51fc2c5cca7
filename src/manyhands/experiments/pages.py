"""Files that experiments write: pages with tables, and figures."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from manyhands.experiments.drawing import Figure
from manyhands.experiments.records import Record
from manyhands.io import atomic_write
from manyhands.io.bundle import require_plain_file

_DOTS_PER_INCH = 150


def count_runs(records: Sequence[Record]) -> str:
    """The number of runs that succeeded, and of those that failed if there are any."""
    failed = sum("error" in each for each in records)
    return f"{len(records) - failed}" + (f" ({failed} failed)" if failed else "")


def write_page(path: Path, text: str) -> str:
    """Write a page; returns its path."""
    require_plain_file(path)
    with atomic_write(path) as stream:
        stream.write(text.encode())
    return str(path)


def write_figure(figure: Figure, path: Path) -> list[str]:
    """Write a figure as PNG and as SVG; returns their paths."""
    paths = []
    for kind in ("png", "svg"):
        target = path.with_name(f"{path.name}.{kind}")
        require_plain_file(target)
        with atomic_write(target) as stream:
            # Without a date the same figure gives the same file.
            metadata = {"Date": None} if kind == "svg" else {}
            figure.savefig(stream, format=kind, dpi=_DOTS_PER_INCH, metadata=metadata)
        paths.append(str(target))
    return paths


def write_csv(path: Path, lines: Sequence[Mapping[str, str]]) -> str:
    """Write lines with the same names as CSV; returns the path."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return write_page(path, text.getvalue())


def html_list(title: str, header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table behind a fold, as HTML; backquotes of Markdown are left out."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(each.replace('`', ''))}</td>" for each in line) + "</tr>\n"
        for line in lines
    )
    return (
        f"<details><summary>{escape(title)}</summary><table class=mh-list><thead><tr>{head}</tr>"
        f"</thead><tbody>\n{body}</tbody></table></details>"
    )


def code_block(text: str) -> str:
    """Text as it is typed, such as a command."""
    return f"```\n{text}\n```"


def mean_and_deviation(mean: float | None, deviation: float | None, digits: int) -> str:
    """A mean with its standard deviation, which is not shown if it is unknown; "-" for no mean.

    >>> mean_and_deviation(87.123, 0.5, 1), mean_and_deviation(87.123, None, 1)
    ('87.1 ± 0.5', '87.1')
    """
    if mean is None:
        return "-"
    known = deviation is not None and not math.isnan(deviation)
    return f"{mean:.{digits}f}" + (f" ± {deviation:.{digits}f}" if known else "")


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], left: int | None = None
) -> str:
    r"""A table; the first `left` columns hold text, the others numbers. None: all hold text.

    >>> print(markdown_table(["a", "b"], [["x|y", "1"]], left=1))
    | a | b |
    | --- | ---: |
    | x\|y | 1 |
    """
    n_text = len(header) if left is None else left
    rule = ["---"] * n_text + ["---:"] * (len(header) - n_text)
    lines = [header, rule, *rows]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)
