"""What the guide to methods says is what the recorded runs say."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import manyhands as mh
from manyhands.experiments.compared_methods import differs

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "how-to/which-method.md").read_text()
FIGURE = re.compile(r"(?<![\d.])\d+\.\d+ ± \d+\.\d+")
# Statements of the text about pairs of methods whose runs are finished.
BETTER = [
    ("labelme", "cross-fit", "conal"),
    ("labelme", "geocrowdnet", "conal"),
    ("labelme", "max-mig", "conal"),
    ("labelme", "crowd-layer-over", "conal"),
    ("labelme", "em", "conal"),
    ("labelme", "conal-em", "conal"),
    ("labelme", "semi-lfc", "conal"),
    ("labelme", "raykar", "conal"),
    ("labelme", "coinnet", "conal"),
    ("music", "conal", "em"),
    ("music", "conal", "conal-em"),
    ("music", "conal", "semi-lfc"),
    ("music", "conal", "raykar"),
    ("music", "conal", "coinnet"),
    ("music", "conal", "weighted-doctor-net"),
    ("sentiment", "weighted-doctor-net", "conal"),
    ("labelme", "em", "two-stage-dawid-skene"),
    ("labelme", "max-mig", "two-stage-dawid-skene"),
    ("labelme", "cross-fit", "two-stage-dawid-skene"),
    ("music", "conal", "two-stage-dawid-skene"),
    ("music", "max-mig", "two-stage-dawid-skene"),
    ("music", "cross-fit", "two-stage-dawid-skene"),
    ("labelme", "cross-fit", "em"),
    ("music", "cross-fit", "em"),
    ("labelme", "geocrowdnet", "speelfc"),
    ("labelme", "two-stage-majority", "ma-lr"),
]
MATRICES = ("crowd-layer-mw", "speelfc", "trace-reg", "conal", "conal-groups")
ALIKE = [
    ("music", "cross-fit", "conal"),
    ("sentiment", "cross-fit", "conal"),
    ("music", "geocrowdnet", "conal"),
    ("music", "max-mig", "conal"),
    ("music", "crowd-layer-over", "conal"),
    ("labelme", "conal", "two-stage-dawid-skene"),
    *(("sentiment", each, "two-stage-dawid-skene")
      for each in ("em", "conal", "max-mig", "cross-fit")),
    ("music", "em", "two-stage-dawid-skene"),
    ("labelme", "raykar", "em"),
    ("music", "raykar", "em"),
    ("music", "ma-lr", "two-stage-majority"),
    *((corpus, "crowd-layer-over", "crowd-layer-mw") for corpus in ("labelme", "music")),
    *((corpus, one, other) for corpus in ("labelme", "music")
      for one in MATRICES for other in MATRICES if one < other),
]  # fmt: skip


@pytest.fixture(scope="module")
def tables():
    """The module that writes the tables of the page."""
    sys.path.insert(0, str(DOCS))
    try:
        import which_method
    finally:
        sys.path.pop(0)
    return which_method


@pytest.fixture(scope="module")
def records():
    return mh.experiments.Records.read(sorted((DOCS / "results/records").glob("*.jsonl")))


@pytest.fixture(scope="module")
def comparison(tables, records):
    return tables.Comparison(records)


def test_the_tables_are_those_of_the_records(tables, records):
    hint = "python docs/write_pages.py writes the tables again"
    assert tables.page(PAGE, records) == PAGE, hint


def test_the_main_table_rests_on_one_protocol(tables, comparison):
    table = tables.main_table(
        mh.experiments.Records(each for runs in comparison.found.values() for each in runs)
    )
    assert table in PAGE
    kinds = {each["kind"] for runs in comparison.found.values() for each in runs}
    assert kinds == {"comparison"}
    assert all(f"| `{method}` |" in table for method in comparison.methods)


def test_figures_in_the_text_stand_on_the_pages_of_results(tables):
    text = tables.without_tables(PAGE)
    results = "\n".join(path.read_text() for path in (DOCS / "results").glob("*.md"))
    results = re.sub(r"( [●▲▼])? <small>", " ", results)  # between a mean and its deviation
    written = PAGE.replace(text, "")
    figures = FIGURE.findall(" ".join(text.split()))
    assert len(figures) >= 6
    for figure in figures:
        assert figure in results or figure in written, figure


@pytest.mark.parametrize(("corpus", "better", "worse"), BETTER)
def test_what_is_said_to_differ_does(comparison, corpus, better, worse):
    assert comparison.scored(corpus, better)
    found = comparison.difference(corpus, better, worse)
    assert differs(found)
    assert found.mean > 0


@pytest.mark.parametrize(("corpus", "one", "other"), ALIKE)
def test_what_is_said_not_to_differ_does_not(comparison, corpus, one, other):
    assert not differs(comparison.difference(corpus, one, other))


def test_what_is_said_of_settings_holds(comparison):
    assert mh.CrowdClassifier().method == comparison.default == "conal"
    tried = [each["tried"] for each in comparison.scored("labelme", "raykar")]
    default, strongest = (np.mean([each[i]["accuracy"] for each in tried]) for i in (1, 3))
    assert f"{100 * default:.1f} % with the default strength" in " ".join(PAGE.split())
    assert f"{100 * strongest:.1f} % with `l2=100`" in " ".join(PAGE.split())
    assert {each["chosen"] for each in comparison.scored("labelme", "raykar")} == {3}


def test_unfinished_and_failed_runs_are_shown_as_what_they_are(tables, comparison):
    wanted = comparison.planned["labelme", "conal"]
    made = [
        {**each, "error": "DivergedError: made up"} if number == 0 else each
        for number, each in enumerate(comparison.found["labelme", "conal"][:4])
    ]
    for each in made[:1]:
        del each["scores"]
    part = tables.Comparison(mh.experiments.Records(made))
    assert part.accuracy("labelme", "conal").endswith(f"(3 of {len(wanted)} runs, 1 failed)")
    assert part.accuracy("labelme", "em") == "not run yet"
    assert part.accuracy("music", "ma-slda-c") == "no such features"
    assert not part.finished("labelme", "conal")
    assert not part.settled("labelme", "conal")
    assert part.difference("labelme", "conal", "conal") is None
    assert part.shown("labelme", "em", "conal") == "not finished"


def test_a_page_without_one_of_its_tables_is_refused(tables, records):
    with pytest.raises(ValueError, match="the page has the tables"):
        tables.page(PAGE.replace("from records: picks", "from records: choices"), records)


def test_every_method_named_exists():
    known = {*mh.METHODS, *mh.AGGREGATORS}
    named = re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`", PAGE)
    others = {"infer", "l2"}
    assert set(named) - known <= others
