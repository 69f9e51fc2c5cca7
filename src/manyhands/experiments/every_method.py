"""Every classification method with its defaults on every corpus, ranked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from manyhands.evaluation import summarize_runs
from manyhands.experiments import pages
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.experiment import CorpusExperiment, RunOptions, WrittenPages
from manyhands.experiments.published import our_specification
from manyhands.experiments.records import Record, Records
from manyhands.experiments.runs import MethodRun, classification_methods
from manyhands.experiments.tables import how_chosen
from manyhands.methods import METHODS

_GIVEN = our_specification("every-method")


@dataclass(frozen=True)
class EveryMethod(CorpusExperiment):
    """The classification methods of `METHODS` on corpora of `DATASETS`, one ranked table each."""

    name = "ours/every-method"
    title = "Every method on every corpus"
    datasets: tuple[str, ...] = tuple(_GIVEN["corpora"])

    def groups(self, options: RunOptions) -> dict[tuple[str, str], list[MethodRun]]:
        """The runs of every method that can use the features of a corpus, by corpus and method."""
        groups, count_features = {}, _GIVEN["counts"]
        for dataset, name in product(self.datasets, classification_methods()):
            counts = METHODS[name].needs_counts
            if counts and dataset not in count_features:
                continue
            source = CorpusSource(dataset, count_features[dataset] if counts else None)
            if not options.unavailable(source):
                seeds = self.seeds(options)
                groups[dataset, name] = [MethodRun(source, name, seed) for seed in seeds]
        return groups

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write a page with a table per corpus."""
        found = self.found(records, options)
        rows = [_row(dataset, method, group) for (dataset, method), group in found.items()]
        rows.sort(key=lambda row: (self.datasets.index(row["data"]), _place(row)))
        body = []
        for dataset in self.datasets:
            body += [f"## {dataset}: {_GIVEN['corpora'].get(dataset, '')}", ""]
            shown = [list(row.values())[1:] for row in rows if row["data"] == dataset]
            body += [pages.markdown_table(list(rows[0])[1:], shown), ""] if shown else []
        body += self.missing_lines(options)
        page = self.write_page(folder, options, [_GIVEN["introduction"], ""], body)
        return WrittenPages([page], rows)


def _row(dataset: str, method: str, records: Sequence[Record]) -> dict[str, str]:
    row = {"data": dataset, "method": f"`{method}`"}
    scored = [each for each in records if "scores" in each]
    if not scored:
        blank = dict.fromkeys(("accuracy %", "lowest", "log loss", "with labels %"), "-")
        return row | blank | {"seconds": "-", "epoch": how_chosen(method), "runs": "0"}
    accuracies = [100 * each["scores"]["accuracy"] for each in scored]
    summary = summarize_runs(accuracies)

    def mean(score: str) -> float:
        return float(np.mean([each["scores"][score] for each in scored]))

    return row | {
        "accuracy %": pages.mean_and_deviation(summary.mean, summary.deviation, 2),
        "lowest": f"{min(accuracies):.2f}",
        "log loss": f"{mean('log_loss'):.3f}",
        "with labels %": f"{100 * mean('inferred'):.2f}",
        "seconds": f"{np.median([each['seconds'] for each in scored]):.1f}",
        "epoch": how_chosen(method),
        "runs": pages.count_runs(records),
    }


def _place(row: dict[str, str]) -> float:
    shown = row["accuracy %"].split(" ")[0]
    return float("inf") if shown == "-" else -float(shown)
