"""Laws of annotations, for any table of labels."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.annotations import Annotations

names = st.one_of(
    st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True),
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), min_size=1, max_size=8)
    .map(lambda texts: [text for text in dict.fromkeys(texts) if text.strip()] or ["x"]),
)  # fmt: skip
labels = st.one_of(
    st.lists(st.sampled_from(["cat", "dog", "a cow"]), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(-9, 9).map(lambda x: round(x, 2)), min_size=1, max_size=6).map(
        lambda numbers: [*numbers, 0.25]
    ),
)


@st.composite
def tables(draw, *, repeats=True):
    """Three columns and the order in which to shuffle them."""
    items, people, said = draw(names), draw(names), draw(labels)
    pair = st.tuples(st.sampled_from(items), st.sampled_from(people))
    unique_by = None if repeats else str
    pairs = draw(st.lists(pair, min_size=1, max_size=60, unique_by=unique_by))
    label = [draw(st.sampled_from(said)) for _ in pairs]
    order = draw(st.permutations(range(len(pairs))))
    return [item for item, _ in pairs], [person for _, person in pairs], label, order


def rows(ann):
    """How often each (item, annotator, label) occurs."""
    return Counter(
        zip(
            map(str, ann.items[ann.item]),
            map(str, ann.annotators[ann.annotator]),
            ann.label_names().tolist(),
            strict=True,
        )
    )


def shuffled(column, order):
    return [column[n] for n in order]


@settings(max_examples=80)
@given(tables(repeats=False))
def test_the_order_of_rows_does_not_matter(table):
    *columns, order = table
    ann = Annotations.from_arrays(*columns)
    other = Annotations.from_arrays(*(shuffled(column, order) for column in columns))
    for name in ("item", "annotator", "label", "items", "annotators", "classes"):
        np.testing.assert_array_equal(getattr(ann, name), getattr(other, name), err_msg=name)


@settings(max_examples=80)
@given(tables())
def test_no_row_is_lost_or_made_up_and_rows_are_sorted(table):
    item, annotator, label, _ = table
    ann = Annotations.from_arrays(item, annotator, label)
    assert rows(ann) == Counter(zip(map(str, item), map(str, annotator), label, strict=True))
    key = ann.item.astype(np.int64) * ann.n_annotators + ann.annotator
    assert np.all(np.diff(key) >= 0)
    assert {str(name) for name in ann.items} == {str(name) for name in item}


@settings(max_examples=80)
@given(tables())
def test_offsets_by_item_and_by_annotator_tell_the_same_story(table):
    ann = Annotations.from_arrays(*table[:3])
    assert ann.item_offsets[-1] == ann.annotator_offsets[-1] == ann.n_annotations
    for i in range(ann.n_items):
        run = slice(ann.item_offsets[i], ann.item_offsets[i + 1])
        assert set(ann.item[run].tolist()) == {i}
    assert sorted(ann.annotator_order.tolist()) == list(range(ann.n_annotations))
    for a in range(ann.n_annotators):
        run = ann.annotator_order[ann.annotator_offsets[a] : ann.annotator_offsets[a + 1]]
        assert set(ann.annotator[run].tolist()) == {a}
        assert np.all(np.diff(ann.item[run]) >= 0)
    assert ann.labels_per_item.tolist() == np.bincount(ann.item, minlength=ann.n_items).tolist()


@settings(max_examples=60)
@given(tables(), st.data())
def test_a_part_of_a_part_is_a_part(table, data):
    ann = Annotations.from_arrays(*table[:3])
    some = data.draw(st.lists(st.integers(0, ann.n_items - 1), max_size=10))
    part = ann[some]
    fewer = data.draw(st.lists(st.sampled_from(range(len(some))), max_size=6)) if some else []
    once, twice = ann[[some[n] for n in fewer]], part[fewer]
    for name in ("item", "annotator", "label", "items"):
        np.testing.assert_array_equal(getattr(once, name), getattr(twice, name), err_msg=name)


@settings(max_examples=60)
@given(tables(), st.integers(0, 60))
def test_labels_that_come_later_join_those_that_came_before(table, alignment):
    *columns, _ = table
    whole = Annotations.from_arrays(*columns)
    if alignment == 0 or alignment >= len(columns[0]):
        return
    kind = whole.kind
    early = Annotations.from_arrays(*(column[:alignment] for column in columns), kind=kind)
    late = Annotations.from_arrays(*(column[alignment:] for column in columns), kind=kind)
    both = early.extended(late)
    assert both.n_annotations == whole.n_annotations
    assert both.items[: early.n_items].tolist() == [
        name if both.items.dtype == early.items.dtype else str(name)
        for name in early.items.tolist()
    ]

    assert rows(both) == rows(whole)


@settings(max_examples=40)
@given(tables(), st.sampled_from(["first", "last"]))
def test_one_label_stays_of_each_repeated_pair(table, policy):
    item, annotator, label, _ = table
    ann = Annotations.from_arrays(item, annotator, label, duplicates=policy)
    given_rows = list(zip(map(str, item), map(str, annotator), label, strict=True))
    ordered = given_rows if policy == "last" else reversed(given_rows)
    wanted = {(i, a): one for i, a, one in ordered}
    told = {
        (str(ann.items[i]), str(ann.annotators[a])): one
        for i, a, one in zip(ann.item, ann.annotator, ann.label_names().tolist(), strict=True)
    }
    assert told == wanted
