"""Every method for classes on every crowd, with its defaults: who is best where."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.evaluation import summarise_runs
from manyhands.experiments.experiment import Experiment, Request, Written
from manyhands.experiments.page import how_chosen
from manyhands.experiments.records import RecordStore
from manyhands.experiments.sources import CorpusSource
from manyhands.experiments.tasks import MethodTask, Task
from manyhands.experiments.writing import command_of, markdown_table, put
from manyhands.methods import METHODS

CROWDS = {
    "labelme": "8 scene classes, 1000 images, 59 people, 2.5 labels each; 512 VGG features",
    "music": "10 genres, 700 songs, 44 people, 4.2 labels each; 124 features",
    "sentiment": "2 classes, 4999 sentences, 203 people, 5.6 labels each; 384 MiniLM features",
}
# Topic models take counts: rounded activations of VGG channels, and words of the sentences.
COUNTS = {"labelme": "vgg-words", "sentiment": "words"}
_WORDS = """Accuracy of the network alone on test items nobody labelled: mean, deviation and lowest
of the runs. *With labels*: network and labels together, on the training items. Default settings, a
hidden layer of 128 with half of it dropped out where a method has no network of its own. No clean
label was used to train or to choose anything, except by `truth`, the upper bound. Topic models
(`ma-slda-c`) see counts in the place of the features: rounded activations of VGG channels as visual
words, words of the sentences; music has none. Seconds are of one run, as recorded."""


@dataclass(frozen=True)
class EveryMethod(Experiment):
    """The methods of `METHODS` for classes on crowds of `DATASETS`, a ranked table each."""

    name = "ours/every-method"
    paper = "ours"
    title = "Every method on every crowd"
    usual_runs = 10
    datasets: tuple[str, ...] = tuple(CROWDS)

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return list(self.datasets)

    def tasks(self, request: Request) -> list[Task]:
        """See `Experiment.tasks`."""
        return [
            task
            for dataset in self.datasets
            for group in self._groups(dataset, request).values()
            for task in group
        ]

    def missing(self, request: Request) -> list[str]:
        """See `Experiment.missing`."""
        reasons = {name: request.lacks(CorpusSource(name)) for name in self.datasets}
        return [f"{name}: {reason}" for name, reason in reasons.items() if reason]

    def write(self, store: RecordStore, request: Request, folder: Path) -> Written:
        """A page with a table per crowd."""
        tables = {
            dataset: _ranked(
                _row(dataset, method, [store.get(task.key) for task in tasks])
                for method, tasks in self._groups(dataset, request).items()
            )
            for dataset in self.datasets
        }
        lines = [f"# {self.name}: {self.title}", "", _WORDS, ""]
        lines += [f"```\n{command_of(self.name, request)}\n```"]
        for dataset, rows in tables.items():
            lines += ["", f"## {dataset}: {CROWDS.get(dataset, '')}", ""]
            if rows:
                lines += markdown_table(list(rows[0])[1:], [list(row.values())[1:] for row in rows])
        lines += ["", *(f"- missing: {line}" for line in self.missing(request))]
        page = put(folder / f"{self.file_name}.md", "\n".join(lines).rstrip() + "\n")
        return Written([page], [row for rows in tables.values() for row in rows])

    def _groups(self, dataset: str, request: Request) -> dict[str, list[MethodTask]]:
        """The runs of every method that the data suits."""
        groups = {}
        for name, method in METHODS.items():
            source = CorpusSource(dataset, COUNTS.get(dataset) if method.needs_counts else None)
            suits = "classes" in method.kinds and (not method.needs_counts or dataset in COUNTS)
            if suits and not request.lacks(source):
                runs = range(request.runs or self.usual_runs)
                groups[name] = [MethodTask(source, name, request.seed + run) for run in runs]
        return groups


def _row(dataset: str, method: str, records: Sequence[dict[str, Any] | None]) -> dict[str, str]:
    made = [each for each in records if each is not None]
    whole = [each for each in made if "scores" in each]
    row = {"data": dataset, "method": f"`{method}`"}
    failed = len(made) - len(whole)
    if not whole:
        blank = dict.fromkeys(("accuracy %", "lowest", "log loss", "with labels %"), "-")
        return row | blank | {"seconds": "-", "epoch": how_chosen(method), "runs": "0"}
    accuracy = summarise_runs([100 * each["scores"]["accuracy"] for each in whole])
    lowest = min(100 * each["scores"]["accuracy"] for each in whole)

    def mean(score: str) -> float:
        return float(np.mean([each["scores"][score] for each in whole]))

    return row | {
        "accuracy %": f"{accuracy.mean:.2f} ± {accuracy.deviation:.2f}",
        "lowest": f"{lowest:.2f}",
        "log loss": f"{mean('log_loss'):.3f}",
        "with labels %": f"{100 * mean('inferred'):.2f}",
        "seconds": f"{np.median([each['seconds'] for each in whole]):.1f}",
        "epoch": how_chosen(method),
        "runs": f"{len(whole)}" + (f" ({failed} failed)" if failed else ""),
    }


def _ranked(rows: Any) -> list[dict[str, str]]:
    def place(row: dict[str, str]) -> float:
        shown = row["accuracy %"].split(" ")[0]
        return float("inf") if shown == "-" else -float(shown)

    return sorted(rows, key=place)
