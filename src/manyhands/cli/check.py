"""manyhands check: what is wrong or risky in a file of labels."""

from dataclasses import replace
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli import options
from manyhands.cli.output import say, say_json, say_text, working
from manyhands.cli.pair_options import PairOptions

_MARKS = {"error": "ERROR  ", "warning": "WARNING", "note": "note   "}
_MOST_NAMES = 5
_OF_TOKENS = ("task", "orphan_tags", "alignment")


@options.takes_groups
def check(
    labels: options.LabelsFiles,
    reading: options.AnyFileOptions,
    pairs: PairOptions,
    strict: Annotated[
        bool, options.in_output("Exit with 1 if there is an error or a warning.", "--strict")
    ] = False,
    json: options.Json = False,
) -> None:
    """Report what is wrong or risky in a file of labels.

    Every finding has a severity, the rows or names it is about, and what to do. Of tagged tokens
    every token is an item.

    Comparisons of two items have checks of their own: sides, contradictions, groups of items that
    nothing connects.

    Example: manyhands check labels.csv

    Example: manyhands check labels.csv --missing NA --strict
    """
    settings = reading.settings()
    file = mh.io.LabelFile(labels, **settings)
    shown = file.shown
    with working(f"checking {shown}"):
        compared = pairs.file(file)
        if compared is not None:
            report = mh.checks.check_pairs(compared.rows())
        elif file.sniffed() in mh.io.TAGGED_LAYOUTS:
            tokens = file.read_tokens().labels.annotations
            report = mh.checks.check(replace(tokens.to_rows(), read_from=tokens.source))
        else:
            report = mh.checks.check_file(file.inputs, **_of_items(settings))
    if json:
        found = report.to_json()
        counts = {f"n_{name}": found["summary"][name] for name in ("labels", "items", "annotators")}
        say_json({"source": found["summary"].pop("source") | counts} | found)
    else:
        say(f"{shown}: {report.summary['read_as'] or 'tagged tokens'}")
        say(f"{shown}: {_facts(report)}")
        for note in report.summary["notes"]:
            say(f"note: {note}")
        for finding in report.findings:
            say()
            say(f"{_MARKS[finding.severity]} {finding.check}: {finding.message}")
            say(f"        where: {_where(finding, shown)}")
            say(f"        do: {finding.remedy}")
        say_text("" if report.findings else "\nnothing wrong was found")
    if strict and not report.ok:
        raise typer.Exit(1)


def _of_items(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of reading that count for labels of items."""
    rest = {name: settings[name] for name in settings if name not in _OF_TOKENS}
    kinds = {"regression": "numbers", "classification": "classes"}
    return rest | {"kind": settings["kind"] or kinds.get(settings["task"])}


def _facts(report: "mh.checks.CheckReport") -> str:
    facts = report.summary
    per_item = facts["labels_per_item"]
    if facts["kind"] == "pairs":
        return (
            f"{facts['rows']} rows, {facts['items']} items, {facts['annotators']} annotators, "
            f"{facts['ties']} ties, {per_item['min']} to {per_item['max']} comparisons per item "
            f"(median {per_item['median']:g})"
        )
    noun = "levels" if facts["kind"] == "ordinal" else "classes"
    what = "numbers" if facts["classes"] is None else f"{facts['classes']} {noun}"
    what = f"sets of {what}" if facts["kind"] == "multilabel" else what
    return (
        f"{facts['rows']} rows, {facts['items']} items, {facts['annotators']} annotators, {what}, "
        f"{per_item['min']} to {per_item['max']} labels per item (median {per_item['median']:g})"
    )


def _where(finding: "mh.checks.Finding", labels: str) -> str:
    """The first few places and names, without the name of the file."""
    places = ", ".join(place.removeprefix(f"{labels}, ") for place in finding.places)
    shown = finding.names[:_MOST_NAMES]
    names = ", ".join(shown) + (" ..." if finding.count > len(shown) > 0 else "")
    return "; ".join(part for part in (names, places) if part) or "everywhere"
