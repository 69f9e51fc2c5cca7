"""How far confidence can be trusted: the page docs/calibration.md and its picture.

python -m benchmarks.calibration --data DIR --out docs/calibration.md
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

import manyhands as mh
from benchmarks.table import markdown_table
from manyhands.evaluation import calibration_curve
from manyhands.evaluation.scorecard import match_truth

mpl.use("Agg")
from matplotlib import pyplot as plt

METHODS = ["majority", "dawid-skene", "one-coin", "glad", "worker-clustering"]
COLOURS = {"majority": "#888888", "dawid-skene": "#0b6e99", "calibrated": "#d1495b"}

INTRO = """# How far confidence can be trusted

`confidence` is the model's own probability of its label. Models take annotators' mistakes for
independent; on real items they are not (a hard item is hard for everybody), so the probabilities
of Dawid-Skene and its relatives are **too sure of themselves**. That is why the command line calls
them "not calibrated". With the truth of some items, `consensus.calibrated(truth)` or `manyhands
aggregate --calibrate truth.csv` tempers them with one number.

Calibration error: the mean gap between confidence and accuracy over ten bins of confidence,
weighted by size; 0 is perfect. The last column tempers Dawid-Skene with the truth of a random half
of the items and is measured on the other half (mean of {splits} splits). Made by

```
python -m benchmarks.calibration --data DIR --out docs/calibration.md
```
"""

SPLITS = 20


def judged(
    folder: Path,
) -> tuple[mh.Annotations, dict[object, object]]:
    return mh.read_annotations(folder / "label.csv"), mh.io.read_truth(folder / "truth.csv")


def confidence_and_right(
    consensus: mh.Consensus, truth: dict[object, object]
) -> tuple[np.ndarray, np.ndarray]:
    """Confidence, and whether the label is right, of the items whose truth is known."""
    row, names = match_truth(consensus.annotations.item_vocabulary, truth)
    right = np.array([str(a) == str(b) for a, b in zip(consensus.labels[row], names, strict=True)])
    return consensus.confidence[row], right


def halves(truth: dict[object, object], seed: int) -> tuple[dict, dict]:
    items = list(truth)
    order = np.random.default_rng(seed).permutation(len(items))
    split = len(items) // 2
    return (
        {items[i]: truth[items[i]] for i in order[:split]},
        {items[i]: truth[items[i]] for i in order[split:]},
    )


def tempered_error(consensus: mh.Consensus, truth: dict[object, object]) -> tuple[float, float]:
    """Mean calibration error on the unseen half, and the mean temperature."""
    errors, temperatures = [], []
    for seed in range(SPLITS):
        seen, unseen = halves(truth, seed)
        better = consensus.calibrated(seen)
        errors.append(calibration_curve(*confidence_and_right(better, unseen)).calibration_error)
        temperatures.append(better.temperature)
    return float(np.mean(errors)), float(np.mean(temperatures))


def draw(axis: plt.Axes, name: str, consensus: mh.Consensus, truth: dict[object, object]) -> None:
    better = consensus.calibrated(truth)
    majority = mh.aggregate(consensus.annotations, "majority")
    axis.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":")
    shown = {"majority": majority, "dawid-skene": consensus, "calibrated": better}
    for label, each in shown.items():
        curve = calibration_curve(*confidence_and_right(each, truth))
        axis.plot(curve.confidence, curve.accuracy, color=COLOURS[label], linewidth=1, zorder=2)
        size = 4 + 90 * curve.count / curve.count.sum()
        axis.scatter(
            curve.confidence, curve.accuracy, s=size, color=COLOURS[label], label=label, zorder=3
        )
    axis.set_title(name, fontsize=10)
    axis.set_xlim(0.2, 1.02)
    axis.set_ylim(0, 1.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the label sets")
    parser.add_argument("--out", type=Path, required=True, help="Markdown page to write")
    arguments = parser.parse_args()
    folders = sorted((arguments.data / "aggregation").iterdir())
    figure, axes = plt.subplots(2, 4, figsize=(11, 5.6), sharex=True, sharey=True)
    rows = []
    for axis, folder in zip(axes.flat, folders, strict=False):
        annotations, truth = judged(folder)
        fits = {name: mh.aggregate(annotations, name) for name in METHODS}
        errors = [
            calibration_curve(*confidence_and_right(fit, truth)).calibration_error
            for fit in fits.values()
        ]
        after, temperature = tempered_error(fits["dawid-skene"], truth)
        draw(axis, folder.name, fits["dawid-skene"], truth)
        rows.append(
            [
                folder.name,
                *(f"{error:.3f}" for error in errors),
                f"{after:.3f}",
                f"{temperature:.1f}",
            ]
        )
    axes[0, 0].legend(fontsize=8, loc="upper left", frameon=False)
    figure.supxlabel("confidence")
    figure.supylabel("share of labels that are right")
    figure.tight_layout()
    picture = arguments.out.parent / "images" / "reliability.png"
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=110)
    head = ["set", *METHODS, "dawid-skene, calibrated", "temperature"]
    parts = [
        INTRO.format(splits=SPLITS),
        markdown_table(head, rows, left=1),
        "\n![Accuracy against confidence on eight sets](images/reliability.png)\n",
        "Dots above the dotted line are too modest, below it too sure; their size is the number "
        "of items.\nIn the picture `calibrated` has seen the truth it is drawn against, in the "
        "table it has not.\n",
    ]
    arguments.out.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
