"""The commands on labels that are sets of classes."""

import json

import pytest
from command_line import call

from manyhands.io import write_table
from set_crowds import simulate_sets

SETS = ("--kind", "multilabel")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, crowd = tmp_path_factory.mktemp("sets"), simulate_sets(0, n_items=80)
    labels, truth = folder / "labels.csv", folder / "truth.csv"
    write_table(crowd.annotations.to_columns(), labels)
    texts = [";".join(sorted(each)) or "[]" for each in crowd.truth.values()]
    write_table({"item": list(crowd.truth), "truth": texts}, truth)
    return labels, truth


def test_aggregate_writes_sets_and_scores_them(files, tmp_path):
    labels, truth = files
    out, people = tmp_path / "consensus.csv", tmp_path / "annotators.csv"
    done = call("aggregate", labels, *SETS, "--truth", truth, "--out", out, "--annotators", people)
    assert done.code == 0
    assert "multilabel-mixture: 240 labels of 80 items" in done.out
    assert "exact_match" in done.out
    assert out.read_text().startswith('"item","label","confidence","agreement"')
    assert "sensitivity_a" in people.read_text().splitlines()[0]
    told = json.loads(call("aggregate", labels, *SETS, "--out", out, "--json").out)
    assert told["summary"]["kind"] == "multilabel"


def test_a_method_for_sets_reads_sets(files, tmp_path):
    done = call(
        "aggregate", files[0], "--method", "multilabel-majority", "--out", tmp_path / "c.csv"
    )
    assert "labels are sets of classes, such as" in done.out


def test_the_other_commands(files, tmp_path):
    labels, truth = files
    assert "sets of 5 classes" in call("check", labels, *SETS).out
    agreed = call("agree", labels, *SETS)
    assert "Krippendorff's alpha (sets)" in agreed.out
    assert "By class" in agreed.out
    compared = call("compare", labels, *SETS, "--truth", truth)
    assert "ranked by macro F1 against the truth" in compared.err + compared.out
    page = tmp_path / "report.html"
    assert call("report", labels, *SETS, "--out", page).code == 0
    assert page.stat().st_size > 100_000
    copy = tmp_path / "copy.jsonl"
    assert call("convert", labels, copy, *SETS).code == 0
    again = call("aggregate", copy, *SETS, "--out", tmp_path / "c.csv")
    assert "240 labels of 80 items by 15 annotators" in again.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("aggregate", "--method", "dawid-skene"), "use a method for sets"),
        (("next",), "these labels are sets of classes"),
        (("report", "--features", "features.csv"), "--features is not for sets of classes yet"),
        (("aggregate", "--engine", "stream"), "--kind multilabel needs all labels in memory"),
    ],
)
def test_what_is_not_for_sets_says_so(files, tmp_path, words, message):
    (tmp_path / "features.csv").write_text("item,x\n0,1\n")
    words = [tmp_path / word if word == "features.csv" else word for word in words]
    refused = call(words[0], files[0], *SETS, *words[1:])
    assert refused.code == 2
    assert message in refused.err
    assert len(refused.err.strip().splitlines()) <= 3
