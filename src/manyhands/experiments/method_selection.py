"""What selection without truth picks on public corpora."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from manyhands.evaluation import CRITERIA
from manyhands.experiments import pages
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.experiment import CorpusExperiment, RunOptions, WrittenPages
from manyhands.experiments.published import our_specification
from manyhands.experiments.records import Record, Records
from manyhands.experiments.runs import Run
from manyhands.selection import select_on_trial

BASELINE = "two-stage-majority"
_GIVEN = our_specification("method-selection")
CANDIDATES = tuple(_GIVEN["candidates"])
_DECIMALS = 8


@dataclass(frozen=True)
class MethodSelectionRun(Run):
    """A selection among the candidates with one split of the labels."""

    source: CorpusSource
    seed: int
    candidates: tuple[str, ...] = CANDIDATES

    kind: ClassVar[str] = "method-selection"

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The winner, the verdict on majority voting, and all criteria of every method."""
        trial = self.source.load(data, self.seed).trial
        selection = select_on_trial(trial, self.candidates, seed=self.seed)
        return {
            "winner": selection.winner,
            "majority_is_enough": selection.majority_is_enough,
            "reason": selection.reason,
            "methods": [_rounded(row) for row in selection.table.records()],
        }

    @property
    def expected_seconds(self) -> float:
        """See `Run.expected_seconds`."""
        return len(self.candidates) * self.source.expected_seconds / 2


@dataclass(frozen=True)
class MethodSelection(CorpusExperiment):
    """Test accuracy of the methods that each criterion picks."""

    name = "ours/method-selection"
    title = "The methods that selection without truth picks"
    usual_runs = 3
    datasets: tuple[str, ...] = ("labelme", "music", "sentiment")
    candidates: tuple[str, ...] = CANDIDATES

    def groups(self, options: RunOptions) -> dict[str, list[MethodSelectionRun]]:
        """See `CorpusExperiment.groups`; a group for each corpus."""
        return {
            dataset: [
                MethodSelectionRun(CorpusSource(dataset), seed, self.candidates)
                for seed in self.seeds(options)
            ]
            for dataset in self.available(options)
        }

    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write a page with one table."""
        made = {
            dataset: [each for each in group if "methods" in each]
            for dataset, group in self.found(records, options).items()
        }
        rows = _rows({dataset: group for dataset, group in made.items() if group})
        body = []
        if rows:
            cells = [list(row.values()) for row in rows]
            body = [pages.markdown_table(list(rows[0]), cells, left=1), ""]
        about = self.introduction(_GIVEN, options)
        body += [*self.missing_lines(options), _GIVEN["remarks"]]
        return WrittenPages([self.write_page(folder, options, [about, ""], body)], rows)


def picked(record: Record, criterion: str) -> dict[str, Any]:
    """The row of the method that a criterion picks; of equals the one with the best likelihood."""
    rows = record["methods"]
    names = [name for name in CRITERIA if name in rows[0]]
    scores = {name: np.array([row[name] for row in rows]) for name in names}
    order = np.lexsort((-scores["likelihood"], -CRITERIA[criterion](scores)))
    row: dict[str, Any] = rows[int(order[0])]
    return row


def _rows(records: Mapping[str, Sequence[Record]]) -> list[dict[str, str]]:
    """Accuracies by criterion and corpus, and what they are compared with."""
    if not records:
        return []
    ways: dict[str, Callable[[Record], float]] = {
        **{f"`{name}`": partial(_accuracy_picked, criterion=name) for name in CRITERIA},
        "best possible": lambda record: max(_accuracies(record).values()),
        "average method": lambda record: float(np.mean(list(_accuracies(record).values()))),
        f"`{BASELINE}`": lambda record: _accuracies(record)[BASELINE],
    }
    rows = []
    for name, accuracy in ways.items():
        rows.append({"picked by": name})
        for dataset, group in records.items():
            rows[-1][dataset] = f"{100 * np.mean([accuracy(each) for each in group]):.1f}"
    verdicts = {
        dataset: f"{sum(each['majority_is_enough'] for each in group)} of {len(group)} times"
        for dataset, group in records.items()
    }
    return [*rows, {"picked by": "majority voting enough?"} | verdicts]


def _accuracy_picked(record: Record, criterion: str) -> float:
    return float(picked(record, criterion)["accuracy"])


def _accuracies(record: Record) -> dict[str, float]:
    return {row["method"]: row["accuracy"] for row in record["methods"]}


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    # Enough decimals to keep apart the methods that a criterion distinguishes.
    return {
        name: round(value, _DECIMALS) if isinstance(value, float) else value
        for name, value in row.items()
        if name != "seconds"
    }
