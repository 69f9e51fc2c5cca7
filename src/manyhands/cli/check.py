"""manyhands check: what is wrong or risky in a label file."""

from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import Json, LabelsFile, Reading, takes_reading
from manyhands.cli.output import say, say_json

_MARKS = {"error": "ERROR  ", "warning": "WARNING", "note": "note   "}


@takes_reading
def check(
    labels: LabelsFile,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 when there is an error or a warning.")
    ] = False,
    json: Json = False,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Say what is wrong or risky in a file of labels, how bad it is, where, and what to do.

    Example: manyhands check labels.csv
    """
    examination = mh.doctor.examine_file(labels, **reading.settings())
    if json:
        say_json(examination.to_json())
    else:
        facts = ", ".join(f"{key} {value}" for key, value in examination.summary.items())
        say(f"{labels}: {facts}")
        for finding in examination.findings:
            say(f"{_MARKS[finding.severity]} {finding.check}: {finding.message}")
            where = ", ".join([*finding.places, *map(str, finding.names)][:6])
            if where:
                say(f"        where: {where}")
            say(f"        do: {finding.remedy}")
        if examination.ok:
            say("nothing wrong was found")
    if strict and not examination.ok:
        raise typer.Exit(1)
