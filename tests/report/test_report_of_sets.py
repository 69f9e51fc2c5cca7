"""The report, figures and profiles of labels that are sets of classes."""

import matplotlib as mpl
import numpy as np
import pytest

import manyhands as mh
from manyhands.report.cells import NOTHING, confusion_cells
from manyhands.report.content import report_content
from manyhands.report.page import render
from set_crowds import CLASSES, simulate_sets

mpl.use("Agg")


@pytest.fixture(scope="module")
def crowd():
    return simulate_sets(0, n_items=120)


@pytest.fixture(scope="module")
def consensus(crowd):
    return mh.aggregate(crowd.annotations)


def test_a_page_has_agreement_classes_annotators_and_items(crowd, consensus):
    content = report_content(consensus, truth=crowd.truth, title="Topics")
    assert content["kind"] == "multilabel"
    assert "labels are sets of 5 classes" in content["summary"]["have"][0]
    assert content["agreement"][0]["title"] == "Krippendorff's alpha (sets)"
    rows = {row["class"]: row for row in content["classes"]}
    assert set(rows) == set(CLASSES)
    assert rows["a"]["labels"] == crowd.annotations.label_counts()[:, 0].sum()
    assert rows["a"]["consensus"] == pytest.approx(consensus.members[:, 0].mean(), abs=1e-4)
    assert content["confusions"]["classes"] == [*CLASSES, NOTHING]
    assert content["scores"]["scores"]["exact_match"] > 0.5
    assert content["scores"]["calibration"]
    assert content["annotators"]["n"] == crowd.annotations.n_annotators
    page = render(content)
    assert "sets of 5 classes" in page
    assert "F1: twice" in page


def test_names_are_left_out_on_demand(consensus):
    content = report_content(consensus, anonymous=True)
    assert all(row["name"].startswith("annotator") for row in content["annotators"]["rows"])


def test_what_is_missed_or_added_is_confused_with_nothing():
    sets = [{"a"}, {"a"}, {"a", "b"}, {"a"}, {"a"}, set()]
    columns = [0, 0, 0, 1, 1, 1], ["u", "v", "w"] * 2
    found = mh.aggregate(mh.Annotations.from_arrays(*columns, sets), "multilabel-majority")
    assert found.labels.tolist() == ["a", "a"]
    cells = confusion_cells(found)
    at = cells.of(2)  # says b of the first item, and misses a of the second
    rows = zip(cells.consensus[at], cells.label[at], cells.count[at], strict=True)
    assert {tuple(map(int, row)) for row in rows} == {(0, 0, 1), (0, 2, 1), (2, 1, 1)}


def test_a_set_without_a_class_is_nothing():
    ann = mh.Annotations.from_arrays(
        [1, 1, 2, 2, 3, 3], list("uvuvuv"), [[], [], ["a"], [], ["a"], ["a"]], kind="multilabel"
    )
    content = report_content(mh.aggregate(ann, "multilabel-majority"))
    rows = content["items"]["relabel"]["rows"] + content["items"]["contested"]["rows"]
    said = {each["label"] for row in rows for each in row["labels"]}
    assert NOTHING in said
    assert "[]" not in said | {row["consensus"] for row in rows}


def test_mistakes_are_told_in_words():
    rng = np.random.default_rng(0)
    truth = rng.random((60, 2)) < 0.5
    sets, who = [], []
    for row in truth:
        for name in ("good", "fine", "sound", "blind"):
            said = row & (name != "blind" or np.array([True, False]))
            sets.append([c for c, yes in zip("ab", said, strict=True) if yes])
            who.append(name)
    ann = mh.Annotations.from_arrays(np.repeat(np.arange(60), 4), who, sets, kind="multilabel")
    profiles = mh.report.profile_annotators(mh.aggregate(ann))
    told = dict(zip(ann.annotators, profiles.mistakes, strict=True))
    assert told["blind"].startswith("misses “b”")
    assert told["good"] == ""
    assert "mistake" in profiles.columns()


def test_figures_can_be_drawn(crowd, consensus):
    assert mh.plot.confusion(consensus).get_xlabel() == "label said"
    assert mh.plot.agreement_by_class(crowd.annotations)
    assert mh.plot.label_distribution(crowd.annotations, consensus=consensus)
    assert mh.plot.reliability(consensus, crowd.truth)
    assert mh.plot.annotators(consensus)
    mpl.pyplot.close("all")
