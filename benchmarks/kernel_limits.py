"""How far one EM step is from what its memory accesses alone take, on one core.

Every label reads one row of a table and adds to another one. The least that a step can take is the
time of these accesses, in the order of the labels and with the same prefetch: it is measured by
loops that do nothing else.
"""

import os
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.benchmark import Row
from benchmarks.crowds import LABELS_PER_ITEM, CrowdSize, simulate
from benchmarks.numbers import count, number
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.coin_pass import CoinPass
from manyhands.aggregation.kernels.confusion_loops import rows_of_labels
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass
from manyhands.aggregation.kernels.glad_steps import GladPass
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats, Offsets
from manyhands.core.kernels import kernel
from manyhands.core.prefetch import prefetch
from manyhands.core.row_vectors import Columns, add_to_rows, sum_rows
from manyhands.experiments import markdown_table

CASES = ((2, 100), (2, 10_000), (10, 100), (10, 2_000), (10, 10_000))  # classes, annotators
_N_LABELS = 1_000_000
_REPEATS = 15
_AHEAD = 20


@kernel
def _read_rows(offsets: Offsets, row: AnyArray, table: Floats, into: Floats, c: Columns) -> None:
    final = len(row) - 1
    for i in range(len(offsets) - 1):
        for n in range(offsets[i], offsets[i + 1]):
            ahead = np.int64(row[min(n + _AHEAD, final)]) * len(c)
            prefetch(table, ahead)
            prefetch(table, ahead + len(c) - 1)
        at = np.int64(0)
        sum_rows(into, at, into, at, table, row, offsets[i], offsets[i + 1], c)


@kernel
def _write_rows(offsets: Offsets, row: AnyArray, table: Floats, values: Floats, c: Columns) -> None:
    final = len(row) - 1
    for i in range(len(offsets) - 1):
        for n in range(offsets[i], offsets[i + 1]):
            ahead = np.int64(row[min(n + _AHEAD, final)]) * len(c)
            prefetch(table, ahead)
            prefetch(table, ahead + len(c) - 1)
        add_to_rows(table, row, offsets[i], offsets[i + 1], values, np.int64(0), c)


def measure_kernels() -> Iterator[Row]:
    """Nanoseconds per label of E-steps, and of their memory accesses alone."""
    os.environ["MANYHANDS_THREADS"] = "1"
    for n_classes, n_annotators in CASES:
        crowd = simulate(CrowdSize(_N_LABELS, n_classes, n_annotators))
        ann = Annotations.from_arrays(crowd.item, crowd.annotator, crowd.label)
        size = {"n_labels": _N_LABELS, "n_classes": n_classes, "n_annotators": n_annotators}
        for method, step, width in _steps(ann):
            floor = _floor(ann, width)
            found = _alternately([step, *floor])
            yield {"method": method, **size, "columns": width, "ns": found[0],
                   "read_ns": found[1], "write_ns": found[2]}  # fmt: skip


def _steps(ann: Annotations) -> Iterator[tuple[str, Callable[[], object], int]]:
    """E-steps, and how many numbers a label reads and writes."""
    evidence, k = gather_evidence(ann), ann.n_classes
    log_prior_k, ability_a = np.full(k, -np.log(k)), np.linspace(0.5, 2.0, ann.n_annotators)
    rng = np.random.default_rng(0)
    log_confusion_alk = np.log(rng.dirichlet(np.ones(k), (ann.n_annotators, k)))
    confusions = ConfusionPass(evidence, posterior=False)
    yield "dawid-skene", lambda: confusions(log_prior_k, log_confusion_alk), k
    coins = CoinPass(evidence)
    yield "one-coin", lambda: coins(log_prior_k, ability_a), 1
    glad, log_ease_i = GladPass(evidence), np.zeros(ann.n_items)
    yield "glad", lambda: glad.expect(log_prior_k, ability_a, log_ease_i), 1


def _floor(ann: Annotations, width: int) -> list[Callable[[], object]]:
    """The reads and the writes of a step, alone."""
    if width == 1:
        row_n, n_rows = ann.annotator.astype(np.int32), ann.n_annotators
    else:
        row_n = rows_of_labels(ann.annotator, ann.label, ann.n_annotators, ann.n_classes)
        n_rows = ann.n_annotators * ann.n_classes
    columns, values, offsets = (0,) * width, np.zeros(width), ann.item_offsets
    tables = [np.zeros(n_rows * width) for _ in range(2)]
    return [
        lambda: _read_rows(offsets, row_n, tables[0], values, columns),
        lambda: _write_rows(offsets, row_n, tables[1], values, columns),
    ]


def _alternately(works: list[Callable[[], object]]) -> list[float]:
    """The least nanoseconds of processor time per label of each, measured by turns."""
    least = [float("inf")] * len(works)
    for work in works:
        work()  # compiles
    for _ in range(_REPEATS):
        for place, work in enumerate(works):
            begin = time.thread_time()
            work()
            least[place] = min(least[place], time.thread_time() - begin)
    return [seconds / _N_LABELS * 1e9 for seconds in least]


def kernels_section(rows: list[Row]) -> str:
    """The section of the page."""
    if not rows:
        return ""
    head = ["method", "classes", "annotators", "bytes in order", "bytes read by row"]
    head += ["bytes written by row", "ns reading", "ns writing", "ns step", "step / accesses"]
    body = []
    for row in rows:
        width, floor = 8 * row["columns"], row["read_ns"] + row["write_ns"]
        in_order = (4 if row["columns"] > 1 else 8) + 8 / LABELS_PER_ITEM
        cells = [f"{in_order:.1f}", str(width), str(2 * width)]
        cells += [number(row[name]) for name in ("read_ns", "write_ns", "ns")]
        size = [str(row["n_classes"]), count(row["n_annotators"])]
        body.append([row["method"], *size, *cells, number(row["ns"] / floor)])
    return f"""## Distance from the limit

An E-step per label, on one core, {count(rows[0]["n_labels"])} labels. A label reads codes in the
order of memory, one row of parameters, and adds to one row of counts: one gather and one scatter,
whatever the method. "ns reading" and "ns writing" are loops over the same rows that do nothing
else, with the same prefetch: the least that these accesses take. The rest of a step is arithmetic:
exponentials (one per item and class for `dawid-skene` and `one-coin`, and two transcendental
functions per label for `glad`), sums, and for `dawid-skene` tables of counts that are cleared and
added. Each is the least processor time of {_REPEATS} repeats, by turns in one process.

{markdown_table(head, body, left=1)}"""
