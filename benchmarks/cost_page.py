"""The page on the cost of methods: records of several commands, and the tables made from them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import NOTHING, markdown_table, number

Row = dict[str, Any]

MOST = 2.0  # plain epochs that an epoch may take besides what grows with the labels
STRAIGHT = 0.15  # of an epoch that it may lie off the line
LEAST_GAIN = 20.0  # times as quick as the peer
BROKEN = "**does not hold**"
EXCEPTIONS = {
    "max-mig": "pairs the items of a batch",
    "semi-lfc": "has an encoder and a decoder beside the network",
}


def read_records(path: Path) -> list[Row]:
    """All rows; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def put_records(path: Path, part: str, rows: Iterable[Row]) -> None:
    """Put these rows in the place of those of the same part."""
    kept = [row for row in read_records(path) if row["part"] != part]
    made = sorted([*kept, *rows], key=lambda row: str(row["part"]))
    path.write_text("".join(json.dumps(row) + "\n" for row in made))


def make_page(rows: list[Row]) -> str:
    """Markdown made from the records."""
    parts = [_INTRODUCTION]
    made = {"epochs": _epochs, "raykar": _raykar}
    for part, write in made.items():
        own = [row for row in rows if row["part"] == part]
        if own:
            parts.append(write(own))
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """# What methods cost

The numbers behind this page are in the `.jsonl` file next to it. Times depend on the machine,
ratios much less."""


def line(row: Row) -> tuple[float, float, float]:
    """An epoch as a line in the number of labels, by least squares.

    The fixed part in plain epochs, the slope in microseconds per label, and the largest distance
    of a measurement from the line, by the measurement.
    """
    labels, ratios = np.array(row["labels"], dtype=float), np.array(row["ratios"])
    slope, fixed = np.polyfit(labels, ratios, 1)
    off = np.abs(fixed + slope * labels - ratios) / ratios
    return float(fixed), float(slope) * row["plain_s"] * 1e6, float(off.max())


def verdict(row: Row) -> str:
    """Whether an epoch takes at most twice a plain one and a part linear in the labels."""
    fixed, _, off = line(row)
    if fixed <= MOST and off <= STRAIGHT:
        return "holds"
    why = EXCEPTIONS.get(row["method"])
    return f"exception: {why}" if why else BROKEN


def _epochs(rows: list[Row]) -> str:
    run = next(row for row in rows if row["kind"] == "run")
    epochs = [row for row in rows if row["kind"] == "epoch"]
    solved = [row for row in rows if row["kind"] == "solved"]
    each = ", ".join(str(n) for n in run["labels_each"])
    plain = float(np.median([row["plain_s"] for row in epochs]))
    return f"""## An epoch of every method

```
{run["command"]}
```

{run["n_items"]:,} items with {run["n_features"]} features, {run["n_classes"]} classes,
{run["n_annotators"]} simulated annotators, {each} labels per item in turn; the default network (a
hidden layer of 128), batches of 64, one thread, no labels kept aside, no warm-up. A **plain
epoch** is cross-entropy on one class per item (`truth`): {number(plain * 1e3)} ms here, whatever
the number of labels. The fits of a method stand between two plain ones; of the {run["epochs"]}
epochs of a fit the quickest but the first counts; medians of {run["rounds"]} rounds. Times are the
processor's, which others on the machine disturb less; *wall* is the ratio of times by the clock.

*Fixed* and *per label* are the least-squares line through the four epochs: **an epoch should take
at most twice a plain one, and a part that is linear in the labels** (fixed part at most {MOST:g},
no epoch more than {STRAIGHT:.0%} off the line). *Off* is the largest distance from the line,
*spread* the widest range of a ratio over the rounds; *the run before* is the fixed part when the
command was last run, which tells how far it can be trusted. What a fixed part has beyond a plain
epoch is mostly the starting of small operations, {-(-run["n_items"] // 64)} times an epoch.

{_epoch_table(epochs, {row["method"]: row for row in rows if row["kind"] == "before"})}
{_wide(run, rows)}
## Methods without epochs

They are solved by steps until they converge. {run["steps"]} steps at most here; processor time of
the whole fit by its steps (start and portraits with it). Linear models see the
{run["n_features"]} features, topic models as many words.

{_solved_table(solved)}

{_machine(run)}"""


def _wide(run: Row, rows: list[Row]) -> str:
    """What broke the rule, seen again with a larger network; nothing where nothing did."""
    again = [row for row in rows if row["kind"] == "wide"]
    if not again:
        return ""
    head = ["method", "plain epoch, ms", "fixed, plain epochs", "µs per label", "the rule"]
    body = []
    for row in again:
        fixed, slope, _ = line(row)
        cells = [number(row["plain_s"] * 1e3), f"{fixed:.2f}", f"{slope:.2f}", verdict(row)]
        body.append([f"`{row['method']}`", *cells])
    return f"""
Where the rule does not hold, the same with a hidden layer of {run["wide"]:,}: what a noise model
adds to a step does not grow with the network, a plain epoch does.

{markdown_table(head, body, left=1)}
"""


def _epoch_table(rows: list[Row], before: dict[str, Row]) -> str:
    head = ["method", "stated cost", "fixed, plain epochs", "the run before", "µs per label"]
    head += [f"ratio at {rows[0]['labels'][0]:,} labels", f"at {rows[0]['labels'][-1]:,}"]
    head += ["wall", "off", "spread", "the rule"]
    body = []
    for row in rows:
        fixed, slope, off = line(row)
        earlier = before.get(row["method"])
        cells = [f"{fixed:.2f}", f"{line(earlier)[0]:.2f}" if earlier else NOTHING]
        cells += [f"{slope:.2f}", f"{row['ratios'][0]:.2f}"]
        cells += [f"{row['ratios'][-1]:.2f}", f"{row['wall_ratios'][-1]:.2f}"]
        cells += [f"{off:.0%}", f"{max(row['spread']):.2f}"]
        body.append([f"`{row['method']}`", row["cost"], *cells, verdict(row)])
    return markdown_table(head, body, left=2)


def _solved_table(rows: list[Row]) -> str:
    head = ["method", "stated cost", "labels", "seconds per step"]
    body = [
        [f"`{row['method']}`", row["cost"], f"{labels:,}", number(took / steps)]
        for row in rows
        for labels, took, steps in zip(row["labels"], row["seconds"], row["steps"], strict=True)
    ]
    return markdown_table(head, body, left=2)


def _raykar(rows: list[Row]) -> str:
    run = next(row for row in rows if row["kind"] == "run")
    cases = [row for row in rows if row["kind"] == "case"]
    head = ["items", "annotators", "labels", "tool", "tolerance per label", "seconds"]
    head += ["objective", "ratio", "wall"]
    body = [cells for row in cases for cells in _raykar_cells(row)]
    first = cases[0]
    gain = first["peer"]["seconds"] / first["equal"]["seconds"] if first["reached"] else 0.0
    told = f"{gain:.0f} times, {'holds' if gain >= LEAST_GAIN else BROKEN}"
    return f"""## Raykar's model beside scikit-activeml

```
{run["command"]}
```

Logistic regression and everybody's confusions by maximum likelihood, {run["n_features"]} features,
{run["n_classes"]} classes: our `fit_raykar` beside `AnnotatorLogisticRegression` of
scikit-activeml {run["peer_version"]}, as it comes (a penalty of 1/2 |W|² on all weights but the
intercept, no prior of the confusions, at most 100 steps of EM). Both maximise the same and start
from the label shares. One function, of neither, evaluates the objective of both solutions:

    sum_i log sum_k f_k(x_i) prod_n C[a_n, k, y_n] - 1/2 |W|²

Ours is run as it comes, and with its tolerance lowered tenfold until its objective is not below the
peer's (*no lower*): by that line it is judged. The objective has several maxima, and the two may
end in different ones: where ours is then the lower, nothing can be compared at an equal objective.
Processor seconds on one thread and their ratio, and the ratio of times by the clock; in turns,
medians of {run["repeats"]} runs (one of the peer where it takes longer than {run["once_s"]:g} s).

{markdown_table(head, body)}

**At least {LEAST_GAIN:g} times as quick at the same objective**, {first["n_items"]:,} items and
{first["n_labels"]:,} labels: {told}. Where everybody labels everything EM needs few steps and the
peer's matrix is full: there is less to gain.

{_machine(run)}"""


def _raykar_cells(row: Row) -> list[list[str]]:
    sizes = [f"{row[name]:,}" for name in ("n_items", "n_annotators", "n_labels")]
    lower = row["peer"]["objective"] - row["ours"]["objective"]
    named = {
        "ours": "`fit_raykar`" if row["reached"] else f"`fit_raykar`, {lower:.2f} lower maximum",
        "equal": "`fit_raykar`, no lower",
        "peer": "scikit-activeml",
    }
    made = []
    for key, name in named.items():
        if key not in row:
            continue
        one, peer = row[key], row["peer"]
        cells = [f"{one['tol']:g}", number(one["seconds"]), f"{one['objective']:,.4f}"]
        gains = [number(peer[each] / one[each]) for each in ("seconds", "wall_s")]
        made.append([*sizes, name, *cells, *(["-", "-"] if key == "peer" else gains)])
    return made


def _machine(run: Row) -> str:
    versions = run["versions"]
    named = ", ".join(f"{name} {versions[name]}" for name in ("python", "manyhands", "numpy"))
    return f"*Measured on {run['processor']}, {run['cores']} cores; {named}.*"
