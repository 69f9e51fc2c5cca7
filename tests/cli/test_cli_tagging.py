"""Tagged tokens on the command line: aggregate, train, predict, compare, demo."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import assert_refused, call, plain_json

import manyhands as mh
from manyhands.annotations import is_valid_bio
from manyhands.datasets import load_sentences_demo

QUICK = ("--epochs", 2, "--validation-fraction", 0)
HEAD = "#token\tu\tv\tw\n"
SMALL = (
    HEAD + "Ada\tB-PER\tB-PER\tO\nBerg\tI-PER\tI-PER\tO\nsang\tO\tO\tO\n\nOslo\tB-LOC\tB-LOC\t?\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sentences that fifteen people tagged, their truth, and others to test on."""
    home = tmp_path_factory.mktemp("sentences")
    data = load_sentences_demo(seed=3, n_sentences=60, n_test=30)
    mh.io.write_conll(data.labels, home / "tokens.conll")
    mh.io.write_bio(data.truth, home / "gold.bio")
    mh.io.write_bio(data.test, home / "test.bio")
    words = data.test.sentences
    lines = ["\n".join(words.words(s)) for s in range(len(words))]
    (home / "words.txt").write_text("\n\n".join(lines) + "\n")
    return home


@pytest.fixture(scope="module")
def model(folder):
    outcome = call("train", folder / "tokens.conll", "--task", "tagging", "--out", folder / "m",
                   "--truth", folder / "test.bio", "--epochs", 8, "--learning-rate", 0.02,
                   "--validation-fraction", 0, "--annotators", folder / "people.csv")  # fmt: skip
    assert outcome.code == 0, outcome
    return folder / "m", outcome


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.conll"
    path.write_text(SMALL)
    return path


def test_a_consensus_is_tokens_with_tags_and_a_table_of_entities(small, tmp_path):
    out, spans, people = tmp_path / "c.bio", tmp_path / "s.csv", tmp_path / "p.csv"
    outcome = call("aggregate", small, "--out", out, "--spans", spans, "--annotators", people,
                   "--method", "majority")  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    assert out.read_text() == "Ada\tB-PER\nBerg\tI-PER\nsang\tO\n\nOslo\tB-LOC\n\n"
    found = pd.read_csv(spans)
    assert list(found) == ["sentence", "first", "end", "label", "confidence", "words"]
    assert found[["sentence", "first", "end", "label", "words"]].to_numpy().tolist() == [
        [0, 0, 2, "PER", "Ada Berg"],
        [1, 0, 1, "LOC", "Oslo"],
    ]
    assert pd.read_csv(people)["annotator"].tolist() == ["u", "v", "w"]
    assert "11 tags of 4 tokens in 2 sentences by 3 annotators, 2 entities" in outcome.out
    assert "tagged tokens: --task tagging" in outcome.out
    told = call("aggregate", small, "--task", "tagging", "--out", out).out
    assert "--task" not in told


def test_a_table_of_tokens_has_what_a_consensus_has(small):
    outcome = call("aggregate", small, "--json")
    content = plain_json(outcome.out)
    assert content["summary"]["task"] == "tagging"
    assert list(content["consensus"][0])[:6] == [
        "item", "word", "label", "confidence", "agreement", "n_annotations",
    ]  # fmt: skip
    assert [row["item"] for row in content["consensus"]] == ["0:0", "0:1", "0:2", "1:0"]
    assert [row["n_annotations"] for row in content["consensus"]] == [3, 3, 3, 2]


def test_truth_says_how_many_entities_were_found(folder):
    words = ("aggregate", folder / "tokens.conll", "--truth", folder / "gold.bio", "--json")
    scores = plain_json(call(*words).out)["scores"]
    plain = plain_json(call(*words, "--method", "majority").out)["scores"]
    assert scores["f1"] > plain["f1"] > 0.4
    outcome = call(*words[:-1], "--out", folder / "c.csv")
    assert re.search(r"entities: precision 0\.\d+, recall 0\.\d+, f1 0\.\d+", outcome.out)
    tags = pd.read_csv(folder / "c.csv").groupby(lambda row: 0)["label"].apply(list)[0]
    gold = mh.read_bio(folder / "gold.bio")
    for s in range(len(gold)):
        assert is_valid_bio([tags[t] for t in gold.sentences.tokens_of(s)])


def test_the_same_labels_as_spans_give_the_same_consensus(tmp_path):
    text = "Ada Berg sang"
    rows = [("d", text, "u", 0, 8, "PER"), ("d", "", "v", 0, 8, "PER"), ("d", "", "w", "", "", "")]
    names = ["document", "text", "annotator", "start", "end", "label"]
    frame = pd.DataFrame(rows, columns=names)
    frame.to_csv(tmp_path / "spans.csv", index=False)
    frame.replace("", None).to_json(tmp_path / "spans.jsonl", orient="records", lines=True)
    for name in ("spans.csv", "spans.jsonl"):
        outcome = call("aggregate", tmp_path / name, "--method", "majority", "--json")
        assert outcome.code == 0, outcome
        content = plain_json(outcome.out)
        assert [row["label"] for row in content["consensus"]] == ["B-PER", "I-PER", "O"]
        assert content["summary"]["labels"] == 9


def test_a_text_file_is_taken_for_what_it_looks_like(small, tmp_path):
    text = tmp_path / "tokens.txt"
    text.write_text(SMALL)
    assert plain_json(call("aggregate", text, "--json").out)["summary"]["task"] == "tagging"
    matrix = tmp_path / "matrix.txt"
    matrix.write_text("x y x\ny y x\n")
    assert plain_json(call("aggregate", matrix, "--json").out)["summary"]["items"] == 2
    unclear = tmp_path / "unclear.txt"
    unclear.write_text("O O B-PER\nO B-PER O\n")
    refused = call("aggregate", unclear)
    assert_refused(refused)
    assert "give --task classification or --task tagging" in refused.err
    found = plain_json(call("aggregate", unclear, "--task", "classification", "--json").out)
    assert found["summary"]["annotators"] == 3
    found = plain_json(call("aggregate", unclear, "--task", "tagging", "--json").out)
    assert found["summary"]["annotators"] == 2


def test_a_tag_that_follows_nothing_is_repaired_refused_or_kept(tmp_path):
    path = tmp_path / "t.conll"
    path.write_text("Ada O O\nBerg I-PER I-PER\n")
    outcome = call("aggregate", path, "--out", tmp_path / "o.bio")
    assert "note: 2 tags I- that follow no entity were changed to B-" in outcome.out
    assert (tmp_path / "o.bio").read_text() == "Ada\tO\nBerg\tB-PER\n\n"
    kept = call("aggregate", path, "--orphan-tags", "keep", "--json")
    assert "are kept" in plain_json(kept.out)["summary"]["notes"][0]
    refused = call("aggregate", path, "--orphan-tags", "refuse")
    assert_refused(refused)
    assert f"{path}: annotator 0: sentence 0, token 1 ('Berg')" in refused.err
    assert "choose --orphan-tags repair" in refused.err
    assert_refused(call("aggregate", path, "--orphan-tags", "mend"))


def test_sentences_nobody_labelled_are_kept_and_told(tmp_path):
    path = tmp_path / "t.conll"
    path.write_text(SMALL + "\nRome\t?\t?\t?\n")
    outcome = call("aggregate", path, "--out", tmp_path / "o.bio")
    assert "note: 1 of 3 sentences have no label; they are kept" in outcome.out
    assert (tmp_path / "o.bio").read_text().count("Rome") == 1


BAD = {
    "ragged": ("Ada O O\nBerg O\n", "line 2: 2 columns where the lines before have 3"),
    "outside the scheme": ("Ada O O\nBerg O PER\n", "line 2, column 3: the tag 'PER' is outside"),
    "no tags": ("Ada\nBerg\n", "no column of tags"),
    "empty": ("", "the file is empty"),
    "blank": ("\n\n", "holds no token"),
    "nobody": ("Ada ? ?\nBerg ? ?\n", "not a single label"),
    "latin": ("caf\xe9 O O\n".encode("latin-1"), "byte 0xe9"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("command", ["aggregate", "compare", "train"])
def test_a_file_of_tokens_that_cannot_be_used(content, message, command, tmp_path):
    path = tmp_path / "t.conll"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ("--out", tmp_path / ("m" if command == "train" else "o.csv"))
    outcome = call(command, path, *words)
    assert_refused(outcome)
    assert str(path) in outcome.err
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == [path]


WRONG = {
    "numbers": (("--task", "regression"), "has tokens with their tags, which is --task tagging"),
    "classes": (("--task", "classification"), "is for labels of items"),
    "a method for numbers": (("--method", "mean"), "must be for classes; got mean; there are"),
    "a range": (("--range", "0:1"), "--range is not for"),
    "a column": (("--item", "x"), "--item is not for"),
    "calibration": (("--calibrate", "t.csv"), "--calibrate is for labels of items"),
    "repeats": (("--duplicates", "first"), "--duplicates is for tables"),
    "two marks": (("--missing", "?", "--missing", "-"), "--missing may be given once"),
    "a table of truths": (("--truth", "t.csv"), "lines of a token and its tag, in a .bio file"),
    "one file twice": (("--out", "o.csv", "--spans", "o.csv"), "cannot both go to"),
    "people as tags": (("--annotators", "p.bio"), "'.bio' names no known format"),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_words_that_do_not_fit_tokens_are_one_line(words, message, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = call("aggregate", small, *words)
    assert_refused(refused)
    assert message in refused.err
    assert list(tmp_path.iterdir()) == [small]


def test_truth_of_other_words_is_told(small, tmp_path):
    gold = tmp_path / "gold.bio"
    gold.write_text("Ada B-PER\nLund I-PER\nsang O\n\nOslo B-LOC\n")
    refused = call("aggregate", small, "--truth", gold)
    assert_refused(refused)
    assert "sentence 0 is 'Ada Lund sang'" in refused.err
    assert "'Ada Berg sang'" in refused.err


def test_spans_that_cut_through_a_word_are_refused_or_widened(tmp_path):
    path = tmp_path / "spans.csv"
    path.write_text("document,text,annotator,start,end,label\nd,Ada Berg sang,u,0,6,PER\n")
    refused = call("aggregate", path)
    assert_refused(refused)
    assert "line 2: the span 0..6 cuts through a token" in refused.err
    assert "--alignment widen" in refused.err
    assert call("aggregate", path, "--alignment", "widen").code == 0
    assert_refused(call("aggregate", path, "--missing", "x"))


def test_a_tagger_is_trained_from_one_file_and_tags_new_sentences(folder, model):
    home, outcome = model
    assert outcome.out.startswith("speelfc: ")
    assert "scored on the 30 sentences" in outcome.out
    scores = dict(re.findall(r"^(f1|precision|recall) (\S+)$", outcome.out, re.M))
    assert float(scores["f1"]) > 0.6
    assert pd.read_csv(folder / "people.csv").shape[0] == 15
    out = folder / "said.conll"
    for features in ("test.bio", "words.txt"):
        told = call("predict", home, folder / features, "--out", out)
        assert (told.code, told.out) == (0, ""), told
        said, gold = mh.read_bio(out), mh.read_bio(folder / "test.bio")
        assert said.sentences.to_lists() == gold.sentences.to_lists()
        offsets = gold.sentences.offsets
        f1 = mh.evaluation.score_entities(gold.tags, said.tags, offsets).f1
        assert f1 == pytest.approx(float(scores["f1"]), abs=1e-4)
    content = plain_json(call("predict", home, folder / "words.txt", "--json").out)
    row = content["predictions"][0]
    assert list(row)[:4] == ["item", "word", "label", "confidence"]
    assert row["confidence"] == row[f"p_{row['label']}"]


def test_labels_beside_a_tagger_count(folder, model):
    words = ("predict", model[0], folder / "gold.bio", "--labels", folder / "tokens.conll")
    content = plain_json(call(*words, "--json").out)
    assert {"agreement", "n_annotations", "word"} <= content["predictions"][0].keys()
    gold = mh.read_bio(folder / "gold.bio")
    said = [row["label"] for row in content["predictions"]]
    assert np.mean(np.array(said) == gold.tags) > 0.9
    refused = call("predict", model[0], folder / "test.bio", "--labels", folder / "tokens.conll")
    assert_refused(refused)
    assert "both must have the same tokens" in refused.err


def test_a_training_of_tags_resumes_and_takes_vectors(folder, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("in 0.5 0.25\nnear 0.5 0.75\nmet 1.0 0.0\n")
    words = ("train", folder / "tokens.conll", "--word-vectors", vectors, *QUICK, "--out")
    for name in ("one", "two"):
        assert call(*words, tmp_path / name).code == 0
    assert call(*words, tmp_path / "two", "--resume").code == 0
    one, two = (json.loads((tmp_path / name / "model.json").read_text())["sha256"]
                for name in ("one", "two"))  # fmt: skip
    assert one == two
    both = call(*words[:2], folder / "tokens.conll", *words[2:], tmp_path / "three")
    assert both.code == 0


def test_wrong_trainings_of_tags_are_one_line(folder, tmp_path):
    def refused(*words):
        outcome = call("train", *words, "--out", tmp_path / "m")
        assert_refused(outcome)
        assert not (tmp_path / "m").exists()
        return outcome.err

    tokens = folder / "tokens.conll"
    assert "must be for tagging; got raykar" in refused(tokens, "--method", "raykar")
    assert "--scale is not for tagging" in refused(tokens, "--scale", "rms")
    assert "give --truth" in refused(tokens, "--method", "truth")
    assert "both must have the same tokens" in refused(folder / "test.bio", tokens)
    assert "--task regression" in refused(tokens, "--task", "regression")


def test_tokens_of_several_columns_must_be_even(folder, model, tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("Ada sang\nnobody knew why Ada left\n")
    refused = call("predict", model[0], folder / "people.csv")
    assert_refused(refused)
    assert "is a table; tokens are in a file" in refused.err
    refused = call("predict", model[0], lines)
    assert_refused(refused)
    assert "line 2: 5 columns where the lines before have 2" in refused.err


def test_compare_trains_taggers_where_their_names_ask_for_it(folder):
    words = ("compare", folder / "tokens.conll", "--jobs", 1, "--json", *QUICK)
    content = plain_json(
        call(*words, "--truth", folder / "test.bio", "--methods", "two-stage-majority,majority").out
    )
    rows = {row["method"]: row for row in content["methods"]}
    assert list(rows["majority"]) == ["method", "f1", "deviation", "lowest", "precision", "recall",
                                      "inferred", "runs", "seconds"]  # fmt: skip
    assert rows["two-stage-majority"]["f1"] is not None
    assert rows["majority"]["f1"] is None  # it says nothing of sentences nobody labelled


def test_compare_of_aggregators_alone_is_by_entities(folder):
    words = ("compare", folder / "tokens.conll", "--jobs", 1, "--json")
    content = plain_json(call(*words, "--truth", folder / "gold.bio").out)
    ranked = [row["f1"] for row in content["methods"]]
    assert ranked == sorted(ranked, reverse=True)
    assert "selection" not in content
    names = [row["method"] for row in content["methods"]]
    assert names.index("dawid-skene") < names.index("majority")
    held = plain_json(call(*words, "--methods", "majority,dawid-skene").out)
    assert [row["method"] for row in held["methods"]] == ["dawid-skene", "majority"]
    for more in (("--methods", "mean"), ("--select",)):
        assert_refused(call("compare", folder / "tokens.conll", *more))


@pytest.mark.slow
def test_entities_of_a_type_nobody_said_count_as_lost(small, tmp_path):
    gold = tmp_path / "gold.bio"
    gold.write_text("Ada B-ORG\nBerg I-ORG\nsang O\n\nOslo B-LOC\n")
    words = ("compare", small, "--truth", gold, "--methods", "majority", "--json")
    row = plain_json(call(*words).out)["methods"][0]
    assert (row["precision"], row["recall"], row["f1"]) == (0.5, 0.5, 0.5)
    scores = plain_json(call("aggregate", small, "--truth", gold, "--json").out)["scores"]
    assert (scores["n_true"], scores["recall"]) == (2, 0.5)


@pytest.mark.slow
def test_the_demo_of_sentences_beats_majority_voting(tmp_path):
    outcome = call("demo", "--task", "tagging", "--json", "--out", tmp_path)
    content = plain_json(outcome.out)
    alone = {row["method"]: row["f1"] for row in content["methods"]}
    assert alone["dawid-skene"] > alone["majority"] + 0.1
    networks = {row["method"]: row["f1"] for row in content["networks"]}
    assert networks["crowd-layer-mw"] > networks["two-stage-majority"] + 0.05
    best = {person["behaviour"] for person in content["annotators"][:4]}
    assert best == {"careful"}
    assert [path.rsplit("/", 1)[1] for path in content["files"]] == [
        "tokens.conll", "gold.bio", "test.bio",
    ]  # fmt: skip


def test_tokens_to_tag_may_begin_with_a_hash_and_must_stand_one_by_one(model, tmp_path):
    home, _ = model
    path, out = tmp_path / "new.txt", tmp_path / "tags.bio"
    path.write_text("#Ada O\nwent O\n\n#x O\n")
    assert call("predict", home, path, "--out", out).code == 0
    assert [line.split()[0] for line in out.read_text().split("\n") if line] == [
        "#Ada",
        "went",
        "#x",
    ]
    path.write_text("Ada went to Rome\nBob saw Oslo today\n")
    refused = call("predict", home, path, "--out", out)
    assert_refused(refused)
    assert "one token in every line" in refused.err
