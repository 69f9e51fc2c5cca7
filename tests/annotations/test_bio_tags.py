"""BIO tags: spans and back, repairs, masks, and the most probable valid sequence."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.annotations import (
    Sentences,
    Span,
    TaggedSentences,
    TagScheme,
    decode_bio,
    is_valid_bio,
    spans_to_tags,
    tags_to_spans,
)
from manyhands.core.errors import DataError

TAGS = TagScheme.of_types(["PER", "LOC"]).names
SEQUENCES = st.lists(st.sampled_from(TAGS), max_size=8)


def is_valid_by_hand(tags):
    before = ["O", *tags]
    return all(
        not tag.startswith("I-") or before[t] in {f"B-{tag[2:]}", f"I-{tag[2:]}"}
        for t, tag in enumerate(tags)
    )


@given(SEQUENCES)
def test_valid_means_that_every_inside_tag_goes_on_with_an_entity(tags):
    assert is_valid_bio(tags) == is_valid_by_hand(tags)


@given(SEQUENCES)
def test_spans_and_back_give_the_repaired_tags(tags):
    tagged = TaggedSentences(Sentences.from_lists([tags]), tags)
    fixed = tagged.repaired().tags.tolist()
    assert is_valid_by_hand(fixed)
    assert spans_to_tags(tags_to_spans(tags), len(tags)) == fixed
    if is_valid_by_hand(tags):
        assert fixed == tags
        assert tagged.repaired("refuse").tags.tolist() == tags
    else:
        with pytest.raises(DataError, match=r"token \d+ .*: I-"):
            tagged.repaired("refuse")


@given(SEQUENCES)
def test_masks_tell_what_is_valid(tags):
    scheme = TagScheme.of(TAGS)
    code = scheme.codes(tags)
    held = all(scheme.moves_kk[j, k] for j, k in itertools.pairwise(code))
    assert is_valid_by_hand(tags) == (held and not (tags and scheme.is_inside_k[code[0]]))


def best_by_hand(log_tk):
    n_tokens = len(log_tk)
    valid = [
        each
        for each in itertools.product(range(len(TAGS)), repeat=n_tokens)
        if is_valid_by_hand([TAGS[k] for k in each])
    ]
    return max(log_tk[np.arange(n_tokens), each].sum() for each in valid)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 10**6))
def test_decoding_finds_the_best_valid_sequence(lengths, seed):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    log_tk = np.log(np.random.default_rng(seed).dirichlet(np.ones(len(TAGS)), offsets[-1]))
    code_t = decode_bio(log_tk, offsets, TAGS)
    for first, end in itertools.pairwise(offsets):
        mine, top = code_t[first:end], log_tk[first:end].argmax(axis=1)
        assert is_valid_by_hand([TAGS[k] for k in mine])
        if is_valid_by_hand([TAGS[k] for k in top]):
            assert mine.tolist() == top.tolist()
        if end > first:
            found = log_tk[np.arange(first, end), mine].sum()
            assert found == pytest.approx(best_by_hand(log_tk[first:end]))


def test_impossible_tags_are_taken_only_when_there_is_no_other_way():
    with np.errstate(divide="ignore"):
        log_tk = np.log([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.7, 0.0, 0.3], [1e-300, 0.0, 1.0]])
    names = ["O", "B-PER", "I-PER"]
    code_t = decode_bio(log_tk, np.array([0, 2, 4]), names)
    assert [names[k] for k in code_t] == ["B-PER", "I-PER", "O", "O"]


def test_a_choice_among_equals_stays():
    log_tk = np.log(np.full((2, 3), 1 / 3))
    names, offsets = ["O", "B-PER", "I-PER"], np.array([0, 2])
    for choice in ([1, 2], [1, 1], [0, 0]):
        code_t = decode_bio(log_tk, offsets, names, choice_t=np.array(choice, dtype=np.int32))
        assert code_t.tolist() == choice


def test_decoding_refuses_what_it_cannot_use():
    with pytest.raises(DataError, match="can begin a sentence; add O"):
        decode_bio(np.zeros((1, 1)), np.array([0, 1]), ["I-PER"])
    with pytest.raises(DataError, match="token 1: a log-probability"):
        decode_bio(np.array([[0.0], [np.nan]]), np.array([0, 2]), ["O"])
    with pytest.raises(DataError, match=r"shape \(3, 2\) \(tokens, tags\); got \(1, 2\)"):
        decode_bio(np.zeros((1, 2)), np.array([0, 3]), ["O", "B-PER"])


def test_spans_that_cannot_be_are_refused():
    with pytest.raises(DataError, match="overlaps"):
        spans_to_tags([Span(0, 2, "X"), Span(1, 3, "Y")], 4)
    with pytest.raises(DataError, match="is outside a sentence of 4 tokens"):
        spans_to_tags([Span(2, 5, "X")], 4)
    with pytest.raises(DataError, match="'B_X' is not O"):
        tags_to_spans(["B_X"])


def test_a_type_may_hold_dashes():
    assert tags_to_spans(["B-GEO-POL", "I-GEO-POL"]) == [Span(0, 2, "GEO-POL")]
