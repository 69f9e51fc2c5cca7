"""manyhands convert: between formats."""

from dataclasses import replace
from typing import Annotated, Literal

import typer

import manyhands as mh
from manyhands.cli.options import OUTPUT, AnyLabelsFile, Json, LabelOptions, takes
from manyhands.cli.output import is_tagged, remark, require_targets, say, say_json
from manyhands.cli.tokens import notes_on
from manyhands.core.errors import SettingError


@takes(options=LabelOptions)
def convert(
    source: AnyLabelsFile,
    target: Annotated[
        str, typer.Argument(metavar="OUT", help="File to write; the suffix decides the format.")
    ],
    to: Annotated[
        Literal["long", "wide"],
        typer.Option(help="Layout of a table that is written: one row per label (long), or one "
                     "column per annotator (wide).", rich_help_panel=OUTPUT),
    ] = "long",
    json: Json = False,
    options: LabelOptions = LabelOptions(),  # noqa: B008 - frozen
) -> None:  # fmt: skip
    """Convert labels to another format.

    From a long table to a long table all columns and rows are copied. Other conversions keep
    item, annotator and label, and a .txt or .npy matrix keeps the labels only.

    Tagged tokens: OUT with the suffix .conll has a column of tags per annotator; a table has
    one row per span with the characters at which it starts and ends, in the text or in the
    words joined by spaces.

    Example: manyhands convert matrix.txt labels.csv

    Example: manyhands convert labels.csv wide.csv --to wide --duplicates first

    Example: manyhands convert spans.jsonl tokens.conll
    """
    plain = LabelOptions(format=options.format, encoding=options.encoding)
    as_it_is = replace(options, missing=options.missing or None) == plain and to == "long"
    what = "rows"
    if as_it_is and _is_table(source, options.format) and _is_table(target):
        n_rows = mh.io.copy_table(source, target, format=options.format, encoding=options.encoding)
    elif options.file(source).tokens is not None:
        if to != "long" or options.duplicates != "keep":
            raise SettingError("--to and --duplicates are for labels of items, not tagged tokens")
        n_rows, what = _convert_tokens(source, target, options), "tags"
    else:
        annotations = options.file(source).read_items()
        mh.io.write_annotations(annotations, target, layout=to)
        n_rows = annotations.n_annotations
    if json:
        say_json({"out": target, "rows": n_rows})
    else:
        say(f"{target}: {n_rows} {what} written")


def _convert_tokens(source: str, target: str, options: LabelOptions) -> int:
    """Write tagged tokens as columns of tags or as spans; return the number of tags."""
    require_targets(target, read=[source], tagged=target)
    policy = options.orphan_tags or "keep"
    marked = replace(options, orphan_tags=policy).file(source).read_tokens()
    for note in notes_on(marked, policy):
        remark(f"note: {note}")
    if is_tagged(target):
        mh.io.write_conll(marked.labels, target)
    else:
        mh.io.write_spans(marked, target)
    return marked.labels.annotations.n_annotations


def _is_table(name: str, format: str | None = None) -> bool:
    return not is_tagged(name) and mh.io.is_table(name, format)
