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
METHODS = ["majority", "dawid-skene", "one-coin", "glad", "worker-clustering"]
COLOURS = {"majority": "#888888", "dawid-skene": "#0b6e99", "calibrated": "#d1495b"}
SPLITS = 20

Truth = Mapping[Any, Any]


def measure_all(data: Path) -> Iterator[Row]:
    """The rows of all sets."""
    for folder in sorted((data / "aggregation").iterdir()):
        annotations = mh.read_annotations(folder / "label.csv")
        truth = mh.io.read_truth(folder / "truth.csv")
        fits = {name: mh.aggregate(annotations, name) for name in METHODS}
        curves = {name: reliability_of(fit, truth) for name, fit in fits.items()}
        error, temperature = calibrated_error(fits["dawid-skene"], truth)
        calibrated = fits["dawid-skene"].calibrated(truth)
        shown = {name: curves[name] for name in ("majority", "dawid-skene")}
        shown["calibrated"] = reliability_of(calibrated, truth)
        yield {
            "set": folder.name,
            "errors": {name: curve.calibration_error for name, curve in curves.items()},
            "calibrated": error,
            "temperature": temperature,
            "curves": {name: _plain(curve) for name, curve in shown.items()},
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
    head = ["set", *METHODS, "dawid-skene, calibrated", "temperature"]
    body = [
        [
            row["set"],
            *(f"{row['errors'][name]:.3f}" for name in METHODS),
            f"{row['calibrated']:.3f}",
            f"{row['temperature']:.1f}",
        ]
        for row in rows
    ]
    return "\n\n".join([_INTRODUCTION, markdown_table(head, body, left=1), _END]) + "\n"


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

`confidence` is the probability that the model gives its label. Models assume that annotators make
independent mistakes. On real items they do not (a hard item is hard for everybody), so the
probabilities of Dawid-Skene and similar models are **too high**. This is why the command line
calls them "not calibrated". If the truth of some items is known, `consensus.calibrated(truth)` or
`manyhands aggregate --calibrate truth.csv` calibrates them with one temperature.

The calibration error is the mean difference between confidence and accuracy over ten bins of
confidence, weighted by the number of items; 0 is perfect. The column before the last calibrates
Dawid-Skene with the truth of a random half of the items and measures it on the other half (mean of
{SPLITS} splits). The numbers come from the command

{code_block("python -m benchmarks.calibration --data DIR")}

and are recorded in `docs/results/records`."""
_END = f"""![Accuracy against confidence on eight sets]({PICTURE})

Dots above the dotted line have too little confidence, dots below it too much. Their size is the
number of items. In the picture, `calibrated` is calibrated with all of the truth that it is
compared with; in the table it is not."""


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
