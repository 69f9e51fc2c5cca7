"""Time of many seeds as one program, relative to one after another on the same device.

    python -m benchmarks.many_seeds --device cuda

The crowd has the size of LabelMe: 1000 items of 512 features, 59 annotators, 2547 labels and 8
classes. The network is the default one. The rows are part of the page on speed on a GPU.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.benchmark import MANY_SEEDS, Row, command_given, log, parser
from benchmarks.gauges import stopwatch
from benchmarks.gpu_page import write_gpu_page
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import generator
from manyhands.estimators import CrowdClassifier, fit_many, why_separate

METHODS = ("crowd-layer-mw", "speelfc")
N_ITEMS, N_FEATURES, N_ANNOTATORS, N_LABELS, N_CLASSES = 1000, 512, 59, 2547, 8
_SHIFT, _ACCURACY = 0.15, 0.7


def labelme_like() -> tuple[Floats, Annotations]:
    """Features and labels of the size of LabelMe; every item has two or three labels."""
    rng = generator(0, "crowd of many seeds")
    truth = rng.integers(N_CLASSES, size=N_ITEMS)
    centre = _SHIFT * rng.standard_normal((N_CLASSES, N_FEATURES))
    features = centre[truth] + rng.standard_normal((N_ITEMS, N_FEATURES))
    counts = np.full(N_ITEMS, N_LABELS // N_ITEMS)
    counts[: N_LABELS - counts.sum()] += 1
    item = np.repeat(np.arange(N_ITEMS), rng.permutation(counts))
    annotator = np.concatenate([rng.permutation(N_ANNOTATORS)[:count] for count in counts])
    right = rng.random(N_LABELS) < _ACCURACY
    label = np.where(right, truth[item], rng.integers(N_CLASSES, size=N_LABELS))
    names: dict[str, Any] = {
        "items": range(N_ITEMS),
        "annotators": range(N_ANNOTATORS),
        "classes": range(N_CLASSES),
    }
    return features, Annotations.from_arrays(item, annotator, label, **names)


def measure(method: str, n_seeds: int, epochs: int, device: str) -> Row:
    """Seconds together and one after another, and how far the predictions differ."""
    features, annotations = labelme_like()
    model = CrowdClassifier(method=method, epochs=epochs, device=device, progress=False)
    reason = why_separate(model, features, annotations)
    assert reason is None, reason
    seeds = range(n_seeds)
    fit_many(CrowdClassifier(**{**model.get_params(), "epochs": 2}), features, annotations,
             seeds=seeds)  # kernels are loaded with the first step  # fmt: skip
    together_s, together = stopwatch(fit_many, model, features, annotations, seeds=seeds)
    separate_s, separate = stopwatch(
        fit_many, model, features, annotations, seeds=seeds, together=False
    )
    differences = [
        float(np.abs(one.predict_proba(features) - other.predict_proba(features)).max())
        for one, other in zip(together, separate, strict=True)
    ]
    return {
        "kind": "seeds",
        "method": method,
        "seeds": n_seeds,
        "epochs": epochs,
        "together_s": round(together_s, 3),
        "separate_s": round(separate_s, 3),
        "ratio": round(separate_s / together_s, 2),
        "max_difference": max(differences),
        "median_difference": float(np.median(differences)),
        "same_epochs": [each.epoch_ for each in together] == [each.epoch_ for each in separate],
    }


def measure_all(methods: Sequence[str], options: argparse.Namespace, command: str) -> Iterator[Row]:
    """The rows of one run: the device, then one per method."""
    yield {"kind": "run", "device": _device_name(options.device), "command": command}
    for method in methods:
        row = measure(method, options.seeds, options.epochs, options.device)
        log(
            f"{method:<20} {row['seeds']} seeds: {row['together_s']:.2f} s together, "
            f"{row['separate_s']:.2f} s one after another, {row['ratio']:.1f} times; "
            f"probabilities differ by {row['median_difference']:.1e} in the median seed, by "
            f"{row['max_difference']:.1e} at most"
        )
        yield row


def _device_name(device: str) -> str:
    cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    return torch.cuda.get_device_name() if cuda else f"CPU, {torch.get_num_threads()} threads"


def _parser() -> argparse.ArgumentParser:
    made = parser("many_seeds", __doc__)
    made.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    made.add_argument("--seeds", type=int, default=30)
    made.add_argument("--epochs", type=int, default=50)
    made.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Measure and write the records and the page."""
    options = _parser().parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)
    rows = measure_all(options.methods.split(","), options, command_given("many_seeds", arguments))
    MANY_SEEDS.keep(rows, options.docs)
    write_gpu_page(options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
