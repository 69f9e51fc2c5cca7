"""The page on the cost of methods, made from the recorded rows of two benchmarks."""

import numpy as np

from benchmarks.benchmark import Row, commands_of
from benchmarks.numbers import NOTHING, number
from manyhands.experiments import code_block, markdown_table

PAGE = "method-costs.md"
MOST = 2.0  # plain epochs, the limit of the fixed part of an epoch
STRAIGHT = 0.15  # largest relative distance of an epoch from the line
LEAST_GAIN = 20.0  # times as fast as the peer
BROKEN = "**does not hold**"
EXCEPTIONS = {
    "max-mig": "pairs the items of a batch",
    "semi-lfc": "has an encoder and a decoder beside the network",
}


def make_page(epochs: list[Row], raykar: list[Row], fits: list[Row]) -> str:
    """The page as Markdown, from the rows of `epoch_costs`, `raykar` and `fit_times`."""
    parts = [_INTRODUCTION, *([_epochs(epochs)] if epochs else []),
             *([_fits(fits)] if fits else []), *([_raykar(raykar)] if raykar else [])]  # fmt: skip
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """# What methods cost

The numbers are recorded in `docs/results/records`. Times depend on the machine, ratios much
less."""


def line(row: Row) -> tuple[float, float, float]:
    """The time of an epoch as a line in the number of labels, by least squares.

    Returns the fixed part in plain epochs, the slope in microseconds per label, and the largest
    relative distance of a measurement from the line.
    """
    labels, ratios = np.array(row["labels"], dtype=float), np.array(row["ratios"])
    slope, fixed = np.polyfit(labels, ratios, 1)
    off = np.abs(fixed + slope * labels - ratios) / ratios
    return float(fixed), float(slope) * row["plain_s"] * 1e6, float(off.max())


def verdict(row: Row) -> str:
    """Whether an epoch takes at most two plain epochs and a part that is linear in the labels."""
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

{code_block(commands_of(rows))}

{run["n_items"]:,} items with {run["n_features"]} features, {run["n_classes"]} classes,
{run["n_annotators"]} simulated annotators, and {each} labels per item in turn. The network is the
default (one hidden layer of 128 units), with batches of 64, one thread, no validation labels and
no warm-up. A **plain epoch** is cross-entropy on one class per item (`truth`):
{number(plain * 1e3)} ms here for any number of labels. The fits of a method are between two plain
fits. Of the {run["epochs"]} epochs of a fit, the fastest except the first counts; the table shows
medians of {run["rounds"]} rounds. Times are processor times, which depend less on other programs;
*wall* is the ratio of wall times.

*Fixed* and *per label* describe the least-squares line through the four epochs. The rule: **an
epoch takes at most two plain epochs and a part that is linear in the labels** (fixed part at most
{MOST:g}, no epoch more than {STRAIGHT:.0%} off the line). *Off* is the largest distance from the
line, *spread* the widest range of a ratio over the rounds. *The run before* is the fixed part of
the previous run of the command and shows how reliable the number is. Most of a fixed part beyond a
plain epoch is the launch of small operations, {-(-run["n_items"] // 64)} times per epoch.

{_epoch_table(epochs, {row["method"]: row for row in rows if row["kind"] == "before"})}
{_wide(run, rows)}
## Methods without epochs

These methods iterate until they converge, here for at most {run["steps"]} steps. The table shows
the processor time of the whole fit, including initialisation and confusions, divided by its steps.
Linear models use the {run["n_features"]} features, topic models as many words.

{_solved_table(solved)}

{_machine(run)}"""


def _wide(run: Row, rows: list[Row]) -> str:
    """Methods that do not keep the rule, measured again with a larger network."""
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
Methods for which the rule does not hold, with a hidden layer of {run["wide"]:,} units: the cost
that a noise model adds to a step does not grow with the network, but a plain epoch does.

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


def _fits(rows: list[Row]) -> str:
    run = next(row for row in rows if row["kind"] == "run")
    head = ["corpus", "method", "seconds", "times `em`"]
    body = [
        [row["corpus"], f"`{row['method']}`", number(row["seconds"]), number(row["ratio"])]
        for row in rows
        if row["kind"] == "fit"
    ]
    return f"""## Whole fits

{code_block(commands_of(rows))}

Processor seconds of `CrowdClassifier(method=...).fit` with default settings on one thread: the
search for the best epoch, and the training on all labels after it. Methods are fitted in turn; the
table shows medians of {run["rounds"]} seeds. `cross-fit` finds its consensus twice, for the search
and for all labels.

{markdown_table(head, body, left=2)}

{_machine(run)}"""


def _raykar(rows: list[Row]) -> str:
    run = next(row for row in rows if row["kind"] == "run")
    cases = [row for row in rows if row["kind"] == "case"]
    head = ["items", "annotators", "labels", "tool", "tolerance per label", "seconds"]
    head += ["objective", "ratio", "wall"]
    body = [cells for row in cases for cells in _raykar_cells(row)]
    first = cases[0]
    gain = first["peer"]["seconds"] / first["equal"]["seconds"] if first["reached"] else 0.0
    outcome = f"{gain:.0f} times, {'holds' if gain >= LEAST_GAIN else BROKEN}"
    return f"""## Raykar's model beside scikit-activeml

{code_block(commands_of(rows))}

Logistic regression and the confusions of all annotators by maximum likelihood, with
{run["n_features"]} features and {run["n_classes"]} classes: our `fit_raykar` and
`AnnotatorLogisticRegression` of scikit-activeml {run["peer_version"]} with its defaults (a penalty
of 1/2 |W|² on all weights except the intercept, no prior of the confusions, at most 100 EM steps).
Both maximise the same objective and start from the shares of the labels. An independent function
evaluates the objective of both solutions:

    sum_i log sum_k f_k(x_i) prod_n C[a_n, k, y_n] - 1/2 |W|²

Ours is run with its defaults, and with its tolerance lowered tenfold until its objective is not
below the peer's (*no lower*); the latter row decides. The objective has several maxima, and the
two may end in different ones. If ours is then the lower, there is no comparison at an equal
objective. The table shows processor seconds on one thread, their ratio, and the ratio of wall
times; medians of {run["repeats"]} runs in turn (one run of the peer if it takes longer than
{run["once_s"]:g} s).

{markdown_table(head, body, left=0)}

**At least {LEAST_GAIN:g} times as fast at the same objective**, {first["n_items"]:,} items and
{first["n_labels"]:,} labels: {outcome}. If every annotator labels every item, EM needs few steps
and the peer's matrix is full, so there is less to gain.

{_machine(run)}"""


def _raykar_cells(row: Row) -> list[list[str]]:
    sizes = [f"{row[name]:,}" for name in ("n_items", "n_annotators", "n_labels")]
    lower = row["peer"]["objective"] - row["ours"]["objective"]
    named = {
        "ours": "`fit_raykar`" if row["reached"] else f"`fit_raykar`, {lower:.2f} lower maximum",
        "equal": "`fit_raykar`, no lower",
        "peer": "scikit-activeml",
    }
    cells_of_tools = []
    for key, name in named.items():
        if key not in row:
            continue
        one, peer = row[key], row["peer"]
        cells = [f"{one['tol']:g}", number(one["seconds"]), f"{one['objective']:,.4f}"]
        gains = [number(peer[each] / one[each]) for each in ("seconds", "wall_s")]
        cells_of_tools.append([*sizes, name, *cells, *(["-", "-"] if key == "peer" else gains)])
    return cells_of_tools


def _machine(run: Row) -> str:
    versions = run["versions"]
    named = ", ".join(f"{name} {versions[name]}" for name in ("python", "manyhands", "numpy"))
    return f"*Measured on {run['processor']}, {run['cores']} cores; {named}.*"
