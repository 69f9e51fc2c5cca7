"""A figure of a paper: numbers are collected and recorded first, then drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import manyhands
from manyhands.core.errors import DataError
from manyhands.experiments.experiment import Experiment, Request, Written
from manyhands.experiments.published import PublishedFigure
from manyhands.experiments.records import NOT_RUN, RecordStore
from manyhands.experiments.runner import run_missing
from manyhands.experiments.sources import Material, Source
from manyhands.experiments.tasks import Task
from manyhands.experiments.writing import command_of, put, put_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Content = dict[str, Any]
DRAWN = 1  # raised when what is collected changes, so that old records do not count


@dataclass(frozen=True)
class Panel:
    """A part of a figure: its name, its crowd, and settings for what is collected of it.

    `slow` says that it takes hours without a GPU.
    """

    key: str
    source: Source
    settings: Mapping[str, Any] = field(default_factory=dict)
    slow: bool = False


@dataclass(frozen=True)
class FigureTask(Task):
    """Collecting the numbers of one panel, with one seed."""

    figure: str
    panel: Panel
    seed: int
    collect: Callable[[Material, int, Mapping[str, Any]], Content]
    expected: float

    def identity(self) -> dict[str, Any]:
        """See `Task.identity`."""
        return {
            "figure": self.figure,
            "panel": self.panel.key,
            "source": self.panel.source.identity(),
            "settings": dict(self.panel.settings),
            "seed": self.seed,
            "drawn": DRAWN,
            "manyhands": manyhands.__version__,
        }

    def outcome(self, data: str | None) -> dict[str, Any]:
        """What is to be drawn."""
        material = self.panel.source.load(data, self.seed)
        return {"content": plain(self.collect(material, self.seed, self.panel.settings))}


@dataclass(frozen=True)
class FigureExperiment(Experiment):
    """A figure with its panels.

    `collect(material, seed, settings)` gives the numbers of one panel, which JSON can hold;
    `draw({panel: numbers})` draws the panels that are there. `expected` is the time of a panel in
    seconds.
    """

    published: PublishedFigure
    panels: tuple[Panel, ...]
    collect: Callable[[Material, int, Mapping[str, Any]], Content]
    draw: Callable[[Mapping[str, Content]], "Figure"]
    expected: float = 1.0
    lacking: str = ""  # why it cannot be made yet

    def __post_init__(self) -> None:
        for name in ("name", "paper", "title"):
            object.__setattr__(self, name, getattr(self.published, name))

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return [panel.key for panel in self.panels]

    def tasks(self, request: Request) -> list[Task]:
        """See `Experiment.tasks`; a figure is of one seed."""
        return [
            FigureTask(self.name, panel, request.seed, self.collect, self.expected)
            for panel in self.panels
            if not self._why_not(panel, request)
        ]

    def missing(self, request: Request) -> list[str]:
        """See `Experiment.missing`."""
        reasons = {panel.key: self._why_not(panel, request) for panel in self.panels}
        return [f"{key}: {reason}" for key, reason in reasons.items() if reason]

    def write(self, store: RecordStore, request: Request, folder: Path) -> Written:
        """The figure as PNG and as SVG, of the panels there are, and a page that tells of it."""
        found, failed = self._contents(store, request)
        missing = [line.split(": ", 1) for line in self.missing(request)]
        verdicts = {
            **dict.fromkeys(found, "drawn"),
            **failed,
            **{key: f"missing: {reason}" for key, reason in missing},
        }
        page = put(folder / f"{self.file_name}.md", self._page(verdicts, request))
        drawn = put_figure(self.draw(found), folder / self.file_name) if found else []
        rows = [{"panel": key, "verdict": verdict} for key, verdict in verdicts.items()]
        return Written([page, *drawn], rows)

    def figure(self, store: RecordStore, request: Request) -> "Figure":
        """The figure itself; numbers that are not recorded yet are collected first."""
        run_missing(self.tasks(request), store, request.data)
        found, failed = self._contents(store, request)
        if not found:
            reasons = [*failed.values(), *self.missing(request)]
            raise DataError(f"{self.name} has nothing to draw: {'; '.join(reasons)}")
        return self.draw(found)

    def _page(self, verdicts: Mapping[str, str], request: Request) -> str:
        told = self.published
        drawn = "drawn" in verdicts.values()
        lines = [f"# {self.name}: {self.title}", "", f"{self.paper}.", ""]
        lines += [f"*Published*: {told.shows} {told.data}", "", f"*Read there*: {told.claim}", ""]
        lines += [f"```\n{command_of(self.name, request)}\n```", ""]
        lines += [f"![{self.title}]({self.file_name}.png)", ""] if drawn else []
        lines += [f"- {key}: {verdict}" for key, verdict in verdicts.items()]
        return "\n".join([*lines, *(f"- {note}" for note in told.notes)]) + "\n"

    def _contents(
        self, store: RecordStore, request: Request
    ) -> tuple[dict[str, Content], dict[str, str]]:
        found, failed = {}, {}
        for task in self.tasks(request):
            record = store.get(task.key)
            assert isinstance(task, FigureTask)
            if record is None:
                failed[task.panel.key] = NOT_RUN
            elif "error" in record:
                failed[task.panel.key] = record["error"]
            else:
                found[task.panel.key] = record["content"]
        return found, failed

    def _why_not(self, panel: Panel, request: Request) -> str:
        return self.lacking or request.lacks(panel.source, panel.slow)


def plain(content: Any) -> Any:
    """Arrays as lists, numbers to five digits: what a line of JSON holds."""
    if isinstance(content, Mapping):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, np.ndarray | np.generic):
        return plain(content.tolist())
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if isinstance(content, float):
        return float(f"{content:.5g}") if np.isfinite(content) else None
    return content
