"""The part of a report on errors that annotators share."""

import json

import pytest

import manyhands as mh
from manyhands.annotations import Annotations
from manyhands.report import page as report_page
from manyhands.report import render, report_content
from manyhands.simulation import SCENARIOS, JudgePanelSettings


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["judge-panel"](JudgePanelSettings(n_items=150, seed=2))


def named(crowd, names):
    ann = crowd.annotations
    return Annotations.from_arrays(ann.item, [names[a] for a in ann.annotator], ann.label)


def content_of(ann, truth, **settings):
    return report_content(mh.aggregate(ann), truth=truth, **settings)


def test_shared_errors_are_told_with_the_numbers_of_the_library(crowd):
    ann = named(crowd, [f"model {a}" for a in range(6)])
    content = content_of(ann, crowd.truth_by_item)
    assert json.loads(json.dumps(content["panel"], allow_nan=False)) == content["panel"]
    wanted = mh.selection.judge_panel(ann, crowd.truth_by_item)
    assert content["panel"]["words"] == [*wanted.words, *wanted.warnings]
    first = content["panel"]["pairs"][0]
    assert first["correlation"] == pytest.approx(wanted.pairs["correlation"].max(), abs=1e-4)
    assert content["panel"]["n_pairs"] == 15


def test_names_are_escaped_shown_and_left_out(crowd, monkeypatch):
    monkeypatch.setattr(report_page, "chart_library", lambda: "")
    names = ["<b>" + "long" * 60, "line\nbreak", *"cdef"]
    content = content_of(named(crowd, names), crowd.truth_by_item)
    text = render(content)
    assert 'id="panel"' in text
    assert "<b>long" not in text
    anonymous = content_of(named(crowd, names), crowd.truth_by_item, anonymous=True)
    told = json.dumps(anonymous["panel"])
    assert "annotator 1" in told
    assert not any(name in told for name in ("long", "break"))


def test_other_crowds_have_no_such_part(crowd):
    few = dict(list(crowd.truth_by_item.items())[:19])
    assert content_of(crowd.annotations, few)["panel"] is None
    assert content_of(crowd.annotations, None)["panel"] is None
    many = SCENARIOS["symmetric"]()
    assert content_of(many.annotations, many.truth_by_item)["panel"] is None
    other = dict.fromkeys(crowd.truth_by_item, "neither")  # a truth that nobody said
    assert content_of(crowd.annotations, other | few)["panel"] is None
