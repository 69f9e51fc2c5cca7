"""manyhands convert: between formats."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import manyhands as mh
from manyhands.cli import options, output
from manyhands.core.errors import SettingError

Layout = Literal["long", "wide"]
_COPIED = "all columns and rows are copied as they are"


@options.takes_groups
def convert(
    source: options.AnyLabelsFile,
    target: Annotated[
        str,
        typer.Argument(metavar="OUT", help="File to write; the suffix decides the format. With - "
                                           "it is CSV on standard output."),
    ],
    reading: options.TimedLabelOptions,
    to: Annotated[
        Layout,
        options.in_output("Layout of a table that is written: one row per label (long), or one "
                          "column per annotator (wide)."),
    ] = "long",
    json: options.Json = False,
) -> None:  # fmt: skip
    """Convert a file of labels to another format.

    From a long table to a long table all columns and rows are copied. From an export to a long
    table the item, annotator and label are kept, and the times as columns seconds and time. Other
    conversions keep item, annotator and label, and a .txt or .npy matrix the labels only.

    Tagged tokens: OUT with the suffix .conll has a column of tags per annotator; a table has
    one row per span with the characters at which it starts and ends, in the text or in the
    words joined by spaces.

    Example: manyhands convert matrix.txt labels.csv

    Example: manyhands convert labels.csv wide.csv --to wide --duplicates first

    Example: manyhands convert spans.jsonl tokens.conll
    """
    file = reading.file(source)
    if target == "-":
        if json:
            raise SettingError("--json and OUT - are both standard output; name a file for OUT")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labels.csv"
            _, n_rows, what = _convert(file, str(path), reading, to)
            sys.stdout.write(path.read_text(encoding="utf-8"))
        output.remark(f"{n_rows} {what} written")
        return
    output.require_unread(target, file.names)
    read, n_rows, what = _convert(file, target, reading, to)
    if json:
        output.say_json({"source": read, "out": target, "rows": n_rows})
    else:
        output.say(f"{target}: {n_rows} {what} written")


def _convert(
    file: "mh.io.LabelFile", target: str, reading: options.TimedLabelOptions, to: Layout
) -> tuple[dict[str, Any], int, str]:
    """Write the file; what it was taken for, how many rows were written, and of what."""
    plain = options.TimedLabelOptions(
        format=reading.format, encoding=reading.encoding, sheet=reading.sheet
    )
    as_it_is = (
        replace(reading, missing=reading.missing or None, exclude=reading.exclude or None) == plain
        and to == "long"
    )
    as_it_is = as_it_is and file.is_flat
    if as_it_is and _is_table(file.inputs[0], reading.format) and _is_table(Path(target)):
        n_rows = mh.io.copy_table(
            file.inputs, target, format=reading.format, encoding=reading.encoding
        )
        read: dict[str, Any] = {"path": file.shown, "layout": "table", "notes": [_COPIED]}
        return read, n_rows, "rows with all columns"
    if file.tokens is not None:
        if to != "long" or reading.duplicates != "keep":
            raise SettingError("--to and --duplicates are for labels of items, not tagged tokens")
        annotations = _convert_tokens(file, target, reading)
        return output.source_of(annotations, file), annotations.n_annotations, "tags"
    annotations = output.told(file.read_items())
    mh.io.write_annotations(annotations, target, layout=to)
    return output.source_of(annotations), annotations.n_annotations, "rows"


def _convert_tokens(
    source: "mh.io.LabelFile", target: str, reading: options.LabelOptions
) -> "mh.Annotations":
    """Write tagged tokens as columns of tags or as spans; return the tags."""
    output.require_targets(target, read=source.names, tagged=target)
    kept = replace(reading, orphan_tags=reading.orphan_tags or "keep")
    marked = replace(source, orphan_tags=kept.orphan_tags).read_tokens()
    for note in (*source.notes, *output.token_notes(marked, kept.orphan_tags)):
        output.remark(f"note: {note}")
    if output.is_tagged(target):
        mh.io.write_conll(marked.labels, target)
    else:
        mh.io.write_spans(marked, target)
    return marked.labels.annotations


def _is_table(path: Path, format: str | None = None) -> bool:
    return not output.is_tagged(path.suffix) and mh.io.is_table(path, format)
