"""Training by the processes of torchrun, one per GPU, beside training in one process.

    python -m benchmarks.gpu_processes [--device cuda] [--processes N] [--quick]

Both are commands: `manyhands train`, and the same under `torchrun` with as many processes as there
are GPUs, if no number is given. The weights of the two models are compared. The rows are part of
the page on speed on a GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import manyhands as mh
from benchmarks.benchmark import GPU_PROCESSES, Row, command_given, log, parser
from benchmarks.gpu_page import write_gpu_page
from benchmarks.processes import ROOT
from manyhands.core.settings import generator

_CLASSES, _NUMBERS = "labels.csv", "ratings.csv"
# The name of a row, its file of labels, and what it adds to the command.
_TRAININGS = (
    ("classification, dense tables", _CLASSES, ("--method", "crowd-layer-mw")),
    ("classification, sparse tables", _CLASSES, ("--method", "speelfc", "--sparse")),
    ("regression, sparse tables", _NUMBERS, ("--sparse",)),
)


@dataclass(frozen=True)
class Plan:
    """The sizes of a crowd, and how long it is learnt."""

    n_items: int = 50_000
    n_features: int = 512
    n_annotators: int = 2000
    n_classes: int = 10
    labels_each: int = 3
    epochs: int = 3  # the first warms up, the fastest of the others counts
    batch_size: int = 512


QUICK = Plan(n_items=60, n_features=4, n_annotators=8, n_classes=3, epochs=2, batch_size=16)


def write_crowd(plan: Plan, folder: Path) -> None:
    """Features, labels of classes that the features tell, and ratings, as files."""
    rng = generator(0, "several processes on a GPU")
    truth = rng.integers(plan.n_classes, size=plan.n_items)
    centre = rng.standard_normal((plan.n_classes, plan.n_features))
    features = centre[truth] + rng.standard_normal((plan.n_items, plan.n_features))
    np.save(folder / "features.npy", features.astype(np.float32))
    item = np.repeat(np.arange(plan.n_items), rng.integers(1, 2 * plan.labels_each, plan.n_items))
    annotator = rng.integers(plan.n_annotators, size=len(item))
    random = rng.integers(plan.n_classes, size=len(item))
    label = np.where(rng.random(len(item)) < 0.7, truth[item], random)
    table = pd.DataFrame({"item": item, "annotator": annotator, "label": label})
    table = table.drop_duplicates(["item", "annotator"])
    table.assign(label="c" + table["label"].astype(str)).to_csv(folder / _CLASSES, index=False)
    ratings = table["label"] + rng.normal(size=len(table)).round(3)
    table.assign(label=ratings).to_csv(folder / _NUMBERS, index=False)


def train(
    plan: Plan, folder: Path, labels: str, more: tuple[str, ...], device: str, n_processes: int
) -> tuple[Any, float]:
    """The model that the command trains, and the seconds of its fastest epoch but the first.

    It is trained in one process, or by torchrun if there is a number.
    """
    out = tempfile.mkdtemp(dir=folder)
    command = [
        "-m", "manyhands", "train", "features.npy", labels, "--out", out, *more,
        "--device", device, "--epochs", str(plan.epochs), "--batch-size", str(plan.batch_size),
        "--validation-fraction", "0", "--init", "own", "--warm-up", "0",
        "--network", "mlp", "--network-setting", "dropout=0",
    ]  # fmt: skip
    if n_processes:
        each = str(n_processes)
        command = [
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            each,
            *command,
        ]
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    log_file = Path(out) / "checkpoint" / "log.jsonl"
    epochs = [json.loads(line) for line in log_file.read_text().splitlines()]
    return mh.load(out), round(min(each["seconds"] for each in epochs[1:]), 5)


def measure_all(plan: Plan, device: str, n_processes: int, command: str) -> Iterator[Row]:
    """The rows of one run, as they are measured."""
    name = torch.cuda.get_device_name() if device == "cuda" else device
    yield {"kind": "run", "command": command, "device": name, "torch": str(torch.__version__)}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_crowd(plan, folder)
        for training, labels, more in _TRAININGS:
            alone, alone_s = train(plan, folder, labels, more, device, 0)
            together, together_s = train(plan, folder, labels, more, device, n_processes)
            row = {
                "kind": "processes",
                "training": training,
                "processes": n_processes,
                "n_items": plan.n_items,
                "n_annotators": plan.n_annotators,
                "batch_size": plan.batch_size,
                "epochs": plan.epochs,
                "alone_s": alone_s,
                "together_s": together_s,
                "difference": _difference(alone, together),
            }
            log(
                f"{training}: {alone_s} s per epoch alone, {together_s} s by "
                f"torchrun with {n_processes}; weights differ by {row['difference']:.1e}"
            )
            yield row


def _difference(one: Any, other: Any) -> float:
    """The largest difference of the weights of network and noise model."""
    pairs = [
        (mine, module.state_dict()[name])
        for part, module in (("network_", other.network_), ("noise_", other.noise_))
        for name, mine in getattr(one, part).state_dict().items()
    ]
    return max(float((a.double() - b.double()).abs().max()) for a, b in pairs)


def _parser() -> argparse.ArgumentParser:
    made = parser("gpu_processes", __doc__)
    made.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    made.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    made.add_argument("--processes", type=int, default=None, help="as many as there are GPUs")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    options = _parser().parse_args(arguments)
    n_processes = options.processes or max(torch.cuda.device_count(), 1)
    command = command_given("gpu_processes", arguments)
    plan = QUICK if options.quick else Plan()
    rows = measure_all(plan, options.device, n_processes, command)
    GPU_PROCESSES.keep(rows, options.docs)
    write_gpu_page(options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
