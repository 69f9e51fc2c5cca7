"""The benchmark that tells why published figures are not reached, on tiny data."""

import numpy as np
import pytest
from benchmarks import shortfalls
from benchmarks.benchmark import SHORTFALLS

import manyhands as mh
from manyhands.annotations import Span

TAGS = ["O", "B-PER", "I-PER", "B-LOC"]


def test_entities_that_anybody_marked_are_counted_by_sentence():
    item = [0, 1, 2, 0, 1, 2, 3, 4]
    annotator = ["u", "u", "u", "w", "w", "w", "w", "w"]
    tags = ["B-PER", "I-PER", "O", "B-PER", "O", "O", "B-LOC", "O"]
    ann = mh.Annotations.from_arrays(item, annotator, tags, classes=TAGS)
    first, second = shortfalls.marked_spans(ann, np.array([0, 3, 5]))
    assert first == {Span(0, 2, "PER"): 1, Span(0, 1, "PER"): 1}
    assert second == {Span(0, 1, "LOC"): 1}
    item_w, tags_w, ends = shortfalls.sequences_by_annotator(ann, np.array([0, 3, 5]))[1]
    assert item_w.tolist() == [0, 1, 2, 3, 4]
    assert ends.tolist() == [0, 3, 5]
    assert tags_w.tolist() == tags[3:]


def test_the_more_frequent_of_two_spans_that_overlap_is_kept():
    spans = shortfalls.Counter({Span(0, 2, "PER"): 1, Span(1, 3, "LOC"): 2, Span(3, 4, "PER"): 1})
    assert shortfalls.without_overlap(spans) == [Span(1, 3, "LOC"), Span(3, 4, "PER")]


def test_a_constant_difference_is_the_level():
    truth = np.array([0.1, 0.5, 0.9])
    assert shortfalls._r2(truth, truth - 0.1) == pytest.approx(1 - 0.01 / np.var(truth))


def test_the_page_has_a_row_for_every_method_and_labels():
    page = shortfalls.make_page(SHORTFALLS.read())
    names = (*shortfalls.TOPIC_LABELS, *shortfalls.TARGETS, *shortfalls.SCALED)
    assert all(f"| {name} |" in page or f"| `{name}` |" in page for name in names)
    assert "nan" not in page
