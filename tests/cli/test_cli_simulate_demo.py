"""manyhands simulate and demo."""

import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import assert_refused, call, plain_json

import manyhands as mh

FILES = ["labels.csv", "truth.csv", "annotators.csv", "scenario.json"]


def simulate(folder, scenario="confusions", **settings):
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return call("simulate", scenario, "--out", folder, "--items", 120, "--annotators", 12, *words)


@pytest.mark.parametrize("scenario", sorted({*mh.SCENARIOS} - {"preferences"}))
def test_the_same_seed_writes_the_same_files(scenario, tmp_path):
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        assert simulate(tmp_path / name, scenario, seed=seed).code == 0
    for file in FILES:
        one, two = ((tmp_path / name / file).read_bytes() for name in ("one", "two"))
        assert one == two
    assert (tmp_path / "one" / "labels.csv").read_bytes() != (
        tmp_path / "other" / "labels.csv"
    ).read_bytes()


@pytest.mark.parametrize("scenario", sorted({*mh.SCENARIOS} - {"preferences"}))
def test_files_hold_the_crowd_that_was_asked_for(scenario, tmp_path):
    n_classes = 2 if scenario == "sensitivities" else 4
    task_options = {"classes": n_classes, "labels-per-item": 5}
    has_share = hasattr(mh.SCENARIOS[scenario].settings(), "share")
    assert (
        simulate(tmp_path, scenario, **task_options | ({"share": 0.5} if has_share else {})).code
        == 0
    )
    ann = mh.read_annotations(tmp_path / "labels.csv")
    truth = mh.io.read_truth(tmp_path / "truth.csv")
    people = pd.read_csv(tmp_path / "annotators.csv")
    settings = json.loads((tmp_path / "scenario.json").read_text())
    assert (len(ann), ann.n_annotators) == (120, 12)
    assert set(ann.classes) <= set(range(n_classes))  # a network may never say some class
    assert ann.n_classes == n_classes or scenario.startswith("perturbed")
    assert set(ann.labels_per_item) == {5} or settings["labels_vary"]
    assert list(truth) == ann.items.tolist()
    assert set(truth.values()) <= set(range(n_classes))
    assert people["annotator"].tolist() == list(range(12))
    assert settings["scenario"] == scenario
    assert settings["n_classes"] == n_classes
    assert settings.get("share", 0.5) == 0.5


@pytest.mark.parametrize("scenario", ["common-noise", "perturbed-networks"])
def test_a_network_trains_on_the_files(scenario, tmp_path):
    outcome = simulate(tmp_path, scenario, set="n_test=30")
    labels, truth = tmp_path / "labels.csv", tmp_path / "truth.csv"
    features, model = tmp_path / "features.csv", tmp_path / "model"
    assert f"manyhands train {features} {labels} --truth {truth} --out model" in outcome.out
    words = ["train", features, labels, "--truth", truth, "--epochs", 2, "--out", model, "--json"]
    trained = call(*words)
    assert trained.code == 0, trained.err
    assert "accuracy" in plain_json(trained.out)["scores"]
    done = call("predict", model, tmp_path / "test_features.csv", "--out", tmp_path / "said.csv")
    assert done.code == 0, done.err
    known = mh.io.read_truth(tmp_path / "test_truth.csv")
    assert pd.read_csv(tmp_path / "said.csv")["item"].tolist() == list(known)
    assert len(known) == 30


def test_settings_of_a_scenario_are_set_by_name(tmp_path):
    words = ["--set", "sensitivities=[1, 0.9]", "--set", "specificities=[1, 0.8]"]
    outcome = call("simulate", "sensitivities", "--out", tmp_path, "--items", 50, *words)
    assert outcome.code == 0, outcome.err
    people = pd.read_csv(tmp_path / "annotators.csv")
    assert people["right_1"].tolist() == [1, 0.9, 1, 0.9, 1]
    assert json.loads((tmp_path / "scenario.json").read_text())["specificities"] == [1, 0.8]


def test_sources_stand_beside_the_labels(tmp_path):
    assert simulate(tmp_path, "copycats", set="copying=1", share=0.5).code == 0
    labels, sources = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("labels", "sources"))
    pairs = ["item", "annotator"]
    pd.testing.assert_frame_equal(labels[pairs], sources[pairs])
    copies = pd.read_csv(tmp_path / "annotators.csv")["copies"].to_numpy()
    copied = sources["source"] == "copied"
    np.testing.assert_array_equal(copied, copies[sources["annotator"]] >= 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["common-noise", "--share", 0.3], "this scenario has no setting 'share'"),
        (["common-noise", "--set", "common_shar=1"], "did you mean common_share"),
        (["common-noise", "--set", "common_share"], "--set must be NAME=VALUE"),
        (["common-noise", "--set", "common_share=much"], "common_share must be a number"),
        (["common-noise", "--set", "pattern=odd"], "pattern must be one of"),
        (["sensitivities", "--classes", 3], "n_classes must be 2"),
        (["sensitivities", "--set", "sensitivities=0.5"], "sensitivities must be a list"),
        (["perturbed-networks", "--set", "shares=[1, 1, 1]"], "shares must be numbers with sum 1"),
        (["copycats", "--set", "n_sources=0"], "n_sources must be in 1.."),
        (["common-noise", "--set", "seed=-1"], "seed must be a whole number, 0 or more"),
    ],
)
def test_wrong_settings_of_a_scenario_are_told(words, message, tmp_path):
    outcome = call("simulate", *words, "--out", tmp_path / "crowd")
    assert_refused(outcome)
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_help_names_every_scenario():
    text = "".join(call("simulate", "--help").out.replace("│", "").split())
    for name in mh.SCENARIOS:
        assert name in text


def test_truth_is_the_truth_of_these_labels(tmp_path):
    simulate(tmp_path, "symmetric", lowest=0.9, highest=1.0)
    ann = mh.read_annotations(tmp_path / "labels.csv")
    truth = np.array(list(mh.io.read_truth(tmp_path / "truth.csv").values()))
    assert np.mean(ann.label_names() == truth[ann.item]) > 0.85
    people = pd.read_csv(tmp_path / "annotators.csv")
    right = np.bincount(ann.annotator, weights=ann.label_names() == truth[ann.item])
    assert np.abs(right / ann.labels_per_annotator - people["accuracy"]).max() < 0.2
    words = ["aggregate", tmp_path / "labels.csv", "--truth", tmp_path / "truth.csv", "--json"]
    assert plain_json(call(*words).out)["scores"]["accuracy"] > 0.95


def test_simulate_names_its_files_and_what_to_do_next(tmp_path):
    outcome = simulate(tmp_path / "deep" / "er")
    assert outcome.code == 0
    assert f"manyhands aggregate {tmp_path}/deep/er/labels.csv" in outcome.out
    content = plain_json(
        call("simulate", "spammers", "--out", tmp_path, "--items", 9, "--json").out
    )
    assert content["files"] == [str(tmp_path / name) for name in FILES]
    assert content["labels"] == 45


@pytest.mark.slow
def test_the_demo_tells_good_annotators_from_bad_and_writes_its_files(tmp_path):
    outcome = call("demo", "--json", "--out", tmp_path / "demo")
    content = plain_json(outcome.out)
    best, worst = content["annotators"][:10], content["annotators"][-8:]
    assert {person["behaviour"] for person in best} == {"careful"}
    assert {person["behaviour"] for person in worst} <= {"random", "constant", "middling"}
    assert content["methods"][0]["accuracy"] >= max(row["accuracy"] for row in content["methods"])
    names = [*FILES[:3], "features.csv"]
    assert content["files"] == [str(tmp_path / "demo" / name) for name in names]
    page = tmp_path / "demo" / "report.html"
    assert content["report"] == str(page)
    assert page.stat().st_size < 5_000_000
    networks = {row["method"]: row["accuracy"] for row in content["networks"]}
    assert networks["conal"] > networks["two-stage-majority"] + 0.01
    assert networks["truth"] > networks["two-stage-majority"]
    labels = tmp_path / "demo" / "labels.csv"
    assert mh.read_annotations(labels).n_annotations == 1797 * 3


def test_the_demo_is_for_people(brief, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    outcome = call("demo")
    assert outcome.code == 0
    assert outcome.err == ""
    for word in ("dawid-skene", "majority", "accuracy", "careful", "Try next"):
        assert word in outcome.out
    (path,) = re.findall(r"^A report to open in a browser: (\S+)$", outcome.out, re.MULTILINE)
    assert Path(path).read_text().startswith("<!doctype html>")
