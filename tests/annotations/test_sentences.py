"""Sentences are arrays of sentences; their tokens are items."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from manyhands.annotations import Sentences, TaggedSentences, TokenizedTexts, TokenLabels
from manyhands.annotations.sentences import token_offsets
from manyhands.core.errors import DataError

LISTS = st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=6)


@given(LISTS, st.data())
def test_slices_hold_what_the_lists_hold(lists, data):
    sentences = Sentences.from_lists(lists)
    assert sentences.to_lists() == lists
    assert sentences.n_tokens == sum(map(len, lists))
    some = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=5)) if lists else []
    chosen = sentences[np.array(some, dtype=int)]
    assert chosen.to_lists() == [lists[s] for s in some]
    tokens = sentences.tokens_of(np.array(some, dtype=int))
    assert sentences.word[tokens].tolist() == chosen.word.tolist()
    assert sentences.token_names[tokens].tolist() == chosen.token_names.tolist()
    assert sentences[1:].to_lists() == lists[1:]
    assert [sentences.sentence_of_token[t] for t in tokens] == [s for s in some for _ in lists[s]]


def test_one_sentence_a_mask_and_the_index_of_scikit_learn():
    sentences = Sentences.from_lists([["a"], [], ["b", "c"]], names=["x", "y", "z"])
    assert sentences[-1].names.tolist() == ["z"]
    assert sentences[np.array([True, False, True])].to_lists() == [["a"], ["b", "c"]]
    assert _safe_indexing(sentences, np.array([2, 0])).to_lists() == [["b", "c"], ["a"]]
    assert [len(sentences[seen]) for seen, _ in KFold(3).split(sentences)] == [2, 2, 2]
    assert sentences.token_names.tolist() == ["x:0", "z:0", "z:1"]


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 2, 1, 2], [0, 1]])
def test_offsets_that_cannot_be_are_refused(offsets):
    with pytest.raises(DataError, match="offsets must start at 0"):
        Sentences.from_tokens(["a", "b"], np.array(offsets, dtype=int))


def crowd():
    sentences = Sentences.from_lists([["a", "b"], ["c"], ["d", "e", "f"]])
    token, who = [0, 1, 3, 4, 5, 3], [0, 0, 0, 0, 0, 1]
    classes = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    return TokenLabels.from_codes(sentences, token, who, [1, 2, 2, 2, 4, 0], ["u", "v"], classes)


def test_labels_go_with_their_sentences():
    labels = crowd()
    assert len(labels) == 3
    part = labels[[2, 1]]
    assert part.annotations.items.tolist() == ["2:0", "2:1", "2:2", "1:0"]
    assert part.annotations.n_annotators == 2
    assert part.annotations.labels_per_item.tolist() == [2, 1, 1, 0]
    assert _safe_indexing(labels, np.array([0])).annotations.n_annotations == 2


def test_orphan_tags_are_found_repaired_and_refused_by_place():
    labels = crowd()
    ann = labels.annotations
    assert [ann.items[i] for i in ann.item[labels.find_orphan_tags()]] == ["2:0", "2:2"]
    fixed = labels.repaired().annotations
    assert fixed.label_names().tolist() == ["B-X", "I-X", "B-X", "O", "I-X", "B-Y"]
    with pytest.raises(DataError, match=r"annotator u: sentence 2, token 0 \('d'\): I-X"):
        labels.repaired("refuse")
    assert labels[:2].repaired("refuse") is not None


def test_an_inside_tag_needs_a_begin_to_become():
    sentences = Sentences.from_lists([["a"]])
    labels = TokenLabels.from_codes(sentences, [0], [0], [1], ["u"], ["O", "I-X"])
    with pytest.raises(DataError, match="contain I-X but not B-X"):
        labels.repaired()


def test_other_lengths_are_refused():
    with pytest.raises(DataError, match="6 items of the annotations for 1 tokens"):
        TokenLabels(Sentences.from_lists([["a"]]), crowd().annotations)
    with pytest.raises(DataError, match="2 tags for 1 tokens"):
        TaggedSentences(Sentences.from_lists([["a"]]), np.array(["O", "O"]))


@given(st.lists(st.text(max_size=12), max_size=4))
def test_tokens_know_their_characters(texts):
    alignment = TokenizedTexts.of(texts)
    for s, text in enumerate(texts):
        token = alignment.sentences.tokens_of(s)
        places = list(
            zip(alignment.start[token].tolist(), alignment.end[token].tolist(), strict=True)
        )
        assert [text[start:end] for start, end in places] == alignment.sentences.words(s)
        covered = {c for start, end in places for c in range(start, end)}
        assert all(text[c].isspace() for c in range(len(text)) if c not in covered)
        if len(token):
            assert alignment.excerpt(token[0], token[-1] + 1) in text


def test_a_custom_tokenizer_is_checked():
    with pytest.raises(DataError, match="tokens must be in order, must not overlap"):
        TokenizedTexts.of(["ab"], tokenizer=lambda text: [(0, 2), (1, 2)])


def test_words_can_be_given_in_place_of_text():
    texts = TokenizedTexts.of_words([["New", "York"], [], ["!"]])
    assert texts.texts.tolist() == ["New York", "", "!"]
    assert texts.excerpt(0, 2) == "New York"
    assert texts.start.tolist() == [0, 4, 0]


def test_marks_that_combine_belong_to_their_word():
    def words(text):
        return [text[start:end] for start, end in token_offsets(text)]

    assert words("Zoe\u0308 sang.") == ["Zoe\u0308", "sang", "."]
    assert words("हिन्दी में") == ["हिन्दी", "में"]
    assert words("nai\u0308ve!\u0301") == ["nai\u0308ve", "!", "\u0301"]
    assert words("a-b") == ["a", "-", "b"]


def test_scripts_without_spaces_have_a_token_per_character():
    text = "李四138上海 カナ abc한국어"
    words = [text[start:end] for start, end in token_offsets(text)]
    assert words == ["李", "四", "138", "上", "海", "カ", "ナ", "abc한국어"]


def test_nobody_knows_what_follows_a_token_without_a_label():
    sentences = Sentences.from_lists([["Ada", "Berg", "sang", "Oslo"]])
    tags = ["O", "B-PER", "I-PER"]
    after_gap = TokenLabels.from_codes(sentences, [1, 2], [0, 0], [2, 2], ["u"], tags)
    assert not after_gap.find_orphan_tags().any()
    at_begin = TokenLabels.from_codes(sentences, [0, 2, 3], [0, 0, 0], [2, 0, 2], ["u"], tags)
    assert at_begin.find_orphan_tags().tolist() == [True, False, True]
