"""Accuracy of every aggregator on public label sets with known truth.

    python -m benchmarks.accuracy --data DIR

DIR holds `aggregation/NAME/label.csv` and `truth.csv` for each set, and optionally
`emotion_numeric/answer.csv` and `truth.csv`. Records the numbers and writes docs/accuracy.md.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import manyhands as mh
from benchmarks.benchmark import ACCURACY, Row, parser
from manyhands.evaluation import ClassificationScorecard, RegressionScorecard
from manyhands.experiments import code_block, markdown_table, write_page

PAGE = "accuracy.md"
SPECTRAL = "dawid-skene, spectral"

# Accuracy as 1 - the error printed in the paper; the sets may have been prepared differently.
PUBLISHED = {
    "bluebird": ("majority 0.759, Dawid-Skene 0.889, spectral start 0.899", "Zhang et al. 2016"),
    "rte": ("majority 0.897, Dawid-Skene 0.929, spectral start 0.929", "Zhang et al. 2016"),
    "trec": ("majority 0.651, Dawid-Skene 0.700, spectral start 0.702", "Zhang et al. 2016"),
    "web": ("majority 0.731, Dawid-Skene 0.843, spectral start 0.841", "Zhang et al. 2016"),
}


def class_methods() -> dict[str, Any]:
    """Every aggregator of classes, and Dawid-Skene with a spectral start."""
    methods = {name: make() for name, make in mh.AGGREGATORS.items() if make.kind == "classes"}
    return methods | {SPECTRAL: mh.aggregation.DawidSkene(start="spectral")}


def measure_all(data: Path) -> Iterator[Row]:
    """The rows of all sets."""
    for folder in sorted((data / "aggregation").iterdir()):
        yield class_row(folder)
    numbers = data / "emotion_numeric"
    if numbers.is_dir():
        yield from regression_rows(numbers)


def class_row(folder: Path) -> Row:
    """The accuracy of every method on one set."""
    ann = mh.read_annotations(folder / "label.csv")
    truth = mh.io.read_truth(folder / "truth.csv")
    accuracies, n_truths = {}, 0
    for name, method in class_methods().items():
        card = method.fit(ann).score(truth)
        assert isinstance(card, ClassificationScorecard)
        accuracies[name], n_truths = card.accuracy, card.n_items
    sizes = {"n_items": ann.n_items, "n_annotators": ann.n_annotators}
    sizes |= {"n_labels": ann.n_annotations, "n_classes": ann.n_classes, "n_truths": n_truths}
    return {"kind": "classes", "set": folder.name, **sizes, "accuracy": accuracies}


def regression_rows(folder: Path) -> Iterator[Row]:
    """The errors of every aggregator of numbers on one set."""
    annotations = mh.read_annotations(folder / "answer.csv", kind="numbers")
    truth = mh.io.read_truth(folder / "truth.csv")
    for name, make in mh.AGGREGATORS.items():
        if make.kind == "numbers":
            card = make().fit(annotations).score(truth)
            assert isinstance(card, RegressionScorecard)
            row = {"kind": "numbers", "set": folder.name, "method": name}
            yield row | {"mae": card.mae, "rmse": card.rmse}


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    parts = [
        _INTRODUCTION,
        _class_table([row for row in rows if row["kind"] == "classes"]),
        _READING,
        markdown_table(
            ["set", "published accuracy", "source"],
            [[name, figures, source] for name, (figures, source) in PUBLISHED.items()],
        ),
        _ABOUT_PUBLISHED,
    ]
    numbers = [row for row in rows if row["kind"] == "numbers"]
    if numbers:
        body = [[row["method"], f"{row['mae']:.3f}", f"{row['rmse']:.3f}"] for row in numbers]
        head = ["method", "mean absolute error", "root mean squared error"]
        parts += [_NUMBERS, markdown_table(head, body, left=1), _ABOUT_NUMBERS]
    return "\n\n".join(parts) + "\n"


def _class_table(rows: list[Row]) -> str:
    """Sets by methods, with the mean over sets."""
    recorded = [*mh.AGGREGATORS, SPECTRAL]
    names = [name for name in recorded if all(name in row["accuracy"] for row in rows)]
    head = ["set", "items", "annotators", "labels", "K", "truths", *names]
    sizes = ("n_items", "n_annotators", "n_labels", "n_classes", "n_truths")
    scores = [[row["accuracy"][name] for name in names] for row in rows]
    body = []
    for row, values in zip(rows, scores, strict=True):
        cells = [f"**{one:.4f}**" if one == max(values) else f"{one:.4f}" for one in values]
        body.append([row["set"], *(str(row[size]) for size in sizes), *cells])
    means = np.mean(scores, axis=0)
    body.append(["mean", "", "", "", "", "", *(f"{mean:.4f}" for mean in means)])
    return markdown_table(head, body, left=1)


_INTRODUCTION = f"""# Accuracy on real labels

Every aggregator with its default settings on public label sets with known truth. The truth is used
for scoring only; nothing was chosen with it. The numbers come from the command

{code_block("python -m benchmarks.accuracy --data DIR")}

and are recorded in `docs/results/records`. To aggregate one set: `manyhands aggregate
DIR/aggregation/rte/label.csv --method dawid-skene --truth DIR/aggregation/rte/truth.csv --out
consensus.csv`.

## Classes: share of items whose consensus is the truth"""
_READING = """Bold marks the best of the row. A set whose truth covers part of the items is scored
on that part. The standard error is sqrt(p (1 - p) / truths): 3 points on bluebird, 1 point on rte.
Smaller differences mean little.

## Published figures"""
_ABOUT_PUBLISHED = """Zhang, Chen, Zhou and Jordan, *Spectral methods meet EM*, JMLR 17 (2016): the
figures are one minus the error rates of majority voting, of Dawid-Skene started from it, and of
Dawid-Skene started from the spectral method. The authors break ties and prepare the sets in their
own way, so compare within a row. Their figures differ from ours where many items have ties
(web)."""
_NUMBERS = """## Numbers: distance from the truth

Emotion scores from -100 to 100, 700 items, 38 annotators (Snow et al. 2008)."""
_ABOUT_NUMBERS = """The gain over the mean is small here. Neighbouring items were labelled by the
same ten annotators, so that their biases cancel in a plain mean, which even has a slightly lower
root mean squared error."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    made = parser("accuracy", __doc__)
    made.add_argument("--data", type=Path, required=True, help="folder with the label sets")
    options = made.parse_args(arguments)
    rows = ACCURACY.keep(measure_all(options.data), options.docs)
    write_page(options.docs / PAGE, make_page(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
