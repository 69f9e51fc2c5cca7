"""What a fresh process measures of training; every job returns rows."""

import gc
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.benchmark import Row
from benchmarks.gauges import peak_bytes, resident_bytes
from benchmarks.machine import machine_facts
from benchmarks.training_steps import (
    OUR_CLASSIFIER,
    OUR_DEFAULTS,
    OURS,
    LoopRace,
    Step,
    Workload,
    contestants,
    our_step,
)
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.loop import TrainingRun, train
from manyhands.engine.optimisers import sparse_tables
from manyhands.engine.settings import TrainingSettings


class Times(list[tuple[float, float]]):
    """Wall and processor seconds of each repetition."""

    @property
    def walls(self) -> list[float]:
        """Wall seconds."""
        return [wall for wall, _ in self]

    @property
    def least_cpu(self) -> float:
        """The least processor seconds."""
        return min(cpu for _, cpu in self)


_BLOCK_S = 0.1  # the usual length of a timed block of steps
_MOST_STEPS = 64  # in a block
_LEAST_ROUNDS = 3
_MEMORY_STEPS = 3  # of another tool; its memory does not grow after them


def measure_growth(
    workload: Row, method: str, settings: Row, sizes: Sequence[int], budget_s: float
) -> list[Row]:
    """The time of our step for crowds of several sizes in turn; ratios are to the first size."""
    torch.set_num_threads(1)
    workloads = {n: Workload(**workload | {"n_annotators": n}) for n in sizes}
    steps = {n: our_step(each, method, **settings) for n, each in workloads.items()}
    times, others = in_turns(steps, budget_s)
    about = {"method": method, "settings": settings, "n_classes": workload["n_classes"]}
    return [
        {**about, "n_annotators": n, "sparse": _is_sparse(workloads[n], method, settings)}
        | _summary(times[n], times[sizes[0]], others)
        for n in sizes
    ]


def measure_peers(workload: Row, layer: str, budget_s: float) -> list[Row]:
    """The time of a step of every tool with this layer, in turn; ratios are to ours."""
    torch.set_num_threads(1)
    makers = contestants(Workload(**workload), layer)
    times, others = in_turns({tool: make() for tool, make in makers.items()}, budget_s)
    return [
        {"tool": tool, "layer": layer, **workload} | _summary(times[tool], times[OURS], others)
        for tool in makers
    ]


def measure_memory(workload: Row, tool: str, method: str) -> list[Row]:
    """The peak of this process: ours trains an epoch, others make a few steps on the same data.

    The classifier trains two epochs to choose the best, and two more on all labels.
    """
    torch.set_num_threads(1)
    size = Workload(**workload)
    row: Row = {"tool": tool, "method": method, **workload}
    if tool in contestants(size, method) and tool not in {OURS, OUR_DEFAULTS}:
        step = contestants(size, method)[tool]()
        for number in range(_MEMORY_STEPS):
            step(number)
        return [row | {"peak_bytes": peak_bytes()}]
    inputs, annotations = size.inputs(), size.annotations()
    row["baseline_bytes"] = resident_bytes()
    if tool == OUR_CLASSIFIER:
        from manyhands.estimators import CrowdClassifier  # the import needs memory of its own

        short: Row = {"epochs": 2, "warm_up": 1, "batch_size": size.batch_size, "progress": False}
        CrowdClassifier(method=method, **short).fit(inputs, annotations)
    else:
        settings = TrainingSettings(epochs=1, batch_size=size.batch_size)
        module = size.make_module(method, annotations, settings, as_published=tool == OURS)
        row["made_bytes"] = peak_bytes()
        train(TrainingRun(module, TensorInputs(inputs), annotations, settings, progress=False))
    return [row | {"peak_bytes": peak_bytes()}]


def measure_loop(
    workload: Row, method: str, epochs: int, labels_each: float, repeats: int
) -> list[Row]:
    """Complete runs of `train` and of a bare loop in turn, after one of each to warm up."""
    torch.set_num_threads(1)
    race = LoopRace(Workload(**workload), method, epochs, labels_each)
    parts = {"bare": Times(), "epochs": Times(), "whole": Times()}
    with _others() as others:
        for repeat in range(repeats + 1):
            bare, losses = _clocked(race.bare, race.make_module())
            whole, history = _clocked(race.ours, race.make_module())
            assert abs(history[-1]["loss"] - losses[-1]) < 1e-4, "both loops compute the same"
            in_epochs = sum(entry["seconds"] for entry in history)
            if repeat:
                parts["bare"].append(bare)
                parts["epochs"].append((in_epochs, whole[1] * in_epochs / whole[0]))
                parts["whole"].append(whole)
    about = {"method": method, "epochs": epochs, "n_labels": race.annotations.n_annotations}
    return [
        {**about, **workload, "part": part} | _summary(times, parts["bare"], others[0])
        for part, times in parts.items()
    ]


def measure_threads(workload: Row, method: str, budget_s: float) -> list[Row]:
    """Our step with one thread and with two, while other cores are idle and while they are busy."""
    size = Workload(**workload)
    torch.set_num_threads(2)
    chosen = _chosen_threads(size, method)
    step = our_step(size, method)
    cases = [(busy, threads) for busy in (False, True) for threads in (1, 2)]
    with _spinning() as spin:

        def prepare(case: tuple[bool, int]) -> None:
            spin(case[0])
            torch.set_num_threads(case[1])

        times, _ = in_turns(dict.fromkeys(cases, step), budget_s, prepare)
    about = {"method": method, "chosen": chosen, **workload}
    return [
        {**about, "busy": busy, "threads": threads}
        | _summary(times[busy, threads], times[busy, 1], None)
        for busy, threads in cases
    ]


JOBS: dict[str, Callable[..., list[Row]]] = {
    "growth": measure_growth,
    "peers": measure_peers,
    "memory": measure_memory,
    "loop": measure_loop,
    "threads": measure_threads,
}


def do_job(kind: str, request: Row) -> list[Row]:
    """The rows of a job, each with its kind."""
    return [{"kind": kind, "status": "ok", **row} for row in JOBS[kind](**request)]


def in_turns(
    steps: Mapping[Any, Step], budget_s: float, prepare: Callable[[Any], None] = lambda _: None
) -> tuple[dict[Any, Times], float | None]:
    """Seconds per step of each, block by block, and the number of cores that others kept busy.

    The first step of a block is not timed, because the caches hold the data of the block before.
    """
    at = dict.fromkeys(steps, 0)
    times = {key: Times() for key in steps}

    def block(key: Any, n_steps: int) -> tuple[float, float]:
        first, at[key] = at[key], at[key] + n_steps + 1
        steps[key](first)
        begin = time.perf_counter(), time.process_time()
        for number in range(first + 1, first + n_steps + 1):
            steps[key](number)
        wall, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
        return wall / n_steps, cpu / n_steps

    sizes = {}
    for key in steps:
        prepare(key)
        sizes[key] = max(1, min(_MOST_STEPS, round(_BLOCK_S / block(key, 2)[0])))
    gc.collect()
    gc.freeze()
    begin, n_rounds = time.perf_counter(), 0
    with _others() as others:
        while n_rounds < _LEAST_ROUNDS or time.perf_counter() - begin < budget_s:
            for key in steps:
                prepare(key)
                times[key].append(block(key, sizes[key]))
            n_rounds += 1
    gc.unfreeze()
    return times, others[0]


def _summary(times: Times, base: Times, others: float | None) -> Row:
    """Least and median times, and their ratios to those of `base` in the same rounds."""
    pairs = zip(times.walls, base.walls, strict=True)
    return {
        "least_s": min(times.walls),
        "median_s": statistics.median(times.walls),
        "cpu_s": times.least_cpu,
        "least_ratio": min(times.walls) / min(base.walls),
        "median_ratio": statistics.median(one / other for one, other in pairs),
        "cpu_ratio": times.least_cpu / base.least_cpu,
        "rounds": len(times),
        "others": others,
    }


def _clocked(work: Callable[[Any], Any], given: Any) -> tuple[tuple[float, float], Any]:
    """Wall and processor seconds of a call, and its result."""
    gc.collect()
    begin = time.perf_counter(), time.process_time()
    result = work(given)
    return (time.perf_counter() - begin[0], time.process_time() - begin[1]), result


def _chosen_threads(workload: Workload, method: str) -> int:
    """The number of threads that `train` uses by default."""
    small = replace(workload, n_items=workload.batch_size)
    settings = TrainingSettings(epochs=1, batch_size=workload.batch_size)
    annotations, seen = small.annotations(), []
    module = small.make_module(method, annotations, settings)
    module.network.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    train(TrainingRun(module, TensorInputs(small.inputs()), annotations, settings, progress=False))
    return int(seen[0])


def _is_sparse(workload: Workload, method: str, settings: Row) -> bool:
    """Whether tables are sparse for a crowd of this size; one item is enough to find out."""
    small = replace(workload, n_items=1)
    chosen = {name: value for name, value in settings.items() if name != "as_published"}
    module = small.make_module(method, small.annotations(), TrainingSettings(**chosen))
    return bool(sparse_tables(module))


@contextmanager
def _others() -> Iterator[list[float | None]]:
    """The number of cores that other programs kept busy, known at the end; None if unknown."""
    cores: list[float | None] = [None]
    begin = time.perf_counter(), time.process_time(), _busy_s()
    yield cores
    wall = time.perf_counter() - begin[0]
    busy = _busy_s()
    if busy is not None and begin[2] is not None:
        cores[0] = max(0.0, (busy - begin[2] - time.process_time() + begin[1]) / wall)


def _busy_s() -> float | None:
    """Seconds that all cores have worked, also for other guests of the host."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    user, nice, system, _, _, irq, soft_irq, stolen = map(int, path.read_text().split()[1:9])
    return (user + nice + system + irq + soft_irq + stolen) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _spinning() -> Iterator[Callable[[bool], None]]:
    """A switch for programs that keep all cores but one busy."""
    n_others = max(1, machine_facts()["cores"] - 1)
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(n_others)]

    def spin(wanted: bool) -> None:
        for each in running:
            each.send_signal(signal.SIGCONT if wanted else signal.SIGSTOP)

    try:
        yield spin
    finally:
        for each in running:
            each.kill()
            each.wait()
