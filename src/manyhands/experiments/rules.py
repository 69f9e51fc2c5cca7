"""The same method under several rules of choosing its epoch: what a rule is worth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import manyhands
from manyhands.core.arrays import AnyArray
from manyhands.evaluation import accuracy_score, summarize_runs
from manyhands.experiments.experiment import Experiment, Request, Written
from manyhands.experiments.figure import plain
from manyhands.experiments.methods import fit_method
from manyhands.experiments.records import RecordStore
from manyhands.experiments.sources import CorpusSource, Material
from manyhands.experiments.tasks import Task
from manyhands.experiments.writing import command_of, markdown_table, put, put_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES = {
    "crowd": "epoch by held-out labels of the crowd, then trained on all labels",
    "last": "the last epoch",
    "clean": "epoch with the best accuracy on clean validation labels",
    "test": "epoch with the best accuracy on the test items themselves",
}
HONEST = ("crowd", "last")
_MEASURED = 1  # raised when what is measured changes
_EPOCHS = 100
_WHOLE = {"validation_fraction": 0.0, "epochs": _EPOCHS}  # every epoch is watched, none is chosen
_AS_PUBLISHED = {"noise": {"prior_precision": 0.0}, "training": {"init": "own", "warm_up": 0}}


@dataclass(frozen=True)
class RuleTask(Task):
    """A method on a corpus with a seed, watched at every epoch."""

    source: CorpusSource
    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    expected = 12.0

    def identity(self) -> dict[str, Any]:
        """See `Task.identity`."""
        return {
            "rules": _MEASURED,
            "source": self.source.identity(),
            "method": self.method,
            "settings": dict(self.settings),
            "seed": self.seed,
            "manyhands": manyhands.__version__,
        }

    def outcome(self, data: str | None) -> dict[str, Any]:
        """Test accuracy under every rule, and at every epoch."""
        material = self.source.load(data, self.seed)
        trial = material.trial
        chosen = fit_method(trial, self.method, self.seed, self.settings)
        training = {**self.settings.get("training", {}), **_WHOLE}
        checked_metrics = fit_method(
            trial,
            self.method,
            self.seed,
            {**self.settings, "training": training},
            callback=_accuracies(material),
        )
        test = np.array([entry["test"] for entry in checked_metrics.history_])
        found = chosen.predict_proba(trial.test_features).argmax(axis=1)
        scores = {
            "crowd": accuracy_score(_known(trial.test_truth), found),
            "last": test[-1],
            "test": test.max(),
        }
        if material.valid is not None:
            valid = np.array([entry["valid"] for entry in checked_metrics.history_])
            scores["clean"] = test[valid.argmax()]
        return {
            "scores": plain(scores),
            "test_by_epoch": plain(test),
            "epoch": chosen.epoch_,
        }


@dataclass(frozen=True)
class RuleExperiment(Experiment):
    """Methods under rules of selection, honest ones and those of published practice."""

    name = "ours/selection-rules"
    paper = "ours"
    title = "The same method under several rules of choosing its epoch"
    usual_runs = 10
    datasets: tuple[str, ...] = ("labelme", "music")
    methods: tuple[str, ...] = ("crowd-layer-mw", "speelfc", "conal")

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return list(self.datasets)

    def tasks(self, request: Request) -> list[Task]:
        """See `Experiment.tasks`."""
        return [task for group in self._groups(request).values() for task in group]

    def missing(self, request: Request) -> list[str]:
        """See `Experiment.missing`."""
        reasons = {name: request.lacks(CorpusSource(name)) for name in self.datasets}
        return [f"{name}: {reason}" for name, reason in reasons.items() if reason]

    def write(self, store: RecordStore, request: Request, folder: Path) -> Written:
        """A table of the rules, and accuracy by epoch as a figure."""
        groups = self._groups(request)
        made = {
            key: [record for task in tasks if (record := store.get(task.key)) is not None]
            for key, tasks in groups.items()
        }
        rows = [_row(key, records) for key, records in made.items()]
        page = put(folder / f"{self.file_name}.md", self._page(rows, request))
        whole = {
            key: [each for each in records if "scores" in each] for key, records in made.items()
        }
        shown = {key: records for key, records in whole.items() if records}
        drawn = put_figure(draw_rules(shown), folder / self.file_name) if shown else []
        return Written([page, *drawn], rows)

    def _groups(self, request: Request) -> dict[tuple[str, str, str], list[RuleTask]]:
        variants: dict[str, Mapping[str, Any]] = {"our defaults": {}, "own start": _AS_PUBLISHED}
        return {
            (dataset, method, variant): [
                RuleTask(CorpusSource(dataset), method, request.seed + run, settings)
                for run in range(request.runs or self.usual_runs)
            ]
            for dataset in self.datasets
            if not request.lacks(CorpusSource(dataset))
            for method in self.methods
            for variant, settings in variants.items()
        }

    def _page(self, rows: list[dict[str, str]], request: Request) -> str:
        lines = [f"# {self.name}: {self.title}", ""]
        lines += [f"```\n{command_of(self.name, request)}\n```", ""]
        lines += [f"- *{rule}*: {words}" for rule, words in RULES.items()]
        if rows:
            lines += ["", *markdown_table(list(rows[0]), [list(row.values()) for row in rows])]
            lines += ["", f"![Accuracy by epoch]({self.file_name}.png)"]
        lines += ["", *(f"- missing: {line}" for line in self.missing(request))]
        return "\n".join(lines) + "\n"


def draw_rules(records: Mapping[tuple[str, str, str], list[dict[str, Any]]]) -> "Figure":
    """Test accuracy by epoch, mean over the runs; a point marks where each rule ends up."""
    from manyhands.experiments.figures.drawing import new_figure

    datasets = list(dict.fromkeys(key[0] for key in records))
    figure = new_figure(5.2 * len(datasets), 4.4, RuleExperiment.title)
    grid = figure.subplots(1, len(datasets), squeeze=False)[0]
    for axes, dataset in zip(grid, datasets, strict=True):
        for (where, method, variant), made in records.items():
            if where == dataset:
                by_epoch = np.mean([record["test_by_epoch"] for record in made], axis=0)
                best = np.mean([record["scores"]["test"] for record in made])
                (line,) = axes.plot(
                    np.arange(1, len(by_epoch) + 1), 100 * by_epoch, linewidth=1.2,
                    linestyle="-" if variant == "our defaults" else "--",
                    label=f"{method}, {variant}",
                )  # fmt: skip
                axes.plot(len(by_epoch) + 3, 100 * best, marker="<", color=line.get_color())
        axes.set_title(dataset, fontsize=9)
        axes.set_xlabel("epoch (triangles: best epoch of every run, chosen on test)", fontsize=8)
        axes.grid(alpha=0.3)
    grid[0].set_ylabel("test accuracy, %", fontsize=8)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncol=3,
                  fontsize=7)  # fmt: skip
    return figure


def _accuracies(material: Material) -> Callable[[Callable[[Any], AnyArray]], dict[str, float]]:
    """What is looked at after every epoch; nothing of it is ever chosen by."""
    trial, valid = material.trial, material.valid
    classes = trial.annotations.class_vocabulary
    assert classes is not None
    valid_truth = None if valid is None else classes.codes(valid.truth.tolist())

    def look(predict_proba: Callable[[Any], AnyArray]) -> dict[str, float]:
        found = predict_proba(trial.test_features).argmax(axis=1)
        seen = {"test": accuracy_score(_known(trial.test_truth), found)}
        if valid is not None and valid_truth is not None:
            seen["valid"] = accuracy_score(
                valid_truth, predict_proba(valid.features).argmax(axis=1)
            )
        return seen

    return look


def _known(truth: AnyArray | None) -> AnyArray:
    assert truth is not None, "corpora with a test set are asked for"
    return truth


def _row(key: tuple[str, str, str], records: list[dict[str, Any]]) -> dict[str, str]:
    row = dict(zip(("data", "method", "settings"), key, strict=True))
    for rule in RULES:
        scores = [100 * each["scores"][rule] for each in records if rule in each.get("scores", {})]
        row[rule] = "-"
        if scores:
            summary = summarize_runs(scores)
            row[rule] = f"{summary.mean:.2f} ± {summary.deviation:.2f}"
    failed = sum("error" in each for each in records)
    return row | {"runs": f"{len(records) - failed}" + (f" ({failed} failed)" if failed else "")}
