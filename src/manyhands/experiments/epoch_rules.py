"""The same method under several rules of choosing its epoch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from manyhands.evaluation import summarize_runs
from manyhands.experiments import pages
from manyhands.experiments.chosen_runs import accuracies_of
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.drawing import Figure, new_figure
from manyhands.experiments.experiment import CorpusExperiment, RunOptions, WrittenPages
from manyhands.experiments.records import Record, Records, json_content
from manyhands.experiments.runs import MethodRun, fit_method

RULES = {
    "crowd": "the epoch with the best likelihood of held-out crowd labels, then all labels",
    "last": "the last epoch",
    "clean": "the epoch with the best accuracy on clean validation labels",
    "test": "the epoch with the best accuracy on the test items themselves",
}
_EVERY_EPOCH = {"validation_fraction": 0.0, "epochs": 100}  # all are scored, none is chosen
_AS_PUBLISHED = {"noise": {"prior_precision": 0.0}, "training": {"init": "own", "warm_up": 0}}


class EpochRulesRun(MethodRun):
    """A method on a corpus with a seed, scored after every epoch."""

    kind: ClassVar[str] = "epoch-rules"
    revision: ClassVar[int] = 1

    def outcome(self, data: str | None) -> dict[str, Any]:
        """Test accuracy under every rule, and after every epoch."""
        loaded = self.source.load(data, self.seed)
        score = accuracies_of(loaded)
        chosen = fit_method(loaded.trial, self.method, self.seed, self.settings)
        training = {**self.settings.get("training", {}), **_EVERY_EPOCH}
        settings = {**self.settings, "training": training}
        followed = fit_method(loaded.trial, self.method, self.seed, settings, callback=score)
        test = np.array([entry["test"] for entry in followed.history_])
        crowd = score(chosen.predict_proba)["test"]
        scores = {"crowd": crowd, "last": test[-1], "test": test.max()}
        if loaded.valid is not None:
            valid = np.array([entry["valid"] for entry in followed.history_])
            scores["clean"] = test[valid.argmax()]
        return {
            "scores": json_content(scores),
            "test_by_epoch": json_content(test),
            "epoch": chosen.epoch_,
        }

    @property
    def expected_seconds(self) -> float:
        """See `Run.expected_seconds`."""
        return 12.0


@dataclass(frozen=True)
class EpochRules(CorpusExperiment):
    """Methods under rules of choosing the epoch: without clean labels, and with them."""

    name = "ours/selection-rules"
    title = "The same method under several rules of choosing its epoch"
    datasets: tuple[str, ...] = ("labelme", "music")
    methods: tuple[str, ...] = ("crowd-layer-mw", "speelfc", "conal")

    def groups(self, options: RunOptions) -> dict[tuple[str, str, str], list[EpochRulesRun]]:
        """See `CorpusExperiment.groups`; a group for each corpus, method and start."""
        variants: dict[str, Mapping[str, Any]] = {"our defaults": {}, "own start": _AS_PUBLISHED}
        return {
            (dataset, method, variant): [
                EpochRulesRun(CorpusSource(dataset), method, seed, settings)
                for seed in self.seeds(options)
            ]
            for dataset in self.available(options)
            for method in self.methods
            for variant, settings in variants.items()
        }

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write a table of the rules, and accuracy by epoch as a figure."""
        found = self.found(records, options)
        rows = [_row(key, group) for key, group in found.items()]
        body = [f"- *{rule}*: {words}" for rule, words in RULES.items()]
        if rows:
            body += ["", pages.markdown_table(list(rows[0]), [list(row.values()) for row in rows])]
            body += ["", f"![Accuracy by epoch]({self.file_name}.png)"]
        page = self.write_page(folder, options, [], [*body, "", *self.missing_lines(options)])
        scored = {key: [each for each in group if "scores" in each] for key, group in found.items()}
        shown = {key: group for key, group in scored.items() if group}
        drawn = pages.write_figure(draw_rules(shown), folder / self.file_name) if shown else []
        return WrittenPages([page, *drawn], rows)


def draw_rules(records: Mapping[tuple[str, str, str], list[Record]]) -> Figure:
    """Test accuracy by epoch, mean over the runs; triangles mark the best epoch on test items."""
    datasets = list(dict.fromkeys(key[0] for key in records))
    figure = new_figure(5.2 * len(datasets), 4.4, EpochRules.title)
    grid = figure.subplots(1, len(datasets), squeeze=False)[0]
    for axes, dataset in zip(grid, datasets, strict=True):
        for (data, method, variant), runs in records.items():
            if data == dataset:
                by_epoch = np.mean([record["test_by_epoch"] for record in runs], axis=0)
                best = np.mean([record["scores"]["test"] for record in runs])
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


def _row(key: tuple[str, str, str], records: list[Record]) -> dict[str, str]:
    row = dict(zip(("data", "method", "settings"), key, strict=True))
    for rule in RULES:
        scores = [100 * each["scores"][rule] for each in records if rule in each.get("scores", {})]
        row[rule] = "-"
        if scores:
            summary = summarize_runs(scores)
            row[rule] = pages.mean_and_deviation(summary.mean, summary.deviation, 2)
    return row | {"runs": pages.count_runs(records)}
