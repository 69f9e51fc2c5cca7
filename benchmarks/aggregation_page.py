"""The page on the speed of aggregation, made from the recorded rows."""

from collections.abc import Iterable

from benchmarks.benchmark import Row, commands_of
from benchmarks.crowds import LABELS_PER_ITEM, LEAST_RIGHT, MOST_RIGHT
from benchmarks.gauges import PLANS
from benchmarks.kernel_limits import kernels_section
from benchmarks.machine import PACKAGES
from benchmarks.numbers import (
    NOTHING,
    count,
    duration,
    mebibytes,
    milliseconds,
    number,
    ratio,
    time_cell,
)
from benchmarks.processes import OK
from benchmarks.reading import N_ANNOTATORS, N_CLASSES
from benchmarks.startup import REPEATS
from benchmarks.tools import METHODS
from manyhands.experiments import code_block, markdown_table

PAGE = "benchmarks.md"
PEER, OURS = "crowd-kit", "manyhands"
MOST_GIB = 6.0

_TITLES = {
    "majority": "Majority",
    "dawid-skene": "Dawid-Skene",
    "one-coin": "One coin",
    "glad": "GLAD",
}


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    sections = [
        _introduction(commands_of(rows), by_kind["machine"][0]),
        _cases(by_kind.get("case", [])),
        _whole(by_kind.get("whole", [])),
        _large(by_kind.get("large", [])),
        kernels_section(by_kind.get("kernel", [])),
        _reading(by_kind.get("reading", [])),
        _startup(by_kind.get("startup", []), by_kind.get("compilation", [])),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _introduction(command: str, machine: Row) -> str:
    facts = [["processor", machine["processor"]], ["cores", str(machine["cores"])]]
    facts.append(["memory", f"{machine['memory_bytes'] / 2**30:.1f} GiB"])
    facts += [[name, machine["versions"][name]] for name in ("python", *PACKAGES)]
    threads = machine["threads"]
    return f"""# Benchmarks

Time and memory of manyhands and of crowd-kit on the same simulated labels, on one machine. The
numbers come from the commands

{code_block(command)}

and are recorded in `docs/results/records`. Accuracy is on other pages: on
[real labels](accuracy.md) (`python -m benchmarks.accuracy`), with
[few labels per annotator](few-labels.md) (`python -m benchmarks.few_labels`), of
[levels](tutorials/ordinal.md) (`python -m benchmarks.ordinal`) and on
[many simulated crowds](zoo.md) (`python -m benchmarks.zoo`).

**Data.** Every item has {LABELS_PER_ITEM} labels. Rows are sorted by item and classes are equally
probable. Each annotator has an accuracy drawn uniformly from {LEAST_RIGHT} to {MOST_RIGHT}; a wrong
label is uniform over the other classes. Both tools get the same three arrays (32-bit items and
annotators, 8-bit labels): crowd-kit as a pandas data frame, manyhands as `Annotations`.

**Settings.** Each tool uses its defaults, except that fits do not stop early. Threads are the
defaults of each tool: manyhands uses {threads or "all"} cores, crowd-kit's pandas and numpy
operations mostly one.

**Noise.** Times on shared machines are noisy. Both sides of a ratio are measured in the same run,
one after the other. Times from different runs should not be compared. A row that was measured again
may be from a busier machine: steps that are long wait more often for a core than short ones, which
flatters the faster side, and a step on two threads loses more than one on a single thread.

{markdown_table(["machine", ""], facts, left=2)}"""


def _cases(rows: list[Row]) -> str:
    if not rows:
        return ""
    *most, last = (f"{short} and {long}" for short, long in PLANS)
    plans = f"{', '.join(most)}, or {last}"
    limit = duration(next(row["limit_s"] for row in rows if row["tool"] == PEER))
    head = f"""## Time per EM iteration, and memory

The time of one EM iteration is a marginal cost: the time of a long fit minus that of a short fit of
the same labels in the same process, divided by the difference in iterations. Fits of {plans}
iterations are compared, the longest that fit the time budget and do not converge first (column
"fits"). Each time is the least of at least three repeats if time allows, after a small warm-up fit.
Majority voting has no iterations: its time is that of the whole way from three arrays to labels.

Peak memory is that of a fresh process that imports the tool, simulates the labels and runs one fit
of one iteration. Added memory is the peak minus the memory of the process after the three arrays
were created; small crowds fit into memory that the process already holds. Ratios are crowd-kit over
manyhands. A crowd-kit case that takes longer than {limit} is stopped, and larger crowds of the same
kind are not tried."""
    parts = [head]
    for method in METHODS:
        mine = [row for row in rows if row["method"] == method]
        if mine:
            parts.append(_method_table(method, mine))
    return "\n\n".join(parts)


def _method_table(method: str, rows: list[Row]) -> str:
    iterative = method != "majority"
    unit = "ms/iteration" if iterative else "ms"
    head = ["labels", "classes", "annotators", f"{PEER} {unit}", f"{OURS} {unit}", "time ratio"]
    for what in ("peak", "added"):
        head += [f"{PEER} {what} MiB", f"{OURS} {what} MiB", f"{what} ratio"]
    if iterative:
        head.append(f"fits ({PEER}; {OURS})")
    body = [_case_cells(theirs, ours, iterative) for theirs, ours in _pairs(rows)]
    peer_class, our_class = METHODS[method]
    text = f"### {_TITLES[method]}\n\ncrowd-kit `{peer_class}`, manyhands `{our_class}`."
    if method == "glad":
        text += (
            " The two iterations differ: crowd-kit's M-step makes up to 25 conjugate gradient"
            " steps, ours one sweep over abilities and one over easiness. The table of whole fits"
            " below compares complete fits."
        )
    return f"{text}\n\n{markdown_table(head, body, left=0)}"


def _case_cells(theirs: Row, ours: Row, iterative: bool) -> list[str]:
    cells = [count(ours["n_labels"]), str(ours["n_classes"]), count(ours["n_annotators"])]
    cells += [time_cell(theirs), time_cell(ours), ratio(milliseconds(theirs), milliseconds(ours))]
    for what in ("peak", "added"):
        sizes = mebibytes(theirs, what), mebibytes(ours, what)
        cells += [number(sizes[0]), number(sizes[1]), ratio(*sizes)]
    if iterative:
        cells.append("; ".join(_plan(row) for row in (theirs, ours)))
    return cells


def _plan(row: Row) -> str:
    return f"{row['short']}, {row['long']}" if "short" in row else NOTHING


def _pairs(rows: Iterable[Row]) -> list[tuple[Row, Row]]:
    """Their row and ours for every crowd, smallest crowds first."""
    by_crowd: dict[tuple[int, int, int], dict[str, Row]] = {}
    for row in rows:
        key = (row["n_classes"], row["n_annotators"], row["n_labels"])
        by_crowd.setdefault(key, {})[row["tool"]] = row
    both = [(one[PEER], one[OURS]) for _, one in sorted(by_crowd.items()) if len(one) == 2]
    return sorted(both, key=lambda pair: pair[0]["n_labels"])


def _whole(rows: list[Row]) -> str:
    if not rows:
        return ""
    head = ["method", "labels", "classes", "annotators", f"{PEER} s", f"{OURS} s", "time ratio"]
    for what in ("iterations", "accuracy"):
        head += [f"{PEER} {what}", f"{OURS} {what}"]
    body = []
    for method in METHODS:
        for theirs, ours in _pairs(row for row in rows if row["method"] == method):
            body.append([method, *_whole_cells(theirs, ours)])
    return f"""## Whole fits

From three arrays to labels with the default settings and stopping rule of each tool. Accuracy is
measured against the simulated truth. The stopping rules differ, so iterations differ.

{markdown_table(head, body, left=1)}"""


def _whole_cells(theirs: Row, ours: Row) -> list[str]:
    cells = [count(ours["n_labels"]), str(ours["n_classes"]), count(ours["n_annotators"])]
    for row in (theirs, ours):
        cells.append(number(row["seconds"]) if row["status"] == OK else time_cell(row))
    cells.append(ratio(milliseconds(theirs), milliseconds(ours)))
    for name in ("n_iterations", "accuracy"):
        for row in (theirs, ours):
            value = row.get(name)
            shown = f"{value:.4f}" if name == "accuracy" and value is not None else str(value)
            cells.append(shown if value else NOTHING)
    return cells


def _large(rows: list[Row]) -> str:
    if not rows:
        return ""
    head = ["labels", "items", "annotators", "classes", "iterations", "converting s", "fit s"]
    head += ["s/iteration", "arrays GiB", "peak GiB", f"peak under {MOST_GIB:g} GiB", "accuracy"]
    body = [_large_cells(row) for row in rows]
    return f"""## A large crowd

manyhands only: `DawidSkene().fit` with its default settings, in a fresh process, until it
converges. "converting s" is the time from arrays to `Annotations`. Seconds per iteration are those
of the whole fit divided by its iterations. "arrays GiB" is the memory of the process before
converting; the peak is that of the whole process.

{markdown_table(head, body, left=0)}"""


def _large_cells(row: Row) -> list[str]:
    cells = [count(row["n_labels"]), count(row["n_labels"] // LABELS_PER_ITEM)]
    cells += [count(row["n_annotators"]), str(row["n_classes"])]
    if row["status"] != OK:
        return [*cells, time_cell(row), *[NOTHING] * 7]
    peak = row["peak_bytes"] / 2**30
    steps = row["n_iterations"]
    return [
        *cells,
        f"{steps}" if row["converged"] else f"{steps} (not converged)",
        number(row["take_s"]),
        number(row["fit_s"]),
        number(row["fit_s"] / steps),
        number(row["baseline_bytes"] / 2**30),
        number(peak),
        "yes" if peak < MOST_GIB else "**no**",
        f"{row['accuracy']:.4f}",
    ]


def _reading(rows: list[Row]) -> str:
    if not rows:
        return ""
    head = ["names", "rows", "file MiB", "pyarrow s", f"{OURS} s", "manyhands / pyarrow"]
    body = []
    for row in rows:
        start = [row["ids"], count(row["n_rows"])]
        if row["status"] != OK:
            body.append([*start, NOTHING, time_cell(row), NOTHING, NOTHING])
            continue
        ours, bare = row["manyhands_s"], row["pyarrow_s"]
        times = [number(bare), number(ours)]
        body.append([*start, number(row["file_bytes"] / 2**20), *times, ratio(ours, bare)])
    return f"""## Reading

`manyhands.read_annotations` on a CSV file with columns item, annotator and label, beside
`pyarrow.csv.read_csv` on the same file, alternating in one process; the least of
{rows[0]["repeats"]} repeats. {count(N_ANNOTATORS)} annotators, {N_CLASSES} classes. Names are
integers, or strings such as `item_123`. pyarrow returns columns; manyhands returns names that are
encoded, checked and grouped by item.

{markdown_table(head, body, left=1)}"""


def _startup(rows: list[Row], compilation: list[Row]) -> str:
    if not rows:
        return ""
    body = [[f"`{row['command']}`", number(row["seconds"])] for row in rows]
    text = f"""## Start-up

Wall time of a new process, the least of {REPEATS} after a warm-up.

{markdown_table(["command", "s"], body, left=1)}"""
    for row in compilation:
        text += (
            f"\n\nNone of the times above includes compilation. The first fits of the"
            f" {len(METHODS)} methods together take {number(row['compiled_s'])} s if loops must be"
            f" compiled, and {number(row['loaded_s'])} s in later processes, which load them from"
            " disk."
        )
    return text
