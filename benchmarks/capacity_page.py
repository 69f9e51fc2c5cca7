"""The page on capacity: growth fitted to the recorded runs, and a plan that follows from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import nnls

from benchmarks.benchmark import Row, commands_of
from benchmarks.large_page import large_section
from benchmarks.numbers import count, number
from manyhands.core.arrays import Floats
from manyhands.experiments import code_block, markdown_table

PAGE, FIGURE = "capacity.md", "images/capacity.png"
MILLION = 1e6
PASSES = 5  # over all labels beside EM steps: the start, the annotators, doubts, the table
PART = 5e6  # labels of a part of `--memory 1` with two classes
PLAN_LABELS, PLAN_ANNOTATORS, PLAN_CLASSES, PLAN_STEPS = 1e10, 1e6, 2, 20
PLAN_CORES, PLAN_NODES = 16, 8
CORE_HOUR = 0.05  # US dollars for an hour of a rented core, an assumption
RESERVE = 5  # an assumption
EFFICIENCY = 0.7  # share of processor time that is not waiting, an assumption


@dataclass(frozen=True)
class Growth:
    """Coefficients of what a run takes, by the names of its terms."""

    terms: dict[str, float]

    def of(self, features: dict[str, Floats]) -> Floats:
        """What runs with these features take."""
        return np.asarray(sum(self.terms[name] * value for name, value in features.items()))


def time_features(rows: list[Row]) -> dict[str, Floats]:
    """What processor time is proportional to; labels in millions."""
    n, a, k, steps = _sizes(rows)
    passes = steps + PASSES
    return {
        "start": np.ones_like(n), "labels": n, "annotators": a, "labels x passes": n * passes,
        "labels x classes x passes": n * k * passes, "parameters x passes": a * k * k * passes,
    }  # fmt: skip


def memory_features(rows: list[Row]) -> dict[str, Floats]:
    """What memory is proportional to: a part, and the parameters of annotators."""
    n, a, k, _ = _sizes(rows)
    return {
        "start": np.ones_like(n), "labels of a part": np.minimum(n, PART / MILLION),
        "parameters": a * k * k,
    }  # fmt: skip


def _sizes(rows: list[Row]) -> tuple[Floats, Floats, Floats, Floats]:
    def column(name: str) -> Floats:
        return np.array([float(row[name]) for row in rows])

    return (
        column("labels") / MILLION,
        column("annotators") / MILLION,
        column("classes"),
        column("steps"),
    )


def fit(features: dict[str, Floats], found: Floats) -> Growth:
    """Coefficients that are not negative, by least squares of relative errors."""
    table = np.column_stack(list(features.values()))
    coefficients, _ = nnls(table / found[:, None], np.ones(len(found)))
    return Growth(dict(zip(features, coefficients.tolist(), strict=True)))


def runs_of(rows: list[Row], engine: str) -> list[Row]:
    """The runs of an engine that ended well."""
    return [
        row for row in rows
        if row["kind"] == "case" and row["engine"] == engine and row["code"] == 0
    ]  # fmt: skip


def draw(rows: list[Row]) -> Figure:
    """Measured and fitted time against labels, and measured against fitted of all runs."""
    stream = runs_of(rows, "stream")
    figure = Figure(figsize=(9, 3.8))
    first, second = figure.subplots(1, 2)
    if stream:
        found = np.array([row["processor_s"] for row in stream])
        growth = fit(time_features(stream), found)
        many = np.logspace(5, 10, 60)
        usual = {"annotators": 1000, "classes": 2, "steps": 5}
        line = growth.of(time_features([{"labels": n, **usual} for n in many]))
        first.loglog(many, line, color="0.4", label="fitted")
        alike = [row for row in stream if all(row[name] == usual[name] for name in usual)]
        first.loglog([row["labels"] for row in alike], [row["processor_s"] for row in alike], "o",
                     label="measured")  # fmt: skip
        second.loglog(growth.of(time_features(stream)), found, "o")
        ends = [found.min(), found.max()]
        second.loglog(ends, ends, color="0.4")
        first.legend()
    first.set_xlabel("labels (2 classes, 1,000 annotators, 5 steps)")
    first.set_ylabel("processor seconds, stream")
    second.set_xlabel("fitted processor seconds")
    second.set_ylabel("measured processor seconds")
    figure.tight_layout()
    return figure


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    machine = next(row for row in rows if row["kind"] == "run")
    sections = [
        f"""# Capacity

How long labels in parts take, how much memory, and what a plan for more of them follows from
([how to aggregate them](how-to/more-than-memory.md)). The numbers come from the command

{code_block(commands_of(rows))}

on {machine["processor"]}, {machine["cores"]} cores. `dawid-skene` from a Parquet file in random
order to the consensus table, 10 labels per item; all steps are made. Processor seconds are those
of all processes of a run; wall times depend on what else the machine did, which the column load
tells (processes that wait for a core when a run begins).""",
        _runs(rows),
        _growth(runs_of(rows, "stream")),
        _workers(runs_of(rows, "spark")),
        large_section(rows),
        _plan(runs_of(rows, "stream"), runs_of(rows, "spark")),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _runs(rows: list[Row]) -> str:
    head = ["engine", "cores", "labels", "annotators", "classes", "steps", "processor s", "wall s",
            "load", "GiB"]  # fmt: skip
    body = [
        [row["engine"], str(row["cores"]), count(row["labels"]), count(row["annotators"]),
         str(row["classes"]), str(row["steps"]), number(row["processor_s"]),
         number(row["seconds"]), number(row["load"]), number(row["gib"])]
        for row in rows if row["kind"] == "case"
    ]  # fmt: skip
    return f"## Runs\n\n{markdown_table(head, body, left=1)}"


def _growth(rows: list[Row]) -> str:
    if len(rows) < 2:
        return ""
    seconds = np.array([row["processor_s"] for row in rows])
    gib = np.array([row["gib"] for row in rows])
    time, memory = fit(time_features(rows), seconds), fit(memory_features(rows), gib)
    error = float(np.abs(time.of(time_features(rows)) / seconds - 1).max())
    body = [[name, number(value), "processor s"] for name, value in time.terms.items()]
    body += [[name, f"{value:.4f}", "GiB"] for name, value in memory.terms.items()]
    return f"""## Growth

Each row is a term of a sum, fitted to the runs of `stream` with coefficients that are not negative.
Labels and annotators are counted in millions, parameters are annotators x classes x classes, passes
are EM steps and {PASSES} more. No run differs from the fitted time by more than {error:.0%}.

{markdown_table(["proportional to", "coefficient", "of"], body, left=1)}

![Measured and fitted time]({FIGURE})

Time grows linearly with labels, and no term grows faster; reading, dividing and sorting labels take
most of it, not EM. Terms of zero are too small to be seen in these runs, among them the memory of
parameters: up to five tables of 8 bytes per annotator and pair of classes, which `--memory` does
not bound. Memory does not grow with labels beyond one part."""


def _workers(rows: list[Row]) -> str:
    one = [row for row in rows if row["cores"] == 1]
    two = [row for row in rows if row["cores"] == 2 and row["steps"] == 5]
    if not one or not two:
        return ""
    alone = one[0]
    both = next((row for row in two if row["labels"] == 2 * alone["labels"]), two[-1])
    share = alone["seconds"] / both["seconds"]
    return f"""## Workers

Weak scaling: one core of Spark takes {number(alone["seconds"])} s for {count(alone["labels"])}
labels, two take {number(both["seconds"])} s for {count(both["labels"])}: an efficiency of
{share:.0%} (load {number(alone["load"])} and {number(both["load"])}). In processor time, twice the
labels take {number(both["processor_s"] / alone["processor_s"])} times as much. Start-up is part of
both; a run on few labels is hardly anything else. On a quiet machine all of these times are
shorter."""


def _plan(stream: list[Row], spark: list[Row]) -> str:
    if len(stream) < 2 or len(spark) < 2:
        return ""
    plan: dict[str, Any] = {
        "labels": PLAN_LABELS, "annotators": PLAN_ANNOTATORS, "classes": PLAN_CLASSES,
        "steps": PLAN_STEPS,
    }  # fmt: skip
    seconds = np.array([row["processor_s"] for row in stream])
    stream_s = float(fit(time_features(stream), seconds).of(time_features([plan]))[0])
    growth = fit(_spark_features(spark), np.array([row["processor_s"] for row in spark]))
    spark_s = float(growth.of(_spark_features([plan]))[0])
    cores = PLAN_CORES * PLAN_NODES
    hours = spark_s / 3600 / (cores * EFFICIENCY)
    reserve = RESERVE * cores * hours * CORE_HOUR
    disk = PLAN_LABELS * 16 / 1e9, PLAN_LABELS * 10 / 1e9
    parameters = PLAN_ANNOTATORS * PLAN_CLASSES**2 * 8 / 2**30
    most = 4 * 2**30 / (2 * 8 * PLAN_CLASSES**2) / MILLION
    many = 4 * 2**30 / (2 * 8 * 10**2) / MILLION
    return f"""## A plan for 10 billion labels

1 billion items, {count(int(PLAN_ANNOTATORS))} annotators, two classes, {PLAN_STEPS} EM steps.

| | |
| --- | --- |
| processor time, Spark, from the runs above | {number(spark_s / 3600)} core-hours |
| cluster | {PLAN_NODES} nodes of {PLAN_CORES} cores, 64 GB of memory and 500 GB of disk each |
| time, if cores are busy for {EFFICIENCY:.0%} of it | {number(hours)} h |
| cost at {CORE_HOUR} US dollars per core-hour | {number(cores * hours * CORE_HOUR)} US dollars |
| plan with {RESERVE} times as much | {number(RESERVE * hours)} h, {number(reserve)} US dollars |
| shuffled once | about {disk[0]:,.0f} GB |
| parts in the caches of executors | about {disk[1]:,.0f} GB, {disk[1] / PLAN_NODES:,.0f} per node |
| broadcast in every step | {number(parameters)} GiB |
| by `stream` on one machine | {number(stream_s / 3600)} h of a core, 200 GB of disk |

Efficiency, price and reserve are assumptions; the rest follows from the runs above, of at most
{count(int(max(row["labels"] for row in spark)))} labels on one machine. The network of a cluster,
tasks that take longer than others and the start of machines are not in them, but in the reserve.
What breaks first as sizes grow:

1. **Parameters.** Every executor and the driver hold names and some numbers of all annotators.
   Spark divides the confusions of `dawid-skene` among the executors if they take more than
   `--broadcast` (1 GiB). Other methods with confusions, and the engine stream, refuse tables above
   `MANYHANDS_MAX_GIB` (4): {number(most)} million annotators of two classes,
   {number(many)} million of ten. The error names the sizes. `one-coin` needs one number per
   annotator.
2. **The driver adds sums** of 16 tasks at most, each as large as the parameters; here
   {number(parameters)} GiB.
3. **A disk per node** that holds its share of the shuffle and of the cache.
4. **The sample of items** that ranges are cut from has 100,000 names. Above 10,000 parts, which are
   10 billion labels, parts differ in size by a third and more."""


def _spark_features(rows: list[Row]) -> dict[str, Floats]:
    n, _, _, steps = _sizes(rows)
    return {"start": np.ones_like(n), "labels": n, "passes": steps + PASSES,
            "labels x passes": n * (steps + PASSES)}  # fmt: skip
