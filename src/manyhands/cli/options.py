"""Options that several commands share, written once."""

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from manyhands.core.errors import SettingError

LabelsFile = Annotated[
    str, typer.Argument(metavar="LABELS", help="Table of labels (.csv .tsv .parquet .jsonl), dense "
                        "matrix (.txt .npy) or {item: {annotator: label}} (.json).")
]  # fmt: skip
AnyLabelsFile = Annotated[
    str, typer.Argument(metavar="LABELS", help="Table of labels (.csv .tsv .parquet .jsonl), dense "
                        "matrix (.txt .npy), {item: {annotator: label}} (.json); or tokens with a "
                        "column of tags per annotator (.conll .bio .txt), or a table of spans.")
]  # fmt: skip
FeaturesFile = Annotated[
    str, typer.Argument(metavar="FEATURES", help="Table with a column of items and numbers in the "
                        "others (.csv .tsv .parquet .jsonl), or an array (.npy .npz); texts: one "
                        "per line (.txt), or a table with a column text; tokens (.conll .bio).")
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
OutFile = Annotated[
    str, typer.Option("--out", help="Where to write the table; - is standard output.")
]
Truth = Annotated[
    str | None, typer.Option("--truth", help="Table with columns item, truth; of tokens a file of "
                             "lines token, tag (.bio): for scores only.")
]  # fmt: skip
Repeats = Annotated[
    str,
    typer.Option("--duplicates", help="Repeated (item, annotator): keep, first, last or refuse."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same outcome.")]


@dataclass(frozen=True)
class Reading:
    """How to read a file of labels: the options every such command takes."""

    item: Annotated[str | None, typer.Option(help="Column of the item.")] = None
    annotator: Annotated[str | None, typer.Option(help="Column of the annotator.")] = None
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None
    format: Annotated[
        str | None, typer.Option(help="File format, when the suffix does not tell.")
    ] = None
    layout: Annotated[
        str | None,
        typer.Option(help="long (a row per label), wide (a column per annotator), dense."),
    ] = None
    kind: Annotated[str | None, typer.Option(help="Read labels as classes or as numbers.")] = None
    classes: Annotated[
        str | None, typer.Option(help="The classes there are, separated by commas.")
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(help='A label that means "none" and is dropped; "" for blank. Repeatable.'),
    ] = None
    encoding: Annotated[str, typer.Option(help="Text encoding.")] = "utf-8"

    def settings(self) -> dict[str, Any]:
        """The arguments of `read_annotations` and `read_rows`."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.classes is not None:
            chosen["classes"] = [name.strip() for name in self.classes.split(",")]
        return chosen


@dataclass(frozen=True)
class TaskOptions:
    """What the labels are, where the file does not tell, and how odd ones are taken."""

    task: Annotated[
        str | None,
        typer.Option(
            help="classification (labels are classes), regression (numbers) or sequence (tags of "
            "tokens). [default: as the labels look]"
        ),
    ] = None
    bounds: Annotated[
        str | None,
        typer.Option("--range", metavar="LOW:HIGH", help="Numbers outside are refused."),
    ] = None
    orphan_tags: Annotated[
        str,
        typer.Option(
            help="A tag I-X that follows no B-X or I-X: repair makes it B-X, refuse, or keep."
        ),
    ] = "repair"
    alignment: Annotated[
        str, typer.Option(help="A span that cuts through a token: refuse, or widen to whole ones.")
    ] = "refuse"


@dataclass(frozen=True)
class Training:
    """How to train: the options of every command that trains; those left out are the method's."""

    network: Annotated[
        str | None,
        typer.Option(help="mlp, logistic, cnn; text-cnn for texts. [default: by the features]"),
    ] = None
    word_vectors: Annotated[
        str | None,
        typer.Option(help="Vectors that words start from: lines word, numbers (GloVe), or .npz."),
    ] = None
    freeze_embeddings: Annotated[
        bool, typer.Option("--freeze-embeddings", help="Word vectors stay as they are.")
    ] = False
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Words of a text that are read; the rest is cut off.")
    ] = 1000
    epochs: Annotated[int | None, typer.Option(help="Passes over the labelled items.")] = None
    batch_size: Annotated[int | None, typer.Option(help="Items per step.")] = None
    learning_rate: Annotated[float | None, typer.Option(help="Of the network.")] = None
    noise_learning_rate: Annotated[float | None, typer.Option(help="Of the noise model.")] = None
    weight_decay: Annotated[float | None, typer.Option(help="Of the network.")] = None
    warm_up: Annotated[
        int | None, typer.Option(help="Epochs on majority labels before the noise model joins.")
    ] = None
    max_grad_norm: Annotated[float | None, typer.Option(help="The longest gradient allowed.")] = (
        None
    )
    schedule: Annotated[str | None, typer.Option(help="constant or cosine.")] = None
    sam_rho: Annotated[
        float | None, typer.Option(help="Radius of sharpness-aware minimisation; 0 is off.")
    ] = None
    validation_fraction: Annotated[
        float | None,
        typer.Option(
            help="Share of labels kept aside; the epoch that foretells them best is kept."
        ),
    ] = None
    validation_unit: Annotated[
        str | None,
        typer.Option(
            help="What is kept aside: labels, or items (sentences) with all they have. "
            "[default: labels; numbers and sequence: items]"
        ),
    ] = None
    monitor: Annotated[
        str | None,
        typer.Option(
            help="What says which is best by the labels kept aside: likelihood, majority, "
            "confidence, log-odds, annotator, or ranks for all of them together."
        ),
    ] = None
    refit: Annotated[
        bool | None,
        typer.Option(help="Once the best epoch is known, train anew on all labels."),
    ] = None
    scale: Annotated[str, typer.Option(help="Size of features: auto, rms, standard or none.")] = (
        "auto"
    )
    patience: Annotated[
        int | None, typer.Option(help="Epochs without a better one before training ends.")
    ] = None
    init: Annotated[
        str | None,
        typer.Option(help="own, consensus (from Dawid-Skene), or auto: it, unless collapsed."),
    ] = None
    noise: Annotated[
        list[str] | None,
        typer.Option(help="A setting of the noise model, such as omega=0. Repeatable."),
    ] = None
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto"
    devices: Annotated[int, typer.Option(help="How many devices, a process each.")] = 1
    precision: Annotated[str, typer.Option(help="32, or bf16 for mixed precision.")] = "32"

    def settings(self, task: str = "classes") -> dict[str, Any]:
        """The arguments of the estimator that learns classes, numbers or tags."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}
        chosen["noise"] = dict(_setting(text) for text in self.noise) if self.noise else None
        for field in fields(self):
            unfit = field.name in _NOT_FOR.get(task, ())
            if unfit and chosen.pop(field.name) != field.default:
                option = field.name.replace("_", "-")
                raise SettingError(f"--{option} is not for {task}; leave it out")
        if self.freeze_embeddings and self.word_vectors is None:
            raise SettingError("--freeze-embeddings needs --word-vectors")
        # Left out, these are the estimators', which differ: a tagger counts tokens.
        own = [name for name in ("batch_size", "validation_unit") if chosen[name] is None]
        return {name: value for name, value in chosen.items() if name not in own}


_NOT_FOR = {"numbers": ("monitor",), "tags": ("scale", "max_tokens", "network")}


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    if not value:
        raise SettingError(f"--noise must be NAME=VALUE; got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def takes(**groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some groups, each handed to it as one argument."""

    def give(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        options = [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY,
                default=field.default, annotation=field.type,
            )
            for group in groups.values()
            for field in fields(group)
        ]  # fmt: skip
        own = [each for name, each in signature.parameters.items() if name not in groups]

        @functools.wraps(command)
        def with_groups(**arguments: Any) -> None:
            made = {
                name: group(**{field.name: arguments.pop(field.name) for field in fields(group)})
                for name, group in groups.items()
            }
            command(**arguments, **made)

        with_groups.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + options
        )
        return with_groups

    return give


takes_reading = takes(reading=Reading)
