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
    json: Json = False,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Rewrite labels in another format; ids, names and times are kept.

    From a long table to a long table every column and every row stays as it is; other changes
    of shape carry item, annotator and label.

    Example: manyhands convert answers.txt labels.csv
    """
    whole = mh.io.is_table(source) and mh.io.is_table(target) and reading == Reading()
    if whole and to == "long":
        n_rows = mh.io.copy_table(source, target)
    else:
        annotations = annotations_from(source, reading, None)
        mh.io.write_annotations(annotations, target, layout=to)
        n_rows = annotations.n_annotations
    if json:
        say_json({"out": target, "rows": n_rows})
    else:
        say(f"{target}: {n_rows} rows written")
