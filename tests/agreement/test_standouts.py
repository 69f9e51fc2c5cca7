"""Sentences on classes and annotators: only what is beyond chance."""

import numpy as np
import pytest

from manyhands.agreement.standouts import class_words, confused_pair
from manyhands.agreement.tables import class_columns
from manyhands.annotations import Annotations

NAMES = np.array(["cat", "dog", "fox", "owl"])


def simulated(seed, right=(0.7, 0.7, 0.7, 0.7), confused=None, n_items=300):
    """Four labels of every item; mistakes are any other class, or one of a pair of classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n_items)
    wrong = (truth[:, None] + rng.integers(1, 4, (n_items, 4))) % 4
    for one, two in confused or ():
        wrong[truth == one] = two
    is_right = rng.random((n_items, 4)) < np.array(right)[truth][:, None]
    return Annotations.from_dense(NAMES[np.where(is_right, truth[:, None], wrong)])


@pytest.mark.parametrize("seed", range(8))
def test_classes_alike_have_no_sentence(seed):
    columns = class_columns(simulated(seed))
    assert class_words(columns) == []
    assert confused_pair(columns, 4.0) is None


@pytest.mark.parametrize("seed", range(4))
def test_a_class_that_is_harder_is_named(seed):
    columns = class_columns(simulated(seed, right=(0.4, 0.9, 0.9, 0.9)))
    (sentence,) = class_words(columns)
    assert sentence.startswith("Annotators agree least on cat: where one says “cat”")
    assert "For the other classes together it is" in sentence


@pytest.mark.parametrize("seed", range(4))
def test_classes_that_are_confused_are_named(seed):
    labels = simulated(seed, right=(0.6, 0.9, 0.6, 0.9), confused=[(0, 2), (2, 0)])
    pair = confused_pair(class_columns(labels), 4.0)
    assert {NAMES[pair.said], NAMES[pair.instead]} == {"cat", "fox"}
    assert pair.share > 1.5 * pair.usual


def test_two_classes_are_not_advised_on():
    labels = Annotations.from_dense([["a", "b"], ["a", "a"], ["b", "a"], ["b", "b"]] * 30)
    assert confused_pair(class_columns(labels), 2.0) is None


def test_a_difference_that_is_small_is_not_worth_a_sentence():
    """Beyond chance with so many items, but less than five points."""
    labels = simulated(0, right=(0.69, 0.7, 0.7, 0.7), n_items=40_000)
    assert class_words(class_columns(labels)) == []
