"""Every classification method with its defaults on every corpus, ranked."""

from collections.abc import Iterator, Mapping, Sequence
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


def usable_sources(
    datasets: Sequence[str], count_features: Mapping[str, str], options: RunOptions
) -> Iterator[tuple[str, str, CorpusSource]]:
    """Corpus, method and features, of all methods that can use features of a corpus there is.

    `count_features` names the features that are counts, which some methods need.
    """
    for dataset, name in product(datasets, classification_methods()):
        counts = METHODS[name].needs_counts
        if counts and dataset not in count_features:
            continue
        source = CorpusSource(dataset, count_features[dataset] if counts else None)
        if not options.unavailable(source):
            yield dataset, name, source


@dataclass(frozen=True)
class EveryMethod(CorpusExperiment):
    """The classification methods of `METHODS` on corpora of `DATASETS`, one ranked table each."""

    name = "ours/every-method"
    title = "Every method on every corpus"
    datasets: tuple[str, ...] = tuple(_GIVEN["corpora"])

    def groups(self, options: RunOptions) -> dict[tuple[str, str], list[MethodRun]]:
        """The runs of every method that can use the features of a corpus, by corpus and method."""
        return {
            (dataset, name): [MethodRun(source, name, seed) for seed in self.seeds(options)]
            for dataset, name, source in usable_sources(self.datasets, _GIVEN["counts"], options)
        }

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
    shown = dict.fromkeys(("accuracy %", "lowest", "log loss", "with labels %", "seconds"), "-")
    scored = [each for each in records if "scores" in each]
    if scored:
        scores = {
            name: [each["scores"][name] for each in scored]
            for name in ("accuracy", "log_loss", "inferred")
        }
        accuracies = [100 * each for each in scores["accuracy"]]
        summary = summarize_runs(accuracies)
        shown = {
            "accuracy %": pages.mean_and_deviation(summary.mean, summary.deviation, 2),
            "lowest": f"{min(accuracies):.2f}",
            "log loss": f"{np.mean(scores['log_loss']):.3f}",
            "with labels %": f"{100 * np.mean(scores['inferred']):.2f}",
            "seconds": f"{np.median([each['seconds'] for each in scored]):.1f}",
        }
    runs = pages.count_runs(records) if scored else "0"
    named = {"data": dataset, "method": f"`{method}`"}
    return {**named, **shown, "epoch": how_chosen(method), "runs": runs}


def _place(row: dict[str, str]) -> float:
    shown = row["accuracy %"].split(" ")[0]
    return float("inf") if shown == "-" else -float(shown)
