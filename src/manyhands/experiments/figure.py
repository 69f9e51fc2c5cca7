"""A figure of a paper. Its numbers are collected and recorded first, then drawn."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from manyhands.experiments import pages
from manyhands.experiments.data import CorpusSource, DataSource, ExperimentData
from manyhands.experiments.drawing import Figure
from manyhands.experiments.experiment import Experiment, RunOptions, WrittenPages
from manyhands.experiments.protocols import OURS, PUBLISHED, Protocol
from manyhands.experiments.published import PublishedFigure, published_figures
from manyhands.experiments.records import NOT_RUN, Records, json_content
from manyhands.experiments.results import LABELS
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


AsPublished = Callable[[Panel, Protocol], Settings]


def run_as_published(method: str, dataset: str | None = None) -> AsPublished:
    """Settings of a panel whose `run` is a method by the protocol of the paper.

    The name of the panel is that of the dataset, unless another is given.
    """

    def settings(panel: Panel, protocol: Protocol) -> Settings:
        return {**panel.settings, "run": protocol.settings(dataset or panel.key, method)}

    return settings


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
    `draw({panel: numbers})` draws the panels given. `as_published(panel, protocol)` returns the
    settings of a panel by the protocol of the paper; None where nothing is trained.
    """

    name: str
    panels: tuple[Panel, ...]
    collect: Collect
    draw: Callable[[Mapping[str, Content]], Figure]
    as_published: AsPublished | None = None

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

    @property
    def protocol(self) -> Protocol:
        """See `Experiment.protocol`."""
        return self.published.protocol

    def panels_by(self) -> dict[str, tuple[Panel, ...]]:
        """The panels by protocol."""
        make = self.as_published
        if make is None:
            return {OURS: self.panels}
        made = (replace(panel, settings=make(panel, self.protocol)) for panel in self.panels)
        return {PUBLISHED: tuple(made), OURS: self.panels}

    def runs(self, options: RunOptions) -> list[FigureRun]:
        """See `Experiment.runs`; a figure has one seed."""
        panels_by = self.panels_by()
        one = len(panels_by) == 1  # then there is nothing to choose between
        return [
            run
            for protocol in panels_by
            if one or options.runs_by(protocol)
            for run in self._runs(protocol, options)
        ]

    def _runs(self, protocol: str, options: RunOptions) -> list[FigureRun]:
        return [
            FigureRun(self.name, panel, options.seed, self.collect)
            for panel in self.panels_by()[protocol]
            if not options.unavailable(panel.source, panel.slow)
        ]

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write the available panels as PNG and as SVG, and a page about the figure."""
        published = self.published
        about = [
            f"{self.paper}.",
            "",
            f"*Published*: {published.shows} {published.data}",
            "",
            f"*The paper's reading*: {published.claim}",
            "",
        ]
        body, rows, drawn = [], [], []
        panels_by = self.panels_by()
        for protocol in panels_by:
            label = LABELS[protocol] if len(panels_by) > 1 else ""
            found, verdicts = self._found(protocol, records, options)
            file = f"{self.file_name}-as-published" if protocol == PUBLISHED else self.file_name
            body += [f"## {label.capitalize()}", ""] if label else []
            if found:
                body += [f"![{self.title}{', ' if label else ''}{label}]({file}.png)", ""]
                drawn += pages.write_figure(self.draw(found), folder / file)
            body += [*(f"- {key}: {verdict}" for key, verdict in verdicts.items()), ""]
            whose = {"protocol": label} if label else {}
            rows += [{"panel": key, **whose, "verdict": each} for key, each in verdicts.items()]
        body += [f"- {note}" for note in published.notes]
        body += ["", *self._protocol_lines(panels_by)]
        page = self.write_page(folder, options, about, body)
        return WrittenPages([page, *drawn], rows)

    def _found(
        self, protocol: str, records: Records, options: RunOptions
    ) -> tuple[dict[str, Content], dict[str, str]]:
        """The recorded numbers of the panels of a protocol, and what became of each panel."""
        made = {run.panel.key: records.get(run.key) for run in self._runs(protocol, options)}
        failed = {key: each["error"] if each else NOT_RUN for key, each in made.items()
                  if not each or "error" in each}  # fmt: skip
        found = {key: each["content"] for key, each in made.items() if each and key not in failed}
        missing = {key: f"missing: {reason}" for key, reason in self.reasons(options).items()}
        return found, {**dict.fromkeys(found, "drawn"), **failed, **missing}

    def _protocol_lines(self, panels_by: Mapping[str, tuple[Panel, ...]]) -> list[str]:
        """The protocol of the paper, or why there is none, and the settings of the panels."""
        if self.protocol.nothing:
            return ["## Protocol", "", f"Nothing to state: {self.protocol.nothing}."]
        table = self.published.protocol_of
        lines = [
            "## Protocol",
            "",
            f"As published: that of [{table}]({table.replace('/', '-')}.md#protocol), where every "
            "statement of the paper is listed with the reading taken. The settings of the panels:",
            "",
        ]
        for protocol, panels in panels_by.items():
            shown = [json.dumps(panel.settings, sort_keys=True) for panel in panels]
            lines += [f"- {LABELS[protocol]}: `{each}`" for each in dict.fromkeys(shown)]
        return lines

    def reasons(self, options: RunOptions) -> dict[str, str]:
        """See `Experiment.reasons`; the parts are panels."""
        reasons = {p.key: options.unavailable(p.source, p.slow) for p in self.panels}
        return {key: reason for key, reason in reasons.items() if reason}
