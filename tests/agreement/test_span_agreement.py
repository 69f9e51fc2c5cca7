"""F1 between the spans of annotators, against the scores of entities."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.agreement import span_f1, summarize_tokens
from manyhands.agreement.tables import span_annotator_columns, span_pair_columns, type_columns
from manyhands.annotations import Sentences, TokenLabels, tags_to_spans
from manyhands.evaluation import score_entities

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def token_labels(tags_as, annotators=None):
    """`tags_as[a][s]` are the tags of annotator a for sentence s, None for a token without one."""
    lengths = [len(tags) for tags in tags_as[0]]
    offsets = np.append(0, np.cumsum(lengths))
    cells = [
        (offsets[s] + t, a, TAGS.index(tag))
        for a, said in enumerate(tags_as)
        for s, tags in enumerate(said)
        for t, tag in enumerate(tags)
        if tag is not None
    ]
    sentences = Sentences.from_lists([["w"] * length for length in lengths])
    names = annotators or [f"a{a}" for a in range(len(tags_as))]
    token, who, code = np.array(cells, dtype=int).reshape(-1, 3).T
    return TokenLabels.from_codes(sentences, token, who, code, names, TAGS)


@st.composite
def marked(draw):
    """Two to four annotators of three sentences; some annotators skip a sentence."""
    lengths = [draw(st.integers(1, 5)) for _ in range(3)]
    return [
        [
            [None] * n if draw(st.integers(0, 4)) == 0 else
            [draw(st.sampled_from(TAGS)) for _ in range(n)]
            for n in lengths
        ]
        for _ in range(draw(st.integers(2, 4)))
    ]  # fmt: skip


def spans_of(tags):
    return tags_to_spans(tags) if tags[0] is not None else None


def overlaps(one, spans):
    return any(one.type == each.type and one.first < each.end and each.first < one.end
               for each in spans)  # fmt: skip


def by_definition(tags_as, is_match):
    matched = total = 0
    for one, two in itertools.permutations(tags_as, 2):
        for own, other in zip(map(spans_of, one), map(spans_of, two), strict=True):
            if own is not None and other is not None:
                total += len(own)
                matched += sum(is_match(span, other) for span in own)
    return matched / total if total else np.nan


@settings(max_examples=30)
@given(marked())
def test_f1_is_that_of_all_pairs_of_annotators(tags_as):
    labels = token_labels(tags_as)
    exact = by_definition(tags_as, lambda span, spans: span in spans)
    assert span_f1(labels).value == pytest.approx(exact, nan_ok=True)
    overlap = span_f1(labels, match="overlap").value
    assert overlap == pytest.approx(by_definition(tags_as, overlaps), nan_ok=True)


def test_two_annotators_are_as_truth_and_prediction():
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 61, 6)
    tags = rng.choice(TAGS, (2, 60), p=[0.5, 0.2, 0.1, 0.1, 0.1])
    said = [[row[i : i + 6].tolist() for i in offsets[:-1]] for row in tags]
    scores = score_entities(*tags, offsets)
    labels = token_labels(said)
    assert span_f1(labels).value == pytest.approx(scores.f1)
    by_type = dict(zip(*(type_columns(labels)[name] for name in ("class", "f1")), strict=True))
    for name, counts in scores.by_type.items():
        assert by_type[name] == pytest.approx(counts.f1)
    pairs = span_pair_columns(labels)
    assert pairs["f1"].tolist() == pytest.approx([scores.f1])
    assert span_annotator_columns(labels)["f1"].tolist() == pytest.approx([scores.f1] * 2)


def test_a_span_is_not_compared_where_the_other_said_nothing():
    said = [[["B-X", "I-X", "B-Y"]], [[None, "I-X", "B-Y"]]]
    assert span_f1(token_labels(said)).value == pytest.approx(2 / 3)  # Y twice; X of the second


def test_intervals_hold_the_value_and_are_the_same_every_time():
    rng = np.random.default_rng(1)
    first = [rng.choice(TAGS, 8, p=[0.6, 0.2, 0.1, 0.05, 0.05]).tolist() for _ in range(60)]
    said = [[[t if rng.random() < 0.9 else "O" for t in tags] for tags in first] for _ in range(4)]
    labels = token_labels(said)
    exact, drawn = span_f1(labels), span_f1(labels, interval="items")
    assert exact.low < exact.value < exact.high
    assert (exact.low, exact.high) == pytest.approx((drawn.low, drawn.high), abs=0.03)
    assert drawn == span_f1(labels, interval="items")
    people = span_f1(labels, interval="annotators")
    assert people.low < people.value < people.high


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([[["O", "O"]], [["O", "O"]]], "No annotator marked a span"),
        ([[["B-X"], [None]], [[None], ["B-X"]]], "No sentence has labels of two annotators"),
    ],
)
def test_undefined_is_said_in_words(said, reason):
    for found in summarize_tokens(token_labels(said)).coefficients[:2]:
        assert not found.is_defined
        assert found.words[0].startswith(reason)


def test_the_summary_has_spans_first_and_tokens_after():
    said = [[["B-X", "I-X", "O"], ["O", "B-Y"]], [["B-X", "O", "O"], ["O", "B-Y"]]]
    found = summarize_tokens(token_labels(said))
    assert [each.name for each in found.coefficients] == ["span-f1", "span-f1", "alpha", "percent"]
    assert [round(each.value, 3) for each in found.coefficients[:2]] == [0.5, 1.0]
    assert found.classes["class"].tolist() == ["X", "Y"]
    assert found.classes["f1"].tolist() == [0.0, 1.0]
