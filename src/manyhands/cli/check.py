"""manyhands check: what is wrong or risky in a file of labels."""

from dataclasses import replace
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli import options
from manyhands.cli.feature_options import FeatureColumns, matched
from manyhands.cli.output import say, say_json, say_text, working
from manyhands.cli.pair_options import PairOptions
from manyhands.core.errors import SettingError

_MARKS = {"error": "ERROR  ", "warning": "WARNING", "note": "note   "}
_MOST_NAMES = 5
_OF_TOKENS = ("task", "orphan_tags", "alignment")


@options.takes_groups
def check(
    labels: options.LabelsFiles,
    reading: options.AnyFileOptions,
    pairs: PairOptions,
    columns: FeatureColumns,
    features: Annotated[
        str | None,
        options.in_labels(
            "Features of the items, numbers or texts: mistakes that annotators share are looked "
            "for with them.",
            metavar="FILE",
        ),
    ] = None,
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

    With --features it also warns of mistakes that annotators share on the same items: labels agree
    on them, and features may contradict them. The remedy says how many truths would settle it.

    Example: manyhands check labels.csv --missing NA --strict

    Example: manyhands check labels.csv --features features.csv
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
        if features is not None:
            plain = compared is None and file.sniffed() not in mh.io.TAGGED_LAYOUTS
            if not plain:
                raise SettingError("--features is for classes of items; leave it out here")
            report = _with_features(report, file.read_items(), columns, features, reading)
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


def _with_features(
    report: "mh.checks.CheckReport",
    ann: Any,
    columns: FeatureColumns,
    path: str,
    reading: options.AnyFileOptions,
) -> "mh.checks.CheckReport":
    """The report with what features say of the labels, worst findings first."""
    if ann.kind != "classes":
        raise SettingError("--features is for labels that are single classes; leave it out here")
    table = matched(columns.read(path, reading), ann, path)
    items = None if table.kind == "images" else table.items
    more = mh.estimators.find_shared_mistakes(table.X, ann, X_items=items)
    findings = sorted([*report.findings, *more], key=lambda each: list(_MARKS).index(each.severity))
    return replace(report, findings=tuple(findings))


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
