"""Film reviews and tagged sentences: missing or real, texts as they are, tokens as items."""

import pytest
from text_files import write_moviereviews, write_moviereviews_words, write_ner

from manyhands.core.errors import DataError
from manyhands.datasets import DATASETS


def test_minus_one_is_no_rating_and_minus_a_tenth_is_one(tmp_path):
    write_moviereviews(tmp_path / "moviereviews")
    corpus = DATASETS["moviereviews"].read(tmp_path)
    assert corpus.annotations.kind == "numbers"
    assert corpus.annotations.label.tolist() == [0.1, 1.1, -0.1, 0.5, 1.0]
    assert corpus.annotations.labels_per_item.tolist() == [2, 1, 0, 2]
    assert corpus.notes == ("2 ratings outside of 0..1 are kept",)


def test_ratings_within_the_scale_have_no_note(tmp_path):
    write_moviereviews(tmp_path / "moviereviews")
    (tmp_path / "moviereviews/answers.txt").write_text("0.1 -1\n0 1\n-1 -1\n0.5 1\n")
    assert DATASETS["moviereviews"].read(tmp_path).notes == ()


def test_texts_stay_as_they_are(tmp_path):
    write_moviereviews(tmp_path / "moviereviews")
    corpus = DATASETS["moviereviews"].read(tmp_path)
    assert corpus.features.tolist() == ["a dull film", "", "fun , \u2028 fun", "yes"]
    assert corpus.test.features.tolist() == ['an "odd film', "good"]
    assert corpus.test.truth.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("line", ["8\tA\t0.5", "8\tA\tgood\ttext"])
def test_a_broken_line_of_the_test_reviews_is_named(tmp_path, line):
    write_moviereviews(tmp_path / "moviereviews")
    with (tmp_path / "moviereviews/test_rebuilt.tsv").open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(DataError, match=r"test_rebuilt\.tsv, line 4"):
        DATASETS["moviereviews"].read(tmp_path)


def test_word_counts_share_one_vocabulary(tmp_path):
    write_moviereviews_words(tmp_path / "moviereviews/bag_of_words")
    corpus = DATASETS["moviereviews-words"].read(tmp_path)
    assert corpus.features.toarray().tolist() == [[1, 0, 0, 2, 0, 0], [0, 4, 0, 0, 0, 0]]
    assert corpus.test.features.toarray().tolist() == [[2, 0, 0, 0, 0, 1]]
    assert corpus.annotations.label.tolist() == [0.1, -1.0, 0.5]  # here -1 is a number


def test_tokens_are_items_and_sentences_nobody_tagged_stay(tmp_path):
    write_ner(tmp_path / "ner")
    corpus = DATASETS["ner"].read(tmp_path)
    assert corpus.features.to_lists() == [["Anna", "Berg"], ["yes"], ["Oslo"]]
    assert corpus.annotations.items.tolist() == ["0:0", "0:1", "1:0", "2:0"]
    assert corpus.annotations.labels_per_item.tolist() == [2, 2, 0, 2]
    assert corpus.annotations.classes.tolist()[:3] == ["O", "B-LOC", "I-LOC"]
    assert corpus.truth.tolist() == ["B-PER", "I-PER", "O", "B-LOC"]
    assert len(corpus.test.features) == 2


def test_truth_of_other_sentences_is_refused(tmp_path):
    write_ner(tmp_path / "ner")
    gold = tmp_path / "ner/gold_union.txt"
    gold.write_text(gold.read_text().replace("I-PER\n\n", "I-PER\n"))
    with pytest.raises(DataError, match="differ in tokens or sentences"):
        DATASETS["ner"].read(tmp_path)
