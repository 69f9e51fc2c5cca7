"""Choosing labels: labels needed on real crowds against random choice, and the speed of CROWDLAB.

    python -m benchmarks.next_labels --data DIR [--runs N] [--cleanlab]

DIR holds `music`, `labelme` and `aggregation/rte`. Records the numbers and writes
docs/next-labels.md.
"""

import itertools
import resource
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import manyhands as mh
from benchmarks.benchmark import NEXT_LABELS, Row, commands_of, log, parser
from manyhands.aggregation import DawidSkene
from manyhands.annotations import Annotations
from manyhands.evaluation import summarize_runs
from manyhands.experiments import code_block, markdown_table, write_page
from manyhands.selection.gains import information_gain

PAGE = "next-labels.md"
SETS = ("music", "labelme", "rte")
METHODS = ("random", "information")
FITS = ("shown", "all")  # the labels that confusions are learnt from
STEPS = 20  # batches between the first labels and all
PART = 0.8  # of all labels, at random
NEAR = 0.005  # of the accuracy that all labels give


def read_crowd(name: str, data: Path) -> tuple[Annotations, Any]:
    """The labels of a set, and the true classes by item."""
    if name in mh.DATASETS:
        corpus = mh.DATASETS[name].read(data)
        return corpus.annotations, dict(zip(corpus.annotations.items, corpus.truth, strict=True))
    folder = data / "aggregation" / name
    return mh.read_annotations(folder / "label.csv"), mh.read_truth(folder / "truth.csv")


def reveal(
    ann: Annotations, truth: Any, method: str, seed: int, whole: mh.Consensus | None = None
) -> list[tuple[int, float]]:
    """Labels shown and accuracy, from one random label per item to all labels.

    A batch has at most one label of an item while there are enough items. Truth only scores. The
    confusions are learnt from the labels shown, or those of the consensus `whole` of all labels.
    """
    rng = np.random.default_rng(seed)
    order_n = np.lexsort((rng.random(ann.n_annotations), ann.item))
    shown_n = np.zeros(ann.n_annotations, dtype=bool)
    shown_n[order_n[ann.item_offsets[:-1][ann.labels_per_item > 0]]] = True
    size = max(1, -(-int((~shown_n).sum()) // STEPS))
    curve = []
    while True:
        shown = ann.only(np.flatnonzero(shown_n))
        now = DawidSkene().fit(shown) if whole is None else whole.predict(shown)
        curve.append((int(shown_n.sum()), float(now.score(truth).accuracy)))
        hidden = np.flatnonzero(~shown_n)
        if not len(hidden):
            return curve
        gain_n = rng.random(len(hidden))
        if method == "information":
            gain_n = gains_of(now, ann.item[hidden], ann.annotator[hidden]) + 1e-9 * gain_n
        best = hidden[np.argsort(-gain_n, kind="stable")]
        _, first = np.unique(ann.item[best], return_index=True)
        again = np.setdiff1d(np.arange(len(best)), first)
        shown_n[best[np.concatenate([np.sort(first), again])[:size]]] = True


def gains_of(consensus: mh.Consensus, item_n: Any, annotator_n: Any) -> Any:
    """The information of labels that can be had."""
    gain_n, belief_ik = np.zeros(len(item_n)), consensus.probabilities
    confusion_akl = consensus.confusion
    assert belief_ik is not None
    assert confusion_akl is not None
    for a in np.unique(annotator_n):
        mine = annotator_n == a
        gain_n[mine] = information_gain(belief_ik[item_n[mine]], confusion_akl[a])
    return gain_n


def labels_needed(curve: list[tuple[int, float]], target: float) -> int:
    """The number of labels from which on the accuracy stays at the target or above."""
    below = [place for place, (_, accuracy) in enumerate(curve) if accuracy < target]
    return curve[min(below[-1] + 1 if below else 0, len(curve) - 1)][0]


def measure_crowds(data: Path, runs: int) -> Iterator[Row]:
    """A row per set, method and way to learn confusions."""
    for name in SETS:
        ann, truth = read_crowd(name, data)
        for fit, method in itertools.product(FITS, METHODS):
            whole = DawidSkene().fit(ann) if fit == "all" else None
            curves = [reveal(ann, truth, method, seed, whole) for seed in range(runs)]
            full = float(np.mean([curve[-1][1] for curve in curves]))
            mean_b = np.mean([[accuracy for _, accuracy in curve] for curve in curves], axis=0)
            row = {
                "kind": "crowd", "set": name, "method": method, "confusions": fit, "n_runs": runs,
                "n_labels": [n for n, _ in curves[0]], "accuracy": mean_b.round(5).tolist(),
                "full": full,
                "needed": [labels_needed(curve, full) for curve in curves],
                "needed_near": [labels_needed(curve, full - NEAR) for curve in curves],
            }  # fmt: skip
            needed = f"{np.mean(row['needed']):.0f} of {ann.n_annotations}"
            log(f"{name} {method}, confusions of {fit}: {needed}")
            yield row


def measure_speed(n_items: int, n_annotators: int, with_cleanlab: bool) -> Iterator[Row]:
    """Seconds and memory of CROWDLAB with five labels per item and ten classes."""
    rng = np.random.default_rng(0)
    n_classes, per_item = 10, 5
    truth = rng.integers(n_classes, size=n_items)
    annotator = np.argsort(rng.random((n_items, 50)), axis=1)[:, :per_item]
    annotator = (annotator + 50 * rng.integers(n_annotators // 50, size=(n_items, 1))).ravel()
    item = np.repeat(np.arange(n_items), per_item)
    right = rng.random(len(item)) < 0.75
    label = np.where(right, truth[item], rng.integers(n_classes, size=len(item)))
    ann = Annotations.from_arrays(item, annotator, label, annotators=range(n_annotators))
    probabilities = rng.dirichlet(np.ones(n_classes), n_items) + 0.7 * np.eye(n_classes)[truth]
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    sizes = {"n_items": n_items, "n_annotators": n_annotators}
    ways = {"crowdlab": mh.selection.crowdlab, "active_lab": mh.selection.active_lab}
    for name, score in ways.items():
        score(ann, probabilities)
        began = time.perf_counter()
        score(ann, probabilities)
        seconds = time.perf_counter() - began
        yield {"kind": "speed", "tool": "manyhands", "method": name, "seconds": seconds, **sizes,
               "peak_mib": _peak_mib()}  # fmt: skip
    if not with_cleanlab:
        return
    from cleanlab.multiannotator import get_label_quality_multiannotator

    dense = np.full((n_items, n_annotators), np.nan)
    dense[ann.item, ann.annotator] = ann.label
    began = time.perf_counter()
    get_label_quality_multiannotator(dense, probabilities, verbose=False)
    seconds = time.perf_counter() - began
    yield {"kind": "speed", "tool": "cleanlab", "method": "crowdlab", "seconds": seconds, **sizes,
           "peak_mib": _peak_mib()}  # fmt: skip


def _peak_mib() -> float:
    """The largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    crowds = [row for row in rows if row["kind"] == "crowd"]
    by = {(row["set"], row["method"], row["confusions"]): row for row in crowds}
    needed, curves, known = [], [], []
    for name in dict.fromkeys(row["set"] for row in crowds):
        chance, chosen = (by[name, method, "shown"] for method in METHODS)
        needed += [*_needed_rows(name, chance, chosen), _part_row(name, chance, chosen)]
        known += _needed_rows(name, *(by[name, method, "all"] for method in METHODS))
        curves += [
            [name, method, *(f"{_at(by[name, method, 'shown'], share):.3f}" for share in _SHARES)]
            for method in METHODS
        ]
    speed = [
        [row["tool"], f"`{row['method']}`", f"{row['seconds']:.2f}", f"{row['peak_mib']:,.0f}"]
        for row in rows
        if row["kind"] == "speed"
    ]
    head = ["set", "accuracy of", "accuracy", "random needs", "`information` needs", "saved"]
    shares = [f"{100 * share:.0f} %" for share in _SHARES]
    return _PAGE.format(
        runs=crowds[0]["n_runs"],
        near=f"{100 * NEAR:g}",
        needed=markdown_table(head, needed, left=2),
        known=markdown_table(head, known, left=2),
        saved=_saved_with_known_confusions(by),
        curves=markdown_table(["set", "chosen by", *shares], curves, left=2),
        speed=markdown_table(["tool", "scores", "seconds", "peak MiB so far"], speed, left=2),
        command=code_block(commands_of(rows)),
    )


def _needed_rows(name: str, chance: Row, chosen: Row) -> Iterator[list[str]]:
    """Labels needed for the accuracy of all labels, and for a little less."""
    for what, field, less in (("all labels", "needed", 0.0), ("nearly", "needed_near", NEAR)):
        pairs = zip(chosen[field], chance[field], strict=True)
        saved = summarize_runs([1 - mine / other for mine, other in pairs])
        yield [
            name, what, f"{chosen['full'] - less:.3f}",
            f"{np.mean(chance[field]):,.0f}", f"{np.mean(chosen[field]):,.0f}",
            f"{100 * saved.mean:.0f} % ({100 * saved.low:.0f} to {100 * saved.high:.0f})",
        ]  # fmt: skip


def _saved_with_known_confusions(by: Mapping[tuple[str, str, str], Row]) -> str:
    """The range over sets of the mean share of labels saved, in %."""
    saved = []
    for name in dict.fromkeys(name for name, _, _ in by):
        chance, chosen = (by[name, method, "all"]["needed"] for method in METHODS)
        pairs = zip(chosen, chance, strict=True)
        saved.append(100 * float(np.mean([1 - mine / other for mine, other in pairs])))
    return f"{min(saved):.0f} to {max(saved):.0f} %"


def _part_row(name: str, chance: Row, chosen: Row) -> list[str]:
    """Labels needed for what random choice reaches with a part of them, by the mean curves."""
    n_b, wanted = np.array(chance["n_labels"], dtype=float), _at(chance, PART)
    needed = float(np.interp(wanted, np.maximum.accumulate(chosen["accuracy"]), n_b))
    part = PART * n_b[-1]
    return [
        name, f"{100 * PART:.0f} % at random", f"{wanted:.3f}", f"{part:,.0f}", f"{needed:,.0f}",
        f"{100 * (1 - needed / part):.0f} %",
    ]  # fmt: skip


def _at(row: Row, share: float) -> float:
    """The accuracy with a share of all labels, between two batches in proportion."""
    n_b = np.array(row["n_labels"], dtype=float)
    return float(np.interp(share * n_b[-1], n_b, row["accuracy"]))


_SHARES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_PAGE = """# What to label next: labels saved, and speed

[How to choose labels](how-to/next-labels.md) explains the methods. Here labels of real crowds are
hidden and revealed. Every item begins with one random label, and the others are asked for in twenty
batches, at random or by `information`, which was chosen as the default on simulated crowds. Only
labels that someone gave can be revealed, so that both ways end with the same labels. After every
batch Dawid-Skene is fitted anew. The truth only scores.

## Labels needed

The number of labels from which on the accuracy stays at that of all labels, or within {near} points
of it ("nearly"): means over {runs} random starts, and the share saved with its 95 % interval over
starts. The third line of a set is by the mean curves: the accuracy that random choice has with four
of five labels.

{needed}

What is saved depends on what there is to choose. In rte every item has ten labels, and most of
them only confirm the others. LabelMe has 2.5 labels per item and music 4.2, so that a choice soon
runs out. In music the accuracy still rises with the last labels, whichever they are, so that nearly
all of them are needed for the accuracy of all labels.

Accuracy with a share of all labels, mean over starts:

{curves}

## Why nearly all labels are needed

Labels tell the classes of items, and the confusions of annotators by which other labels are read.
To tell these apart, the same labels were revealed once more with confusions and shares of classes
that were fitted to all labels beforehand:

{known}

For the accuracy of all labels, {saved} of the labels are then saved. So the last labels are not
needed for the items, but for the confusions: in music those of 44 annotators with ten classes are
learnt from 2945 labels. A choice saves most where annotators are known already, from labels that
they gave before or from gold.

## Speed

CROWDLAB and ActiveLab for 50,000 items, 2,000 annotators, five labels per item and ten classes.
With `--cleanlab` the command times cleanlab too, which takes a dense table of items and annotators.

{speed}

The numbers come from

{command}

and are recorded in `docs/results/records`.
"""


def measure_all(data: Path, runs: int, cleanlab: bool, command: str) -> Iterator[Row]:
    """All rows."""
    yield {"kind": "run", "command": command}
    yield from measure_crowds(data, runs)
    yield from measure_speed(50_000, 2_000, cleanlab)


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    made = parser("next_labels", __doc__)
    made.add_argument("--data", type=Path, required=True, help="folder with the public corpora")
    made.add_argument("--runs", type=int, default=10, help="random starts per set")
    made.add_argument("--cleanlab", action="store_true", help="time cleanlab too; takes minutes")
    options = made.parse_args(arguments)
    command = f"python -m benchmarks.next_labels --data DIR --runs {options.runs}"
    rows = NEXT_LABELS.keep(
        measure_all(options.data, options.runs, options.cleanlab, command), options.docs
    )
    write_page(options.docs / PAGE, make_page(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
