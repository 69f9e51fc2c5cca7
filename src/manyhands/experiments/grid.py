"""Methods by networks on a corpus: an experiment of ours with one run for every seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from manyhands.evaluation import summarize_runs
from manyhands.experiments import pages
from manyhands.experiments.data import CorpusSource, Source
from manyhands.experiments.experiment import CorpusExperiment, RunOptions, WrittenPages
from manyhands.experiments.published import our_specification
from manyhands.experiments.records import Record, Records
from manyhands.experiments.runs import MethodRun, Run

_SCORE = "accuracy"


@dataclass(frozen=True)
class GridColumn:
    """A network with settings of training on a set of features; `slow` is for a GPU."""

    title: str
    source: Source
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    slow: bool = False


@dataclass(frozen=True)
class GridExperiment(CorpusExperiment):
    """The test accuracy of every method (row) with every network (column).

    `specification` names the file of its texts, methods and columns. `baseline` is the method that
    the others are compared with, seed by seed.
    """

    name: str
    title: str
    specification: str
    usual_runs = 5
    measured: ClassVar[str] = "Accuracy on the test items"

    @property
    def given(self) -> dict[str, Any]:
        """What the file of the experiment holds."""
        return our_specification(self.specification)

    @property
    def columns(self) -> list[GridColumn]:
        """The columns of its table."""
        return [self.column(each) for each in self.given["columns"]]

    def column(self, given: Mapping[str, Any]) -> GridColumn:
        """A column; its settings of training change those that all columns have."""
        training = {**self.given.get("training", {}), **given.get("training", {})}
        settings = {"training": training}
        return GridColumn(given["title"], self.source(given), settings, given.get("slow", False))

    def source(self, given: Mapping[str, Any]) -> Source:
        """What a column learns from."""
        return CorpusSource(given["dataset"], given.get("features"))

    def run(self, column: GridColumn, method: str, seed: int) -> Run:
        """One run of a cell."""
        assert isinstance(column.source, CorpusSource), "the columns of a grid are corpora"
        return MethodRun(column.source, method, seed, column.settings)

    @property
    def datasets(self) -> tuple[str, ...]:  # type: ignore[override]
        """The corpora that it uses."""
        sources = [column.source for column in self.columns]
        return tuple(dict.fromkeys(str(each.fingerprint()["dataset"]) for each in sources))

    def groups(self, options: RunOptions) -> dict[tuple[str, str], Sequence[Run]]:
        """See `CorpusExperiment.groups`; a group for each cell."""
        reasons, seeds = self.reasons(options), self.seeds(options)
        return {
            (column.title, method): [self.run(column, method, seed) for seed in seeds]
            for column in self.columns
            if column.title not in reasons
            for method in self.given["methods"]
        }

    def reasons(self, options: RunOptions) -> dict[str, str]:
        """See `Experiment.reasons`; the parts are columns."""
        reasons = {
            column.title: options.unavailable(column.source, column.slow, column.settings)
            for column in self.columns
        }
        return {title: reason for title, reason in reasons.items() if reason}

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write a page: accuracies, differences from the baseline, and seconds."""
        found, given = self.found(records, options), self.given
        titles, methods = [column.title for column in self.columns], given["methods"]
        baseline = given["baseline"]
        cells = {
            (title, method): _accuracy(found.get((title, method), []))
            for title in titles
            for method in methods
        }
        gains = {
            (title, method): _gain(found.get((title, method), []), found.get((title, baseline), []))
            for title in titles
            for method in methods
        }
        times = {title: _seconds(found, title) for title in titles}
        others = [method for method in methods if method != baseline]
        body = [
            f"## {self.measured} (%)", "", _table(titles, methods, cells, times), "",
            f"## Difference from `{baseline}` (points)", "",
            "Mean over seeds of the difference of two runs with the same seed, and its standard "
            "error.", "",
            _table(titles, others, gains), "", *self.missing_lines(options),
        ]  # fmt: skip
        body += ["", given["remarks"]] if given.get("remarks") else []
        about = self.introduction(given, options)
        rows = [
            {"method": method, "network": title, "accuracy %": cells[title, method],
             f"against {baseline}": gains[title, method],
             "runs": pages.count_runs(found.get((title, method), []))}
            for method in methods
            for title in titles
        ]  # fmt: skip
        return WrittenPages([self.write_page(folder, options, [about, ""], body)], rows)


def _scores(records: Sequence[Record]) -> dict[int, float]:
    """The accuracies in percent, by seed."""
    return {each["seed"]: 100 * each["scores"][_SCORE] for each in records if "scores" in each}


def _accuracy(records: Sequence[Record]) -> str:
    scores = list(_scores(records).values())
    if not scores:
        failed = next((each["error"] for each in records if "error" in each), "")
        return failed or "-"
    summary = summarize_runs(scores)
    return pages.mean_and_deviation(summary.mean, summary.deviation, 2)


def _gain(records: Sequence[Record], baseline: Sequence[Record]) -> str:
    ours, theirs = _scores(records), _scores(baseline)
    gains = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    if not gains:
        return "-"
    summary = summarize_runs(gains)
    error = None if summary.deviation is None else summary.deviation / len(gains) ** 0.5
    shown = pages.mean_and_deviation(summary.mean, error, 2)
    return shown if summary.mean < 0 else f"+{shown}"


def _seconds(found: Mapping[tuple[str, str], Sequence[Record]], title: str) -> str:
    seconds = [
        record["seconds"]
        for (column, _), records in found.items()
        if column == title
        for record in records
        if "scores" in record
    ]
    return f"{median(seconds):.1f}" if seconds else "-"


def _table(
    titles: Sequence[str],
    methods: Sequence[str],
    cells: Mapping[tuple[str, str], str],
    times: Mapping[str, str] | None = None,
) -> str:
    rows = [[f"`{method}`", *(cells[title, method] for title in titles)] for method in methods]
    if times is not None:
        rows.append(["seconds of a run", *(times[title] for title in titles)])
    return pages.markdown_table(["", *titles], rows, left=1)


GRIDS = (
    GridExperiment(
        "ours/fine-tuned-sentences",
        "Fine-tuning a sentence encoder from crowd labels",
        "fine-tuned-sentences",
    ),
    GridExperiment(
        "ours/labelme-images",
        "LabelMe from features and from its images",
        "labelme-images",
    ),
)
