"""What selection without truth picks on real crowds: the table of the page on selection.

python -m benchmarks.selection --data DIR      run what is missing, then write the table
python -m benchmarks.selection                 write the table from the records there are

A record is one draw of the labels kept aside: every method's criteria on them, and its accuracy on
the corpus's test items, which played no part.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import manyhands as mh
from benchmarks.command import tell
from benchmarks.table import markdown_table
from manyhands.evaluation import CRITERIA

HOME = Path(__file__).parent.parent / "docs"
RECORDS = HOME / "selection"
PAGE = HOME / "selection.md"
CROWDS = ("labelme", "music", "sentiment")
SEEDS = (0, 1, 2)
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
_DIGITS = 8
BASELINE = "two-stage-majority"


def measure(crowd: str, data: str, seeds: Sequence[int], jobs: int) -> None:
    """Select once per seed and record it, unless it is recorded."""
    done = {record["seed"] for record in records(crowd)}
    if done >= set(seeds):
        return
    trial = mh.selection.trial_of_corpus(mh.DATASETS[crowd].read(data))
    for seed in seeds:
        if seed in done:
            continue
        tell(f"{crowd}, seed {seed}")
        found = mh.selection.select_on_trial(trial, seed=seed, jobs=jobs)
        record = {
            "seed": seed,
            "winner": found.winner,
            "majority_is_enough": found.majority_is_enough,
            "reason": found.reason,
            "methods": [_rounded(row) for row in found.table.records()],
        }
        RECORDS.mkdir(exist_ok=True)
        with _path(crowd).open("a") as stream:
            stream.write(json.dumps(record) + "\n")


def records(crowd: str) -> list[dict[str, Any]]:
    """What was recorded of a crowd."""
    if not _path(crowd).exists():
        return []
    return [json.loads(line) for line in _path(crowd).read_text().splitlines()]


def picked(record: dict[str, Any], monitor: str) -> dict[str, Any]:
    """The row of the method that a judge picks; of equals the one of greater likelihood."""
    rows = record["methods"]
    names = [name for name in CRITERIA if name in rows[0]]
    scores = {name: np.array([row[name] for row in rows]) for name in names}
    order = np.lexsort((-scores["likelihood"], -CRITERIA[monitor](scores)))
    row: dict[str, Any] = rows[int(order[0])]
    return row


def table() -> str:
    """Test accuracy of what each judge picks, beside the best there is and the average."""
    there = [crowd for crowd in CROWDS if len(records(crowd)) == len(SEEDS)]
    lines = [
        [f"`{monitor}`", *(_mean([picked(each, monitor)["accuracy"] for each in records(crowd)])
                         for crowd in there)]
        for monitor in CRITERIA
    ]  # fmt: skip
    accuracies = {crowd: [_accuracies(each) for each in records(crowd)] for crowd in there}
    lines += [
        ["best possible", *(_mean([max(run.values()) for run in accuracies[c]]) for c in there)],
        ["average method", *(_mean([float(np.mean(list(run.values()))) for run in accuracies[c]])
                             for c in there)],
        [f"`{BASELINE}`", *(_mean([run[BASELINE] for run in accuracies[c]]) for c in there)],
        ["majority voting enough?", *(_verdicts(c) for c in there)],
    ]  # fmt: skip
    return markdown_table(["picked by", *there], lines, left=1)


def write_page() -> None:
    """Put the table between the two marks of the page."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table().rstrip()}\n\n{END}{rest.split(END)[1]}")


def _path(crowd: str) -> Path:
    return RECORDS / f"{crowd}.jsonl"


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    # Rounding must not make ties between methods that a criterion tells apart.
    return {
        name: round(value, _DIGITS) if isinstance(value, float) else value
        for name, value in row.items()
        if name != "seconds"
    }


def _accuracies(record: dict[str, Any]) -> dict[str, float]:
    return {row["method"]: row["accuracy"] for row in record["methods"]}


def _mean(shares: Sequence[float]) -> str:
    return f"{100 * float(np.mean(shares)):.1f}"


def _verdicts(crowd: str) -> str:
    found = [record["majority_is_enough"] for record in records(crowd)]
    return f"{sum(found)} of {len(found)} times"


def main() -> None:
    """Run what is missing where data is given, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder that holds the corpora")
    parser.add_argument("--crowds", default=",".join(CROWDS), help="names separated by commas")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    settings = parser.parse_args()
    if settings.data:
        for crowd in settings.crowds.split(","):
            measure(crowd, settings.data, SEEDS, settings.jobs)
    if PAGE.exists():
        write_page()


if __name__ == "__main__":
    main()
