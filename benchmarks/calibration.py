"""Calibration error of aggregators on public label sets with known truth.

    python -m benchmarks.calibration --data DIR

DIR holds `aggregation/NAME/label.csv` and `truth.csv` for each set. Records the numbers and writes
docs/calibration.md and docs/images/reliability.png.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import manyhands as mh
from benchmarks.benchmark import CALIBRATION, Row, parser
from manyhands.core.arrays import Bools, Floats
from manyhands.evaluation import calibration_curve
from manyhands.evaluation.scorecard import match_truth
from manyhands.evaluation.scores import CalibrationCurve
from manyhands.experiments import code_block, markdown_table, write_page

PAGE = "calibration.md"
PICTURE = "images/reliability.png"
DEFAULT = mh.aggregation.DEFAULTS["classes"]
METHODS = [DEFAULT, "majority", "dawid-skene", "one-coin", "glad", "worker-clustering"]
SHOWN = (DEFAULT, "majority", "dawid-skene")
COLOURS = dict(zip(SHOWN, ("#d1495b", "#888888", "#0b6e99"), strict=True))
SPLITS = 20

Truth = Mapping[Any, Any]


def measure_all(data: Path) -> Iterator[Row]:
    """The rows of all sets."""
    for folder in sorted((data / "aggregation").iterdir()):
        annotations = mh.read_annotations(folder / "label.csv")
        truth = mh.io.read_truth(folder / "truth.csv")
        fits = {name: mh.AGGREGATORS[name]().fit(annotations) for name in METHODS}
        curves = {name: reliability_of(fit, truth) for name, fit in fits.items()}
        error, temperature = calibrated_error(fits[DEFAULT], truth)
        yield {
            "set": folder.name,
            "errors": {name: curve.calibration_error for name, curve in curves.items()},
            "log_losses": {
                name: fit.score(truth).as_dict()["log_loss"] for name, fit in fits.items()
            },
            "calibrated": error,
            "temperature": temperature,
            "curves": {name: _plain(curves[name]) for name in SHOWN},
        }


def reliability_of(consensus: mh.Consensus, truth: Truth) -> CalibrationCurve:
    """Accuracy by confidence, of the items with known truth."""
    row, names = match_truth(consensus.annotations.item_vocabulary, truth)
    right: Bools = np.array(
        [str(a) == str(b) for a, b in zip(consensus.labels[row], names, strict=True)]
    )
    confidence: Floats = consensus.confidence[row]
    return calibration_curve(confidence, right)


def calibrated_error(consensus: mh.Consensus, truth: Truth) -> tuple[float, float]:
    """Mean calibration error on the other half of the truth, and the mean temperature."""
    errors, temperatures = [], []
    for seed in range(SPLITS):
        seen, unseen = halves(truth, seed)
        calibrated = consensus.calibrated(seen)
        errors.append(reliability_of(calibrated, unseen).calibration_error)
        temperatures.append(calibrated.temperature)
    return float(np.mean(errors)), float(np.mean(temperatures))


def halves(truth: Truth, seed: int) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Two random halves of the items with known truth."""
    items = list(truth)
    order = np.random.default_rng(seed).permutation(len(items))
    split = len(items) // 2
    return (
        {items[i]: truth[items[i]] for i in order[:split]},
        {items[i]: truth[items[i]] for i in order[split:]},
    )


def _plain(curve: CalibrationCurve) -> dict[str, list[float]]:
    return {name: getattr(curve, name).tolist() for name in ("confidence", "accuracy", "count")}


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    head = ["set", *METHODS]
    errors = [
        [
            row["set"],
            *_numbers(row["errors"]),
            f"{row['calibrated']:.3f}",
            f"{row['temperature']:.1f}",
        ]
        for row in rows
    ]
    losses = [[row["set"], *_numbers(row["log_losses"])] for row in rows]
    calibrated = np.mean([row["calibrated"] for row in rows])
    errors.append(["mean", *_numbers(_means(rows, "errors")), f"{calibrated:.3f}", ""])
    losses.append(["mean", *_numbers(_means(rows, "log_losses"))])
    parts = [
        _INTRODUCTION,
        "## Calibration error",
        markdown_table([*head, f"{DEFAULT}, calibrated", "temperature"], errors, left=1),
        "## Log loss",
        markdown_table(head, losses, left=1),
        _END,
    ]
    return "\n\n".join(parts) + "\n"


def _numbers(by_method: Mapping[str, float]) -> list[str]:
    return [f"{by_method[name]:.3f}" for name in METHODS]


def _means(rows: list[Row], key: str) -> dict[str, float]:
    return {name: float(np.mean([row[key][name] for row in rows])) for name in METHODS}


def draw(rows: list[Row]) -> Figure:
    """Accuracy against confidence, one panel per set."""
    figure = Figure(figsize=(11, 5.6))
    axes = figure.subplots(2, 4, sharex=True, sharey=True)
    for panel, row in zip(axes.flat, rows, strict=False):
        _draw_set(panel, row)
    axes[0, 0].legend(fontsize=8, loc="upper left", frameon=False)
    figure.supxlabel("confidence")
    figure.supylabel("share of labels that are right")
    figure.tight_layout()
    return figure


def _draw_set(axes: Axes, row: Row) -> None:
    axes.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":")
    for name, colour in COLOURS.items():
        curve = {key: np.array(values) for key, values in row["curves"][name].items()}
        axes.plot(curve["confidence"], curve["accuracy"], color=colour, linewidth=1, zorder=2)
        size = 4 + 90 * curve["count"] / curve["count"].sum()
        axes.scatter(
            curve["confidence"], curve["accuracy"], s=size, color=colour, label=name, zorder=3
        )
    axes.set_title(row["set"], fontsize=10)
    axes.set_xlim(0.2, 1.02)
    axes.set_ylim(0, 1.05)


_INTRODUCTION = f"""# How far confidence can be trusted

`confidence` is the probability that an item has its label. Models compute it as if annotators made
their mistakes independently. Real annotators share mistakes: a hard item is hard for everybody. So
the probabilities of Dawid-Skene and similar models are **too high**.

The default, `{DEFAULT}`, allows for that. It counts the n labels of an item as
n / (1 + (n - 1) x 0.2) independent ones (the setting `correlation`), and never gives more than 99 %
to what annotators agree on. The labels are the same. The model's own probability of the label is
the column `raw_confidence`; `correlation=0` makes it the confidence.

**What it cannot know.** Labels alone do not show a mistake that everybody makes. If ten annotators
take every dolphin for a fish, their labels look like those of ten experts:

```python
import numpy as np
import manyhands as mh

truth = np.repeat(["fish", "mammal"], 50)
said = np.full(100, "fish")  # everybody is wrong about all mammals...
said[75:] = "mammal"  # ...that swim
ann = mh.Annotations.from_dense(np.repeat(said[:, None], 10, axis=1))
consensus = mh.aggregate(ann)
print(consensus.confidence[50:75].mean().round(2))  # sure of a label that is wrong
```

Only truth can show it. If the truth of some items is known, `consensus.calibrated(truth)` or
`manyhands aggregate --calibrate truth.csv` calibrates the confidence with one temperature. A
network that learns from the features of items sees what labels do not show, too: an item that
resembles those of another class.

The calibration error is the mean difference between confidence and accuracy over ten bins of
confidence, weighted by the number of items; 0 is perfect. "calibrated" uses the truth of a random
half of the items and is measured on the other half (mean of {SPLITS} splits). The numbers come from
the command

{code_block("python -m benchmarks.calibration --data DIR")}

and are recorded in `docs/results/records`."""
_END = f"""![Accuracy against confidence on eight sets]({PICTURE})

Dots above the dotted line have too little confidence, dots below it too much. Their size is the
number of items."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records, the page and the picture."""
    made = parser("calibration", __doc__)
    made.add_argument("--data", type=Path, required=True, help="folder with the label sets")
    options = made.parse_args(arguments)
    rows = CALIBRATION.keep(measure_all(options.data), options.docs)
    write_page(options.docs / PAGE, make_page(rows))
    (options.docs / PICTURE).parent.mkdir(exist_ok=True)
    draw(rows).savefig(options.docs / PICTURE, dpi=110)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
