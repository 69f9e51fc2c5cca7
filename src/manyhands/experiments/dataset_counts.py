"""A published table of datasets: the counts of the paper beside those of the files we read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from manyhands.experiments import pages
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.experiment import CorpusExperiment, RunOptions, WrittenPages
from manyhands.experiments.protocols import Protocol
from manyhands.experiments.published import published_content, published_tables
from manyhands.experiments.records import NOT_RUN, Record, Records
from manyhands.experiments.runs import Run

_ALSO = ("labels", "test items")  # counts that the table of the paper does not have
_SECONDS = 2.0


@dataclass(frozen=True)
class CountRun(Run):
    """Counting what a corpus holds; the seed changes nothing, so there is none."""

    source: CorpusSource

    kind: ClassVar[str] = "counts"

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The counts: of what was labelled, by whom, how often, and of items for testing."""
        trial = self.source.load(data, 0).trial
        ann = trial.annotations
        n_test = 0 if trial.test_truth is None else len(trial.test_truth)
        return {
            "counts": {
                "annotators": int(np.count_nonzero(ann.labels_per_annotator)),
                "classes": ann.n_classes,
                "items": int(np.count_nonzero(ann.labels_per_item)),
                "labels": ann.n_annotations,
                "test items": n_test,
            }
        }

    @property
    def expected_seconds(self) -> float:
        """See `Run.expected_seconds`."""
        return _SECONDS


@dataclass(frozen=True)
class DatasetTable(CorpusExperiment):
    """A table of datasets, by the name of its file among the published ones."""

    file: str

    def __post_init__(self) -> None:
        given = self.given
        first = given["name"].split("/")[0]
        papers = [each.paper for name, each in published_tables().items() if name.startswith(first)]
        for name, value in {"name": given["name"], "title": given["title"], "paper": papers[0],
                            "datasets": tuple(self._published)}.items():  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def protocol(self) -> Protocol:
        """See `Experiment.protocol`."""
        return Protocol(nothing="labels are counted, nothing is trained")

    @property
    def given(self) -> dict[str, Any]:
        """What the file of the table holds."""
        return published_content(self.file)

    @property
    def _published(self) -> dict[str, Mapping[str, Any]]:
        return {each["dataset"]: each for each in self.given["datasets"]}

    def groups(self, options: RunOptions) -> dict[str, list[CountRun]]:
        """See `CorpusExperiment.groups`; one run for each corpus."""
        return {name: [CountRun(CorpusSource(name))] for name in self.available(options)}

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write a page with one table."""
        found, reasons = self.found(records, options), self.reasons(options)
        rows = []
        for name, given in self._published.items():
            made = found.get(name, [])
            verdict = f"missing: {reasons[name]}" if name in reasons else _verdict(given, made)
            counts = made[0].get("counts", {}) if made else {}
            shown = {
                what: f"{given['values'].get(what, '-')} / {counts.get(what, '-')}"
                for what in self.given["counts"]
            }
            also = {what: str(counts.get(what, "-")) for what in _ALSO}
            named = {"published as": given["published"], "dataset": name}
            rows.append({**named, **shown, **also, "verdict": verdict})
        about = [
            f"{self.paper}; {self.given['source']}.", "",
            "Counts of the paper / counts of the files that we read. Nothing is trained.", "",
        ]  # fmt: skip
        cells = [list(row.values()) for row in rows]
        notes = ["", "**About the paper**", "", *(f"- {note}" for note in self.given["notes"])]
        body = [pages.markdown_table(list(rows[0]), cells, left=2), *notes]
        return WrittenPages([self.write_page(folder, options, about, body)], rows)

    def command(self, options: RunOptions) -> str:
        """See `Experiment.command`; the number of seeds changes nothing."""
        return f"manyhands reproduce {self.name} --data DIR"


def _verdict(given: Mapping[str, Any], made: list[Record]) -> str:
    """Which counts differ from those of the paper."""
    if not made or "error" in made[0]:
        return made[0]["error"] if made else f"{NOT_RUN}: needs {given['dataset']}"
    if not given["values"]:
        return "nothing published"
    counts = made[0]["counts"]
    others = [what for what, count in given["values"].items() if counts[what] != count]
    return f"{' and '.join(others)} differ" if others else "the same"


P2_TABLE_4 = DatasetTable("p2-datasets.json")
