"""manyhands convert: between formats."""

from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import Json, LabelsFile, Reading, takes_reading
from manyhands.cli.output import say, say_json
from manyhands.cli.reading import annotations_from


@takes_reading
def convert(
    source: LabelsFile,
    target: Annotated[str, typer.Argument(metavar="OUT", help="File to write; suffix decides.")],
    to: Annotated[
        str, typer.Option(help="Layout of a table written: long, or wide (a column per annotator).")
    ] = "long",
    duplicates: Annotated[
        str,
        typer.Option(help="Repeated (item, annotator) in a change of shape: keep, first, last."),
    ] = "keep",
    json: Json = False,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Rewrite labels in another format; ids, names and times are kept.

    From a long table to a long table every column and every row stays as it is; other changes
    of shape carry item, annotator and label, and a .txt or .npy matrix labels only.

    Example: manyhands convert matrix.txt labels.csv
    """
    plain = Reading(format=reading.format, encoding=reading.encoding)
    as_it_is = reading == plain and to == "long" and duplicates == "keep"
    tables = mh.io.is_table(source, reading.format), mh.io.is_table(target)
    if as_it_is and all(tables):
        n_rows = mh.io.copy_table(source, target, format=plain.format, encoding=plain.encoding)
    else:
        annotations = annotations_from(source, reading, duplicates)
        mh.io.write_annotations(annotations, target, layout=to)
        n_rows = annotations.n_annotations
    if json:
        say_json({"out": target, "rows": n_rows})
    else:
        say(f"{target}: {n_rows} rows written")
