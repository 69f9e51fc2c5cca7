"""manyhands compare: several methods on the same labels, one ranked table."""

from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import (
    Json,
    LabelsFile,
    OutFile,
    Reading,
    Repeats,
    Seed,
    Truth,
    takes_reading,
)
from manyhands.cli.output import put_table, remark, require_targets, say_json, show_table, working
from manyhands.cli.reading import annotations_from, truth_from


@takes_reading
def compare(
    labels: LabelsFile,
    methods: Annotated[
        str | None, typer.Option(help="Names separated by commas. [default: all that fit]")
    ] = None,
    truth: Truth = None,
    out: OutFile = "-",
    duplicates: Repeats = "keep",
    seed: Seed = 0,
    json: Json = False,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Compare methods on the same labels: one table, best first.

    With --truth the rank is by accuracy (classes) or mean absolute error (numbers). Without it,
    by how well a method foretells labels that were held out: one label of every item that has
    three or more.

    Example: manyhands compare labels.csv --truth truth.csv --methods majority,dawid-skene
    """
    names = [name.strip() for name in methods.split(",")] if methods else None
    require_targets(out, read=[labels, truth])
    truths = truth_from(truth, reading) if truth is not None else None
    mh.aggregation.require_comparable(names or ())  # told before a long file is read
    with working(f"comparing methods on {labels}"):
        annotations = annotations_from(labels, reading, duplicates)
        table = mh.aggregation.compare(annotations, names, truth=truths, seed=seed)
    if json:
        say_json({"ranked_by": table.ranked_by, "methods": table.records()})
    elif out == "-":
        rows = [list(record.values()) for record in table.records()]
        show_table("", list(table.columns), rows)
        remark(f"ranked by {table.ranked_by}")
    if out != "-":
        put_table(table.columns, out)
