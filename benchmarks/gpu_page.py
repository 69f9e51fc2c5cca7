"""The page on speed on a GPU, made from the recorded rows of several benchmarks."""

from pathlib import Path

from benchmarks.benchmark import (
    GPU_AGGREGATION,
    GPU_PROCESSES,
    GPU_TRAINING,
    MANY_SEEDS,
    Row,
    commands_of,
)
from benchmarks.numbers import count
from manyhands.experiments import code_block, markdown_table, write_page

PAGE = "gpu-speed.md"
MOST_CROWD, MOST_SAM = 1.05, 2.1
LEAST_SHARE = 0.5
LEAST_SEEDS = 10
_HEAD = """# Speed on a GPU

What training and aggregation cost on a GPU. These numbers come from commands that were run once,
and are recorded in `docs/results/records`."""
_TRAINING = """## A crowd layer behind a wide residual network

{network} on {n_items} images of 32 x 32 pixels, bf16, SGD, on {device}. *Ordinary training* has one
class per image. The crowd layer has {n_annotators} annotators and {labels_each} labels per image.
The time is that of the fastest epoch after the first. The card multiplies matrices of 8192 x 8192
numbers in bf16 at {rate:.0f} TFLOP/s; the share of that rate counts three times the operations of a
forward pass per image, and twice as many with SAM."""
_PROCESSES = """## Several processes

`manyhands train` in one process, and under torchrun with one process per GPU, on {device}:
{n_items} items of {n_annotators} annotators, batches of {batch_size}, {epochs} epochs of `mlp` in
full precision. The time is that of the fastest epoch after the first. The difference is the largest
of the weights of network and noise model after all epochs."""
_SEEDS = """## Many seeds as one program

`mh.fit_many` with {seeds} seeds of the default network on a crowd of the size of LabelMe (1000
items of 512 features, 59 annotators, 2547 labels), {epochs} epochs, on {device}. *Together* trains
all seeds as one program, *one after another* trains them in separate fits on the same device. The
differences are those of the probabilities of the same seed, in the median seed and at most."""
_STEPS = """## A step of Dawid-Skene

`DawidSkene(device="cuda")` on {device}, whose copy moves {rate:.2f} TB/s (read and written). The
bytes that must move are 8 per label for its annotator and its class, 4 per item, and the posterior,
written once. A step makes two passes: over the labels of every item, and over those of every
annotator, in an order that makes the sums the same in every run."""
_DIFFERENCES = """## The same consensus as on the CPU

Fits until convergence on {n_labels} labels of {n_annotators} annotators with {n_classes} classes:
the largest difference of the posteriors, and whether a second fit on the GPU has the same bits. The
times include moving the labels, and compiling a kernel where a method is the first to need it."""


def gpu_page(docs: Path) -> str:
    """The page as Markdown."""
    parts = [
        _HEAD,
        *_training(GPU_TRAINING.read(docs)),
        *_processes(GPU_PROCESSES.read(docs)),
        *_seeds(MANY_SEEDS.read(docs)),
        *_aggregation(GPU_AGGREGATION.read(docs)),
    ]
    return "\n\n".join(parts) + "\n"


def write_gpu_page(docs: Path) -> None:
    """Write the page from all records."""
    write_page(docs / PAGE, gpu_page(docs))


def _training(rows: list[Row]) -> list[str]:
    epochs = [row for row in rows if row["kind"] == "epoch"]
    if not epochs:
        return []
    run = next(row for row in rows if row["kind"] == "run")
    sizes = {name: count(epochs[0][name]) for name in ("n_items", "n_annotators", "labels_each")}
    facts = {"network": epochs[0]["network"], "device": run["device"], **sizes}
    plain = {row["batch_size"]: row["seconds"] for row in epochs
             if row["variant"] == "ordinary training"}  # fmt: skip
    lines = [
        [
            str(row["batch_size"]),
            row["variant"],
            f"{row['seconds']:.3f}",
            count(row["images_per_second"]),
            f"{100 * row['share_of_rate']:.1f} %",
            f"{row['seconds'] / plain[row['batch_size']]:.3f}",
        ]
        for row in epochs
    ]
    header = ["batch", "training", "s per epoch", "images per s", "share of the rate", "ratio"]
    return [
        _TRAINING.format(rate=run["matrix_rate"] / 1e12, **facts),
        code_block(commands_of(rows)),
        markdown_table(header, lines, left=2),
        _claims(epochs),
    ]


def _claims(epochs: list[Row]) -> str:
    """What was hoped for, and what was measured."""
    seconds = {(row["variant"], row["batch_size"]): row["seconds"] for row in epochs}
    lines = []
    for claim, most, over, under in (
        ("a crowd layer costs at most 5 % more", MOST_CROWD, "crowd layer", "ordinary training"),
        ("SAM takes at most 2.1 times as long", MOST_SAM, "crowd layer, SAM", "crowd layer"),
        ("SAM takes at most 2.1 times as long", MOST_SAM, "ordinary training, SAM",
         "ordinary training"),
    ):  # fmt: skip
        for batch_size in dict.fromkeys(size for _, size in seconds):
            ratio = seconds[over, batch_size] / seconds[under, batch_size]
            holds = "yes" if ratio <= most else "**no**"
            lines.append([f"{over}, batch {batch_size}: {claim}", f"{ratio:.3f}", holds])
    return markdown_table(["claim", "measured", "holds"], lines, left=1)


def _processes(rows: list[Row]) -> list[str]:
    measured = [row for row in rows if row["kind"] == "processes"]
    if not measured:
        return []
    run = next(row for row in rows if row["kind"] == "run")
    lines = [
        [
            row["training"],
            str(row["processes"]),
            f"{row['alone_s']:.3f}",
            f"{row['together_s']:.3f}",
            f"{row['difference']:.1e}",
        ]
        for row in measured
    ]
    sizes = {name: count(measured[0][name])
             for name in ("n_items", "n_annotators", "batch_size", "epochs")}  # fmt: skip
    header = ["training", "processes", "s per epoch alone", "s per epoch by torchrun", "difference"]
    return [
        _PROCESSES.format(device=run["device"], **sizes),
        code_block(commands_of(rows)),
        markdown_table(header, lines, left=1),
    ]


def _seeds(rows: list[Row]) -> list[str]:
    measured = [row for row in rows if row["kind"] == "seeds"]
    if not measured:
        return []
    run = next(row for row in rows if row["kind"] == "run")
    lines = [
        [
            f"`{row['method']}`",
            f"{row['together_s']:.2f}",
            f"{row['separate_s']:.2f}",
            f"{row['ratio']:.1f}",
            f"{row['median_difference']:.1e}",
            f"{row['max_difference']:.1e}",
            "yes" if row["ratio"] >= LEAST_SEEDS else "**no**",
        ]
        for row in measured
    ]
    header = ["method", "s together", "s one after another", "ratio", "median difference",
              "largest difference", "at least 10 times"]  # fmt: skip
    facts = {name: measured[0][name] for name in ("seeds", "epochs")}
    return [
        _SEEDS.format(device=run["device"], **facts),
        code_block(commands_of(rows)),
        markdown_table(header, lines, left=1),
    ]


def _aggregation(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    run = next(row for row in rows if row["kind"] == "run")
    steps = [
        [
            count(row["n_labels"]),
            count(row["n_annotators"]),
            str(row["n_classes"]),
            f"{1e3 * row['step_s']:.2f}",
            f"{1e3 * row['items_s']:.2f}",
            f"{1e3 * row['sums_s']:.2f}",
            f"{row['bytes'] / 1e9:.2f}",
            f"{100 * row['share']:.1f} %",
            "yes" if row["share"] >= LEAST_SHARE else "**no**",
        ]
        for row in rows
        if row["kind"] == "step"
    ]
    header = ["labels", "annotators", "classes", "ms per step", "over items", "over annotators",
              "GB that must move", "share of the copy", "at least half"]  # fmt: skip
    different = [row for row in rows if row["kind"] == "difference"]
    lines = [
        [
            f"`{row['method']}`",
            f"{row['difference']:.1e}",
            "yes" if row["same_bits_again"] else "**no**",
            f"{row['cpu_s']:.2f}",
            f"{row['cuda_s']:.2f}",
        ]
        for row in different
    ]
    sizes = {name: count(different[0][name]) for name in ("n_labels", "n_annotators", "n_classes")}
    return [
        _STEPS.format(device=run["device"], rate=run["bytes_per_s"] / 1e12),
        code_block(commands_of(rows)),
        markdown_table(header, steps, left=0),
        _DIFFERENCES.format(**sizes),
        markdown_table(["method", "difference", "same bits", "s on the CPU", "s on the GPU"], lines,
                       left=1),
    ]  # fmt: skip
