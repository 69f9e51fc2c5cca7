"""The figures of a cell of a published table: those of the paper, and those of our runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from manyhands.evaluation import summarize_runs
from manyhands.experiments import grids, pages
from manyhands.experiments.protocols import CHOSEN, OURS, PUBLISHED
from manyhands.experiments.published import Column, Row, Value
from manyhands.experiments.records import NOT_RUN, Record, Records
from manyhands.experiments.runs import MethodRun

POINTS = "rating points of a scale 1 to 10"  # the files hold ratings in 0..1
SCALES = {"percent": 100.0, POINTS: 10.0}  # from the record to the unit shown
LABELS = {PUBLISHED: "as published", CHOSEN: "as published, epoch by clean labels", OURS: "ours"}
_SMALLER_IS_BETTER = {"i-js", "g-js", "cross-entropy", "mae", "rmse"}
_INFORMATION = {"iterations", "parameters", "prevalence", "identity-similarity", "entropy"}
_DIGITS = {"percent": 2, "count": 1, POINTS: 3}  # decimals, by unit
_NEAR = 0.01  # in units of the record: within this a published figure counts as reached
_BEFORE = {"layer-parameters": "noise-parameters"}  # the score that earlier records have
VERDICTS = {
    grids.REACHED: "reached", grids.BETTER: "better than published",
    grids.SHORT: "short of published", grids.NOT_RUN: NOT_RUN,
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A row and a column of a table: the runs behind it by protocol, or why it is `unavailable`.

    `selections` say how the epoch of the runs of each protocol is chosen. Several cells may need
    the same run.
    """

    row: Row
    column: Column
    score: str = ""
    runs_by: Mapping[str, tuple[MethodRun, ...]] = field(default_factory=dict)
    selections: Mapping[str, str] = field(default_factory=dict)
    unavailable: str = ""

    @property
    def runs(self) -> tuple[MethodRun, ...]:
        """All its runs."""
        return tuple(run for runs in self.runs_by.values() for run in runs)

    @property
    def value(self) -> Value:
        """The published figure."""
        return self.row.values.get(self.column.key, Value(None))

    @property
    def is_judged(self) -> bool:
        """Whether there is a published figure that a run can reach."""
        return self.value.mean is not None and self.column.metric not in _INFORMATION

    @property
    def published(self) -> str:
        """The published figure as text."""
        return pages.mean_and_deviation(self.value.mean, self.value.deviation, self.digits)

    @property
    def digits(self) -> int:
        """Decimals of its figures."""
        return _DIGITS.get(self.column.unit, 4)

    def result(self, protocol: str, records: Records) -> "Result | None":
        """What the runs of a protocol gave; None if the cell has no such runs."""
        runs = self.runs_by.get(protocol)
        if not runs:
            return None
        found = [(run.key, record) for run in runs if (record := records.get(run.key)) is not None]
        return Result(self, protocol, len(runs), tuple(found))


@dataclass(frozen=True)
class Result:
    """The recorded runs of a cell by one protocol."""

    cell: Cell
    protocol: str
    n_planned: int
    found: tuple[tuple[str, Record], ...]

    @property
    def scores(self) -> list[float]:
        """Its scores, in the unit of the column."""
        scale, name = SCALES.get(self.cell.column.unit, 1.0), self.cell.score
        given = [record.get("scores", {}) for _, record in self.found]
        scores = [each.get(name, each.get(_BEFORE.get(name, ""))) for each in given]
        return [scale * score for score in scores if score is not None]

    @property
    def errors(self) -> list[str]:
        """The errors of the runs that failed."""
        return [record["error"] for _, record in self.found if "error" in record]

    @property
    def text(self) -> str:
        """Mean and deviation, or "-"."""
        if not self.scores:
            return "-"
        summary = summarize_runs(self.scores)
        return pages.mean_and_deviation(summary.mean, summary.deviation, self.cell.digits)

    @property
    def difference(self) -> float | None:
        """Our mean minus the published one."""
        published = self.cell.value.mean
        if not self.scores or published is None:
            return None
        return float(summarize_runs(self.scores).mean - published)

    @property
    def mark(self) -> str:
        """A mark of `grids.MARKS`; nothing where nothing can be compared."""
        if not self.scores:
            return grids.NOT_RUN
        difference, metric = self.difference, self.cell.column.metric
        if difference is None or not self.cell.is_judged:
            return grids.NEUTRAL
        gain = -difference if metric in _SMALLER_IS_BETTER else difference
        near = _NEAR * SCALES.get(self.cell.column.unit, 1.0)
        if gain > near:
            return grids.BETTER
        return grids.REACHED if gain >= -near else grids.SHORT

    @property
    def verdict(self) -> str:
        """What the mark means, or the error of a run that failed."""
        errors = self.errors
        if not self.scores and errors:
            return errors[0]
        if not self.scores:
            return f"{NOT_RUN}: needs {self.cell.column.dataset}"
        plain = "nothing published" if self.cell.value.mean is None else "for information"
        verdict = VERDICTS.get(self.mark, plain)
        return verdict + (f"; {len(errors)} failed" if errors else "")

    @property
    def grid_cell(self) -> grids.GridCell:
        """The figure with its mark; an incomplete number of runs is shown."""
        if not self.scores:
            return grids.GridCell("failed" if self.errors else "", self.mark)
        return grids.GridCell(self.text, self.mark)


LONG_COLUMNS = (
    "published_as", "method", "measured", "published", "protocol", "result", "lowest", "runs",
    "of", "selection", "difference", "verdict", "records",
)  # fmt: skip


def long_list(cells: Sequence[Cell], records: Records) -> list[dict[str, str]]:
    """A line for each cell and protocol, with the keys of the records behind it."""
    lines = []
    for cell in cells:
        named = {
            "published_as": f"({cell.row.published})" if cell.row.ours else cell.row.published,
            "method": cell.row.method or "-",
            "measured": cell.column.key,
            "published": cell.published,
        }
        if cell.unavailable:
            verdict = f"missing: {cell.unavailable}"
            lines.append(dict.fromkeys(LONG_COLUMNS, "-") | named | {"verdict": verdict})
        for protocol in cell.runs_by:
            result = cell.result(protocol, records)
            assert result is not None, "the protocol is one of the cell"
            lines.append(named | _long_line(result))
    return lines


def _long_line(result: Result) -> dict[str, str]:
    digits, difference = result.cell.digits, result.difference
    return {
        "protocol": LABELS[result.protocol],
        "result": result.text,
        "lowest": f"{min(result.scores):.{digits}f}" if result.scores else "-",
        "runs": str(len(result.scores)),
        "of": str(result.n_planned),
        "selection": result.cell.selections.get(result.protocol, "-"),
        "difference": "-" if difference is None else f"{difference:+.{digits}f}",
        "verdict": result.verdict,
        "records": " ".join(key for key, record in result.found if "scores" in record),
    }


def cell_rows(cells: Sequence[Cell], records: Records) -> list[dict[str, Any]]:
    """A row for each cell: the published figure, that as published, and ours."""
    rows = []
    for cell in cells:
        ours = cell.result(OURS, records)
        line = dict.fromkeys(("lowest", "selection", "difference"), "-") | {"runs": "0"}
        if ours is not None:
            line = _long_line(ours)
        row = {
            "published_as": f"({cell.row.published})" if cell.row.ours else cell.row.published,
            "method": cell.row.method or "-",
            "measured": cell.column.key,
            "published": cell.published,
            "ours": "-" if ours is None else ours.text,
            **{name: line[name] for name in ("lowest", "runs", "selection", "difference")},
            "verdict": _missing(cell) if ours is None else ours.verdict,
        }
        for protocol in (PUBLISHED, CHOSEN):
            result = cell.result(protocol, records)
            if result is not None:
                name = LABELS[protocol].replace(", ", "_").replace(" ", "_")
                row |= {
                    name: result.text,
                    f"{name}_runs": str(len(result.scores)),
                    f"{name}_verdict": result.verdict,
                }
        rows.append(row)
    return rows


def _missing(cell: Cell) -> str:
    """Why a cell has no runs by our protocol."""
    return f"missing: {cell.unavailable}" if cell.unavailable else "as published only"
