"""Panels of judges: calibration, effective judges and accuracy on simulated panels.

    python -m benchmarks.judge_panels [--runs N]

Records the numbers and writes docs/judge-panels.md.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import manyhands as mh
from benchmarks.benchmark import JUDGE_PANELS, Row, commands_of, log, parser
from manyhands.core.arrays import AnyArray, Floats
from manyhands.evaluation import calibration_curve, summarize_runs
from manyhands.experiments import code_block, markdown_table, write_page
from manyhands.selection.judges.dependence import measure_dependence
from manyhands.selection.judges.independence import measure_independence
from manyhands.selection.judges.judge_labels import make_judge_labels, match_gold
from manyhands.selection.judges.panel_fit import fit_panel
from manyhands.simulation import JudgePanelSettings

PAGE = "judge-panels.md"
N_ITEMS = 3000
GOLD = (50, 100, 200, 400)
USUAL_GOLD = 100
PANELS: dict[str, dict[str, Any]] = {
    "two groups of three": {},
    "groups of four and two": {"group_size": 4},
    "one group of six": {"group_size": 6, "lowest": 0.85},
    "weaker sharing, 0.5": {"sharing": 0.5},
    "four classes, two groups": {"n_classes": 4, "sharing": 0.8, "lowest": 0.75},
    "independent": {"sharing": 0.0, "lowest": 0.7},
    "independent, four classes": {"sharing": 0.0, "lowest": 0.6, "n_classes": 4},
    "independent, twelve judges": {
        "sharing": 0.0, "lowest": 0.6, "n_annotators": 12, "labels_per_item": 12,
    },
}  # fmt: skip
FIRST = next(iter(PANELS))
METHODS = ("dawid-skene", "annotator-types", "majority")


def measure_all(runs: int, command: str) -> Iterator[Row]:
    """A row per panel, and for the first one per size of the gold."""
    yield {"kind": "run", "command": command, "n_runs": runs}
    for name, settings in PANELS.items():
        for n_gold in GOLD if name == FIRST else (USUAL_GOLD,):
            found = [measure(name, n_gold, seed) for seed in range(runs)]
            row = {
                "kind": "panel", "panel": name, "n_gold": n_gold, "settings": settings,
                **{key: [each[key] for each in found] for key in found[0]},
            }  # fmt: skip
            error = np.mean(row["panel error"])
            log(f"{name}, {n_gold} gold: calibration error {error:.4f}")
            yield row


def measure(name: str, n_gold: int, seed: int) -> dict[str, float]:
    """One panel; consensuses are scored on the items without gold."""
    crowd: Any = mh.SCENARIOS["judge-panel"](
        JudgePanelSettings(n_items=N_ITEMS, seed=seed, **PANELS[name])
    )
    ann, truth = crowd.annotations, crowd.truth[n_gold:]
    gold = dict(list(crowd.truth_by_item.items())[:n_gold])
    judges, known = match_gold(make_judge_labels(ann), gold)
    fit = fit_panel(ann, known, judges.no_verdict_k)
    effective = measure_dependence(ann, known).effective_judges
    plain = {method: mh.AGGREGATORS[method]().fit(ann) for method in METHODS}
    tempered = plain["dawid-skene"].calibrated(gold).probabilities
    beliefs = {"panel": fit.probabilities(), "tempered": tempered}
    beliefs |= {method: consensus.probabilities for method, consensus in plain.items()}
    found = {
        f"{way} {score}": value
        for way, belief_ik in beliefs.items()
        if belief_ik is not None
        for score, value in scores(belief_ik[n_gold:], truth).items()
    }
    return found | {
        "planted": crowd.effective_judges,
        "effective": effective.value,
        "low": effective.low,
        "high": effective.high,
        "n_groups": float((fit.grouping.sharing_m > 0).sum()),
        "warned": float(measure_independence(ann).exceeds.any()),
    }


def scores(probabilities_ik: Floats, truth: AnyArray) -> dict[str, float]:
    """Calibration error, accuracy and mean confidence."""
    right = probabilities_ik.argmax(axis=1) == truth
    confidence = probabilities_ik.max(axis=1)
    error = calibration_curve(confidence, right).calibration_error
    means = {"accuracy": float(right.mean()), "confidence": float(confidence.mean())}
    return {"error": error, **means}


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    run = next(row for row in rows if row["kind"] == "run")
    panels = [row for row in rows if row["kind"] == "panel"]
    usual = [row for row in panels if row["n_gold"] == USUAL_GOLD]
    by_gold = [row for row in panels if row["panel"] == FIRST]
    head = [
        "panel", "dawid-skene", "default", "dawid-skene, one temperature", "with groups",
        "95 % interval",
    ]  # fmt: skip
    calibration = [
        [
            row["panel"],
            f"{np.mean(row['dawid-skene error']):.3f}",
            f"{np.mean(row['annotator-types error']):.3f}",
            f"{np.mean(row['tempered error']):.3f}",
            f"{np.mean(row['panel error']):.3f}",
            _interval(row["panel error"]),
        ]
        for row in usual
    ]
    accuracy = [
        [
            row["panel"],
            *(f"{np.mean(row[f'{method} accuracy']):.4f}" for method in METHODS),
            f"{np.mean(row['panel accuracy']):.4f}",
            _points(row),
        ]
        for row in usual
    ]
    sizes = [
        [
            str(row["n_gold"]),
            f"{np.mean(row['panel error']):.3f}",
            f"{np.mean(row['panel accuracy']):.4f}",
            f"{np.mean(row['effective']):.2f}",
            f"{100 * np.mean(_off(row)):.0f} %",
        ]
        for row in by_gold
    ]
    return _PAGE.format(
        runs=run["n_runs"],
        items=f"{N_ITEMS:,}",
        gold=USUAL_GOLD,
        calibration=markdown_table(head, calibration, left=1),
        effective=markdown_table(_EFFECTIVE, [_effective_row(row) for row in usual], left=1),
        accuracy=markdown_table(
            ["panel", *METHODS, "with groups", "against dawid-skene, points"],
            accuracy, left=1,
        ),
        sizes=markdown_table(
            ["gold items", "calibration error", "accuracy", "effective judges", "off by"], sizes,
            left=0,
        ),
        warned=markdown_table(
            ["panel", "warned of"],
            [[row["panel"], f"{100 * np.mean(row['warned']):.0f} %"] for row in usual], left=1,
        ),
        command=code_block(commands_of(rows)),
    )  # fmt: skip


_EFFECTIVE = [
    "panel", "planted", "measured", "off by, mean", "within 20 %", "interval holds the planted",
]  # fmt: skip


def _effective_row(row: Row) -> list[str]:
    off = _off(row)
    inside = [
        low - 1e-9 <= planted <= high + 1e-9
        for low, planted, high in zip(row["low"], row["planted"], row["high"], strict=True)
    ]
    return [
        row["panel"],
        f"{np.mean(row['planted']):.2f}",
        f"{np.mean(row['effective']):.2f}",
        f"{100 * np.mean(off):.0f} %",
        f"{100 * np.mean(off <= 0.2):.0f} % of panels",
        f"{100 * np.mean(inside):.0f} %",
    ]


def _off(row: Row) -> Floats:
    """How far the measured number is from the planted one, as a share of it."""
    return np.abs(np.array(row["effective"]) / np.array(row["planted"]) - 1.0)


def _interval(values: list[float]) -> str:
    found = summarize_runs(values)
    return f"{found.low:.3f} to {found.high:.3f}"


def _points(row: Row) -> str:
    gains = 100 * (np.array(row["panel accuracy"]) - np.array(row["dawid-skene accuracy"]))
    found = summarize_runs(gains.tolist())
    return f"{found.mean:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


_PAGE = """# Panels of judges

[How to examine a panel](how-to/judge-panels.md) explains the numbers. Here panels are simulated
(`manyhands simulate judge-panel`): six judges with accuracies from 0.8 to 0.9, in some panels
lower, label {items} items, in groups that share their errors. A judge follows the group on 90 % of
the items, unless the panel says otherwise. The first {gold} items are gold; items are in no order.
All scores are of the other items, means over {runs} panels of each kind. The calibration error is
the mean difference between confidence and accuracy over ten bins of confidence.

## Calibration

"dawid-skene" takes the judges as independent; "default" is `annotator-types`, which allows for some
correlation. Neither is given the gold. "one temperature" is `consensus.calibrated(gold)` of
Dawid-Skene, and "with groups" is `mh.selection.judge_panel`, both with {gold} gold items.

{calibration}

The accuracy of a group is known from the gold alone. In a panel that is one group, {gold} items
leave a standard error of 0.03, and a calibration error much below that cannot be had. With several
groups, their disagreement helps. Confusions of judges who share errors are shrunk to their
average as much as the gold says that the judges are alike: differences that are chance would make
too much of the labels of a group that disagrees.

## Effective judges

The planted number is n² divided by the sum of the planted correlations.

{effective}

## Accuracy

{accuracy}

The interval is that of the mean difference. Where judges are independent no accuracy is lost: the
model is then Dawid-Skene with some known truths. Where they share errors, the groups are weighed by
the gold instead of being counted judge by judge. If they share few errors, {gold} gold items do not
tell the groups reliably, and labels can be a little worse than those of Dawid-Skene.

## More or less gold

Panels of two groups of three:

{sizes}

## Without gold

The share of panels that are warned of, because some judges agree more than independent ones would:

{warned}

The numbers come from

{command}

and are recorded in `docs/results/records`.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    made = parser("judge_panels", __doc__)
    made.add_argument("--runs", type=int, default=20, help="panels of each kind")
    options = made.parse_args(arguments)
    command = f"python -m benchmarks.judge_panels --runs {options.runs}"
    rows = JUDGE_PANELS.keep(measure_all(options.runs, command), options.docs)
    write_page(options.docs / PAGE, make_page(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
