"""Options that several commands share, written once."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

LabelsFile = Annotated[
    str, typer.Argument(metavar="LABELS", help="Table of labels (.csv .tsv .parquet .jsonl), dense "
                        "matrix (.txt .npy) or {item: {annotator: label}} (.json).")
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
OutFile = Annotated[
    str, typer.Option("--out", help="Where to write the table; - is standard output.")
]
Truth = Annotated[
    str | None, typer.Option("--truth", help="Table with columns item, truth: for scores only.")
]
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


def takes_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Reading`, handed to it as one argument `reading`."""
    signature = inspect.signature(command)
    options = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in fields(Reading)
    ]
    own = [parameter for name, parameter in signature.parameters.items() if name != "reading"]

    @functools.wraps(command)
    def with_reading(**arguments: Any) -> None:
        reading = Reading(**{field.name: arguments.pop(field.name) for field in fields(Reading)})
        command(**arguments, reading=reading)

    with_reading.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + options
    )
    return with_reading
