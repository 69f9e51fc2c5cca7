"""Accuracy when annotators give few labels each, on simulated crowds.

    python -m benchmarks.few_labels [--runs N]

Records the numbers and writes docs/few-labels.md.
"""

from collections.abc import Iterator

import numpy as np

import manyhands as mh
from benchmarks.benchmark import FEW_LABELS, Row, command_given, commands_of, parser
from manyhands.aggregation import AnnotatorTypes, DawidSkene, Majority
from manyhands.evaluation import accuracy_score
from manyhands.experiments import code_block, markdown_table, write_page
from manyhands.simulation import CrowdSettings

PAGE = "few-labels.md"
PER_ANNOTATOR = [2, 5, 10, 20, 50, 100, 500, 2_000, 10_000]
METHODS = {
    "majority": Majority(),
    "annotator-types": AnnotatorTypes(),
    "dawid-skene": DawidSkene(),
    "plain (strength 0)": DawidSkene(prior_strength=0.0),
    "add-one": DawidSkene(prior="flat", prior_strength=10.0),
}
CROWDS = {"Decent crowds": (0.5, 0.9), "Crowds with bad members": (0.3, 0.95)}


def measure_all(runs: int, command: str) -> Iterator[Row]:
    """The rows of all crowds."""
    yield {"kind": "run", "command": command, "n_runs": runs}
    for lowest, highest in CROWDS.values():
        for n_classes in (2, 10):
            for per_annotator in PER_ANNOTATOR:
                yield {
                    "kind": "crowd",
                    "lowest": lowest,
                    "highest": highest,
                    "n_classes": n_classes,
                    "labels_per_annotator": per_annotator,
                    "accuracy": accuracies(n_classes, per_annotator, lowest, highest, runs),
                }


def accuracies(
    n_classes: int, per_annotator: int, lowest: float, highest: float, runs: int
) -> dict[str, float]:
    """Mean accuracy of every method."""
    scores = []
    for seed in range(runs):
        settings = CrowdSettings(
            n_items=max(20_000, 10 * per_annotator) // 5,
            n_annotators=max(20_000 // per_annotator, 10),
            n_classes=n_classes,
            labels_per_item=5,
            lowest=lowest,
            highest=highest,
            seed=seed,
        )
        crowd = mh.SCENARIOS["symmetric"](settings)
        scores.append(
            [accuracy_score(crowd.truth, m.fit(crowd.annotations).labels) for m in METHODS.values()]
        )
    return dict(zip(METHODS, np.mean(scores, axis=0).tolist(), strict=True))


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    run = next(row for row in rows if row["kind"] == "run")
    parts = [_INTRODUCTION.format(runs=run["n_runs"], command=code_block(commands_of(rows)))]
    head = ["K", "labels per annotator", *METHODS, "default - majority, points"]
    for title, (lowest, highest) in CROWDS.items():
        crowds = [
            row for row in rows if (row.get("lowest"), row.get("highest")) == (lowest, highest)
        ]
        body = [
            [
                str(row["n_classes"]),
                f"{row['labels_per_annotator']:,}",
                *(f"{row['accuracy'][name]:.3f}" for name in METHODS),
                f"{_gain(row):+.2f}",
            ]
            for row in crowds
        ]
        worst = min(_gain(row) for row in crowds)
        parts += [
            f"## {title}: accuracies {lowest} to {highest}",
            markdown_table(head, body, left=0),
            f"Worst difference between the default and majority voting: {worst:+.2f} points.",
        ]
    return "\n\n".join(parts) + "\n"


def _gain(row: Row) -> float:
    return 100 * float(row["accuracy"]["annotator-types"] - row["accuracy"]["majority"])


_INTRODUCTION = """# Few labels per annotator

Plain Dawid-Skene fits a whole confusion matrix to every annotator. If most annotators gave only a
few labels, it fits noise, and the consensus is far worse than majority voting. The default,
`annotator-types`, judges such annotators by the group that they resemble; `dawid-skene` shrinks
them towards the average of the crowd with the weight of ten labels per class
(`prior="pooled", prior_strength=10`).

The crowds are simulated, {runs} runs each: 20,000 labels (more if ten annotators give more), 5 per
item; a wrong label is uniform over the other classes. "plain" is `dawid-skene` with
`prior_strength=0`, "add-one" with one pseudo-label per cell at K = 10. The numbers come
from the command

{command}

and are recorded in `docs/results/records`."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    made = parser("few_labels", __doc__)
    made.add_argument("--runs", type=int, default=5, help="crowds per row")
    options = made.parse_args(arguments)
    rows = FEW_LABELS.keep(
        measure_all(options.runs, command_given("few_labels", arguments)), options.docs
    )
    write_page(options.docs / PAGE, make_page(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
