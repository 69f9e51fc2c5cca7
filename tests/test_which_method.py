"""What the guide to methods says is what the recorded runs say."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import manyhands as mh

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "how-to/which-method.md").read_text()
CHECKED = re.compile(r"<!-- checked against docs/results/records -->\n\n((?:\|.*\n)+)")
FIGURE = re.compile(r"(?<![\d.])\d+\.\d+ ± \d+\.\d+")


@pytest.fixture(scope="module")
def accuracies():
    """Accuracies in % by source and method, a number per seed, of runs with default settings."""
    found = {}
    for path in sorted((DOCS / "results/records").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            scores = record.get("scores", {})
            plain = record.get("kind") == "classification" and not record["settings"]
            if not plain or "accuracy" not in scores:
                continue
            key = json.dumps(record["source"], sort_keys=True), record["method"]
            found.setdefault(key, {})[record["seed"]] = 100 * scores["accuracy"]
    return found


def source_of(column):
    """The source of a column of a table, as records have it."""
    if column.startswith("T = "):
        settings = {"n_annotators": int(column.removeprefix("T = "))}
        return json.dumps({"scenario": "perturbed-networks", "settings": settings}, sort_keys=True)
    corpus = {"dataset": column, "tested_on": "test", "anonymous": False}
    return json.dumps(corpus, sort_keys=True)


def cells(table):
    """Method, column and figure of every cell."""
    head, _, *body = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
    ]
    for row in body:
        for column, figure in zip(head[1:], row[1:], strict=True):
            yield row[0].strip("`"), column, figure


def test_the_tables_are_those_of_the_records(accuracies):
    tables = CHECKED.findall(PAGE)
    assert len(tables) == 2
    for table in tables:
        for method, column, figure in cells(table):
            runs = list(accuracies[source_of(column), method].values())
            assert len(runs) == 10, (method, column)
            wanted = f"{np.mean(runs):.1f} ± {np.std(runs, ddof=1):.1f}"
            assert figure == wanted, (method, column)


def test_figures_in_the_text_stand_on_the_pages_of_results():
    text = " ".join(CHECKED.sub("", PAGE).split())
    results = "\n".join(path.read_text() for path in (DOCS / "results").glob("*.md"))
    results = re.sub(r"( [●▲▼])? <small>", " ", results)  # between a mean and its deviation
    tables = "".join(CHECKED.findall(PAGE))
    figures = FIGURE.findall(text)
    assert len(figures) > 20
    for figure in figures:
        assert figure in results or figure in tables, figure


def test_what_is_said_not_to_differ_does_not(accuracies):
    alike = (
        "crowd-layer-mw",
        "speelfc",
        "trace-reg",
        "geocrowdnet",
        "conal",
        "conal-groups",
    )
    for column in ("labelme", "music", "sentiment"):
        for one in alike:
            for other in alike:
                assert not above(accuracies, column, one, other), (column, one, other)


@pytest.mark.parametrize(
    ("column", "better", "worse"),
    [
        ("labelme", "conal", "two-stage-dawid-skene"),
        ("labelme", "em", "two-stage-dawid-skene"),
        ("music", "conal", "em"),
        ("music", "conal", "semi-lfc"),
        ("music", "conal", "weighted-doctor-net"),
        ("labelme", "em", "raykar"),
        ("sentiment", "em", "raykar"),
    ],
)
def test_what_is_said_to_differ_does(accuracies, column, better, worse):
    assert above(accuracies, column, better, worse)


def test_only_a_doctor_net_is_above_the_default(accuracies):
    for column in ("labelme", "music", "sentiment"):
        named = [method for source, method in accuracies if source == source_of(column)]
        assert len(named) > 25
        found = [name for name in named if above(accuracies, column, name, "conal")]
        wanted = {"sentiment": ["weighted-doctor-net"]}.get(column, [])
        assert [name for name in found if name != "truth"] == wanted, column
    assert mh.CrowdClassifier().method == "conal"


def above(accuracies, column, one, other):
    """Whether means lie further apart than two deviations of the difference of two runs."""
    first, second = (list(accuracies[source_of(column), name].values()) for name in (one, other))
    spread = np.hypot(np.std(first, ddof=1), np.std(second, ddof=1))
    return np.mean(first) - np.mean(second) > 2 * spread


def test_every_method_named_exists():
    known = {*mh.METHODS, *mh.AGGREGATORS}
    named = re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`", PAGE)
    others = {"ranks", "peers"}
    assert set(named) - known <= others
