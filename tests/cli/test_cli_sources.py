"""Every command that reads labels says what it took, in text and in JSON."""

import json

import numpy as np
import pytest
from command_line import call, plain_json

import manyhands as mh
from manyhands.datasets import load_sentences_demo

LINE = "items: id, annotators: worker, labels: answer; 36 labels of 12 items"
NOTE = "note: 4 items repeat the text of another item; they stay different items"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Labels with an id, a text and a time; features; tokens; models of both."""
    home = tmp_path_factory.mktemp("sources")
    rng = np.random.default_rng(0)
    rows = [
        f'{i},{"the words of film " + str(i % 8)},w{(i + a) % 4},{"xy"[(i + (a == i % 5)) % 2]},'
        f"2024-05-01T10:{i:02d}"
        for i in range(12) for a in range(3)
    ]  # fmt: skip
    (home / "labels.csv").write_text("id,text,worker,answer,created_at\n" + "\n".join(rows) + "\n")
    values = rng.normal(size=(12, 2)).round(3)
    features = [f"{i},{x},{y}" for i, (x, y) in enumerate(values)]
    (home / "features.csv").write_text("item,x,y\n" + "\n".join(features) + "\n")
    tokens = load_sentences_demo(seed=1, n_sentences=12, n_test=1).labels
    mh.io.write_conll(tokens, home / "tokens.conll")
    few = ("--epochs", 1, "--batch-size", 8)
    for words in (("features.csv", "labels.csv", "items"), ("tokens.conll", "tokens")):
        *files, name = words
        outcome = call("train", *(home / each for each in files), "--out", home / name, *few)
        assert outcome.code == 0, outcome
    return home


def commands(folder, out, labels="labels.csv"):
    """Every command on labels of items, by name."""
    file, features = folder / labels, folder / "features.csv"
    return {
        "aggregate": ["aggregate", file],
        "check": ["check", file],
        "compare": ["compare", file, "--methods", "majority,dawid-skene"],
        "select": ["compare", file, "--methods", "majority", "--select"],
        "train": ["train", features, file, "--out", out / "model", "--epochs", 1],
        "predict": ["predict", folder / "items", features, "--labels", file],
        "convert": ["convert", file, out / "nested.json"],
    }


NAMES = ("aggregate", "check", "compare", "select", "train", "predict", "convert")


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_items_are_told(name, folder, tmp_path):
    words = commands(folder, tmp_path)[name]
    outcome = call(*words)
    assert outcome.code == 0, outcome
    told = outcome.out + outcome.err
    assert LINE.split(";", maxsplit=1)[0] in told
    assert name == "check" or LINE in told
    assert NOTE in told
    content = plain_json(call(*words, "--json").out)
    assert content["source"] == {
        "path": str(folder / "labels.csv"),
        "layout": "long",
        "item": "id",
        "annotator": "worker",
        "label": "answer",
        "notes": [NOTE.removeprefix("note: ")],
        "n_labels": 36,
        "n_items": 12,
        "n_annotators": 4,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aggregate", "compare", "train", "predict", "convert"])
def test_tagged_tokens_are_told(name, folder, tmp_path):
    tokens = folder / "tokens.conll"
    words = {
        "aggregate": ["aggregate", tokens],
        "compare": ["compare", tokens, "--methods", "majority"],
        "train": ["train", tokens, "--out", tmp_path / "model", "--epochs", 1],
        "predict": ["predict", folder / "tokens", tokens, "--labels", tokens],
        "convert": ["convert", tokens, tmp_path / "spans.jsonl"],
    }[name]
    source = json.loads(call(*words, "--json").out)["source"]
    assert source["path"] == str(tokens)
    assert source["layout"] == "conll"
    assert source["n_labels"] == mh.read(tokens).annotations.n_annotations


def test_a_copied_table_is_told(folder, tmp_path):
    words = ["convert", folder / "labels.csv", tmp_path / "labels.parquet"]
    assert "36 rows with all columns written" in call(*words).out
    source = plain_json(call(*words, "--json").out)["source"]
    assert source["layout"] == "table"
