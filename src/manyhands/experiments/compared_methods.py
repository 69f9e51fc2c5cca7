"""Every classification method on every corpus, under one protocol for all of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.evaluation import crossed_difference, summarize_runs
from manyhands.evaluation.runs import Difference
from manyhands.experiments import pages
from manyhands.experiments.comparison import ComparisonRun, right_items
from manyhands.experiments.every_method import usable_sources
from manyhands.experiments.experiment import CorpusExperiment, RunOptions, WrittenPages
from manyhands.experiments.published import our_specification
from manyhands.experiments.records import Record, Records
from manyhands.methods import METHODS

_GIVEN = our_specification("comparison")
_EMPTY = "-"


@dataclass(frozen=True)
class Comparison(CorpusExperiment):
    """The classification methods of `METHODS` on corpora of `DATASETS`, one ranked table each."""

    name = "ours/comparison"
    title = "Every method under one protocol"
    datasets: tuple[str, ...] = tuple(_GIVEN["corpora"])

    def groups(self, options: RunOptions) -> dict[tuple[str, str], list[ComparisonRun]]:
        """The runs of every method that can use the features of a corpus, by corpus and method."""
        groups = {}
        for dataset, name, source in usable_sources(self.datasets, _GIVEN["counts"], options):
            candidates, seeds = candidates_of(name), self.seeds(options)[: _n_seeds(name)]
            groups[dataset, name] = [
                ComparisonRun(source, name, seed, candidates) for seed in seeds
            ]
        return groups

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write a page with a table per corpus."""
        found = self.found(records, options)
        rows = [
            _row(dataset, method, group, found[dataset, _GIVEN["baseline"]])
            for (dataset, method), group in found.items()
        ]
        rows.sort(key=lambda row: (self.datasets.index(row["data"]), _place(row)))
        body = []
        for dataset in self.datasets:
            body += [f"## {dataset}: {_GIVEN['corpora'].get(dataset, '')}", ""]
            shown = [list(row.values())[1:] for row in rows if row["data"] == dataset]
            body += [pages.markdown_table(list(rows[0])[1:], shown), ""] if shown else []
        body += self.missing_lines(options)
        page = self.write_page(folder, options, [_GIVEN["introduction"], ""], body)
        return WrittenPages([page], rows)


def candidates_of(method: str) -> tuple[Mapping[str, Any], ...]:
    """The settings that a method may choose from."""
    grids = _GIVEN["candidates"]
    usual = "solved" if METHODS[method].required_network else "network"
    return tuple(grids.get(method, grids[usual]))


def _n_seeds(method: str) -> int | None:
    """Methods without random numbers differ by the held-out labels alone."""
    return _GIVEN["solved_runs"] if METHODS[method].required_network else None


def _row(
    dataset: str, method: str, records: Sequence[Record], baseline: Sequence[Record]
) -> dict[str, str]:
    names = ("accuracy %", "lowest", f"above {_GIVEN['baseline']}", "log loss", "with labels %",
             "settings", "epochs", "seconds")  # fmt: skip
    shown = dict.fromkeys(names, _EMPTY)
    scored = [each for each in records if "scores" in each]
    if scored:
        shown = dict(zip(names, _cells(method, scored, baseline), strict=True))
    runs = pages.count_runs(records) if scored else "0"
    return {"data": dataset, "method": f"`{method}`", **shown, "runs": runs}


def _cells(method: str, records: Sequence[Record], baseline: Sequence[Record]) -> tuple[str, ...]:
    scores = {
        name: np.array([each["scores"][name] for each in records])
        for name in ("accuracy", "log_loss", "inferred", "epochs")
    }
    summary = summarize_runs((100 * scores["accuracy"]).tolist())
    chosen = Counter(each["chosen"] + 1 for each in records)
    counts = ", ".join(f"{place}: {chosen[place]}" for place in sorted(chosen))
    return (
        pages.mean_and_deviation(summary.mean, summary.deviation, 2),
        f"{100 * scores['accuracy'].min():.2f}",
        _EMPTY if method == _GIVEN["baseline"] else shown_difference(records, baseline),
        f"{scores['log_loss'].mean():.3f}",
        f"{100 * scores['inferred'].mean():.2f}",
        counts,
        _EMPTY if METHODS[method].required_network else f"{np.median(scores['epochs']):.0f}",
        f"{np.median([each['seconds'] for each in records]):.1f}",
    )


def paired_difference(records: Sequence[Record], others: Sequence[Record]) -> Difference | None:
    """How much better the first are with the same seeds and on the same test items.

    None if no seed of both was recorded.
    """
    pair = [{each["seed"]: each for each in some if "right" in each} for some in (records, others)]
    seeds = sorted(pair[0].keys() & pair[1].keys())
    if not seeds:
        return None
    right, other = (np.stack([right_items(each[seed]) for seed in seeds]) for each in pair)
    return crossed_difference(right, other)


def shown_difference(records: Sequence[Record], others: Sequence[Record]) -> str:
    """The difference in points with a 95 % interval, which is marked if it does not include 0.

    It is not marked if a single seed was recorded: its interval is for other test items alone.
    """
    found = paired_difference(records, others)
    if found is None:
        return _EMPTY
    low, high = 100 * found.interval[0], 100 * found.interval[1]
    several = len({each["seed"] for each in records} & {each["seed"] for each in others}) > 1
    mark = " ≠" if several and differs(found) else ""
    return f"{100 * found.mean:+.1f} [{low:+.1f}, {high:+.1f}]{mark}"


def differs(found: Difference) -> bool:
    """Whether the interval of a difference does not include 0."""
    return not found.interval[0] <= 0 <= found.interval[1]


def _place(row: dict[str, str]) -> float:
    shown = row["accuracy %"].split(" ")[0]
    return float("inf") if shown == _EMPTY else -float(shown)
