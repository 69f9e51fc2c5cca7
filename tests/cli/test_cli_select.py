"""manyhands compare --select."""

import numpy as np
import pandas as pd
import pytest
from command_line import assert_refused, call, plain_json, without_reading

from manyhands.evaluation import CROWD_METRICS
from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import confused, honest

N, K = 120, 3
KEYS = ["source", "winner", "majority_is_enough", "reason", "ranked_by", "methods"]
COLUMNS = ["method", "average_rank", *CROWD_METRICS, "seconds"]
QUICK = ("--network", "logistic", "--epochs", 2, "--jobs", 1, "--device", "cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Features of all items; labels of most of them, by people half of whom mislead; truth."""
    home = tmp_path_factory.mktemp("crowd")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, K, N)
    names = np.array([f"img{i:03}" for i in range(N)])
    table = pd.DataFrame(np.eye(K)[truth] + rng.normal(size=(N, K)), columns=["a", "b", "c"])
    table.insert(0, "item", names)
    table.to_csv(home / "features.csv", index=False)
    people = np.concatenate([honest(np.full(3, 0.95), K), confused(np.full(4, 0.2), K, 0.1, rng)])
    ann = simulate_crowd(truth, people, labels_per_item=4, seed=0).annotations
    kept = ann.item < 100
    pd.DataFrame(
        {"item": names[ann.item[kept]], "annotator": ann.annotator[kept], "label": ann.label[kept]}
    ).to_csv(home / "labels.csv", index=False)
    pd.DataFrame({"item": names, "truth": truth}).to_csv(home / "truth.csv", index=False)
    return home


def on_labels(folder, *more):
    return call("compare", folder / "labels.csv", "--select", *more)


def on_features(folder, *more):
    return on_labels(folder, "--features", folder / "features.csv", *QUICK, *more)


def timeless(outcome):
    """What was said as JSON, without times and accuracies."""
    content = plain_json(outcome.out)
    for row in content["methods"]:
        row.pop("seconds")
        row.pop("accuracy", None)
    return content


def test_a_table_a_winner_and_a_word_on_the_majority(folder):
    outcome = on_labels(folder)
    assert outcome.code == 0, outcome
    lines = outcome.out.splitlines()
    assert lines[0].split() == COLUMNS
    assert lines[-2].startswith(f"The winner is {lines[1].split()[0]}, by average rank over all")
    assert lines[-1].startswith("Majority voting is")
    assert without_reading(outcome.err) == ""


@pytest.mark.parametrize("command", [on_labels, on_features])
def test_the_same_as_json(command, folder):
    methods = ("--methods", "dawid-skene" if command is on_labels else "speelfc")
    outcome = command(folder, "--json", *methods)
    assert outcome.code == 0, outcome
    content = plain_json(outcome.out)
    assert list(content) == KEYS
    assert content["winner"] == content["methods"][0]["method"]
    assert isinstance(content["majority_is_enough"], bool)
    assert list(content["methods"][0]) == COLUMNS
    baseline = "majority" if command is on_labels else "two-stage-majority"
    assert {row["method"] for row in content["methods"]} == {methods[1], baseline}


@pytest.mark.parametrize("command", [on_labels, on_features])
def test_truth_is_shown_last_and_decides_nothing(command, folder):
    methods = ("--methods", "dawid-skene" if command is on_labels else "speelfc")
    blind = command(folder, "--json", *methods)
    told = command(folder, "--json", *methods, "--truth", folder / "truth.csv")
    assert list(plain_json(told.out)["methods"][0])[-1] == "accuracy"
    assert timeless(blind) == timeless(told)
    shown = command(folder, *methods, "--truth", folder / "truth.csv")
    assert "nothing was chosen by it" in shown.err


@pytest.mark.parametrize("command", [on_labels, on_features])
def test_the_judge_that_is_asked_for_judges(command, folder):
    methods = ("--methods", "dawid-skene,glad" if command is on_labels else "speelfc,conal")
    content = plain_json(command(folder, "--monitor", "annotator", "--json", *methods).out)
    assert content["ranked_by"].startswith("annotator on held-out labels")
    found = [row["annotator"] for row in content["methods"]]
    assert found == sorted(found, reverse=True)


def test_the_table_goes_to_a_file_and_the_words_to_the_terminal(folder, tmp_path):
    outcome = on_labels(folder, "--out", tmp_path / "table.csv")
    assert outcome.code == 0
    assert list(pd.read_csv(tmp_path / "table.csv").columns) == COLUMNS
    assert outcome.out.startswith("The winner is ")


def test_wrong_requests_are_one_line(folder, tmp_path):
    refused = on_labels(folder, "--monitor", "majorty")
    assert_refused(refused)
    assert "'majorty' is not one of 'likelihood', 'majority'" in refused.err
    assert_refused(on_features(folder, "--monitor", "rank"))
    assert_refused(on_features(folder, "--methods", "truth"))
    assert_refused(on_features(folder, "--methods", "conall"))
    assert_refused(on_labels(folder, "--methods", "gaussian"))
    assert_refused(call("compare", "--dataset", "labelme", "--data", tmp_path, "--select"))
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("item,annotator,label\n" + "".join(
        f"{i},{a},{i + a / 7}\n" for i in range(9) for a in range(3)
    ))  # fmt: skip
    assert_refused(call("compare", numbers, "--select"))
    one_each = tmp_path / "one.csv"
    one_each.write_text("item,annotator,label\na,u,x\nb,u,y\nc,v,x\n")
    assert_refused(call("compare", one_each, "--select"))


def test_help_teaches_what_the_criteria_are(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = " ".join(call("compare", "--help").out.split())
    assert "--select" in said
    assert "Majority voting is enough unless" in said
    assert all(name in said for name in CROWD_METRICS)


def test_training_tells_which_judge_found_the_epoch(folder, tmp_path):
    files = (folder / "features.csv", folder / "labels.csv")
    words = ("--network", "logistic", "--epochs", 3, "--validation-fraction", 0.2, "--refit")
    outcome = call("train", *files, "--out", tmp_path, *words, "--monitor", "ranks")
    assert outcome.code == 0, outcome
    assert "is the best by ranks on the validation labels" in outcome.out
    refused = call(
        "train", *files, "--out", tmp_path, "--validation-fraction", 0, "--monitor", "ranks"
    )
    assert_refused(refused)
    assert "--validation-fraction must be above 0" in refused.err
