"""A figure of a paper. Its numbers are collected and recorded first, then drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from manyhands.experiments import pages
from manyhands.experiments.data import CorpusSource, DataSource, ExperimentData
from manyhands.experiments.drawing import Figure
from manyhands.experiments.experiment import Experiment, RunOptions, WrittenPages
from manyhands.experiments.published import PublishedFigure, published_figures
from manyhands.experiments.records import NOT_RUN, Records, json_content
from manyhands.experiments.runs import Run

Settings = Mapping[str, Any]
Content = dict[str, Any]
Collect = Callable[[ExperimentData, int, Settings], Content]
# The usual time of a panel; otherwise a second.
_SECONDS = {
    "p0/figure-2": 120.0, "p0/figure-3": 5.0, "p0/figure-4": 60.0, "p1/figure-5": 40.0,
    "p1/figure-6": 8.0, "p2/figure-2": 2.0, "p3/figure-5": 60.0, "p3/figure-7": 40.0,
    "p3/figure-8": 5.0, "p3/figure-9": 8.0, "p3/figure-10": 8.0, "p3/theorem-1": 2.0,
    "p4/figure-1": 6.0, "p4/figure-2": 6.0, "p4/figure-3": 30.0,
}  # fmt: skip


@dataclass(frozen=True)
class Panel:
    """A part of a figure: its name, its data, and settings for collecting its numbers.

    `slow` marks what takes hours without a GPU.
    """

    key: str
    source: DataSource
    settings: Settings = field(default_factory=dict)
    slow: bool = False


def corpus_panels(*names: str, settings: Settings | None = None) -> tuple[Panel, ...]:
    """A panel for each of these corpora, all with the same settings."""
    return tuple(Panel(name, CorpusSource(name), settings or {}) for name in names)


@dataclass(frozen=True)
class FigureRun(Run):
    """Collecting the numbers of one panel, with one seed."""

    figure: str
    panel: Panel
    seed: int
    collect: Collect

    kind: ClassVar[str] = "figure"

    def fingerprint(self) -> dict[str, Any]:
        """See `Run.fingerprint`."""
        return {
            "kind": self.kind,
            "revision": self.revision,
            "figure": self.figure,
            "panel": self.panel.key,
            "source": self.panel.source.fingerprint(),
            "settings": dict(self.panel.settings),
            "seed": self.seed,
        }

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The numbers to draw."""
        loaded = self.panel.source.load(data, self.seed)
        return {"content": json_content(self.collect(loaded, self.seed, self.panel.settings))}

    @property
    def expected_seconds(self) -> float:
        """See `Run.expected_seconds`."""
        return _SECONDS.get(self.figure, 1.0)


@dataclass(frozen=True)
class FigureExperiment(Experiment):
    """A figure with its panels, by its name among `published_figures`.

    `collect(data, seed, settings)` returns the numbers of one panel in a form that JSON can hold.
    `draw({panel: numbers})` draws the panels given.
    """

    name: str
    panels: tuple[Panel, ...]
    collect: Collect
    draw: Callable[[Mapping[str, Content]], Figure]

    def __post_init__(self) -> None:
        for name in ("paper", "title"):
            object.__setattr__(self, name, getattr(self.published, name))

    @property
    def published(self) -> PublishedFigure:
        """What the paper shows, and what it concludes from it."""
        return published_figures()[self.name]

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return [panel.key for panel in self.panels]

    def runs(self, options: RunOptions) -> list[FigureRun]:
        """See `Experiment.runs`; a figure has one seed."""
        return [
            FigureRun(self.name, panel, options.seed, self.collect)
            for panel in self.panels
            if not options.unavailable(panel.source, panel.slow)
        ]

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write the available panels as PNG and as SVG, and a page about the figure."""
        made = {run.panel.key: records.get(run.key) for run in self.runs(options)}
        failed = {key: each["error"] if each else NOT_RUN for key, each in made.items()
                  if not each or "error" in each}  # fmt: skip
        found = {key: each["content"] for key, each in made.items() if each and key not in failed}
        missing = {key: f"missing: {reason}" for key, reason in self.reasons(options).items()}
        verdicts = {**dict.fromkeys(found, "drawn"), **failed, **missing}
        published = self.published
        about = [
            f"{self.paper}.",
            "",
            f"*Published*: {published.shows} {published.data}",
            "",
            f"*The paper's reading*: {published.claim}",
            "",
        ]
        body = [f"![{self.title}]({self.file_name}.png)", ""] if found else []
        body += [f"- {key}: {verdict}" for key, verdict in verdicts.items()]
        body += [f"- {note}" for note in published.notes]
        page = self.write_page(folder, options, about, body)
        drawn = pages.write_figure(self.draw(found), folder / self.file_name) if found else []
        rows = [{"panel": key, "verdict": verdict} for key, verdict in verdicts.items()]
        return WrittenPages([page, *drawn], rows)

    def reasons(self, options: RunOptions) -> dict[str, str]:
        """See `Experiment.reasons`; the parts are panels."""
        reasons = {p.key: options.unavailable(p.source, p.slow) for p in self.panels}
        return {key: reason for key, reason in reasons.items() if reason}
