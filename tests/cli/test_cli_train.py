"""manyhands train and predict."""

import json
import signal

import numpy as np
import pandas as pd
import pytest
from command_line import assert_refused, call, plain_json, start_changed, without_reading

import manyhands as mh
from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import honest

N, A = 120, 6
WORDS = np.array(["bird", "cat", "dog"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Features that tell three classes apart, labels of six people, and the truth."""
    home = tmp_path_factory.mktemp("crowd")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, N)
    values = np.eye(3)[truth] * 3 + rng.normal(size=(N, 3)) * 0.5
    names = np.array([f"img{i:03}" for i in range(N)])
    table = pd.DataFrame(values, columns=["wing", "paw", "bark"])
    table.insert(1, "image_id", names)
    table.sample(frac=1, random_state=1).to_csv(home / "features.csv", index=False)
    crowd = simulate_crowd(truth, honest(np.full(A, 0.7), 3), labels_per_item=3, seed=0)
    ann = crowd.annotations
    kept = ann.item < 100  # the last twenty have features and a truth, and no labels
    pd.DataFrame(
        {
            "item": names[ann.item[kept]],
            "annotator": ann.annotator[kept],
            "label": WORDS[ann.label[kept]],
        }
    ).to_csv(home / "labels.csv", index=False)
    pd.DataFrame({"item": names, "truth": WORDS[truth]}).to_csv(home / "truth.csv", index=False)
    return home


def train(folder, out, *more):
    return call("train", folder / "features.csv", folder / "labels.csv", "--out", out,
                "--learning-rate", 0.02, *more)  # fmt: skip


def test_train_and_predict_from_tables_find_the_classes(folder, tmp_path):
    outcome = train(folder, tmp_path / "m", "--truth", folder / "truth.csv", "--json",
                    "--annotators", tmp_path / "people.csv", "--method", "speelfc")  # fmt: skip
    assert outcome.code == 0, outcome
    assert without_reading(outcome.err) == ""
    content = plain_json(outcome.out)
    assert content["scores"]["accuracy"] > 0.9  # on the twenty items that nobody labelled
    assert content["labels"] == 300
    people = pd.read_csv(tmp_path / "people.csv")
    assert list(people.columns[:5]) == [
        "annotator", "quality", "quality_low", "quality_high", "n_annotations",
    ]  # fmt: skip
    said = tmp_path / "said.csv"
    outcome = call("predict", tmp_path / "m", folder / "features.csv", "--out", said)
    assert outcome.code == 0
    found, truth = pd.read_csv(said), pd.read_csv(folder / "truth.csv").set_index("item")["truth"]
    assert list(found.columns) == ["item", "label", "confidence", "p_bird", "p_cat", "p_dog"]
    assert (found["label"] == truth[found["item"]].to_numpy()).mean() > 0.9
    assert np.allclose(found[["p_bird", "p_cat", "p_dog"]].sum(axis=1), 1)
    outcome = call("predict", tmp_path / "m", folder / "features.csv",
                   "--labels", folder / "labels.csv", "--json")  # fmt: skip
    rows = plain_json(outcome.out)["predictions"]
    assert {"agreement", "n_annotations"} <= rows[0].keys()
    assert sum(row["n_annotations"] for row in rows) == 300


def test_training_says_what_to_do_next_and_logs_every_epoch(folder, tmp_path):
    outcome = train(
        folder, tmp_path / "m", "--epochs", 3, "--validation-fraction", 0.2, "--no-refit"
    )
    assert outcome.code == 0, outcome
    assert f"manyhands predict {tmp_path}/m" in outcome.out
    assert "is the best by likelihood on the validation labels" in outcome.out
    lines = (tmp_path / "m" / "checkpoint" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3]


DIES = """
import os
from manyhands.engine import checkpoint
checkpoint._REST, save = 0.0, checkpoint.Checkpoint.save
def save_and_die(self, state, *rest, **settings):
    save(self, state, *rest, **settings)
    if state.epoch == 7:
        os.kill(os.getpid(), signal.SIGKILL)
checkpoint.Checkpoint.save = save_and_die
"""


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_model(folder, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    settings = ("--method", "conal", "--epochs", 12, "--validation-fraction", 0)
    assert train(folder, whole, *settings).code == 0
    killed = start_changed(DIES, "train", folder / "features.csv", folder / "labels.csv",
                           "--out", broken, "--learning-rate", 0.02, *settings)  # fmt: skip
    assert killed.code == -signal.SIGKILL
    log = broken / "checkpoint" / "log.jsonl"
    assert len(log.read_text().splitlines()) == 7
    assert not (broken / "model.json").exists()
    assert train(folder, broken, *settings, "--resume").code == 0
    one, other = (json.loads((home / "model.json").read_text()) for home in (whole, broken))
    assert one["sha256"] == other["sha256"]
    assert len(log.read_text().splitlines()) == 12


def test_training_as_a_paper_does(folder, tmp_path):
    words = ["--method", "speelfc", "--epochs", 1, "--json"]
    assert train(folder, tmp_path / "m", *words, "--published", "paper").code == 0
    model = mh.load(tmp_path / "m")
    assert (model.published, model.network_settings["hidden"]) == ("paper", [1200])
    assert model.noise_spec_ == ("speelfc", {"diagonal": 0.4})
    assert (model.settings_.learning_rate, model.settings_.batch_size) == (0.02, 64)
    refused = train(folder, tmp_path / "m", *words, "--published", "p1/musik")
    assert_refused(refused)
    assert "did you mean p1/music" in refused.err


def test_wrong_requests_are_one_line(folder, tmp_path):
    features, labels = folder / "features.csv", folder / "labels.csv"
    out = ("--out", tmp_path / "m")
    assert_refused(call("train", features, labels, *out, "--method", "conall"))
    assert_refused(call("train", features, tmp_path / "no.csv", *out))
    assert_refused(call("train", features, labels, *out, "--method", "truth"))
    assert_refused(call("train", features, labels, *out, "--noise", "omega"))
    refused = call("train", features, labels, *out, "--noise", "omegga=0")
    assert_refused(refused)
    assert "omega" in refused.err
    for flag, value, said in (
        ("--network-setting", "hiden=[3]", "--network-setting: the network mlp has no setting"),
        ("--network-setting", "hidden", "--network-setting must be NAME=VALUE"),
        ("--milestones", "a,b", "--milestones must be numbers"),
        ("--momentum", 0.5, "--momentum must be left out without optimizer sgd; got 0.5; set --op"),
    ):
        refused = call("train", features, labels, *out, flag, value)
        assert_refused(refused)
        assert said in refused.err
    assert_refused(call("train", features, labels, *out, "--epochs", 0))
    assert_refused(call("predict", tmp_path, features))
    few = tmp_path / "few.csv"
    few.write_text("".join(features.read_text().splitlines(keepends=True)[:50]))
    refused = call("train", few, labels, *out)
    assert_refused(refused)
    assert "items have labels but no features: 'img" in refused.err or "img" in refused.err


def test_a_checkpoint_of_another_run_is_refused(folder, tmp_path):
    assert train(folder, tmp_path / "m", "--epochs", 2).code == 0
    refused = train(folder, tmp_path / "m", "--epochs", 2, "--method", "speelfc", "--resume")
    assert_refused(refused)
    assert "another method" in refused.err


@pytest.mark.parametrize("cell", ["", "nan", "inf", "tall"])
def test_a_cell_that_is_no_number_is_told_by_line_and_column(folder, tmp_path, cell):
    path = tmp_path / "features.csv"
    path.write_text(f"item,a,b\nx,1,2\ny,3,{cell}\n")
    refused = call("train", path, folder / "labels.csv", "--out", tmp_path / "m")
    assert_refused(refused)
    assert "line 3, column 'b'" in refused.err


def test_features_come_from_arrays_too(tmp_path):
    values = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "x.npy", values)
    np.savez(tmp_path / "x.npz", x=values, items=["a", "b", "c"])
    np.savez(tmp_path / "two.npz", x=values, y=values)
    assert mh.io.read_features(tmp_path / "x.npy").items.tolist() == [0, 1, 2]
    named = mh.io.read_features(tmp_path / "x.npz")
    assert named.items.tolist() == ["a", "b", "c"]
    assert np.array_equal(named.values, values)
    with pytest.raises(mh.ManyhandsError, match="holds x, y"):
        mh.io.read_features(tmp_path / "two.npz")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:90])
    with pytest.raises(mh.ManyhandsError, match="cut short"):
        mh.io.read_features(tmp_path / "cut.npy")
    np.save(tmp_path / "flat.npy", values[0])
    with pytest.raises(mh.ManyhandsError, match="row per item"):
        mh.io.read_features(tmp_path / "flat.npy")


def test_compare_trains_with_every_seed_and_ranks_by_truth(folder):
    outcome = call("compare", folder / "labels.csv", "--features", folder / "features.csv",
                   "--truth", folder / "truth.csv", "--methods", "majority,speelfc,truth",
                   "--runs", 2, "--jobs", 1, "--epochs", 20, "--learning-rate", 0.02,
                   "--json")  # fmt: skip
    assert outcome.code == 0, outcome
    content = plain_json(outcome.out)
    rows = {row["method"]: row for row in content["methods"]}
    assert rows["speelfc"]["runs"] == 2
    assert rows["speelfc"]["accuracy"] > 0.85
    assert rows["speelfc"]["deviation"] is not None
    assert rows["majority"]["accuracy"] is None  # it says nothing of items nobody labelled
    assert 0.6 < rows["majority"]["inferred"] < 1
    assert "last epoch" in content["selection"]


def test_compare_without_truth_goes_by_held_out_labels(folder):
    outcome = call("compare", folder / "labels.csv", "--features", folder / "features.csv",
                   "--methods", "majority,conal", "--jobs", 1, "--epochs", 20,
                   "--learning-rate", 0.02, "--json")  # fmt: skip
    rows = plain_json(outcome.out)["methods"]
    assert [row["method"] for row in rows] == ["conal", "majority"]
    assert all(row["validation"] < 0 for row in rows)


def test_compare_wants_labels_or_a_dataset(folder, tmp_path):
    assert_refused(call("compare"))
    assert_refused(call("compare", "--dataset", "labelme"))
    assert_refused(call("compare", "--dataset", "labelmee", "--data", tmp_path))
    assert_refused(call("compare", "--dataset", "labelme", "--data", tmp_path))
    assert_refused(call("compare", folder / "labels.csv", "--dataset", "labelme"))
    assert_refused(call("compare", folder / "labels.csv", "--features", folder / "features.csv",
                        "--methods", "conall"))  # fmt: skip


def test_help_names_the_default_method_of_every_estimator(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    defaults = {task: each().method for task, each in mh.estimators.ESTIMATORS.items()}
    defaults["comparisons"] = mh.CrowdRanker().method
    shown = "; ".join(f"{task}: {name}" for task, name in defaults.items())
    assert f"default: ({shown.removeprefix('classification: ')})" in call("train", "--help").out


@pytest.mark.parametrize(
    ("words", "wanted"), [((), "labels"), (("--validation-unit", "items"), "items")]
)
def test_what_is_kept_aside_can_be_chosen(folder, tmp_path, words, wanted):
    outcome = train(folder, tmp_path / "m", "--epochs", 2, "--validation-fraction", 0.2, *words)
    assert outcome.code == 0, outcome.err
    assert mh.load(tmp_path / "m").settings_.validation_unit == wanted


def test_only_labels_or_items_are_kept_aside(folder, tmp_path):
    assert_refused(train(folder, tmp_path / "m", "--epochs", 2, "--validation-unit", "people"))


def test_a_truth_of_other_items_is_refused_before_the_model_is_replaced(folder, tmp_path):
    train(folder, tmp_path / "m", "--epochs", 1)
    before = {path: path.read_bytes() for path in (tmp_path / "m").glob("model*")}
    other = tmp_path / "other.csv"
    other.write_text("item,truth\nnobody,cat\n")
    outcome = train(folder, tmp_path / "m", "--truth", other, "--epochs", 1)
    assert_refused(outcome)
    assert "not one item of the truth table has features" in outcome.err
    assert {path: path.read_bytes() for path in (tmp_path / "m").glob("model*")} == before


@pytest.mark.parametrize("name", ["", "taken"])
def test_a_folder_that_is_not_ours_is_refused_before_files_are_read(name, folder, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "model-00001-of-00002.safetensors").write_text("a shard")
    out = tmp_path / name if name else ""
    assert_refused(call("train", "no-such-file.csv", "neither.csv", "--out", out))
    assert [path.name for path in (tmp_path / "taken").iterdir()] == [
        "model-00001-of-00002.safetensors"
    ]
