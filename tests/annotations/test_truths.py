"""Truths as dictionaries, frames, series and lists."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import manyhands as mh
from manyhands.annotations import Vocabulary, as_truths
from manyhands.annotations.truths import ListedTruths
from manyhands.core.errors import DataError

ROWS = Vocabulary.of([0, 1, 2], "item")
NAMED = Vocabulary.of(["a", "b", "c"], "item")
LABELS = {"a": {"u": "x", "v": "x"}, "b": {"u": "y", "v": "x"}, "c": {"u": "y", "v": "y"}}
TRUTH = {"a": "x", "b": "y"}


@pytest.mark.parametrize(
    "truth",
    [
        pd.DataFrame({"item": ["a", "b"], "truth": ["x", "y"]}),
        pl.DataFrame({"task": ["a", "b", "c"], "gold": ["x", "y", None]}),
        pd.Series({"a": "x", "b": "y", "c": float("nan")}),
        TRUTH,
    ],
)
def test_truths_of_named_items_score_and_are_known_in_every_form(truth):
    assert dict(as_truths(truth, NAMED)) == TRUTH
    consensus = mh.aggregate(LABELS, method="majority")
    assert consensus.score(truth) == consensus.score(TRUTH)
    wanted = mh.aggregate(LABELS, known=TRUTH)
    for found in (
        mh.aggregate(LABELS, known=truth),
        mh.aggregation.AnnotatorTypes().fit(LABELS, known=truth),
    ):
        assert np.array_equal(found.probabilities, wanted.probabilities)
    assert consensus.update({"d": {"u": "x"}}, known=truth).labels[:2].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    "truth",
    [["x", None, "y"], np.array(["x", "", "y"]), pd.Series(["x", None, "y"]), ("x", None, "y")],
)
def test_a_list_has_the_truths_of_rows(truth):
    assert dict(as_truths(truth, ROWS)) == {0: "x", 2: "y"}
    with pytest.raises(DataError, match="rows of a matrix"):
        as_truths(truth, NAMED)
    with pytest.raises(DataError, match="3 truths in a list, and there are 2 items"):
        as_truths(truth, Vocabulary.of([0, 1], "item"))
    with pytest.raises(DataError, match="rows of a matrix"):
        as_truths(truth, Vocabulary.of([1, 2, 3], "item"))


def test_whole_numbers_of_a_list_are_classes():
    assert dict(as_truths(np.array([1.0, np.nan, 0.0]), ROWS)) == {0: 1, 2: 0}
    consensus = mh.aggregate([[1, 1], [0, 1], [0, 0]], method="majority")
    assert consensus.score(np.array([1.0, np.nan, 0.0])).n_items == 2


def test_listed_truths_are_pickled_with_their_count():
    found = pickle.loads(pickle.dumps(ListedTruths(["x", None], "truth.txt")))
    assert (found, found.n_items, found.path) == ({0: "x"}, 2, "truth.txt")


@pytest.mark.parametrize("truth", ["x", 5, None, np.zeros((2, 2))])
def test_other_things_are_refused(truth):
    with pytest.raises(DataError, match="expected truths as"):
        as_truths(truth, ROWS)


def test_two_truths_of_an_item_are_refused():
    frame = pd.DataFrame({"item": ["a", "a"], "truth": ["x", "y"]})
    with pytest.raises(DataError, match="truth of item 'a' is given more than once"):
        as_truths(frame, NAMED)


def test_truths_that_are_no_class_of_the_labels_are_refused():
    consensus = mh.aggregate(LABELS, method="majority")
    with pytest.raises(DataError, match="no truth is a class of the labels: the truths are cat"):
        consensus.score({"a": "cat", "b": "dog"})
    assert consensus.score({"a": "cat", "b": "x"}).n_items == 2
