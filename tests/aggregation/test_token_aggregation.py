"""Tokens aggregated one by one, and decoded to whole entities."""

import numpy as np
import pytest

from manyhands.aggregation import AGGREGATORS, Majority, aggregate, aggregate_tokens
from manyhands.annotations import Annotations, Sentences, TagScheme, TokenLabels, is_valid_bio
from manyhands.core.errors import DataError
from manyhands.evaluation import score_entities

SCHEME = TagScheme.of_types(["PER", "LOC"])
CLASS_METHODS = sorted(name for name, made in AGGREGATORS.items() if made.kind == "classes")


def crowd(seed, n_sentences=30, right=0.5):
    """Annotators who copy valid tags and err at single tokens; some sentences have no label."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, n_sentences)
    sentences = Sentences.from_lists([["w"] * length for length in lengths])
    truth = []
    for length in lengths:
        tags = []
        while len(tags) < length:
            tag = str(rng.choice(SCHEME.names))
            if is_valid_bio([*tags, tag]):
                tags.append(tag)
        truth += tags
    true_t = SCHEME.codes(truth)
    token = np.tile(np.flatnonzero(sentences.sentence_of_token % 5 != 0), 3)
    who = np.repeat(np.arange(3), len(token) // 3)
    wild = rng.integers(0, len(SCHEME), len(token))
    label = np.where(rng.random(len(token)) < right, true_t[token], wild)
    names = ["u", "v", "w"]
    return TokenLabels.from_codes(sentences, token, who, label, names, SCHEME.names), truth


@pytest.mark.parametrize("method", CLASS_METHODS)
def test_tags_are_valid_and_change_only_where_they_must(method):
    labels, _ = crowd(0)
    found = aggregate_tokens(labels.sentences, labels.annotations, method)
    plain = aggregate(labels.annotations, method)
    np.testing.assert_array_equal(found.tokens.probabilities, plain.probabilities)
    n_kept = 0
    for s in range(len(labels)):
        token = labels.sentences.tokens_of(s)
        assert is_valid_bio(found.tags[token].tolist())
        if is_valid_bio(plain.labels[token].tolist()):
            n_kept += 1
            assert found.tags[token].tolist() == plain.labels[token].tolist()
    assert 0 < n_kept <= len(labels)


@pytest.mark.parametrize("seed", range(5))
def test_no_valid_change_of_one_token_is_more_probable(seed):
    labels, _ = crowd(seed)
    found = aggregate_tokens(labels.sentences, labels.annotations, "dawid-skene")
    chance = found.tokens.probabilities
    assert np.any(found.tags != aggregate(labels.annotations, "dawid-skene").labels)
    for s in range(len(labels)):
        token = labels.sentences.tokens_of(s)
        tags = found.tags[token].tolist()
        for place, k in np.ndindex(len(token), len(SCHEME)):
            other = [*tags[:place], SCHEME.names[k], *tags[place + 1 :]]
            if is_valid_bio(other):
                assert chance[token[place], k] <= found.tokens.confidence[token[place]] + 1e-12


def test_the_confidence_of_a_span_is_the_product_of_its_tokens():
    sentences = Sentences.from_lists([["Anna", "Berg", "sang"], ["Oslo"]], names=["x", "y"])
    tags = {"u": ["B-PER", "I-PER", "O", "B-LOC"], "v": ["B-PER", "O", "O", "B-LOC"]}
    tags |= {"w": ["B-PER", "I-PER", "O", "O"], "z": ["O", "I-PER", "O", "B-LOC"]}
    token = [t for _ in tags for t in range(4)]
    who = [a for a in range(4) for _ in range(4)]
    codes = [k for each in tags.values() for k in SCHEME.codes(each)]
    labels = TokenLabels.from_codes(sentences, token, who, codes, tags, SCHEME.names)
    found = aggregate_tokens(sentences, labels.annotations, Majority())
    columns = {name: column.tolist() for name, column in found.span_columns().items()}
    assert columns == {
        "sentence": ["x", "y"],
        "first": [0, 0],
        "end": [2, 1],
        "label": ["PER", "LOC"],
        "confidence": [0.75 * 0.75, 0.75],
        "words": ["Anna Berg", "Oslo"],
    }


def test_known_tags_stay():
    labels, truth = crowd(1)
    names = labels.annotations.items
    known = {names[t]: truth[t] for t in range(0, len(truth), 2)}
    found = aggregate_tokens(labels.sentences, labels.annotations, known=known)
    consensus = aggregate(labels.annotations, known=known)
    kept = [
        labels.sentences.tokens_of(s)
        for s in range(len(labels))
        if is_valid_bio(consensus.labels[labels.sentences.tokens_of(s)].tolist())
    ]
    assert all(found.tags[t] == truth[t] for token in kept for t in token if t % 2 == 0)


def test_entities_of_a_good_crowd_are_recovered():
    labels, truth = crowd(2, n_sentences=200, right=0.9)
    found = aggregate_tokens(labels.sentences, labels.annotations)
    seen = np.flatnonzero(np.arange(len(labels)) % 5 != 0)  # the rest nobody labelled
    token, part = labels.sentences.tokens_of(seen), labels.sentences[seen]
    score = score_entities(np.array(truth)[token], found.tags[token], part.offsets)
    assert score.f1 > 0.9


def test_labels_of_some_sentences_are_matched_by_name():
    labels, _ = crowd(3)
    without_first = aggregate_tokens(labels.sentences[1:], labels.annotations, "majority")
    alone = aggregate_tokens(labels[1:].sentences, labels[1:].annotations, "majority")
    assert without_first.tags.tolist() == alone.tags.tolist()


def test_other_lengths_and_numbers_are_refused():
    labels, _ = crowd(3)
    with pytest.raises(DataError, match="1 items are no tokens of these sentences: 1:0"):
        aggregate_tokens(labels.sentences[2:], labels.annotations)
    unnamed = Annotations.from_arrays(["x", "y"], ["u", "u"], ["O", "O"])
    with pytest.raises(DataError, match="2 items of the annotations for 1 tokens"):
        aggregate_tokens(Sentences.from_lists([["a"]]), unnamed)
    numbers = Annotations.from_arrays(["0:0"], ["u"], [0.5])
    with pytest.raises(DataError, match="tags are needed"):
        aggregate_tokens(Sentences.from_lists([["a"]]), numbers)
