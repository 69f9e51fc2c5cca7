"""Features of tokens: the word, its neighbours, and which features are dropped."""

import json

import numpy as np
import pytest

from manyhands.core.errors import SettingError
from manyhands.methods.crf.network import TokenFeatures

WORDS = ["Anna", "saw", "U.S.", "troops", "Yesterday", "co-op", "1996"]
OFFSETS = [0, 4, 4, 6, 7]


def features_of(words, offsets, min_count=1):
    """The names of every token's features."""
    features = TokenFeatures.fit(words, offsets, min_count=min_count)
    matrix = features.transform(words, offsets)
    return [{features.names[j] for j in matrix[t].indices} for t in range(len(words))]


def test_a_token_has_the_features_of_its_word_and_neighbours():
    features = features_of(WORDS, OFFSETS)
    assert features[0] == {
        "always", "first", "capitalised", "word=anna", "shape=Xx",
        "prefix=A", "prefix=An", "prefix=Ann", "prefix=Anna",
        "suffix=a", "suffix=na", "suffix=nna", "suffix=Anna",
        "after:word=saw", "after:shape=x",
    }  # fmt: skip
    assert {"before:word=saw", "after:word=troops", "all caps", "shape=X.X."} <= features[2]
    assert {"hyphen", "shape=x-x", "before:word=yesterday"} <= features[5]
    assert {"digit", "shape=0", "first"} <= features[6]


def test_neighbours_end_with_the_sentence():
    features = features_of(WORDS, OFFSETS)
    for t in (0, 4, 6):
        assert "first" in features[t]
        assert not any(name.startswith("before:") for name in features[t])
    for t in (3, 5, 6):
        assert not any(name.startswith("after:") for name in features[t])
    assert sum("first" in each for each in features) == 3


def test_rare_features_are_dropped_and_unseen_ones_ignored():
    words = ["the", "cat", "the", "dog"]
    features = TokenFeatures.fit(words, [0, 2, 4], min_count=2)
    assert "word=the" in features.names
    assert "word=cat" not in features.names
    row = features.transform(["Zyx"], [0, 1])
    assert {features.names[j] for j in row.indices} == {"always", "first"}
    assert (row.data == 1.0).all()


def test_features_are_restored_from_names_that_do_not_depend_on_the_order():
    features = TokenFeatures.fit(WORDS, OFFSETS)
    again = TokenFeatures(tuple(json.loads(json.dumps(features.names))))
    one, other = features.transform(WORDS, OFFSETS), again.transform(WORDS, OFFSETS)
    np.testing.assert_array_equal(one.toarray(), other.toarray())
    moved = TokenFeatures.fit([*WORDS[4:6], *WORDS[:4], WORDS[6]], [0, 2, 6, 7])
    assert moved.names == features.names


def test_no_words():
    features = TokenFeatures.fit([], [0], min_count=1)
    assert features.names == ()
    assert features.transform([], [0]).shape == (0, 0)
    assert TokenFeatures.fit(WORDS, OFFSETS).transform([], [0, 0]).shape[0] == 0


def test_invalid_settings_raise():
    with pytest.raises(SettingError, match="min_count must be >= 1"):
        TokenFeatures.fit(WORDS, OFFSETS, min_count=0)
