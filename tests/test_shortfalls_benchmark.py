"""The benchmark that tells why published figures are not reached, on tiny data."""

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import average_networks, consensus_errors, shortfalls, unlabelled_items
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
    taught = consensus_errors.TAUGHT.values()
    names = (*shortfalls.TOPIC_LABELS, *shortfalls.TARGETS, *shortfalls.SCALED, *taught)
    assert all(f"| {name} |" in page or f"| `{name}` |" in page for name in names)
    rows = [f"| {name} | {n:,} |" for name, ns in unlabelled_items.LABELLED.items() for n in ns]
    rows += [
        f"| `{name}`, {shown} |" for name in average_networks.METHODS
        for shown in average_networks.KINDS.values()
    ]  # fmt: skip
    assert all(row in page for row in rows)
    assert "nan" not in page


def test_a_network_is_taught_as_many_mistakes_as_the_consensus_makes():
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=400)
    found = np.where(rng.random(400) < 0.3, (truth + 1) % 4, truth)
    wrong = int((found != truth).sum())
    pairs = []
    for taught in consensus_errors.TAUGHT:
        code = consensus_errors.classes_of(taught, truth, found, 4, seed=1)
        assert (code != truth).sum() == (0 if taught == "truth" else wrong)
        pairs.append(np.unique([truth, code], axis=1, return_counts=True))
    kinds, consensus = pairs[-2:]
    assert np.array_equal(kinds[0], consensus[0])
    assert np.array_equal(kinds[1], consensus[1])


def test_a_row_for_every_table_of_classes():
    rng = np.random.default_rng(0)
    truth, features = np.arange(60) % 2, rng.normal(size=(60, 3))
    features[:, 0] += 4 * truth
    item = np.repeat(np.arange(60), 3)
    ann = mh.Annotations.from_arrays(item, np.tile(range(3), 60), truth[item])
    part = SimpleNamespace(features=features, truth=truth)
    corpus = SimpleNamespace(annotations=ann, test=part, **vars(part))
    rows = list(consensus_errors.rows_of_seed("few", corpus, 0, epochs=2))
    assert [row["method"] for row in rows] == list(consensus_errors.TAUGHT)
    assert [row["mistakes"] for row in rows] == [0, 0, 0, 0]


def test_a_row_for_every_network_and_every_five():
    rng = np.random.default_rng(0)
    truth, features = np.arange(30) % 2, rng.normal(size=(30, 3)).astype(np.float32)
    item, who = np.repeat(np.arange(30), 2), np.tile(["u", "w"], 30)
    ann = mh.Annotations.from_arrays(item, who, truth[item])
    part = SimpleNamespace(features=features, truth=truth)
    corpus = SimpleNamespace(annotations=ann, test=part, **vars(part))
    rows = list(average_networks.rows_of_method("labelme", corpus, "truth", 5, epochs=2))
    assert [row["kind"] for row in rows] == ["one network"] * 5 + ["mean of 5 networks"]
    assert [row["seed"] for row in rows] == [0, 1, 2, 3, 4, 0]


def test_items_lose_their_labels_and_stay():
    rng = np.random.default_rng(0)
    features, truth = rng.normal(size=(20, 3)), np.arange(20) % 2
    item = np.repeat(np.arange(20), 2)
    ann = mh.Annotations.from_arrays(item, np.tile(["u", "w"], 20), truth[item])
    valid = SimpleNamespace(features=rng.normal(size=(5, 3)))
    corpus = SimpleNamespace(features=features, annotations=ann, valid=valid)
    alone, few = unlabelled_items.training_set(corpus, 6, 1, beside=False)
    everything, many = unlabelled_items.training_set(corpus, 6, 1, beside=True)
    assert np.array_equal(everything[:6], alone)
    assert sorted(map(tuple, everything)) == sorted(
        map(tuple, np.concatenate([features, valid.features]))
    )
    assert many.labels_per_item.tolist() == [2] * 6 + [0] * 19
    assert np.array_equal(many.label, few.label)
    corpus.valid = None
    assert len(unlabelled_items.training_set(corpus, 6, 1, beside=True)[0]) == 20


def test_a_row_with_and_without_other_items():
    rng = np.random.default_rng(0)
    features, truth = rng.normal(size=(40, 3)), np.arange(40) % 2
    item = np.repeat(np.arange(40), 2)
    ann = mh.Annotations.from_arrays(item, np.tile(["u", "w"], 40), truth[item])
    test = SimpleNamespace(features=features, truth=truth)
    corpus = SimpleNamespace(features=features, annotations=ann, valid=None, test=test)
    rows = list(unlabelled_items.rows_of_seed("few", corpus, 20, 0, epochs=2))
    assert [row["method"] for row in rows] == list(unlabelled_items.BESIDE)
    assert [row["n_items"] for row in rows] == [20, 40]
