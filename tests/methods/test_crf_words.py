"""Features of words: what a token and its neighbours look like, and what is dropped."""

import json

import numpy as np
import pytest

from manyhands.core.errors import SettingError
from manyhands.methods.crf import WordFeatures

WORDS = ["Anna", "saw", "U.S.", "troops", "Yesterday", "co-op", "1996"]
OFFSETS = [0, 4, 4, 6, 7]


def features_of(words, offsets, min_count=1):
    """The names of every token's features."""
    learnt = WordFeatures.learn(words, offsets, min_count=min_count)
    matrix = learnt.matrix(words, offsets)
    return [{learnt.names[j] for j in matrix[t].indices} for t in range(len(words))]


def test_a_token_has_the_features_of_its_word_and_neighbours():
    found = features_of(WORDS, OFFSETS)
    assert found[0] == {
        "always", "first", "capitalised", "word=anna", "shape=Xx",
        "prefix=A", "prefix=An", "prefix=Ann", "prefix=Anna",
        "suffix=a", "suffix=na", "suffix=nna", "suffix=Anna",
        "after:word=saw", "after:shape=x",
    }  # fmt: skip
    assert {"before:word=saw", "after:word=troops", "all caps", "shape=X.X."} <= found[2]
    assert {"hyphen", "shape=x-x", "before:word=yesterday"} <= found[5]
    assert {"digit", "shape=0", "first"} <= found[6]


def test_neighbours_end_with_the_sentence():
    found = features_of(WORDS, OFFSETS)
    for t in (0, 4, 6):
        assert "first" in found[t]
        assert not any(name.startswith("before:") for name in found[t])
    for t in (3, 5, 6):
        assert not any(name.startswith("after:") for name in found[t])
    assert sum("first" in each for each in found) == 3


def test_rare_features_are_dropped_and_unseen_ones_ignored():
    words = ["the", "cat", "the", "dog"]
    learnt = WordFeatures.learn(words, [0, 2, 4], min_count=2)
    assert "word=the" in learnt.names
    assert "word=cat" not in learnt.names
    row = learnt.matrix(["Zyx"], [0, 1])
    assert {learnt.names[j] for j in row.indices} == {"always", "first"}
    assert (row.data == 1.0).all()


def test_names_are_enough_to_be_made_again_and_do_not_depend_on_the_order():
    learnt = WordFeatures.learn(WORDS, OFFSETS)
    again = WordFeatures(tuple(json.loads(json.dumps(learnt.names))))
    one, other = learnt.matrix(WORDS, OFFSETS), again.matrix(WORDS, OFFSETS)
    np.testing.assert_array_equal(one.toarray(), other.toarray())
    moved = WordFeatures.learn([*WORDS[4:6], *WORDS[:4], WORDS[6]], [0, 2, 6, 7])
    assert moved.names == learnt.names


def test_no_words_at_all():
    learnt = WordFeatures.learn([], [0], min_count=1)
    assert learnt.names == ()
    assert learnt.matrix([], [0]).shape == (0, 0)
    assert WordFeatures.learn(WORDS, OFFSETS).matrix([], [0, 0]).shape[0] == 0


def test_wrong_requests_are_refused():
    with pytest.raises(SettingError, match="min_count must be >= 1"):
        WordFeatures.learn(WORDS, OFFSETS, min_count=0)
