"""The command that measures agreement."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import HEADER, assert_refused, call, plain_json

import manyhands as mh
from manyhands.simulation import SCENARIOS, CrowdSettings, write_labels_and_truth

CONLL = "Anna B-PER B-PER\nLee I-PER O\nsang O O\n\nRome B-LOC B-LOC\n"
RATINGS = [[1, 2, 1], [3, 3, 4], [5, 5, 4], [2, 2, 2], [4, 5, 4]]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    made = SCENARIOS["symmetric"](CrowdSettings(n_items=60, n_annotators=12, seed=1))
    return write_labels_and_truth(made, tmp_path_factory.mktemp("crowd"))[0]


@pytest.fixture
def ratings(tmp_path):
    rows = [f"{i},p{a},{x}" for i, row in enumerate(RATINGS) for a, x in enumerate(row)]
    path = tmp_path / "ratings.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n")
    return path


def test_what_is_printed_is_what_the_library_finds(crowd):
    outcome = call("agree", crowd)
    assert (outcome.code, outcome.err) == (0, "")
    found = mh.agreement.summarize(mh.read(crowd))
    lines = outcome.out.splitlines()
    assert lines[0].startswith("items: item, annotators: annotator, labels: label; ")
    for each in found.coefficients:
        line = next(line for line in lines if line.startswith(each.title))
        shown = [f"{number:.3f}" for number in (each.value, each.low, each.high)]
        assert line.removeprefix(each.title).split()[:3] == shown
    assert all(f"- {word}" in lines for word in found.words)
    assert "95% intervals: analytic, over items" in lines
    assert "By annotator (the 10 of 12 with the lowest kappa)" in lines


def test_json_has_everything_but_items(crowd):
    content = plain_json(call("agree", crowd, "--json").out)
    found = mh.agreement.summarize(mh.read(crowd))
    assert content["source"]["n_items"] == 60
    assert content["coefficients"][0] == found.coefficients[0].to_json()
    assert len(content["annotators"]) == 12
    assert "items" not in content
    with_items = plain_json(call("agree", crowd, "--json", "--by", "item").out)
    assert len(with_items["items"]) == 60


@pytest.mark.parametrize("by", ["coefficient", "class", "annotator", "pair", "item"])
def test_out_gets_one_of_the_tables(crowd, tmp_path, by):
    out = tmp_path / "table.csv"
    assert call("agree", crowd, "--by", by, "--out", out).code == 0
    found = mh.agreement.summarize(mh.read(crowd))
    tables = {
        "coefficient": found.coefficient_columns(), "class": found.classes,
        "annotator": found.annotators, "pair": found.pairs, "item": found.items,
    }  # fmt: skip
    written = pd.read_csv(out)
    assert list(written.columns) == list(tables[by])
    for name, column in tables[by].items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(written[name], column)


def test_a_table_on_standard_output_leaves_the_words_to_standard_error(crowd):
    outcome = call("agree", crowd, "--out", "-")
    assert outcome.out.startswith('"coefficient","value"')
    assert "Disagreement is" in outcome.err
    assert_refused(call("agree", crowd, "--out", "-", "--json"))


def test_the_level_chooses_the_coefficients(ratings):
    for level, title in (
        ("ordinal", "Cohen's kappa (quadratic weights), mean of 3 pairs"),
        ("interval", "ICC(2,1)"),
        ("ratio", "Krippendorff's alpha (ratio)"),
    ):
        outcome = call("agree", ratings, "--level", level)
        assert outcome.code == 0, outcome.err
        assert title in outcome.out
    linear = call("agree", ratings, "--level", "ordinal", "--weights", "linear").out
    assert "Gwet's AC2 (linear weights)" in linear
    named = call("agree", ratings, "--coefficients", "alpha, scott", "--json").out
    assert [each["name"] for each in plain_json(named)["coefficients"]] == ["alpha", "scott"]


def test_the_order_of_words_is_that_of_classes(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text(HEADER + "1,u,bad\n1,v,fair\n2,u,good\n2,v,good\n3,u,bad\n3,v,bad\n")
    words = ["agree", path, "--level", "ordinal", "--classes", "bad,fair,good", "--json"]
    found = plain_json(call(*words).out)
    expected = mh.agreement.alpha([[0, 1], [2, 2], [0, 0]], level="ordinal").value
    assert found["coefficients"][0]["value"] == pytest.approx(expected)
    assert any("bad < fair < good" in word for word in found["words"])


def test_intervals_by_a_bootstrap(ratings):
    words = ("agree", ratings, "--level", "interval", "--interval", "annotators", "--json")
    found = plain_json(call(*words, "--resamples", 20).out)["coefficients"]
    assert found[0]["interval"] == "bootstrap over annotators, 20 samples"
    assert found[1]["interval"].startswith("analytic")  # the ICC has no bootstrap over annotators
    assert "no intervals" in call("agree", ratings, "--interval", "none").out


def test_sets_of_classes(tmp_path):
    path = tmp_path / "topics.csv"
    path.write_text(HEADER + "1,u,a|b\n1,v,b\n2,u,c\n2,v,c\n3,u,a|c\n3,v,a|c\n")
    found = call("agree", path, "--level", "sets", "--separator", "|")
    assert "Krippendorff's alpha (sets)  0.700" in found.out
    same = call("agree", path, "--kind", "multilabel", "--by", "class", "--out", tmp_path / "t.csv")
    assert "Krippendorff's alpha (sets)  0.700" in same.out
    assert (tmp_path / "t.csv").read_text().startswith('"class","n_labels","share"')


def test_tagged_tokens_are_compared_by_spans(tmp_path):
    path = tmp_path / "tokens.conll"
    path.write_text(CONLL)
    outcome = call("agree", path)
    assert outcome.code == 0
    assert outcome.out.startswith("8 tags of 4 tokens in 2 sentences by 2 annotators\n")
    assert "Span F1 (exact)                           0.500" in outcome.out
    assert "Span F1 (overlap)                         1.000" in outcome.out
    refused = call("agree", path, "--level", "ordinal")
    assert_refused(refused)
    assert "--level is for labels of items" in refused.err


def test_nothing_to_compare_is_an_answer_in_words(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(HEADER + "1,u,a\n2,v,b\n")
    outcome = call("agree", path)
    assert outcome.code == 0
    assert outcome.out.count("No item has labels of two annotators") == 1
    assert " nan" not in outcome.out.lower()
    content = plain_json(call("agree", path, "--json").out)
    assert content["coefficients"][0]["value"] is None
    json.dumps(content, allow_nan=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--level", "interval"), "use alpha with --level nominal or --level ordinal"),
        (("--coefficients", "icc2"), "icc2 is not for the level nominal"),
        (("--coefficients", "kapa"), "no coefficient 'kapa'"),
        (("--weights", "linear"), "--weights is for --level ordinal"),
        (("--separator", "|"), "--separator is for sets of classes: --kind multilabel"),
        (("--confidence", "2"), "--confidence must be between 0 and 1"),
    ],
)
def test_wrong_requests_name_options(tmp_path, options, message):
    path = tmp_path / "labels.csv"
    path.write_text(HEADER + "1,u,a\n1,v,b\n2,u,b\n2,v,b\n")
    refused = call("agree", path, *options)
    assert_refused(refused)
    assert message in refused.err
