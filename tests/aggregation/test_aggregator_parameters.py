"""Aggregators among scikit-learn's tools, and labels of any form."""

import numpy as np
import pytest
from sklearn.base import clone

import manyhands as mh
from manyhands.aggregation import AGGREGATORS, DawidSkene, Majority
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError

LABELS = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1]]


@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_clone_has_the_same_settings(name):
    model = AGGREGATORS[name]()
    copy = clone(model)
    assert copy is not model
    assert type(copy) is type(model)
    assert copy == model
    assert AGGREGATORS[name](**model.get_params(deep=False)) == model


def test_a_clone_keeps_settings_of_ones_own():
    priors = {"u": np.eye(2)}
    copy = clone(DawidSkene(max_iter=np.int64(7), prior_confusions=priors))
    assert copy.max_iter == 7
    np.testing.assert_array_equal(copy.prior_confusions["u"], np.eye(2))


def test_settings_are_set_on_a_new_aggregator():
    model = DawidSkene()
    changed = model.set_params(max_iter=7)
    assert (model.max_iter, changed.max_iter) == (100, 7)
    assert changed.get_params() == model.get_params() | {"max_iter": 7}
    assert model.set_params() == model


def test_wrong_settings_are_refused():
    with pytest.raises(SettingError, match="dawid-skene has no setting 'max_iters'; known: device"):
        DawidSkene().set_params(max_iters=7)
    with pytest.raises(SettingError, match="max_iter must be"):
        DawidSkene().set_params(max_iter=0)
    with pytest.raises(SettingError, match="majority has no setting 'seed'"):
        Majority().set_params(seed=1)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_an_aggregator_takes_matrices_and_frames(name):
    model = AGGREGATORS[name]()
    ann = Annotations.from_dense(LABELS)
    expected = model.fit(ann)
    for labels in (LABELS, ann.to_frame()):
        found = model.fit(labels)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_array_equal(found.confidence, expected.confidence)
    for labels in ([[1, 0, 1]], {9: {0: 1, 1: 0}}):
        assert len(expected.predict(labels).labels) == 1
    more = expected.update({9: {0: 1, 1: 0}})
    assert more.annotations.n_items == 5


def test_settings_of_a_method_go_by_keyword():
    assert mh.aggregate(LABELS, "dawid-skene", max_iter=3, tol=0).n_iterations == 3
