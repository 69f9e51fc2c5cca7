"""The picture of the README: what the demo finds out.

python docs/demo_picture.py --out docs/images/demo.png
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

import manyhands as mh

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {
    "careful": "#0b6e99",
    "middling": "#7fb069",
    "random": "#d1495b",
    "constant": "#edae49",
}


def draw_methods(axis: plt.Axes, data: mh.datasets.DigitsDemo) -> None:
    table = mh.aggregation.compare(data.crowd.annotations, truth=data.crowd.truth_by_item)
    names, scores = table.columns["method"][::-1], table.columns["accuracy"][::-1]
    colours = ["#888888" if name == "majority" else "#0b6e99" for name in names]
    bars = axis.barh(names, scores, color=colours, height=0.65)
    axis.bar_label(bars, fmt="%.2f", padding=3)
    axis.set_xlim(0, 1)
    axis.set_xlabel("share of digits found")
    axis.set_title("The consensus", loc="left", fontsize=11)


def draw_annotators(axis: plt.Axes, data: mh.datasets.DigitsDemo) -> None:
    consensus = mh.aggregate(data.crowd.annotations)
    quality = consensus.quality
    true_a = np.einsum("akk->a", data.crowd.confusion) / consensus.annotations.n_classes
    axis.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":")
    for behaviour, colour in COLOURS.items():
        who = data.crowd.behaviour == behaviour
        reach = [quality.value[who] - quality.low[who], quality.high[who] - quality.value[who]]
        axis.errorbar(
            true_a[who], quality.value[who], yerr=reach, fmt="o", color=colour, markersize=4,
            elinewidth=0.8, label=behaviour,
        )  # fmt: skip
    axis.legend(frameon=False, loc="upper left", fontsize=9)
    axis.set_xlabel("true accuracy of the simulated annotator")
    axis.set_ylabel("estimated, with 95 % interval")
    axis.set_title("The annotators", loc="left", fontsize=11)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="picture to write")
    arguments = parser.parse_args()
    data = mh.datasets.load_demo()
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[1, 1.15])
    draw_methods(axes[0], data)
    draw_annotators(axes[1], data)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(arguments.out, dpi=120)


if __name__ == "__main__":
    main()
