"""manyhands check: what is wrong or risky in a label file."""

from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import Json, LabelsFile, Reading, takes_reading
from manyhands.cli.output import say, say_json, working
from manyhands.core.errors import DataError

_MARKS = {"error": "ERROR  ", "warning": "WARNING", "note": "note   "}
_MOST_NAMES = 5


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
    _refuse_tokens(labels, reading)
    with working(f"examining {labels}"):
        examination = mh.checks.check_file(labels, **reading.settings())
    if json:
        say_json(examination.to_json())
    else:
        say(f"{labels}: {_facts(examination)}")
        for finding in examination.findings:
            say()
            say(f"{_MARKS[finding.severity]} {finding.check}: {finding.message}")
            say(f"        where: {_where(finding, labels)}")
            say(f"        do: {finding.remedy}")
        say("" if examination.findings else "\nnothing wrong was found")
    if strict and not examination.ok:
        raise typer.Exit(1)


def _refuse_tokens(labels: str, reading: Reading) -> None:
    from manyhands.cli.sniff import layout_of  # it needs readers, which --help does not

    if layout_of(labels, reading) in ("conll", "spans"):
        raise DataError(
            f"{labels}: holds tagged tokens, and check is for labels of items; to see who is how "
            f"good: manyhands aggregate {labels} --out found.bio --annotators people.csv"
        )


def _facts(examination: "mh.checks.CheckReport") -> str:
    facts = examination.summary
    per_item = facts["labels_per_item"]
    what = "numbers" if facts["classes"] is None else f"{facts['classes']} classes"
    return (
        f"{facts['rows']} rows, {facts['items']} items, {facts['annotators']} annotators, {what}, "
        f"{per_item['min']} to {per_item['max']} labels per item (median {per_item['median']:g})"
    )


def _where(finding: "mh.checks.Finding", labels: str) -> str:
    """The first few places and names, without repeating the name of the file."""
    places = ", ".join(place.removeprefix(f"{labels}, ") for place in finding.places)
    shown = finding.names[:_MOST_NAMES]
    names = ", ".join(shown) + (" ..." if finding.count > len(shown) > 0 else "")
    return "; ".join(part for part in (names, places) if part) or "everywhere"
