"""The page: what was measured, on what, and the tables, all from the recorded rows."""

from collections.abc import Iterable
from typing import Any

from benchmarks.crowds import LABELS_PER_ITEM, LEAST_RIGHT, MOST_RIGHT
from benchmarks.gauges import PLANS
from benchmarks.measure import OK
from benchmarks.reading import N_ANNOTATORS, N_CLASSES
from benchmarks.startup import REPEATS
from benchmarks.table import (
    NOTHING,
    count,
    duration,
    markdown_table,
    mebibytes,
    milliseconds,
    number,
    ratio,
    time_cell,
)
from benchmarks.tools import METHODS

Row = dict[str, Any]

PEER, OURS = "crowd-kit", "manyhands"
MOST_GIB = 6.0

_TITLES = {
    "majority": "Majority",
    "dawid-skene": "Dawid-Skene",
    "one-coin": "One coin",
    "glad": "GLAD",
}


def make_page(rows: list[Row]) -> str:
    """Markdown made from the rows of one run."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    sections = [
        _introduction(by_kind["run"][0], by_kind["machine"][0]),
        _cases(by_kind.get("case", [])),
        _whole(by_kind.get("whole", [])),
        _large(by_kind.get("large", [])),
        _reading(by_kind.get("reading", [])),
        _startup(by_kind.get("startup", []), by_kind.get("compilation", [])),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _introduction(run: Row, machine: Row) -> str:
    facts = [["processor", machine["processor"]], ["cores", str(machine["cores"])]]
    facts.append(["memory", f"{machine['memory_bytes'] / 2**30:.1f} GiB"])
    facts += [[name, version] for name, version in machine["versions"].items()]
    threads = machine["threads"]
    return f"""# Benchmarks

Time and memory of manyhands and of crowd-kit on the same simulated labels, on one machine, in one
run. Made by

```
{run["command"]}
```

from the repository root; the numbers behind this page are in the `.jsonl` file next to it.

**Data.** {LABELS_PER_ITEM} labels per item, rows sorted by item, classes equally probable. Each
annotator is right with a probability of their own, uniform in {LEAST_RIGHT} to {MOST_RIGHT}; a
wrong label is any other class alike. Both tools get the same three arrays (32-bit items and
annotators, 8-bit labels): crowd-kit as a pandas data frame, manyhands as `Annotations`.

**Settings.** The defaults of each tool, except that fits are kept from stopping early. Threads as
each tool uses them by default: manyhands runs on {threads or "all"} cores, crowd-kit's pandas and
numpy operations mostly on one.

**Noise.** Times on shared machines are noisy. Both sides of a ratio are measured in the same run,
one right after the other; times from different runs should not be compared.

{markdown_table(["machine", ""], facts, left=2)}"""


def _cases(rows: list[Row]) -> str:
    if not rows:
        return ""
    *most, last = (f"{short} and {long}" for short, long in PLANS)
    plans = f"{', '.join(most)}, or {last}"
    limit = duration(next(row["limit_s"] for row in rows if row["tool"] == PEER))
    head = f"""## Time per EM iteration, and memory

The time of one EM iteration is a marginal cost: a long fit minus a short fit of the same labels in
the same process, divided by the difference in iterations. Fits of {plans}
iterations are compared: the longest that are affordable and do not reach a fixed point first
(column "fits"). Each is the least of at least three repeats where time allows, after a small
warm-up fit. The majority has no iterations: its time is that of the whole way from three arrays
to labels.

Peak memory is that of a fresh process in which the tool is imported, the labels are made and one
fit of one iteration is run. Added memory is the peak minus what the process held once the three
arrays existed; small crowds fit into memory that the process holds already. Ratios are crowd-kit
over manyhands. A crowd-kit case that takes longer than {limit} is stopped, and larger crowds of the
same kind are not tried."""
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
            " below compares the way to the end."
        )
    return f"{text}\n\n{markdown_table(head, body)}"


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
    made: dict[tuple[int, int, int], dict[str, Row]] = {}
    for row in rows:
        key = (row["n_classes"], row["n_annotators"], row["n_labels"])
        made.setdefault(key, {})[row["tool"]] = row
    both = [(one[PEER], one[OURS]) for _, one in sorted(made.items()) if len(one) == 2]
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

From three arrays to labels with each tool's own settings and stopping rule. Accuracy is against the
simulated truth. The tools stop by different rules, so iterations differ.

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
converges. Converting is the way from arrays to `Annotations`. Seconds per iteration are those of
the whole fit divided by its iterations. "arrays GiB" is what the process held before converting;
the peak is that of the whole process.

{markdown_table(head, body)}"""


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
        times = [number(bare), "not available" if ours is None else number(ours)]
        body.append([*start, number(row["file_bytes"] / 2**20), *times, ratio(ours, bare)])
    return f"""## Reading

`manyhands.read_annotations` on a CSV file with columns item, annotator and label, beside
`pyarrow.csv.read_csv` on the same file, alternated in one process; the least of
{rows[0]["repeats"]} repeats. {count(N_ANNOTATORS)} annotators, {N_CLASSES} classes. Names are
integers, or strings such as `item_123`. pyarrow gives columns; manyhands gives names
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
            f"\n\nCompilation is in none of the times above. The first fits of the {len(METHODS)}"
            f" methods together take {number(row['compiled_s'])} s when loops must be compiled, and"
            f" {number(row['loaded_s'])} s in later processes, which find them on disk."
        )
    return text
