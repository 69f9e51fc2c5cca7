"""What every entry of the table of aggregators must do."""

import dataclasses
import inspect

import numpy as np
import pytest

from manyhands.aggregation import AGGREGATORS
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from random_tables import random_labels

NAMES = list(AGGREGATORS)
CLASS_NAMES = [name for name in NAMES if AGGREGATORS[name].kind in ("classes", "ordinal")]
# The order of levels means something: reversing it reverses the result, no other permutation does.
PERMUTATIONS = {"classes": [2, 0, 1], "ordinal": [2, 1, 0]}
ITERATIVE = [name for name in NAMES if hasattr(AGGREGATORS[name](), "max_iter")]


def build(name, item, annotator, label, **names):
    """Labels of the kind the method takes: the codes themselves, or numbers made of them."""
    if AGGREGATORS[name].kind == "numbers":
        label = np.asarray(label) * 0.7 + np.asarray(annotator) % 3 * 0.1
        names = {key: value for key, value in names.items() if key != "classes"}
        names["kind"] = "numbers"
    if AGGREGATORS[name].kind == "multilabel":
        label = [{1, 2} if code == 2 else {code} for code in np.asarray(label).tolist()]
    return Annotations.from_arrays(item, annotator, label, **names)


def estimates(consensus):
    return consensus.labels if consensus.probabilities is None else consensus.probabilities


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(params=range(3))
def labels(request):
    return random_labels(request.param)


def fit(name, *columns, **names):
    return AGGREGATORS[name]().fit(build(name, *columns, **names))


def test_shuffling_annotations_changes_nothing(name, labels):
    order = np.random.default_rng(1).permutation(len(labels[0]))
    before = fit(name, *labels)
    after = fit(name, *(column[order] for column in labels))
    np.testing.assert_allclose(estimates(after), estimates(before), atol=1e-9)
    np.testing.assert_allclose(after.annotator_quality, before.annotator_quality, atol=1e-9)


def test_renaming_annotators_and_items_changes_nothing(name, labels):
    item, annotator, label = labels
    before = fit(name, item, annotator, label)
    new_annotator = np.random.default_rng(2).permutation(50)
    new_item = np.random.default_rng(3).permutation(50)
    if AGGREGATORS[name].kind == "numbers":
        values = np.asarray(label) * 0.7 + annotator % 3 * 0.1
        renamed = Annotations.from_arrays(
            new_item[item], new_annotator[annotator], values, kind="numbers"
        )
        after = AGGREGATORS[name]().fit(renamed)
    else:
        after = fit(name, new_item[item], new_annotator[annotator], label)
    row = after.annotations.item_vocabulary.codes(new_item[before.annotations.items])
    np.testing.assert_allclose(estimates(after)[row], estimates(before), atol=1e-8)
    who = after.annotations.annotator_vocabulary.codes(new_annotator[before.annotations.annotators])
    np.testing.assert_allclose(after.annotator_quality[who], before.annotator_quality, atol=1e-8)


@pytest.mark.parametrize("name", CLASS_NAMES)
def test_permuting_classes_permutes_the_result(name, labels):
    item, annotator, label = labels
    swap = np.array(PERMUTATIONS[AGGREGATORS[name].kind])
    before = fit(name, item, annotator, label, classes=range(3))
    after = fit(name, item, annotator, swap[label], classes=range(3))
    np.testing.assert_allclose(after.probabilities[:, swap], before.probabilities, atol=1e-8)
    if before.confusion is not None:
        moved = after.confusion[:, swap][:, :, swap]
        np.testing.assert_allclose(moved, before.confusion, atol=1e-8)


def test_unanimity_wins(name):
    item = np.repeat(np.arange(6), 4)
    annotator = np.tile(np.arange(4), 6)
    label = item % 3
    consensus = AGGREGATORS[name]().fit(
        Annotations.from_arrays(item, annotator, label, kind=AGGREGATORS[name].kind)
    )
    np.testing.assert_allclose(consensus.labels.astype(float), np.arange(6) % 3, atol=1e-6)


@pytest.mark.parametrize(
    "columns",
    [([0], [0], [0]), ([0, 1, 2], [0, 0, 0], [0, 1, 1]), ([0, 0, 0], [0, 1, 2], [0, 1, 1])],
    ids=["one label", "one annotator", "one item"],
)
def test_the_smallest_tables_work(name, columns):
    consensus = fit(name, *(np.array(column) for column in columns))
    assert np.isfinite(estimates(consensus)).all()
    assert np.isfinite(consensus.confidence).all()
    quality = consensus.quality
    assert ((quality.low <= quality.value) & (quality.value <= quality.high)).all()
    assert ((quality.low >= 0) & (quality.high <= 1)).all()


def test_an_unlabelled_item_gets_the_prior(name):
    item, annotator, label = random_labels(5)
    consensus = fit(name, item, annotator, label, items=[*range(12), "nobody"])
    assert consensus.annotations.labels_per_item[-1] == 0
    if consensus.probabilities is None:
        assert consensus.values[:-1].min() <= consensus.values[-1] <= consensus.values[:-1].max()
        assert consensus.spread[-1] >= consensus.spread[:-1].max() * 0.99
        return
    if consensus.annotations.kind == "multilabel":
        low, high = consensus.probabilities.min(axis=0), consensus.probabilities.max(axis=0)
        last = consensus.probabilities[-1]
        assert ((low <= last) & (last <= high)).all()
        return
    prior = getattr(consensus.parameters, "log_prior_k", None)
    expected = np.exp(prior) if prior is not None else np.bincount(label) / len(label)
    np.testing.assert_allclose(consensus.probabilities[-1], expected, atol=1e-9)


def test_inputs_are_not_touched(name, labels):
    annotations = build(name, *labels)
    copies = [
        array.copy() for array in (annotations.item, annotations.annotator, annotations.label)
    ]
    AGGREGATORS[name]().fit(annotations)
    for array, copy in zip(
        (annotations.item, annotations.annotator, annotations.label), copies, strict=True
    ):
        np.testing.assert_array_equal(array, copy)


def test_the_same_labels_give_the_same_bits(name, labels):
    np.testing.assert_array_equal(estimates(fit(name, *labels)), estimates(fit(name, *labels)))


@pytest.mark.parametrize("name", CLASS_NAMES)
def test_probabilities_and_confusions_sum_to_one(name, labels):
    consensus = fit(name, *labels)
    np.testing.assert_allclose(consensus.probabilities.sum(axis=1), 1.0, atol=1e-12)
    if consensus.confusion is not None:
        assert consensus.confusion.shape == (5, 3, 3)
        np.testing.assert_allclose(consensus.confusion.sum(axis=2), 1.0, atol=1e-9)


@pytest.mark.parametrize("name", ITERATIVE)
def test_the_objective_never_falls(name, labels):
    consensus = dataclasses.replace(AGGREGATORS[name](), tol=0.0, max_iter=60).fit(
        build(name, *labels)
    )
    steps = np.diff(consensus.objective)
    assert (steps >= -1e-9 * np.abs(consensus.objective[:-1])).all()


def test_known_truths_are_returned_as_given(name, labels):
    annotations = build(name, *labels)
    known = {0: 0.5, 3: 0.25} if annotations.kind == "numbers" else {0: 1, 3: 2}
    consensus = AGGREGATORS[name]().fit(annotations, known=known)
    assert [float(label) for label in consensus.labels[[0, 3]]] == list(known.values())
    np.testing.assert_allclose(consensus.confidence[[0, 3]], 1.0)


def test_a_known_truth_of_an_unknown_item_is_refused(name, labels):
    with pytest.raises(DataError, match="'nobody'"):
        AGGREGATORS[name]().fit(build(name, *labels), known={"nobody": 1})


def test_no_labels_at_all_is_refused(name):
    empty = Annotations.from_arrays([], [], [], items=["a"], kind=AGGREGATORS[name].kind)
    with pytest.raises(DataError, match="not a single label"):
        AGGREGATORS[name]().fit(empty)


def test_settings_are_keyword_only_and_checked(name):
    method = AGGREGATORS[name]
    with pytest.raises(TypeError):
        method(nonsense=1)
    parameters = inspect.signature(method).parameters.values()
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters)
    if name in ITERATIVE:
        with pytest.raises(SettingError, match="max_iter must be a whole number >= 1; got 0"):
            method(max_iter=0)


def test_predicting_the_same_labels_gives_the_same_estimates(name, labels):
    consensus = fit(name, *labels)
    again = consensus.predict(consensus.annotations)
    if name == "glad":  # new items have average easiness
        assert again.probabilities.shape == consensus.probabilities.shape
        return
    np.testing.assert_allclose(estimates(again), estimates(consensus), atol=1e-6)


def test_predicting_with_unseen_annotators_works(name, labels):
    consensus = fit(name, *labels)
    new = build(name, np.array([100, 100]), np.array([0, 99]), np.array([1, 1]))
    predicted = consensus.predict(new)
    assert predicted.annotations.items.tolist() == [100]
    assert len(predicted.annotators_frame()) == len(consensus.annotators_frame()) + 1
    assert np.isfinite(estimates(predicted)).all()


def test_an_update_ends_where_a_fresh_fit_ends(name):
    item, annotator, label = random_labels(7, n_items=30, n_annotators=8, n_annotations=240)
    old, new = slice(0, 200), slice(200, 240)
    settings = {"tol": 1e-10, "max_iter": 2000} if name in ITERATIVE else {}
    method = dataclasses.replace(AGGREGATORS[name](), **settings)
    first = method.fit(build(name, item[old], annotator[old], label[old]))
    updated = first.update(build(name, item[new], annotator[new], label[new]))
    fresh = method.fit(build(name, item, annotator, label))
    row = updated.annotations.item_vocabulary.codes(fresh.annotations.items)
    if name in ITERATIVE:
        assert updated.objective[-1] == pytest.approx(fresh.objective[-1], rel=2e-2)
        assert updated.n_iterations > 0
    else:
        np.testing.assert_allclose(estimates(updated)[row], estimates(fresh), atol=1e-9)


def test_tables_have_the_promised_columns(name, labels):
    consensus = fit(name, *labels)
    items, annotators = consensus.to_frame(), consensus.annotators_frame()
    assert list(items.columns[:5]) == ["item", "label", "confidence", "agreement", "n_annotations"]
    assert list(annotators.columns[:5]) == [
        "annotator", "quality", "quality_low", "quality_high", "n_annotations",
    ]  # fmt: skip
    assert len(items) == consensus.annotations.n_items
    assert len(annotators) == consensus.annotations.n_annotators
    if consensus.probabilities is not None:
        assert [f"p_{k}" for k in range(3)] == [c for c in items.columns if c.startswith("p_")]


def test_every_entry_has_an_example(name):
    text = AGGREGATORS[name].__doc__
    assert ">>>" in text, "the docstring needs an example that runs"
