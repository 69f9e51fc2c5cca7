"""What is special about the corpora of learning with disagreement."""

import json

import numpy as np
import pytest
from disagreement_files import (
    DOCUMENT,
    TAGGED,
    WORDS,
    entry,
    write_convabuse,
    write_entries,
    write_gimpel_pos,
    write_md_agreement,
    write_pdis,
)

from manyhands.core.errors import DataError
from manyhands.datasets import DATASETS

TWEETS = "lewidi_2023/MD-Agreement_dataset"


def labels_of(annotations):
    """The labels as {item: {annotator: class}}."""
    found = {item: {} for item in annotations.items.tolist()}
    rows = zip(annotations.item, annotations.annotator, annotations.label, strict=True)
    for item, annotator, label in rows:
        name = annotations.annotators[annotator]
        found[annotations.items[item]][name] = annotations.classes[label]
    return found


def test_tweets_have_labels_by_annotator_and_shares(tmp_path):
    write_md_agreement(tmp_path / TWEETS)
    corpus = DATASETS["md-agreement"].read(tmp_path)
    assert corpus.features.tolist() == ["fine", "go away"]
    assert labels_of(corpus.annotations) == {
        2: {"Ann1": 0, "Ann2": 0, "Ann3": 0},
        1: {"Ann2": 1, "Ann3": 0, "Ann4": 1},
    }
    assert corpus.truth.tolist() == corpus.test.truth.tolist() == [0, 1]
    for split in (corpus.test, corpus.valid):
        assert split.label_distribution.tolist() == [[1.0, 0.0], [0.333, 0.667]]
    assert "majority of the same labels" in corpus.notes[0]


def test_negative_severities_of_dialogues_are_abusive(tmp_path):
    write_convabuse(tmp_path / "lewidi_2023/ConvAbuse_dataset")
    corpus = DATASETS["convabuse"].read(tmp_path)
    assert corpus.features.tolist() == ["hello\n_\nwell?\nyou fool", "hello\n_\nwell?\nhi"]
    assert labels_of(corpus.annotations) == {1: {"Ann1": 1, "Ann2": 0, "Ann3": 1}, 2: {"Ann3": 0}}
    said = DATASETS["convabuse"].read(tmp_path, "utterances")
    assert said.features.tolist() == said.test.features.tolist() == ["you fool", "hi"]


GOOD = entry("a", "u,v", "0,1", {"0": 0.5, "1": 0.5})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"soft_label": {}}, "expected shares of 0 and 1; got {}"),
        ({"soft_label": {"0": 0.5, "1": 0.6}}, "expected shares of 0 and 1"),
        ({"soft_label": {"0": -0.5, "1": 1.5}}, "expected shares of 0 and 1"),
        ({"hard_label": ""}, "use those published after it"),
        ({"annotations": "0,2"}, "the label '2' is not one of 0, 1"),
        ({"annotations": "0"}, "2 annotators and 1 annotations"),
        ({"text": 7}, "expected a text; got 7"),
        ({"text": None, "soft_label": None}, "expected a text; got None"),
    ],
)
def test_a_wrong_entry_names_the_file_and_the_item(tmp_path, change, text):
    write_entries("MD-Agreement", {"1": GOOD, "x": GOOD | change})(tmp_path / TWEETS)
    with pytest.raises(DataError, match=text) as found:
        DATASETS["md-agreement"].read(tmp_path)
    assert "MD-Agreement_train.json" in str(found.value)


@pytest.mark.parametrize("content", [[], {}, {"1": 3}, {"1": {"text": "a"}}])
def test_other_json_is_refused(tmp_path, content):
    write_entries("MD-Agreement", content)(tmp_path / TWEETS)
    with pytest.raises(DataError, match=r"expected an object|item '1' (is no object|has no anno)"):
        DATASETS["md-agreement"].read(tmp_path)


def test_words_of_tweets_have_tags_by_annotator(tmp_path):
    write_gimpel_pos(tmp_path / "gimpel-pos")
    corpus = DATASETS["gimpel-pos"].read(tmp_path)
    assert corpus.features.tolist() == [
        "go home . [SEP] go", "go home . [SEP] home", "go home . [SEP] .",
    ]  # fmt: skip
    assert labels_of(corpus.annotations) == {
        0: {0: "VERB", 2: "VERB"},
        1: {0: "NOUN", 1: "ADV", 2: "NOUN"},
        2: {1: "PUNCT", 2: "PUNCT"},
    }
    assert corpus.truth.tolist() == ["VERB", "ADV", "PUNCT"]
    assert corpus.annotations.n_classes == 12
    assert corpus.valid.features.tolist() == ["7 pm [SEP] 7"]
    assert np.flatnonzero(corpus.valid.label_distribution[0] == 0.5).tolist() == [6, 8]
    assert corpus.test.truth.tolist() == ["PRON"]
    assert corpus.test.label_distribution is None


@pytest.mark.parametrize(
    ("words", "tagged", "text"),
    [
        (WORDS, TAGGED[:-1], "has 3 words, and dh.xlsx has 4"),
        (WORDS, [*TAGGED[:-1], "7\tNUM"], "line 4: expected three fields"),
        (WORDS, [*TAGGED[:-1], "7\tx\tNUM,WORD"], "line 4: labels must be of .*; got 'WORD'"),
        (WORDS, [*TAGGED[:-1], "7\tx\t,,"], "line 4: labels must be of .*; there is none"),
        (WORDS, TAGGED[::-1], "the majority label of only 0% agrees with its column 'mv'"),
        (WORDS[:4], TAGGED, "column 'set' has no 'hard-tst'"),
        (
            [*WORDS[:2], ["trn", ".", "x", 12, 9], *WORDS[3:]],
            TAGGED,
            "line 4, column 'gold'",
        ),
    ],
)
def test_words_and_tags_that_do_not_fit_are_refused(tmp_path, words, tagged, text):
    write_gimpel_pos(tmp_path / "gimpel-pos", words, tagged)
    with pytest.raises(DataError, match=text):
        DATASETS["gimpel-pos"].read(tmp_path)


def test_phrases_have_labels_by_player(tmp_path):
    write_pdis(tmp_path / "pdis")
    corpus = DATASETS["pdis"].read(tmp_path)
    assert corpus.features.tolist() == ["The cat ate . [SEP] The cat", "It slept . [SEP] It"]
    assert labels_of(corpus.annotations) == {
        "wi/cats:0": {7: "DN", 9: "DO", 11: "DN"},
        "wi/cats:1": {9: "DO"},
    }
    assert corpus.truth.tolist() == corpus.test.truth.tolist() == ["DN", "DO"]
    np.testing.assert_allclose(corpus.test.label_distribution, [[2 / 3, 1 / 3], [0, 1]])
    documents = DATASETS["pdis"].read(tmp_path, "documents")
    assert documents.features[1] == "The cat ate . It slept . [SEP] It"
    assert DATASETS["pdis"].read(tmp_path, "syntax").features.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert corpus.notes == ()


def test_phrases_without_gold_have_the_majority_as_truth(tmp_path):
    write_pdis(tmp_path / "pdis", train={"gold_labels": None}, test={"annotations": None})
    corpus = DATASETS["pdis"].read(tmp_path)
    assert corpus.truth.tolist() == ["DN", "DO"]
    assert "majority of their labels" in corpus.notes[0]
    assert corpus.test.label_distribution is None


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"mentions": None}, "has no 'mentions'; a document has doc_key, sentences, mentions"),
        (
            {"mentions": [[0, 1], [4, 9]]},
            r"wi/cats:1: a mention is its first and .* 0\.\.6",
        ),
        ({"mentions": [[0, 1], [2.5, 3]]}, "a mention is its first and last word"),
        ({"mentions": 3}, "'mentions' must be a list; got 3"),
        ({"sentences": ["The cat"]}, "a sentence must be a list of words"),
        ({"annotations": [7, []]}, r"0 \(DN\) or 1 \(DO\); got 7"),
        ({"gold_labels": [["a", None], [0, 1]]}, "a gold label is"),
        ({"mentions": [[0, 1]]}, "2 annotations for 1 mentions"),
        ({"annotations": [[[7, 0]], [[7, 2]]]}, r"0 \(DN\) or 1 \(DO\); got \[7, 2\]"),
        ({"annotations": [[[7, 0]], [[7]]]}, r"0 \(DN\) or 1 \(DO\)"),
        ({"gold_labels": [[1, 0], [0.5, 0.5]]}, "a gold label is"),
        ({"gold_labels": None, "annotations": [[[7, 0]], []]}, "neither gold_labels nor annotat"),
        ({"annotations": None}, "no phrase has annotations"),
        ({"mentions": [], "annotations": [], "gold_labels": [], "features": []}, "no mentions"),
    ],
)
def test_wrong_documents_are_refused(tmp_path, change, text):
    write_pdis(tmp_path / "pdis", train=change)
    with pytest.raises(DataError, match=text) as found:
        DATASETS["pdis"].read(tmp_path)
    assert "combined_train_dndo_raw.jsonlines" in str(found.value)


def test_numbers_of_phrases_are_needed_only_where_they_are_asked_for(tmp_path):
    write_pdis(tmp_path / "pdis", train={"features": None})
    assert len(DATASETS["pdis"].read(tmp_path).features) == 2
    with pytest.raises(DataError, match="has no 'features'"):
        DATASETS["pdis"].read(tmp_path, "syntax")
    path = tmp_path / "pdis/combined_train_dndo_raw.jsonlines"
    path.write_text(json.dumps(DOCUMENT | {"features": [[1], [1, 2]]}))
    with pytest.raises(DataError, match="as many numbers for each phrase"):
        DATASETS["pdis"].read(tmp_path, "syntax")
