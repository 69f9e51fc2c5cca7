"""What single settings of training are worth, beside the defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from manyhands.evaluation import summarize_runs
from manyhands.experiments import pages
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.encoders import with_encoder
from manyhands.experiments.experiment import CorpusExperiment, RunOptions, WrittenPages
from manyhands.experiments.published import our_specification
from manyhands.experiments.records import Record, Records
from manyhands.experiments.runs import MethodRun, Run, estimator_settings, rounded
from manyhands.selection import compare_training


@dataclass(frozen=True)
class Column:
    """Settings on a corpus; None are the defaults."""

    title: str
    dataset: str
    settings: Mapping[str, Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Section:
    """A table of methods by columns and the text above it.

    `lowest` also shows the lowest run. `transposed` puts the columns into rows.
    """

    title: str
    text: str
    methods: tuple[str, ...]
    columns: tuple[Column, ...]
    lowest: bool = False
    transposed: bool = False


_GIVEN = our_specification("settings")


def _column(given: Mapping[str, Any]) -> Column:
    settings = given.get("settings")
    if given.get("own_start"):
        start, changed = _GIVEN["own_start"], settings or {}
        settings = {kind: {**each, **changed.get(kind, {})} for kind, each in start.items()}
    return Column(given["title"], given["dataset"], settings)


def _section(given: Mapping[str, Any]) -> Section:
    columns = tuple(map(_column, given["columns"]))
    return Section(**{**given, "methods": tuple(given["methods"]), "columns": columns})


SECTIONS = tuple(map(_section, _GIVEN["sections"]))


@dataclass(frozen=True)
class SettingsRun(MethodRun):
    """A method with settings on a corpus, trained with several seeds; its scores are summaries."""

    n_seeds: int = 1

    kind: ClassVar[str] = "settings"
    revision: ClassVar[int] = 1

    def outcome(self, data: str | None) -> dict[str, Any]:
        """Mean, deviation and lowest of the accuracy, and means of the other scores."""
        trial = self.source.load(data, self.seed).trial
        settings = estimator_settings(with_encoder(self.settings, data))
        table = compare_training(
            trial, [self.method], runs=self.n_seeds, seed=self.seed, settings=settings
        )
        [row] = table.records()
        names = ("accuracy", "deviation", "lowest", "log_loss", "inferred")
        return {"scores": {name: rounded(row[name]) for name in names}}

    @property
    def expected_seconds(self) -> float:
        """See `Run.expected_seconds`."""
        return self.n_seeds * super().expected_seconds


@dataclass(frozen=True)
class SettingsExperiment(CorpusExperiment):
    """Tables of methods with single settings changed."""

    name = "ours/settings"
    title = "What single settings are worth"
    datasets: tuple[str, ...] = ("labelme", "music", "sentiment")
    sections: tuple[Section, ...] = field(default=SECTIONS, repr=False)

    def groups(self, options: RunOptions) -> dict[tuple[str, str, str], Sequence[Run]]:
        """See `CorpusExperiment.groups`; a group for each cell of each section."""
        available = self.available(options)
        return {
            (section.title, column.title, method): self._cell_runs(column, method, options)
            for section in self.sections
            for column in section.columns
            for method in section.methods
            if column.dataset in available
        }

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write a page with a table per section."""
        found = self.found(records, options)
        body, rows = [], []
        for section in self.sections:
            cells = {
                (column.title, method): _shown(
                    found.get((section.title, column.title, method), []), section.lowest
                )
                for method in section.methods
                for column in section.columns
            }
            rows += [
                {"section": section.title, "method": method, "settings": title, "accuracy %": cell}
                for (title, method), cell in cells.items()
            ]
            body += [f"## {section.title}", "", section.text, "", _table(section, cells), ""]
        body += self.missing_lines(options)
        about = self.introduction(_GIVEN, options)
        return WrittenPages([self.write_page(folder, options, [about, ""], body)], rows)

    def _cell_runs(self, column: Column, method: str, options: RunOptions) -> Sequence[Run]:
        source, seeds = CorpusSource(column.dataset), self.seeds(options)
        if column.settings is None:
            return [MethodRun(source, method, seed) for seed in seeds]
        return [SettingsRun(source, method, options.seed, column.settings, len(seeds))]


def _shown(records: Sequence[Record], lowest: bool) -> str:
    """A cell: one record that summarises several seeds, or one record per seed."""
    scores = [each["scores"] for each in records if "scores" in each]
    if not scores:
        return "-"
    if "deviation" in scores[0]:
        mean, deviation, worst = (scores[0][name] for name in ("accuracy", "deviation", "lowest"))
    else:
        accuracies = [each["accuracy"] for each in scores]
        summary = summarize_runs(accuracies)
        mean, deviation, worst = summary.mean, summary.deviation, min(accuracies)
    worst_run = f" (lowest {100 * worst:.1f})" if lowest else ""
    return pages.mean_and_deviation(100 * mean, deviation and 100 * deviation, 1) + worst_run


def _table(section: Section, cells: Mapping[tuple[str, str], str]) -> str:
    titles = [column.title for column in section.columns]
    if section.transposed:
        rows = [[title, *(cells[title, method] for method in section.methods)] for title in titles]
        return pages.markdown_table(["", *section.methods], rows, left=1)
    rows = [
        [f"`{method}`", *(cells[title, method] for title in titles)] for method in section.methods
    ]
    return pages.markdown_table(["", *titles], rows, left=1)
