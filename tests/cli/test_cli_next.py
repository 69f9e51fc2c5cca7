"""The command that says what to label next."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import SMALL, assert_refused, call

import manyhands as mh
from manyhands.simulation import SCENARIOS, CrowdSettings, write_labels_and_truth


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    made = SCENARIOS["symmetric"](
        CrowdSettings(
            n_items=40, n_annotators=8, n_classes=2, labels_per_item=3, lowest=0.7, seed=3
        )
    )
    return write_labels_and_truth(made, tmp_path_factory.mktemp("crowd"))[0]


def test_the_table_is_that_of_the_library(crowd, tmp_path):
    out, curve = tmp_path / "ask.csv", tmp_path / "curve.csv"
    outcome = call("next", crowd, "--budget", 6, "--out", out, "--curve", curve)
    assert (outcome.code, outcome.out) == (0, "")
    found, wanted = pd.read_csv(out), mh.selection.next_labels(mh.read(crowd), budget=6)
    assert found.columns.tolist() == list(wanted.columns)
    assert found["item"].tolist() == wanted.item.tolist()
    assert found["annotator"].tolist() == wanted.annotator.tolist()
    assert found["gain"].to_numpy() == pytest.approx(wanted.gain)
    assert pd.read_csv(curve)["cost"].tolist()[-1] == 6
    lines = outcome.err.splitlines()
    assert lines[1].startswith("6 labels to ask for at a cost of 6, by information: bits")
    assert f"expected accuracy {wanted.expected_accuracy:.3f} now" in lines[2]
    assert lines[3].startswith("go on: labels for 6 more would raise the accuracy by ")


def test_json_costs_and_the_target(crowd, tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text("annotator,cost\n0,1\n1,2.5\nnew,0.5\n")
    words = ("--budget", 3, "--costs", costs, "--target", 0.5)
    outcome = call("next", crowd, *words, "--json")
    found = json.loads(outcome.out)
    assert outcome.code == 0
    assert found["stop"] is True
    assert "has reached 0.5" in found["reason"]
    assert found["cost"] == sum(row["cost"] for row in found["labels"]) <= 3
    assert {row["annotator"] for row in found["labels"]} <= {0, 1, "new"}
    assert "note: " in outcome.err
    assert "1 annotator has no label yet: new" in outcome.err


@pytest.fixture
def featured(crowd, tmp_path):
    """A feature that tells the classes apart, of the labelled items and of four others."""
    truth = pd.read_csv(Path(crowd).with_name("truth.csv")).set_index("item")["truth"]
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"item": range(44)})
    table["x"] = [truth.get(item, 0) * 3.0 + rng.normal() for item in range(44)]
    table.to_csv(tmp_path / "features.csv", index=False)
    return tmp_path / "features.csv", table, truth


def test_a_classifier_predicts_items_whose_labels_it_has_not_seen(crowd, featured):
    _, table, truth = featured
    model = mh.CrowdClassifier(
        method="two-stage-majority", network="logistic", epochs=20, learning_rate=0.1,
        progress=False,
    )  # fmt: skip
    x = table[["x"]].to_numpy()
    given = {"X_items": table["item"], "folds": 2}
    ann, p_ik = mh.selection.out_of_sample(x, mh.read(crowd), model=model, **given)
    assert (p_ik.shape, ann.n_items) == ((44, 2), 44)
    assert p_ik.sum(axis=1) == pytest.approx(1.0)
    assert (p_ik[:40].argmax(axis=1) == truth.loc[range(40)].to_numpy()).mean() > 0.85
    model.fit(x, ann)
    _, own = mh.selection.out_of_sample(x, mh.read(crowd), model=model, **given)
    assert own == pytest.approx(model.predict_proba(x))
    assert np.abs(own - p_ik).max() > 0.001  # the folds had other labels


@pytest.mark.slow
def test_features_may_have_more_items(crowd, featured, tmp_path):
    features, _, _ = featured
    outcome = call("next", crowd, "--features", features, "--method", "active-lab", "--budget", 4)
    assert outcome.code == 0, outcome.err
    assert "by active-lab: 1 - ActiveLab's score" in outcome.err
    assert set(pd.read_csv(io.StringIO(outcome.out))["item"]) & {40, 41, 42, 43}
    assert call("train", features, crowd, "--out", tmp_path / "model", "--epochs", 5).code == 0
    words = ("--features", features, "--model", tmp_path / "model", "--budget", 4, "--json")
    outcome = call("next", crowd, *words)
    assert json.loads(outcome.out)["n_labels"] == 4


def test_wrong_requests_are_one_line(crowd, tmp_path):
    small = tmp_path / "small.csv"
    small.write_text(SMALL)
    for words in (
        ("--method", "guess"), ("--method", "crowdlab"), ("--budget", 0), ("--model", "nowhere"),
        ("--target", 2), ("--costs", small),
    ):  # fmt: skip
        assert_refused(call("next", small, *words))
    costs = tmp_path / "costs.csv"
    for text, wanted in (
        ("annotator,cost\nu,0\n", "above 0"),
        ("annotator,cost\nu,1\nu,2\n", "more than once"),
        ("annotator,price\nu,1\n", "no column 'cost'"),
        ("annotator,cost\nu,many\n", "line 2"),
    ):
        costs.write_text(text)
        refused = call("next", small, "--costs", costs)
        assert_refused(refused)
        assert wanted in refused.err
