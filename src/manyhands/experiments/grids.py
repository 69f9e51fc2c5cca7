"""A table as a paper prints it: published figures, and below each those of our runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape

# A mark is shown beside a figure, and colours it: a colour alone cannot be read by everybody.
REACHED, BETTER, SHORT, NOT_RUN, NEUTRAL = "●", "▲", "▼", "○", ""
MARKS = {
    REACHED: ("reached", "within one point of the published figure"),
    BETTER: ("better", "better than published by more than a point"),
    SHORT: ("short", "short of the published figure by more than a point"),
    NOT_RUN: ("not-run", "not run yet"),
}
PUBLISHED_LABEL = "published"  # of the lines with the figures of the paper
_MAX_COLUMNS = 9  # that fit beside each other; more are printed group by group
_WIDE = 6  # with more columns a deviation is on a line of its own


@dataclass(frozen=True)
class GridCell:
    """A figure as text, with its mark."""

    text: str = ""
    mark: str = NEUTRAL

    @property
    def meaning(self) -> str:
        """The name of its mark, empty without one."""
        return MARKS[self.mark][0] if self.mark else ""

    @property
    def shown(self) -> str:
        """The text and the mark."""
        return f"{self.text} {self.mark}".strip()


@dataclass(frozen=True)
class GridLine:
    """One line: the method it is about, whose figures it has, and a cell for each column."""

    head: str
    label: str
    cells: tuple[GridCell, ...]


@dataclass(frozen=True)
class Grid:
    """A table of lines by columns; columns with a common heading are a group.

    Consecutive lines with the same head belong together.
    """

    title: str
    corner: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    lines: tuple[GridLine, ...]

    @property
    def columns(self) -> list[str]:
        """The titles of all columns."""
        return [name for _, names in self.groups for name in names]

    def parts(self) -> "list[Grid]":
        """The grid, or one for each group if there are too many columns for a screen."""
        if len(self.columns) <= _MAX_COLUMNS or len(self.groups) == 1:
            return [self]
        found, start = [], 0
        for title, names in self.groups:
            some = slice(start, start + len(names))
            start += len(names)
            lines = [replace(line, cells=line.cells[some]) for line in self.lines]
            found.append(replace(self, groups=((title, names),), lines=_with_content(lines)))
        return [part for part in found if part.lines]


def _with_content(lines: Iterable[GridLine]) -> tuple[GridLine, ...]:
    """The lines of the methods that have a cell at all."""
    lines = list(lines)
    heads = {line.head for line in lines if any(cell.shown for cell in line.cells)}
    return tuple(line for line in lines if line.head in heads)


def legend() -> str:
    """What the marks mean, in one line of Markdown."""
    return ", ".join(f"{mark} {meaning}" for mark, (_, meaning) in MARKS.items())


def html_grids(grids: Sequence[Grid]) -> str:
    """Grids as HTML tables, beside each other where there is room; without an empty line."""
    tables = [_html_table(part) for grid in grids for part in grid.parts()]
    return '<div class="mh-grids">\n' + "\n".join(tables) + "\n</div>"


def _html_table(grid: Grid) -> str:
    caption = f"<caption>{escape(grid.title)}</caption>\n" if grid.title else ""
    body, seen = [], 0
    heads = [line.head for line in grid.lines]
    for number, line in enumerate(grid.lines):
        first = number == 0 or heads[number - 1] != line.head
        head = ""
        if first:
            seen = _run_length(heads, number)
            head = f'<th scope="row" rowspan="{seen}">{escape(line.head)}</th>'
        cells = "".join(_html_cell(cell) for cell in line.cells)
        kinds = ["mh-first"] * first + ["mh-published"] * (line.label == PUBLISHED_LABEL)
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        body.append(f"<tr{kind}>{head}<td>{escape(line.label)}</td>{cells}</tr>")
    rows = "\n".join(body)
    head = f"<thead>\n{_html_head(grid)}\n</thead>"
    kind = "mh-grid mh-wide" if len(grid.columns) > _WIDE else "mh-grid"
    return f'<table class="{kind}">\n{caption}{head}\n<tbody>\n{rows}\n</tbody>\n</table>'


def _html_head(grid: Grid) -> str:
    names = "".join(f"<th>{escape(name)}</th>" for name in grid.columns)
    if not any(title for title, _ in grid.groups):
        return f"<tr><th>{escape(grid.corner)}</th><th></th>{names}</tr>"
    spans = "".join(
        f'<th colspan="{len(columns)}">{escape(title)}</th>' for title, columns in grid.groups
    )
    corner = f'<th rowspan="2">{escape(grid.corner)}</th><th rowspan="2"></th>'
    return f"<tr>{corner}{spans}</tr>\n<tr>{names}</tr>"


def _html_cell(cell: GridCell) -> str:
    """The mean, its mark, and the deviation, which a wide grid has on a line of its own."""
    mean, plus_minus, deviation = escape(cell.text).partition(" ± ")
    kind = ""
    if cell.mark:
        name, meaning = MARKS[cell.mark]
        kind = f' class="mh-{name}" title="{meaning}"'
    text = f"{mean} {cell.mark}".strip()
    small = f" <small>± {deviation}</small>" if plus_minus else ""
    return f"<td{kind}>{text}{small}</td>"


def _run_length(heads: Sequence[str], start: int) -> int:
    end = start
    while end < len(heads) and heads[end] == heads[start]:
        end += 1
    return end - start


STYLE = (
    ".mh-grids{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:flex-start}"
    ".mh-grid{border-collapse:collapse;font-size:.78rem;line-height:1.35;"
    "font-variant-numeric:tabular-nums}"
    ".mh-grid caption{text-align:left;font-weight:600;padding:.3rem 0}"
    ".mh-grid td,.mh-grid th{padding:.1rem .4rem;text-align:right;white-space:nowrap}"
    ".mh-grid th[scope=row]{text-align:left;vertical-align:top;white-space:normal;max-width:11rem}"
    ".mh-grid tbody td:first-of-type{text-align:left;color:#666}"
    ".mh-grid thead th{border-bottom:2px solid #888;vertical-align:bottom;white-space:normal}"
    ".mh-grid tr.mh-first td,.mh-grid tr.mh-first th{border-top:1px solid #ccc}"
    ".mh-grid tr.mh-published td:not(:first-of-type){font-weight:600}"
    ".mh-grid th[colspan]{text-align:center}.mh-grid small{font-size:.85em}"
    ".mh-wide small{display:block}"
    ".mh-reached{color:#1a7f37}.mh-better{color:#0b5cad}.mh-short{color:#b3261e}"
    ".mh-not-run{color:#8a8a8a}"
)
