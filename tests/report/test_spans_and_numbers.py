"""The report of spans names contested spans in their sentences; that of numbers bias and noise."""

import json

import numpy as np
import pytest

import manyhands as mh
from manyhands.annotations import Sentences, TokenLabels
from manyhands.report import SpanView, profile_annotators, render, report_content
from manyhands.report import page as pages
from manyhands.report.charts import charts
from manyhands.report.spans import contested_spans

WORDS = [["Anna", "Lee", "sang", "in", "New", "York"], ["Ben", "slept"]]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
SAID = {
    "u": "B-PER I-PER O O B-LOC I-LOC B-PER O",
    "v": "B-PER I-PER O O O B-LOC B-PER O",
    "w": "B-PER O O O B-LOC I-LOC B-PER O",
    "x": "B-PER I-PER O O B-LOC I-LOC B-PER O",
}


@pytest.fixture(scope="module")
def view():
    sentences = Sentences.from_lists(WORDS)
    codes = [TAGS.index(tag) for tags in SAID.values() for tag in tags.split()]
    token = list(range(8)) * 4
    who = np.repeat(np.arange(4), 8).tolist()
    labels = TokenLabels.from_codes(sentences, token, who, codes, list(SAID), TAGS)
    found = mh.aggregate_tokens(sentences, labels.annotations, "majority")
    return SpanView(labels=labels, consensus=found)


def content_of(view, **more):
    agreement = mh.agreement.summarize_tokens(view.labels)
    return report_content(view.consensus.tokens, agreement=agreement, spans=view, **more)


def test_contested_spans_stand_in_their_sentence(view):
    found = contested_spans(view)
    spans = {row["span"]: row for row in found["rows"]}
    assert set(spans) == {"Anna Lee", "Anna", "New York", "York"}
    assert found["n"] == 4
    row = spans["York"]
    assert (row["before"], row["after"]) == ("Anna Lee sang in New", "")
    assert (row["marked"], row["asked"], row["annotators"]) == (1, 4, ["v"])
    assert row["confidence"] is None
    assert row["rivals"] == [{"span": "New York", "type": "LOC", "marked": 3}]
    assert spans["Anna Lee"]["confidence"] is not None


def test_the_page_has_types_and_spans(view, monkeypatch):
    monkeypatch.setattr(pages, "chart_library", lambda: "")
    content = content_of(view)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    types = {row["type"]: row for row in content["types"]}
    assert {name: row["spans"] for name, row in types.items()} == {"PER": 8, "LOC": 4}
    assert types["PER"]["f1"] == pytest.approx((12 + 6) / 24)  # Ben by all, Anna Lee by three
    assert types["PER"]["overlap"] == 1
    assert "types" in charts(content)
    assert content["annotators"]["agreement"] == "F1 with others"
    assert "<mark><bdi>York</bdi></mark>" in render(content)


def test_anonymous_pages_have_no_sentence(view, monkeypatch):
    monkeypatch.setattr(pages, "chart_library", lambda: "")
    content = content_of(view, anonymous=True)
    assert "York" not in render(content)
    assert content["annotators"]["rows"][0]["agreement"] is not None


def test_numbers_have_bias_scale_and_noise():
    rng = np.random.default_rng(0)
    truth = rng.normal(10, 3, 400)
    bias, scale = np.array([2, 0, 0, 0, -1]), np.array([1, 0.5, 1, 1, 1])
    noise = np.array([0.2, 0.2, 1, 0.2, 0.2])
    values = 10 + bias + scale * (truth[:, None] - 10) + noise * rng.normal(size=(400, 5))
    consensus = mh.aggregate(mh.Annotations.from_dense(values))
    columns = profile_annotators(consensus).columns()
    relative = columns["bias"] - columns["bias"][3]
    assert relative == pytest.approx((bias - bias[3]) * 5 / 4, abs=0.25)  # from the others
    assert columns["scale"] / columns["scale"][3] == pytest.approx(scale, abs=0.1)
    assert columns["noise"].argmax() == 2
    assert columns["noise"][2] == pytest.approx(1, abs=0.15)
    content = report_content(consensus)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    errors = {row["name"]: row for row in content["annotators"]["rows"]}
    assert "narrower range" in errors["1"]["tendency"]
    assert len(charts(content)["errors"]["data"]["values"]) == 5


def test_numbers_of_few_or_equal_items_have_a_report():
    for values in ([[1.5]], [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0], [2.0, 2.0]], [[1.5, 2.5]]):
        ann = mh.Annotations.from_dense(values, kind="numbers")
        content = report_content(mh.aggregate(ann))
        assert json.loads(json.dumps(content, allow_nan=False)) == content
