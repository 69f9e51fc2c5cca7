"""Few labels per annotator: the page docs/few-labels.md.

python -m benchmarks.few_labels --out docs/few-labels.md
"""

import argparse
from pathlib import Path

import numpy as np

import manyhands as mh
from benchmarks.table import markdown_table
from manyhands.aggregation import DawidSkene, Majority
from manyhands.evaluation import accuracy_score
from manyhands.simulation import CrowdSettings

PER_ANNOTATOR = [2, 5, 10, 20, 50, 100, 500, 2_000, 10_000]
METHODS = {
    "majority": Majority(),
    "dawid-skene": DawidSkene(),
    "plain (strength 0)": DawidSkene(prior_strength=0.0),
    "add-one": DawidSkene(prior="flat", prior_strength=10.0),
}

INTRO = """# Few labels per annotator

Plain Dawid-Skene fits a whole matrix to every annotator. When most of them gave a handful of
labels it fits noise, and the consensus falls far below a simple majority. The default draws every
annotator towards the crowd's average with the weight of ten labels per class
(`prior="pooled", prior_strength=10`).

Simulated crowds, {runs} runs each: 20,000 labels (more where ten annotators give more), 5 per item;
a wrong label is any other class alike. "add-one" is one pseudo-label per cell at K 10. Made by

```
python -m benchmarks.few_labels --out docs/few-labels.md
```
"""


def run(n_classes: int, per_annotator: int, low: float, high: float, runs: int) -> list[float]:
    """Mean accuracy of every method."""
    scores = []
    for seed in range(runs):
        settings = CrowdSettings(
            n_items=max(20_000, 10 * per_annotator) // 5,
            n_annotators=max(20_000 // per_annotator, 10),
            n_classes=n_classes,
            labels_per_item=5,
            lowest=low,
            highest=high,
            seed=seed,
        )
        crowd = mh.SCENARIOS["symmetric"](settings)
        scores.append(
            [accuracy_score(crowd.truth, m.fit(crowd.annotations).labels) for m in METHODS.values()]
        )
    return [float(mean) for mean in np.mean(scores, axis=0)]


def table(low: float, high: float, runs: int) -> tuple[str, float]:
    """The table, and the worst gap between the default and the majority."""
    rows, worst = [], 1.0
    for n_classes in (2, 10):
        for per_annotator in PER_ANNOTATOR:
            scores = run(n_classes, per_annotator, low, high, runs)
            gap = scores[1] - scores[0]
            worst = min(worst, gap)
            cells = [f"{score:.3f}" for score in scores]
            rows.append([str(n_classes), f"{per_annotator:,}", *cells, f"{100 * gap:+.2f}"])
    head = ["K", "labels per annotator", *METHODS, "default - majority, points"]
    return markdown_table(head, rows), worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="Markdown page to write")
    parser.add_argument("--runs", type=int, default=5, help="crowds per row")
    arguments = parser.parse_args()
    parts = [INTRO.format(runs=arguments.runs)]
    for title, low, high in (("Decent crowds", 0.5, 0.9), ("Crowds with bad members", 0.3, 0.95)):
        made, worst = table(low, high, arguments.runs)
        parts += [
            f"## {title}: accuracies {low} to {high}\n",
            made,
            f"\nWorst difference of the default from the majority: {100 * worst:+.2f} points.\n",
        ]
    arguments.out.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
