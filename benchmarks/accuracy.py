"""Every aggregator on real labels with known truth: the page docs/accuracy.md.

    python -m benchmarks.accuracy --data DIR --out docs/accuracy.md

DIR holds `aggregation/NAME/label.csv` and `truth.csv` for each set, and optionally
`emotion_numeric/answer.csv` and `truth.csv`.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import manyhands as mh
from benchmarks.table import markdown_table
from manyhands.evaluation import ClassificationScorecard, RegressionScorecard

# Accuracy as 1 - the error printed in the paper; the same sets, other preparation possible.
PUBLISHED = {
    "bluebird": ("majority 0.759, Dawid-Skene 0.889, spectral start 0.899", "Zhang et al. 2016"),
    "rte": ("majority 0.897, Dawid-Skene 0.929, spectral start 0.929", "Zhang et al. 2016"),
    "trec": ("majority 0.651, Dawid-Skene 0.700, spectral start 0.702", "Zhang et al. 2016"),
    "web": ("majority 0.731, Dawid-Skene 0.843, spectral start 0.841", "Zhang et al. 2016"),
}

INTRO = """# Accuracy on real labels

Every aggregator with its default settings on public label sets with known truth. Truth is used
for the score only; nothing was chosen with it. Made by

```
python -m benchmarks.accuracy --data DIR --out docs/accuracy.md
```

One set by hand: `manyhands aggregate DIR/aggregation/rte/label.csv --method dawid-skene --truth
DIR/aggregation/rte/truth.csv --out consensus.csv`.

## Classes: share of items whose consensus is the truth
"""


def class_methods() -> dict[str, Any]:
    """The methods of the table: every class aggregator, and the second start of one of them."""
    methods = {name: made() for name, made in mh.AGGREGATORS.items() if made.kind == "classes"}
    return methods | {"dawid-skene, spectral": mh.aggregation.DawidSkene(init="spectral")}


def score_set(folder: Path) -> tuple[dict[str, ClassificationScorecard], mh.Annotations]:
    """The scorecard of every method on one set."""
    annotations = mh.read_annotations(folder / "label.csv")
    truth = mh.io.read_truth(folder / "truth.csv")
    cards = {}
    for name, method in class_methods().items():
        card = method.fit(annotations).score(truth)
        assert isinstance(card, ClassificationScorecard)
        cards[name] = card
    return cards, annotations


def class_table(home: Path) -> str:
    """Sets by methods, with the mean over sets and what was published."""
    names = list(class_methods())
    head = ["set", "items", "annotators", "labels", "K", "truths", *names]
    rows, scores = [], []
    for folder in sorted(home.iterdir()):
        cards, ann = score_set(folder)
        scores.append([cards[name].accuracy for name in names])
        best = max(scores[-1])
        cells = [f"**{s:.4f}**" if s == best else f"{s:.4f}" for s in scores[-1]]
        counts = [ann.n_items, ann.n_annotators, ann.n_annotations, ann.n_classes]
        truths = next(iter(cards.values())).n_items
        rows.append([folder.name, *map(str, [*counts, truths]), *cells])
    means = np.mean(scores, axis=0)
    rows.append(["mean", "", "", "", "", "", *(f"{mean:.4f}" for mean in means)])
    return markdown_table(head, rows, left=1)


def published_table() -> str:
    rows = [[name, figures, source] for name, (figures, source) in PUBLISHED.items()]
    return markdown_table(["set", "published accuracy", "source"], rows, left=3)


def number_table(folder: Path) -> str:
    annotations = mh.read_annotations(folder / "answer.csv", kind="numbers")
    truth = mh.io.read_truth(folder / "truth.csv")
    rows = []
    for name, made in mh.AGGREGATORS.items():
        if made.kind == "numbers":
            card = made().fit(annotations).score(truth)
            assert isinstance(card, RegressionScorecard)
            rows.append([name, f"{card.mae:.3f}", f"{card.rmse:.3f}"])
    return markdown_table(["method", "mean absolute error", "root mean squared error"], rows, 1)


def page(data: Path) -> str:
    """The whole page."""
    parts = [
        INTRO,
        class_table(data / "aggregation"),
        "\nBold: the best of the row. A set whose truth covers part of the items is scored on that "
        "part.\nOne standard error is sqrt(p (1 - p) / truths): 3 points on bluebird, 1 on rte; "
        "smaller differences\nsay little.\n",
        "## Published figures\n",
        published_table(),
        "\nZhang, Chen, Zhou and Jordan, *Spectral methods meet EM*, JMLR 17 (2016): the "
        "figures are one minus\ntheir error rates for the majority, Dawid-Skene started from "
        "it, and started from the spectral\nmethod. They break ties and prepare the sets in "
        "their own way: compare within a row.\nThey differ from ours where an item has many ties "
        "(web).\n",
    ]
    numbers = data / "emotion_numeric"
    if numbers.is_dir():
        parts += [
            "## Numbers: distance from the truth\n",
            "Emotion scores from -100 to 100, 700 items, 38 annotators (Snow et al. 2008).\n",
            number_table(numbers),
            "\nThe gain over the mean is small here because every item was labelled by the same "
            "ten people\nas its neighbours, so that their biases cancel in a plain mean, which is "
            "even a little better\nin the root mean square.\n",
        ]
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the label sets")
    parser.add_argument("--out", type=Path, required=True, help="Markdown page to write")
    arguments = parser.parse_args()
    arguments.out.write_text(page(arguments.data))


if __name__ == "__main__":
    main()
