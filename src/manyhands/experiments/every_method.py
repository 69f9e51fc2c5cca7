"""Every classification method with its defaults on every corpus, ranked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from manyhands.evaluation import summarize_runs
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.experiment import (
    CorpusExperiment,
    RunOptions,
    WrittenPages,
    count_runs,
    markdown_table,
    mean_and_deviation,
)
from manyhands.experiments.records import Record, Records
from manyhands.experiments.runs import MethodRun, classification_methods
from manyhands.experiments.tables import how_chosen
from manyhands.methods import METHODS

CORPORA = {
    "labelme": "8 scene classes, 1000 images, 59 annotators, 2.5 labels per image; 512 VGG "
    "features",
    "music": "10 genres, 700 songs, 44 annotators, 4.2 labels per song; 124 features",
    "sentiment": "2 classes, 4999 sentences, 203 annotators, 5.6 labels per sentence; 384 MiniLM "
    "features",
}
# Topic models take counts: rounded activations of VGG channels, and words of the sentences.
COUNT_FEATURES = {"labelme": "vgg-words", "sentiment": "words"}
_INTRODUCTION = """Accuracy of the network alone on the test items: mean, standard deviation and
lowest of the runs. *With labels*: network and labels together (`infer`), on the training items.
All settings are defaults; methods without a network of their own use one hidden layer of 128
units with dropout 0.5.

**No clean label was used** for training or selection, except by `truth`, the upper bound.
End-to-end methods choose their epoch with 15 % of the labels held out and are then trained again
on all labels for as many epochs. Two-stage methods and `truth` use the last of 50 epochs. The
defaults were chosen by the likelihood of held-out labels on these three corpora and the demo, and
so that no seed fails; none was chosen by test accuracy.

Topic models (`ma-slda-c`) take counts instead of the features: rounded activations of VGG
channels as visual words, and words of the sentences; music has no counts. Seconds are those of
one run, as recorded."""


@dataclass(frozen=True)
class EveryMethod(CorpusExperiment):
    """The classification methods of `METHODS` on corpora of `DATASETS`, one ranked table each."""

    name = "ours/every-method"
    title = "Every method on every corpus"
    datasets: tuple[str, ...] = tuple(CORPORA)

    def groups(self, options: RunOptions) -> dict[tuple[str, str], list[MethodRun]]:
        """The runs of every method that can use the features of a corpus, by corpus and method."""
        groups = {}
        for dataset, name in product(self.datasets, classification_methods()):
            counts = METHODS[name].needs_counts
            if counts and dataset not in COUNT_FEATURES:
                continue
            source = CorpusSource(dataset, COUNT_FEATURES[dataset] if counts else None)
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
            body += [f"## {dataset}: {CORPORA.get(dataset, '')}", ""]
            shown = [list(row.values())[1:] for row in rows if row["data"] == dataset]
            body += [markdown_table(list(rows[0])[1:], shown), ""] if shown else []
        body += self.missing_lines(options)
        page = self.write_page(folder, options, [_INTRODUCTION, ""], body)
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
        "accuracy %": mean_and_deviation(summary.mean, summary.deviation, 2),
        "lowest": f"{min(accuracies):.2f}",
        "log loss": f"{mean('log_loss'):.3f}",
        "with labels %": f"{100 * mean('inferred'):.2f}",
        "seconds": f"{np.median([each['seconds'] for each in scored]):.1f}",
        "epoch": how_chosen(method),
        "runs": count_runs(records),
    }


def _place(row: dict[str, str]) -> float:
    shown = row["accuracy %"].split(" ")[0]
    return float("inf") if shown == "-" else -float(shown)
