"""The committed pages are those that the records give, and the committed records are used."""

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.pages import PAGES

import manyhands as mh
from manyhands.evaluation import CRITERIA

DOCS = Path(__file__).parent.parent / "docs"
# How many runs of an experiment have a record, where not all have one: a change that gives runs
# other settings would leave records behind.
USED = {
    "ours/comparison": 685,
    "ours/every-method": 950,
    "ours/fine-tuned-sentences": 79,
    "ours/labelme-images": 50,
    "ours/preferences": 90,
    "p0/figure-2": 0,
    "p0/figure-4": 1,
    "p0/table-1": 120,
    "p0/table-2": 100,
    "p0/table-3": 130,
    "p1/figure-5": 1,
    "p1/table-1": 97,
    "p2/figure-2": 2,
    "p2/table-3": 112,
    "p2/table-4": 4,
    "p3/figure-4": 109,
    "p3/figure-5": 4,
    "p3/figure-6": 1000,
    "p3/figure-7": 4,
    "p4/table-2": 809,
}


@pytest.fixture(scope="module")
def writer():
    sys.path.insert(0, str(DOCS))
    try:
        import write_pages
    finally:
        sys.path.pop(0)
    return write_pages


@pytest.fixture(scope="module")
def records(writer):
    return writer.read_records()


@pytest.mark.slow
def test_committed_pages_are_those_of_the_records(writer, tmp_path):
    writer.write_pages(tmp_path)
    written = {path.relative_to(tmp_path): path for path in tmp_path.rglob("*.md")}
    assert {Path(name) for name in PAGES} < set(written)
    committed = {path.relative_to(DOCS) for path in (DOCS / "results").glob("*.md")}
    assert committed <= set(written)
    for name, path in written.items():
        hint = f"{name}: python docs/write_pages.py writes it again"
        assert (DOCS / name).read_text() == path.read_text(), hint
    drawn = {path.name for path in (tmp_path / "results").glob("*.png")}
    assert {path.name for path in (DOCS / "results").glob("*.png")} == drawn


def test_committed_records_are_used(writer, records):
    for name, experiment in mh.EXPERIMENTS.items():
        keys = {run.key for run in experiment.runs(writer.ALL)}
        used = sum(records.finished(key) for key in keys)
        assert used >= USED.get(name, len(keys)), name


def test_every_page_has_its_command_its_protocol_and_its_records(writer, records):
    for name, experiment in mh.EXPERIMENTS.items():
        page = (DOCS / "results" / f"{experiment.file_name}.md").read_text()
        keys = {run.key for run in experiment.runs(writer.ALL) if run.key in records}
        assert f"manyhands reproduce {name} --data DIR" in page
        assert "grep -h KEY docs/results/records/*.jsonl" in page, name
        if experiment.protocol is not None and not experiment.protocol.nothing:
            assert "## Protocol" in page, name
        table = DOCS / "results" / f"{experiment.file_name}.csv"
        listed = page + (table.read_text() if table.exists() else "")
        assert all(key in listed for key in keys), name


def test_what_is_not_reached_has_a_reason(writer, records):
    for name, experiment in mh.EXPERIMENTS.items():
        found = experiment.summary(records, writer.ALL)
        short = {each: found.judged[each] - found.reached[each] for each in found.judged}
        assert found.why or not any(short.values()), (name, short)
        page = (DOCS / "results" / f"{experiment.file_name}.md").read_text()
        assert found.why in page, name


def test_what_is_remarked_on_crowds_of_many_annotators_is_in_their_table(writer, records):
    experiment = mh.EXPERIMENTS["p4/table-2"]
    known = set()
    for cell in experiment.cells(writer.ALL):
        scores = [] if (found := cell.result("ours", records)) is None else found.scores
        known |= {f"{each:.1f}" for each in [np.mean(scores), min(scores)]} if scores else set()
        known |= {f"{cell.value.mean:.1f}"} if cell.value.mean is not None else set()
    remarks = [each for each in experiment.table.remarks if "falls" in each or "fall " in each]
    assert len(remarks) == 3
    for figure in re.findall(r"\d\d\.\d", " ".join(remarks)):
        assert figure in known, figure


def test_the_version_of_the_library_is_recorded_but_does_not_identify_a_run(writer):
    made_by = Counter(
        record["versions"]["manyhands"]
        for record in writer.read_records()
        if "versions" in record and "kind" in record and "seed" in record
    )
    assert made_by["0.1.0"] > 3000
    run = mh.EXPERIMENTS["p3/table-1"].runs(writer.ALL)[0]
    assert mh.__version__ not in str(run.fingerprint())


def test_new_records_are_added_to_the_experiment_that_needs_them(writer, tmp_path, monkeypatch):
    home = tmp_path / "committed"
    home.mkdir()
    monkeypatch.setattr(writer, "RECORDS", home)
    run = mh.EXPERIMENTS["p1/figure-4"].runs(writer.ALL)[0]
    store = writer.RecordStore(tmp_path / mh.experiments.FILE)
    store.append({"key": run.key, **run.fingerprint(), "content": {}})
    store.append({"key": "of nothing", "scores": {}})
    writer.add_records(tmp_path)
    writer.add_records(tmp_path)
    assert [path.name for path in home.iterdir()] == ["p1-figure-4.jsonl"]
    assert len((home / "p1-figure-4.jsonl").read_text().splitlines()) == 1


def test_every_criterion_has_a_row_on_the_page_of_selection():
    page = (DOCS / "results/ours-method-selection.md").read_text()
    assert all(f"| `{name}` |" in page for name in CRITERIA)
