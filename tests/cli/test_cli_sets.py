"""The commands on labels that are sets of classes."""

import json

import numpy as np
import pytest
from command_line import call

from manyhands.io import write_table
from set_crowds import CLASSES, simulate_sets

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


@pytest.fixture(scope="module")
def features(files):
    crowd = simulate_sets(0, n_items=80)
    mixed = crowd.truth_ik @ np.random.default_rng(0).normal(size=(5, 4))
    path = files[0].parent / "features.csv"
    write_table({"item": range(80)} | {f"x{j}": mixed[:, j] for j in range(4)}, path)
    return path


def test_a_network_is_trained_predicts_and_is_compared(files, features, tmp_path):
    labels, truth = files
    model, people = tmp_path / "model", tmp_path / "people.csv"
    trained = call(
        "train", features, labels, *SETS, "--epochs", 3, "--out", model, "--annotators", people,
        "--truth", truth,
    )  # fmt: skip
    assert trained.code == 0, trained.err
    assert "multilabel-layer: 240 labels of 80 items by 15 annotators, 3 epochs" in trained.out
    assert "exact_match" in trained.out
    assert "sensitivity_a" in people.read_text().splitlines()[0]
    told = json.loads(call("predict", model, features, "--truth", truth, "--json").out)
    assert told["classes"] == CLASSES
    assert len(told["predictions"]) == 80
    assert 0 < told["scores"]["f1_macro"] <= 1
    both = call(
        "predict", model, features, "--labels", labels, "--truth", truth,
        "--out", tmp_path / "both.csv", "--json",
    )  # fmt: skip
    assert json.loads(both.out)["scores"]["f1_micro"] > told["scores"]["f1_micro"]
    assert "n_annotations" in (tmp_path / "both.csv").read_text().splitlines()[0]


def test_trained_methods_are_compared_and_the_report_shows_a_network(files, features, tmp_path):
    labels, truth = files
    given = ("--features", features, *SETS)
    by_truth = call("compare", labels, *given, "--truth", truth, "--epochs", 2)
    assert "ranked by macro F1 against the truth" in by_truth.err + by_truth.out
    assert "two-stage-multilabel-mixture" in by_truth.out
    names = "two-stage-multilabel-majority,multilabel-mixture"
    by_labels = call("compare", labels, *given, "--epochs", 2, "--methods", names)
    assert by_labels.code == 0, by_labels.err
    assert "ranked by mean log-probability of validation labels" in by_labels.err + by_labels.out
    page = tmp_path / "report.html"
    assert call("report", labels, *given, "--out", page).code == 0
    assert "multilabel-layer" in page.read_text()
    asked = json.loads(call("next", labels, *SETS, "--budget", 4, "--json").out)
    assert (asked["n_labels"], len(asked["labels"])) == (4, 4)
    refused = call("train", features, labels, *SETS, "--method", "conal", "--out", tmp_path / "m")
    assert refused.code == 2
    assert "--method must be for multilabel; got conal" in refused.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("aggregate", "--method", "dawid-skene"), "use a method for sets"),
        (("aggregate", "--engine", "stream"), "--kind multilabel needs all labels in memory"),
    ],
)
def test_what_is_not_for_sets_says_so(files, words, message):
    refused = call(words[0], files[0], *SETS, *words[1:])
    assert refused.code == 2
    assert message in refused.err
    assert len(refused.err.strip().splitlines()) <= 3
