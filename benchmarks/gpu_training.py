"""Training on a GPU: what a crowd layer and SAM cost beside ordinary training.

    python -m benchmarks.gpu_training [--quick] [--device cuda]

A wide residual network learns images of the size of CIFAR-10 from one label per image (ordinary
training), and from the labels of a crowd of 2,571 annotators. Images and labels are random: they do
not change the time of a step. Records the numbers and writes docs/gpu-speed.md.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

import manyhands as mh
from benchmarks.benchmark import GPU_TRAINING, Row, command_given, log, parser
from benchmarks.gpu_page import write_gpu_page
from benchmarks.machine import machine_facts
from manyhands.annotations import Annotations
from manyhands.core.settings import generator
from manyhands.networks import WideResNet

PLAIN, CROWD = "truth", "crowd-layer-mw"
_FORWARD_AND_BACKWARD = 3  # the backward pass makes about two products for each of the forward pass
_SIDE = 8192  # of the matrices whose product measures the rate of the card


@dataclass(frozen=True)
class Plan:
    """What to measure, and how often."""

    n_items: int = 20_000
    n_annotators: int = 2571
    n_classes: int = 10
    labels_each: int = 3
    depth: int = 16
    width: int = 8
    epochs: int = 4  # of one fit: the first warms up, the fastest of the others counts
    rounds: int = 2
    batch_sizes: tuple[int, ...] = (128, 512)


QUICK = Plan(n_items=64, n_annotators=20, depth=10, width=1, epochs=2, rounds=1, batch_sizes=(32,))
# Every row is timed in turn with ordinary training of the same batch size.
_VARIANTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("ordinary training", PLAIN, {}),
    ("crowd layer", CROWD, {}),
    ("ordinary training, SAM", PLAIN, {"sam_rho": 0.05}),
    ("crowd layer, SAM", CROWD, {"sam_rho": 0.05}),
    ("ordinary training, compiled", PLAIN, {"compile": True}),
    ("crowd layer, compiled", CROWD, {"compile": True}),
)


def _crowd(plan: Plan) -> tuple[Any, Any, Annotations]:
    """Random images, random classes, and random labels of annotators who take turns."""
    rng = generator(0, "images")
    images = rng.standard_normal((plan.n_items, 3, 32, 32), np.float32)
    truth = rng.integers(plan.n_classes, size=plan.n_items)
    item = np.repeat(np.arange(plan.n_items), plan.labels_each)
    annotator = np.resize(rng.permutation(plan.n_annotators), len(item))
    label = rng.integers(plan.n_classes, size=len(item))
    crowd = Annotations.from_arrays(item, annotator, label, classes=range(plan.n_classes))
    return images, truth, crowd


def _epoch_seconds(
    plan: Plan, data: Any, method: str, batch_size: int, device: str, more: Any
) -> float:
    """The least time of an epoch of one fit, except the first."""
    images, truth, crowd = data
    model = mh.CrowdClassifier(
        "wide-resnet", method, network_settings={"depth": plan.depth, "width": plan.width},
        optimizer="sgd", learning_rate=0.01, epochs=plan.epochs, batch_size=batch_size,
        noise_optimizer="adamw", noise_learning_rate=1e-3, init=None if method == PLAIN else "own",
        warm_up=0, validation_fraction=0.0, precision="bf16", device=device, progress=False, **more,
    )  # fmt: skip
    model.fit(images, crowd, truth=truth if method == PLAIN else None)
    return float(min(entry["seconds"] for entry in model.history_[1:]))


def matrix_rate(device: str, side: int = _SIDE) -> float:
    """Operations per second of a product of large matrices in bf16."""
    left, right = (torch.randn(side, side, device=device).bfloat16() for _ in range(2))
    times = []
    for _ in range(10):
        _wait(device)
        began = time.perf_counter()
        left @ right
        _wait(device)
        times.append(time.perf_counter() - began)
    return float(2 * side**3 / min(times))


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _operations(plan: Plan) -> int:
    """Operations of the forward pass of one image."""
    network = WideResNet((3, 32, 32), plan.n_classes, depth=plan.depth, width=plan.width).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(torch.zeros(1, 3, 32, 32))
    return int(counter.get_total_flops())


def measure_all(plan: Plan, device: str, command: str) -> Iterator[Row]:
    """The rows of one run, as they are measured."""
    name = torch.cuda.get_device_name() if device == "cuda" else device
    rate = matrix_rate(device, _SIDE if device == "cuda" else 256)
    yield {"kind": "run", "command": command, "device": name, "matrix_rate": rate,
           "torch": str(torch.__version__), **machine_facts()}  # fmt: skip
    data, operations = _crowd(plan), _FORWARD_AND_BACKWARD * _operations(plan)
    for batch_size in plan.batch_sizes:
        taken: dict[str, list[float]] = {}
        for number in range(plan.rounds):
            for variant, method, more in _VARIANTS:
                if more.get("compile") and (number > 0 or device != "cuda"):
                    continue  # compiling takes a minute, and pays on a GPU only
                seconds = _epoch_seconds(plan, data, method, batch_size, device, more)
                taken.setdefault(variant, []).append(seconds)
                log(f"batch {batch_size}, {variant}: {seconds:.3f} s per epoch")
        for variant, seconds in taken.items():
            images = plan.n_items / min(seconds)
            passes = 2 if "SAM" in variant else 1
            yield {
                "kind": "epoch",
                "variant": variant,
                "batch_size": batch_size,
                "n_items": plan.n_items,
                "n_annotators": plan.n_annotators,
                "labels_each": plan.labels_each,
                "network": f"WRN-{plan.depth}-{plan.width}",
                "seconds": round(min(seconds), 5),
                "images_per_second": round(images),
                "share_of_rate": round(images * operations * passes / rate, 4),
            }


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    options = _parser().parse_args(arguments)
    command = command_given("gpu_training", arguments)
    plan = QUICK if options.quick else Plan()
    GPU_TRAINING.keep(measure_all(plan, options.device, command), options.docs)
    write_gpu_page(options.docs)
    return 0


def _parser() -> argparse.ArgumentParser:
    made = parser("gpu_training", __doc__)
    made.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    made.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    return made


if __name__ == "__main__":
    sys.exit(main())
