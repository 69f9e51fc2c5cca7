"""Numbers and texts on the command line: aggregate, train, predict, compare, demo."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import HEADER, assert_refused, call, plain_json, without_reading

from manyhands.engine.checkpoint import Checkpoint

N, LABELLED, A = 90, 70, 6
WORDS = {"good": 1.0, "fine": 0.5, "bad": -1.0, "dull": -0.5, "film": 0.0, "the": 0.0}
QUICK = ("--epochs", 40, "--learning-rate", 0.02, "--validation-fraction", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Reviews whose words tell a rating, people who rate high or low, and the truth."""
    home = tmp_path_factory.mktemp("ratings")
    rng = np.random.default_rng(0)
    words = rng.choice(list(WORDS), size=(N, 8))
    truth = 5 + np.vectorize(WORDS.get)(words).sum(axis=1)
    texts = [" ".join(row) for row in words]
    counts = np.stack([(words == name).sum(axis=1) for name in WORDS], axis=1)
    bias = np.linspace(-3, 3, A)
    rows = [
        (i, f"w{a}", round(truth[i] + bias[a] + 0.2 * rng.normal(), 2))
        for i in range(LABELLED)
        for a in rng.permutation(A)[:3]
    ]
    pd.DataFrame(rows, columns=["item", "annotator", "label"]).to_csv(home / "r.csv", index=False)
    pd.DataFrame({"item": range(N), "truth": truth}).to_csv(home / "truth.csv", index=False)
    pd.DataFrame(counts, columns=list(WORDS)).rename_axis("item").to_csv(home / "x.csv")
    (home / "texts.txt").write_text("\n".join(texts) + "\n")
    pd.DataFrame({"id": range(N), "text": texts}).to_csv(home / "texts.csv", index=False)
    pd.DataFrame({"id": range(N), "body": texts}).to_csv(home / "bodies.csv", index=False)
    return home


@pytest.fixture(scope="module")
def model(folder):
    out = folder / "model"
    outcome = call("train", folder / "x.csv", folder / "r.csv", "--out", out, *QUICK,
                   "--truth", folder / "truth.csv", "--annotators", folder / "p.csv")  # fmt: skip
    assert outcome.code == 0, outcome
    return out, outcome


def write(path, *rows):
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    return path


def test_training_finds_the_numbers_and_says_that_it_took_them_for_numbers(folder, model):
    out, outcome = model
    assert "labels are numbers: --task regression" in outcome.out
    assert outcome.out.startswith("crowd-layer-b: 210 labels of 70 items by 6 annotators")
    scores = dict(re.findall(r"^(mae|rmse|r2|inferred) (\S+)$", outcome.out, re.M))
    assert float(scores["r2"]) > 0.9  # on the twenty items nobody rated
    people = pd.read_csv(folder / "p.csv")
    assert list(people.columns[:2]) == ["annotator", "quality"]
    order = people.sort_values("bias")["annotator"].tolist()
    assert order == [f"w{a}" for a in range(A)]
    said = folder / "said.csv"
    assert call("predict", out, folder / "x.csv", "--out", said).code == 0
    found, truth = pd.read_csv(said), pd.read_csv(folder / "truth.csv")["truth"]
    assert list(found.columns) == ["item", "label", "spread"]
    assert np.corrcoef(found["label"], truth)[0, 1] > 0.9
    assert (found["spread"] > 0).all()


def test_labels_beside_a_model_of_numbers_count(folder, model):
    out, _ = model
    rows = plain_json(
        call("predict", out, folder / "x.csv", "--labels", folder / "r.csv", "--json").out
    )["predictions"]
    truth = pd.read_csv(folder / "truth.csv")["truth"].to_numpy()
    off = np.abs([row["label"] for row in rows] - truth)
    assert sum(row["n_annotations"] for row in rows) == 210
    spread = np.array([row["spread"] for row in rows])
    assert spread[:LABELLED].max() < spread[LABELLED:].min()
    assert off[:LABELLED].mean() < 0.5


def stop_after(n_epochs, monkeypatch):
    """Interrupt training once so many epochs are saved."""
    save, calls = Checkpoint.save, []

    def counted(*args, **settings):
        calls.append(save(*args, **settings))
        if len(calls) == n_epochs:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", counted)


def test_a_stopped_training_goes_on_to_the_same_model(folder, tmp_path, monkeypatch):
    words = ("train", folder / "texts.txt", folder / "r.csv", "--task", "regression",
             "--validation-fraction", 0, "--epochs", 4, "--out")  # fmt: skip
    assert call(*words, tmp_path / "whole").code == 0
    with monkeypatch.context() as stopping:
        stop_after(2, stopping)
        stopped = call(*words, tmp_path / "part")
    assert stopped.code == 1
    assert "the same command with --resume continues" in stopped.err
    assert not (tmp_path / "part" / "model.json").exists()
    assert call(*words, tmp_path / "part", "--resume").code == 0
    one, other = (json.loads((tmp_path / name / "model.json").read_text())
                  for name in ("whole", "part"))  # fmt: skip
    assert one["sha256"] == other["sha256"]


@pytest.mark.parametrize(("file", "more"), [("texts.txt", ()), ("texts.csv", ()),
                                            ("bodies.csv", ("--text", "body"))])  # fmt: skip
def test_texts_are_features(folder, tmp_path, file, more):
    vectors = tmp_path / "vectors.txt"
    rows = (f"{word} {value} {abs(value)} 0.5" for word, value in WORDS.items())
    vectors.write_text("\n".join(rows) + "\n")
    outcome = call("train", folder / file, folder / "r.csv", "--out", tmp_path / "m", *more,
                   "--network", "text-cnn", "--word-vectors", vectors, "--freeze-embeddings",
                   "--epochs", 2, "--validation-fraction", 0)  # fmt: skip
    assert outcome.code == 0, outcome
    outcome = call("predict", tmp_path / "m", folder / file, *more, "--json")
    assert len(plain_json(outcome.out)["predictions"]) == N


def test_texts_that_are_cut_short_are_told_once(folder, tmp_path):
    outcome = call("train", folder / "texts.csv", folder / "r.csv", "--out", tmp_path / "m",
                   "--truth", folder / "truth.csv", "--epochs", 1, "--validation-fraction", 0,
                   "--max-tokens", 5)  # fmt: skip
    assert outcome.code == 0, outcome
    assert without_reading(outcome.err) == (
        "note: 90 of 90 texts have more than 5 words and are truncated; "
        "raise max_tokens to read more of them\n"
    )


def test_classes_of_texts_are_learnt_too(folder, tmp_path):
    labels = write(tmp_path / "l.csv", *(f"{i},u{i % 2},{'xy'[i % 3 > 0]}" for i in range(30)))
    outcome = call("train", folder / "texts.txt", labels, "--out", tmp_path / "m",
                   "--method", "speelfc", "--epochs", 2, "--validation-fraction", 0)  # fmt: skip
    assert outcome.code == 0, outcome
    outcome = call("predict", tmp_path / "m", folder / "texts.txt", "--json")
    assert plain_json(outcome.out)["classes"] == ["x", "y"]


def test_compare_ranks_by_error_where_there_is_truth(folder):
    words = ("compare", folder / "r.csv", "--features", folder / "x.csv", "--jobs", 1, *QUICK)
    outcome = call(*words, "--methods", "two-stage-mean,crowd-layer-b,gaussian,truth",
                   "--truth", folder / "truth.csv", "--json")  # fmt: skip
    assert outcome.code == 0, outcome
    content = plain_json(outcome.out)
    rows = {row["method"]: row for row in content["methods"]}
    assert "mean absolute error" in content["ranked_by"]
    assert list(rows["truth"]) == ["method", "mae", "deviation", "highest", "rmse", "r2",
                                   "inferred", "runs", "seconds"]  # fmt: skip
    assert rows["gaussian"]["mae"] is None  # it says nothing of items nobody rated
    ranked = [row["mae"] for row in content["methods"] if row["mae"] is not None]
    assert ranked == sorted(ranked)
    assert rows["gaussian"]["inferred"] < 0.5


def test_compare_without_truth_goes_by_the_density_of_held_out_labels(folder):
    outcome = call("compare", folder / "r.csv", "--features", folder / "x.csv", "--jobs", 1, *QUICK,
                   "--methods", "crowd-layer-b,two-stage-mean", "--json")  # fmt: skip
    content = plain_json(outcome.out)
    assert "log density" in content["ranked_by"]
    held = [row["validation"] for row in content["methods"]]
    assert held == sorted(held, reverse=True)
    assert max(held) < 0


def test_whole_numbers_are_classes_unless_numbers_are_asked_for(tmp_path):
    labels = write(tmp_path / "r.csv", "a,u,1", "a,v,4", "a,w,4", "b,u,5", "b,v,4", "b,w,5")
    plain = plain_json(call("aggregate", labels, "--json").out)
    assert (plain["summary"]["task"], plain["summary"]["method"]) == (
        "classification", "annotator-types",
    )  # fmt: skip
    for words in (("--task", "regression"), ("--range", "1:5")):
        task_options = plain_json(
            call("aggregate", labels, *words, "--method", "mean", "--json").out
        )
        assert task_options["summary"]["task"] == "regression"
        assert [row["label"] for row in task_options["consensus"]] == pytest.approx([3, 14 / 3])


def test_minus_one_is_a_rating_or_no_label_as_is_said(tmp_path):
    table = write(tmp_path / "r.csv", "a,u,-1", "a,v,0.5", "b,u,0.25")
    kept = plain_json(call("aggregate", table, "--method", "mean", "--json").out)
    assert kept["consensus"][0]["label"] == -0.25
    words = ("aggregate", table, "--method", "mean", "--json", "--missing", "-1")
    assert plain_json(call(*words).out)["consensus"][0]["label"] == 0.5
    matrix = tmp_path / "r.txt"
    matrix.write_text("-1 0.5\n0.25 -1\n")
    words = ("aggregate", matrix, "--method", "mean", "--json")
    assert plain_json(call(*words).out)["summary"]["labels"] == 2  # in a matrix it is no label
    assert plain_json(call(*words, "--missing", "?").out)["summary"]["labels"] == 4


WRONG = {
    "outside the range": (("--range", "0:4"), "line 3: label 4.5 of annotator v is outside of --r"),
    "no range": (("--range", "4"), "--range must be LOW:HIGH"),
    "an empty range": (("--range", "4:1"), "with LOW below HIGH"),
    "decimals as classes": (("--task", "classification"), "numbers with decimals, which is --task"),
    "no tokens": (("--task", "tagging"), "--task tagging takes tokens"),
    "no such task": (("--task", "ranking"), "not one of 'classification', 'regression', 'tagging'"),
    "kind and task": (("--task", "regression", "--kind", "classes"), "contradicts --task"),
    "range and task": (("--task", "classification", "--range", "0:9"), "--range is for numbers"),
    "a method for classes": (("--task", "regression", "--method", "glad"),
                             "must be for numbers; got glad; there are mean, median, gaussian"),
    "orphan_tags": (("--orphan-tags", "keep"), "--orphan-tags is for tagged tokens"),
    "spans": (("--spans", "s.csv"), "--spans is for tagged tokens"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_what_contradicts_the_numbers_is_one_line(words, message, tmp_path):
    labels = write(tmp_path / "r.csv", "a,u,1.5", "a,v,4.5", "b,u,2.5")
    refused = call("aggregate", labels, *words)
    assert_refused(refused)
    assert message in refused.err


def test_a_word_among_ratings_is_told_with_its_line(tmp_path):
    labels = write(tmp_path / "r.csv", "a,u,1", "a,v,none")
    refused = call("aggregate", labels, "--task", "regression")
    assert_refused(refused)
    assert "line 3: the label 'none' is a word, and --task regression takes numbers" in refused.err


def test_training_refuses_what_does_not_fit(folder, tmp_path):
    def refused(*words, features="x.csv"):
        outcome = call(
            "train", folder / features, folder / "r.csv", "--out", tmp_path / "m", *words
        )
        assert_refused(outcome)
        assert not (tmp_path / "m").exists()
        return outcome.err

    assert "there are truth, doctor-net" in refused("--method", "conal")
    said = refused("--task", "classification", "--method", "crowd-layer-b")
    assert "must be for classification; got crowd-layer-b" in said
    assert "--monitor must be likelihood for regression" in refused("--monitor", "ranks")
    assert "are for texts" in refused("--word-vectors", folder / "truth.csv")
    assert "no column 'words'" in refused("--text", "words", features="texts.csv")
    assert "needs --word-vectors" in refused("--freeze-embeddings", features="texts.txt")
    assert_refused(call("train", folder / "x.csv", "--out", tmp_path / "m"))
    select = call("compare", folder / "r.csv", "--features", folder / "x.csv", "--select")
    assert_refused(select)
    assert "--select is for classification" in select.err


def test_a_model_knows_what_it_learnt(folder, model):
    refused = call("predict", model[0], folder / "x.csv", "--task", "tagging")
    assert_refused(refused)
    assert "the model was trained for --task regression; got --task tagging" in refused.err


def test_numbers_are_no_texts_for_a_model(folder, model, tmp_path):
    refused = call("predict", model[0], folder / "texts.txt")
    assert_refused(refused)
    assert "texts.txt: has texts, and the model was trained on numbers" in refused.err
    words = ("--epochs", 1, "--validation-fraction", 0, "--out", tmp_path / "m")
    assert call("train", folder / "texts.txt", folder / "r.csv", *words).code == 0
    refused = call("predict", tmp_path / "m", folder / "x.csv")
    assert_refused(refused)
    assert "x.csv: has numbers, and the model was trained on texts" in refused.err


@pytest.mark.parametrize("command", ["aggregate", "train", "predict", "compare", "demo"])
def test_help_teaches_with_an_example(command):
    text = call(command, "--help").out
    assert f"Example: manyhands {command}" in text
    assert "--task" in text


def test_text_files_that_cannot_be_read_are_told(folder, tmp_path):
    latin, empty = tmp_path / "latin.txt", tmp_path / "empty.txt"
    latin.write_bytes("caf\xe9\n".encode("latin-1"))
    empty.write_bytes(b"")
    for path, message in ((latin, "byte 0xe9"), (empty, "the file is empty")):
        refused = call("train", path, folder / "r.csv", "--out", tmp_path / "m")
        assert_refused(refused)
        assert message in refused.err


@pytest.mark.slow
def test_the_demo_of_ratings_beats_the_mean(tmp_path):
    content = plain_json(call("demo", "--task", "regression", "--json", "--out", tmp_path).out)
    alone = {row["method"]: row["mae"] for row in content["methods"]}
    assert alone["gaussian"] < 0.7 * alone["mean"]
    networks = {row["method"]: row["mae"] for row in content["networks"]}
    assert networks["truth"] < networks["crowd-layer-b"] < networks["two-stage-mean"]
    assert call("aggregate", tmp_path / "labels.csv", "--truth", tmp_path / "truth.csv").code == 0


def test_the_demo_of_ratings_is_for_people(brief):
    outcome = call("demo", "--task", "regression")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Try next" in outcome.out
    assert_refused(call("demo", "--task", "ranking"))
