"""The command line on texts with an encoder of transformers."""

import numpy as np
import pytest
from command_line import call

import manyhands as mh
from tiny_encoder import LONGEST, reviews, write_encoder

QUICK = ("--method", "speelfc", "--epochs", "4", "--learning-rate", "0.02", "--threads", "1")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    write_encoder(folder / "bert")
    texts, ann, _ = reviews()
    texts[0] = "good " * 50
    mh.io.write_annotations(ann, folder / "labels.csv")
    table = {"id": np.arange(len(texts)), "text": texts}
    mh.io.write_table(table, folder / "reviews.csv")
    pairs = {"id": table["id"], "sentence": texts, "phrase": ["a film"] * len(texts)}
    mh.io.write_table(pairs, folder / "pairs.csv")
    return folder


@pytest.fixture(autouse=True)
def in_home(home, monkeypatch):
    monkeypatch.chdir(home)


def test_a_table_of_reviews_is_trained_on_and_predicted():
    done = call("train", "reviews.csv", "labels.csv", "--network", "hf:bert", *QUICK, "--out", "m")
    assert done.code == 0, done.err
    assert f"1 of 32 texts have more than {LONGEST} tokens and are truncated" in done.err
    assert call("predict", "m", "reviews.csv", "--out", "found.csv").code == 0


def test_columns_of_pairs_are_named():
    columns = ("--text", "sentence", "--text-pair", "phrase")
    network = ("--network", "hf:bert", "--network-setting", "freeze=true")
    done = call("train", "pairs.csv", "labels.csv", *network, *columns, *QUICK, "--out", "pairs")
    assert done.code == 0, done.err
    assert call("predict", "pairs", "pairs.csv", *columns, "--out", "found.csv").code == 0
    done = call("predict", "pairs", "reviews.csv", "--out", "found.csv")
    assert done.code == 2
    assert done.err.splitlines()[-1] == ("manyhands: the model reads pairs of texts; got texts")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--network", "bert"), "write --network hf:bert"),
        (("--network", "hf:bert", "--max-tokens", "2"), "--max-tokens must be >= 5"),
        (("--network", "hf:nothing"), "hf:nothing: there is no folder 'nothing'"),
        (("--network", "hf:bert", "--network-setting", "frees=1"), "did you mean freeze?"),
        (("--network", "hf:bert", "--word-vectors", "v.txt"), "--word-vectors must be left out"),
        (("--text-pair", "text"), "no column 'text'"),
    ],
)
def test_wrong_requests_are_refused(words, said):
    done = call("train", "reviews.csv", "labels.csv", *words, "--out", "wrong")
    assert done.code == 2
    assert said in done.err.splitlines()[-1]
