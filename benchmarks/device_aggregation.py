"""One step of Dawid-Skene on a GPU beside what its memory could do, and how far results differ.

    python -m benchmarks.device_aggregation [--labels N] [--annotators N] [--classes K,K]

Records the rows and writes docs/gpu-speed.md. It needs a GPU.

The bytes that must move in a step are the codes of annotators and labels (4 bytes each), one
offset per item (4 bytes), and the posterior, written once (8 bytes per item and class). `share` is
the rate at which these move, as a share of that of a copy on the same GPU. `share_packed` counts
annotator and label as one code of 4 bytes, which is how the GPU keeps them.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from benchmarks.benchmark import GPU_AGGREGATION, Row, command_given, log, parser
from benchmarks.crowds import CrowdSize, simulate
from benchmarks.gpu_page import write_gpu_page
from manyhands.aggregation import AGGREGATORS, DawidSkene, device
from manyhands.aggregation.dawid_skene import fit_class_prior
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.device_labels import device_labels
from manyhands.aggregation.kernels.device_pass import DeviceConfusionPass
from manyhands.annotations import Annotations, Vocabulary

COPY_BYTES = 1 << 32
AGREE = CrowdSize(1_000_000, 3, 1000)  # the crowd of the comparison with the CPU
_REPEATS, _WARM_UP = 20, 3


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    options = _parser().parse_args(arguments)
    sizes = [CrowdSize(options.labels, k, options.annotators) for k in options.classes]
    agree = CrowdSize(options.agree_labels, AGREE.n_classes, AGREE.n_annotators)
    command = command_given("device_aggregation", arguments)
    rows = measure_all(sizes, agree, options.copy_bytes, command)
    GPU_AGGREGATION.keep(map(_logged, rows), options.docs)
    write_gpu_page(options.docs)
    return 0


def _logged(row: Row) -> Row:
    log("  ".join(f"{name} {_cell(value)}" for name, value in row.items()))
    return row


def measure_all(
    sizes: list[CrowdSize], agree: CrowdSize, copy_bytes: int, command: str
) -> Iterator[Row]:
    """The rows of one run: bandwidth, a step per size, the difference of every method."""
    bandwidth = measure_copy(copy_bytes)
    yield {"kind": "run", "bytes_per_s": bandwidth, "device": _device_name(), "command": command}
    for size in sizes:
        yield measure_step(size, bandwidth)
    yield from measure_differences(agree)


def measure_copy(n_bytes: int) -> float:
    """Bytes read and written per second by a copy."""
    place, _ = device.open_device()
    source = torch.ones(n_bytes // 8, dtype=torch.float64, device=place)
    target = torch.empty_like(source)
    return 2 * n_bytes / seconds(lambda: target.copy_(source))


def measure_step(size: CrowdSize, bandwidth: float) -> Row:
    """The time of one EM step as a fit makes it, and of its parts."""
    began = time.perf_counter()
    ann = annotations_of(size)
    drawn = time.perf_counter()
    model, expect = DawidSkene(device="cuda"), DeviceConfusionPass(gather_evidence(ann))
    expected, crowd_lk = model.first_expectation(expect)
    _wait()
    ready = time.perf_counter()
    pseudo_alk = model.pseudo_counts(crowd_lk, ann)
    log_prior_k, _ = fit_class_prior(expected.mass_k, model.class_pseudo_count)
    table = expect.fit_confusions(expected, pseudo_alk).log_confusion_alk

    def step() -> float:
        found = expect(log_prior_k, table)
        fitted = expect.fit_confusions(found, pseudo_alk)
        _, log_p = fit_class_prior(found.mass_k, model.class_pseudo_count)
        return found.log_likelihood + fitted.log_prior + log_p

    step_s = seconds(step)
    n_bytes = necessary_bytes(size, code_bytes=8)
    packed = necessary_bytes(size, code_bytes=4)
    return {
        "kind": "step", **asdict(size), "step_s": step_s, **_parts(expect, table, log_prior_k),
        "bytes": n_bytes, "share": n_bytes / step_s / bandwidth,
        "share_packed": packed / step_s / bandwidth,
        "draw_s": drawn - began, "setup_s": ready - drawn,
    }  # fmt: skip


def _parts(expect: DeviceConfusionPass, table: Any, log_prior_k: Any) -> Row:
    """The times of the pass over items and of the sums by annotator, each alone."""
    ann = expect.evidence.annotations
    labels = device_labels(ann)
    posterior = labels.empty(ann.n_items, ann.n_classes)
    prior, rows = labels.move(log_prior_k), table.tensor.reshape(-1, ann.n_classes)
    steps, codes = labels.steps, (labels.offsets, labels.row, None)
    items_s = seconds(lambda: steps.expect_confusions(*codes, prior, rows, 1, posterior))
    sums_s = seconds(lambda: labels.sums(labels.by_row, posterior))
    return {"items_s": items_s, "sums_s": sums_s, "sum_passes": len(labels.by_row)}


def measure_differences(size: CrowdSize) -> Iterator[Row]:
    """Every method on the CPU and on the GPU until it converges: how far posteriors differ."""
    ann = annotations_of(size)
    for name, model in AGGREGATORS.items():
        if not model.has_device_pass:
            continue
        row: Row = {"kind": "difference", "method": name, **asdict(size)}
        found = {}
        for where in ("cpu", "cuda"):
            began = time.perf_counter()
            found[where] = model(device=where).fit(ann)
            row[f"{where}_s"] = time.perf_counter() - began
        again = model(device="cuda").fit(ann)
        here, there = (np.asarray(found[where].probabilities) for where in ("cpu", "cuda"))
        steps = [found[where].n_iterations for where in ("cpu", "cuda")]
        same = bool(np.array_equal(there, np.asarray(again.probabilities)))
        yield row | {"difference": float(np.abs(here - there).max()), "steps": steps,
                     "same_bits_again": same}  # fmt: skip


def necessary_bytes(size: CrowdSize, *, code_bytes: int) -> int:
    """What any step reads and writes at least, with `code_bytes` per label."""
    per_item = 4 + 8 * size.n_classes
    return code_bytes * size.n_labels + per_item * size.n_items


def annotations_of(size: CrowdSize) -> Annotations:
    """A simulated crowd, whose names are its codes."""
    crowd = simulate(size)
    names = [Vocabulary(np.arange(n)) for n in (size.n_items, size.n_annotators, size.n_classes)]
    return Annotations(crowd.item, crowd.annotator, crowd.label.astype(np.int32), *names)


def seconds(work: Callable[[], object]) -> float:
    """The time of one call, from many calls after some to warm up."""
    for _ in range(_WARM_UP):
        work()
    _wait()
    began = time.perf_counter()
    for _ in range(_REPEATS):
        work()
    _wait()
    return (time.perf_counter() - began) / _REPEATS


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _device_name() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _parser() -> argparse.ArgumentParser:
    made = parser("device_aggregation", __doc__)
    made.add_argument("--labels", type=int, default=100_000_000, help="labels of a step")
    made.add_argument("--annotators", type=int, default=10_000)
    made.add_argument(
        "--classes", type=lambda text: [int(each) for each in text.split(",")], default=[2, 10]
    )
    made.add_argument("--agree-labels", type=int, default=AGREE.n_labels)
    made.add_argument("--copy-bytes", type=int, default=COPY_BYTES)
    return made


if __name__ == "__main__":
    sys.exit(main())
