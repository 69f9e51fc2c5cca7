"""--truth with shares of labels: what is scored, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

import manyhands as mh
from manyhands.cli import app
from manyhands.core.errors import DataError

LABELS = "item,annotator,label\na,u,cat\na,v,cat\nb,u,dog\nb,v,cat\nc,u,dog\nc,v,dog\n"
SOFT = "item,p_cat,p_dog\na,0.75,0.25\nb,0.5,0.5\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text(LABELS)

    def call(*words, truth):
        (tmp_path / "truth.csv").write_text(truth)
        monkeypatch.setattr("sys.argv", ["manyhands", *words, "--truth", "truth.csv"])
        with pytest.raises(SystemExit) as stop:
            app.main()
        told = capsys.readouterr()
        return stop.value.code, told.out, told.err

    return call


AGGREGATE = ("aggregate", "labels.csv", "--method", "majority")


def test_a_consensus_is_scored_against_shares(run):
    code, out, _ = run(*AGGREGATE, "--json", truth=SOFT)
    found = json.loads(out)
    assert (code, found["scores"]) == (0, {})
    soft = found["soft_scores"]
    assert (soft["n_items"], soft["n_tied"], soft["f1_micro"]) == (2, 1, 1.0)
    assert soft["manhattan"] == pytest.approx(0.25)
    assert "wasserstein" not in soft
    code, out, _ = run(*AGGREGATE, "--out", "consensus.csv", truth=SOFT)
    assert "against the shares of labels: n_items 2, n_tied 1, cross_entropy" in out


def test_a_table_may_have_truths_and_shares(run):
    truth = "item,truth,p_cat,p_dog\na,cat,1,0\nc,cat,0.5,0.5\n"
    found = json.loads(run(*AGGREGATE, "--json", truth=truth)[1])
    assert found["scores"]["accuracy"] == 0.5
    assert found["soft_scores"]["manhattan"] == pytest.approx(0.5)


def test_the_consensus_of_others_is_a_soft_truth(run):
    run(*AGGREGATE, "--out", "others.csv", truth=SOFT)
    found = json.loads(run(*AGGREGATE, "--json", truth=Path("others.csv").read_text())[1])
    assert found["scores"]["accuracy"] == 1.0
    assert found["soft_scores"]["js_distance"] == pytest.approx(0.0, abs=1e-7)


def test_one_column_beside_a_truth_is_no_share(run):
    found = json.loads(run(*AGGREGATE, "--json", truth="item,truth,p_value\na,cat,0.03\n")[1])
    assert found["scores"]["accuracy"] == 1.0
    assert "soft_scores" not in found


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        ("item,p_cat,p_dog\na,0.75,0.5\n", "truth.csv, line 2: the shares p_cat, p_dog ... sum to"),
        ("item,p_cat,p_dog\na,1,0\nb,x,0\n", "truth.csv, line 3, column 'p_cat': a share must be"),
        ("item,p_cat,p_dog\na,1.5,-0.5\n", "a share must be a number 0..1"),
        ("item,p_cat,p_dog\na,1,0\na,1,0\n", "the shares of item 'a' are given more than once"),
        ("item,p_cat,p_dog\nz,1,0\n", "check that the item names match"),
        ("p_cat,p_dog\n1,0\n", "item"),
        ("item,p_cat,p_cat\na,0.5,0.5\n", "two columns have the shares of class 'cat'"),
        ("item,p_1,p_1.0\na,0.5,0.5\n", "two columns have the shares of class 1"),
        ("item,p_cat,p_dog\n", "has a header line and no rows"),
    ],
)
def test_what_is_no_share_is_refused(run, truth, text):
    code, _, err = run(*AGGREGATE, truth=truth)
    assert code in (1, 2)
    assert text in err
    assert err.count("\n") == 1


def test_shares_are_no_truth_of_numbers(run):
    code, _, err = run("aggregate", "labels.csv", "--task", "regression", truth=SOFT)
    assert (code, "label" in err) == (2, True)  # words are no numbers
    Path("labels.csv").write_text("item,annotator,label\na,u,1.5\na,v,2\nb,u,3\nb,v,2.5\n")
    code, _, err = run("aggregate", "labels.csv", "--task", "regression", truth=SOFT)
    assert "the labels are numbers; give a column truth" in err


def test_predictions_are_scored_against_truths_and_shares(run):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    ann = mh.Annotations.from_dense(np.repeat((X[:, :1] > 0).astype(int), 3, axis=1))
    mh.CrowdClassifier(epochs=20, seed=0, device="cpu").fit(X, ann).save("model")
    features = {"item": np.arange(40), "x": X[:, 0], "y": X[:, 1]}
    mh.io.write_table(features, "features.csv")
    share = (X[:, 0] > 0) * 0.8 + 0.1
    rows = "".join(f"{i},{int(s > 0.5)},{1 - s},{s}\n" for i, s in enumerate(share))
    words = ("predict", "model", "features.csv")
    code, out, _ = run(*words, "--json", truth="item,truth,p_0,p_1\n" + rows)
    found = json.loads(out)
    assert (code, found["scores"]["accuracy"] > 0.9) == (0, True)
    table = found["predictions"]
    p_1 = np.array([row["p_1"] for row in table])
    assert found["soft_scores"]["wasserstein"] == pytest.approx(np.abs(p_1 - share).mean())
    code, out, err = run(*words, "--out", "predicted.csv", truth="item,truth\n0,1\n")
    assert "n_items 1, accuracy" in err + out


def test_soft_truth_is_read_by_name(tmp_path):
    path = tmp_path / "soft.csv"
    path.write_text("id,p_1,p_2.0,note\nx,0.25,0.75,n\n")
    assert mh.io.read_soft_truth(path) == {"x": {1: 0.25, 2: 0.75}}
    path.write_text("item,truth\nx,1\n")
    with pytest.raises(DataError, match="has no shares; name the columns p_<class>"):
        mh.io.read_soft_truth(path)
