"""manyhands simulate and demo."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import call, plain_json

import manyhands as mh

FILES = ["labels.csv", "truth.csv", "annotators.csv", "scenario.json"]


def simulate(folder, scenario="confusions", **settings):
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return call("simulate", scenario, "--out", folder, "--items", 120, "--annotators", 12, *words)


@pytest.mark.parametrize("scenario", list(mh.SCENARIOS))
def test_the_same_seed_writes_the_same_files(scenario, tmp_path):
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        assert simulate(tmp_path / name, scenario, seed=seed).code == 0
    for file in FILES:
        one, two = ((tmp_path / name / file).read_bytes() for name in ("one", "two"))
        assert one == two
    assert (tmp_path / "one" / "labels.csv").read_bytes() != (
        tmp_path / "other" / "labels.csv"
    ).read_bytes()


@pytest.mark.parametrize("scenario", list(mh.SCENARIOS))
def test_files_hold_the_crowd_that_was_asked_for(scenario, tmp_path):
    assert simulate(tmp_path, scenario, classes=4, share=0.5).code == 0
    ann = mh.read_annotations(tmp_path / "labels.csv")
    truth = mh.io.read_truth(tmp_path / "truth.csv")
    people = pd.read_csv(tmp_path / "annotators.csv")
    settings = json.loads((tmp_path / "scenario.json").read_text())
    assert (len(ann), ann.n_annotators, ann.n_classes) == (120, 12, 4)
    assert set(ann.labels_per_item) == {5}
    assert list(truth) == ann.items.tolist()
    assert set(truth.values()) <= {0, 1, 2, 3}
    assert people["annotator"].tolist() == list(range(12))
    assert settings["scenario"] == scenario
    assert settings["share"] == 0.5


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


def test_the_demo_tells_good_annotators_from_bad_and_writes_its_files(tmp_path):
    outcome = call("demo", "--json", "--out", tmp_path / "demo")
    content = plain_json(outcome.out)
    best, worst = content["annotators"][:10], content["annotators"][-8:]
    assert {person["behaviour"] for person in best} == {"careful"}
    assert {person["behaviour"] for person in worst} <= {"random", "constant", "middling"}
    assert content["methods"][0]["accuracy"] >= max(row["accuracy"] for row in content["methods"])
    names = [*FILES[:3], "features.csv"]
    assert content["files"] == [str(tmp_path / "demo" / name) for name in names]
    networks = {row["method"]: row["accuracy"] for row in content["networks"]}
    assert networks["conal"] > networks["two-stage-majority"] + 0.01
    assert networks["truth"] > networks["two-stage-majority"]
    labels = tmp_path / "demo" / "labels.csv"
    assert mh.read_annotations(labels).n_annotations == 1797 * 3


def test_the_demo_is_for_people(tmp_path):
    outcome = call("demo")
    assert outcome.code == 0
    assert outcome.err == ""
    for word in ("dawid-skene", "majority", "accuracy", "careful", "Try next"):
        assert word in outcome.out
