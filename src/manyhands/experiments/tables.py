"""A published table beside our own runs of it."""

from dataclasses import dataclass
from pathlib import Path

from manyhands.experiments.cells import Cell, cells_of, tasks_of
from manyhands.experiments.experiment import Experiment, Request, Written
from manyhands.experiments.page import html_page, lines_of, markdown_page
from manyhands.experiments.published import PublishedTable
from manyhands.experiments.records import RecordStore
from manyhands.experiments.tasks import Task
from manyhands.experiments.writing import command_of, put


@dataclass(frozen=True)
class TableExperiment(Experiment):
    """A table of a paper."""

    table: PublishedTable

    def __post_init__(self) -> None:
        for name in ("name", "paper", "title"):
            object.__setattr__(self, name, getattr(self.table, name))

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return list(dict.fromkeys(column.dataset for column in self.table.columns))

    def cells(self, request: Request) -> list[Cell]:
        """Every cell of the table, row by row."""
        return cells_of(self.table, request)

    def tasks(self, request: Request) -> list[Task]:
        """See `Experiment.tasks`."""
        return list(tasks_of(self.cells(request)))

    def missing(self, request: Request) -> list[str]:
        """See `Experiment.missing`."""
        return [
            f"{cell.row.published}, {cell.column.key}: {cell.missing}"
            for cell in self.cells(request)
            if cell.missing
        ]

    def write(self, store: RecordStore, request: Request, folder: Path) -> Written:
        """The table as Markdown and as HTML."""
        lines = lines_of(self.cells(request), store)
        command = command_of(self.name, request)
        pages = {
            ".md": markdown_page(self.table, lines, command),
            ".html": html_page(self.table, lines, command),
        }
        files = [put(folder / f"{self.file_name}{end}", text) for end, text in pages.items()]
        validation_unit = frozenset({"method", "lowest", "runs", "selection"})
        return Written(files, [line.named() for line in lines], validation_unit)
