"""Settings of a method by keyword and from text."""

import dataclasses
import math

import numpy as np
import pytest

import manyhands as mh
from manyhands.aggregation import AGGREGATORS, DawidSkene, make_aggregator, parse_settings
from manyhands.aggregation.catalog import default_settings
from manyhands.core.errors import SettingError, UnknownNameError

NAMES = list(AGGREGATORS)


@pytest.fixture
def labels():
    return mh.Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1]])


@pytest.fixture
def tokens():
    sentences = mh.Sentences.from_lists([["Anna", "Berg"]])
    tags = ["B-PER", "O", "I-PER", "I-PER"]
    item, annotator = ["0:0", "0:0", "0:1", "0:1"], [0, 1, 0, 1]
    classes = ["O", "B-PER", "I-PER"]
    return sentences, mh.Annotations.from_arrays(item, annotator, tags, classes=classes)


def test_settings_go_to_the_method(labels):
    found = mh.aggregate(labels, method="dawid-skene", max_iter=5, tol=0.0)
    expected = DawidSkene(max_iter=5, tol=0.0).fit(labels)
    assert found.method == expected.method
    assert found.n_iterations == 5
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    assert mh.aggregate(labels, max_iter=3, tol=0.0).n_iterations == 3, "of the default method"


def test_settings_go_to_the_method_of_tokens(tokens):
    found = mh.aggregate_tokens(*tokens, "dawid-skene", max_iter=2, tol=0.0)
    assert found.tokens.n_iterations == 2
    with pytest.raises(SettingError, match="DawidSkene is an aggregator already"):
        mh.aggregate_tokens(*tokens, DawidSkene(), max_iter=2)


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_setting_lists_the_known_ones(name, labels):
    with pytest.raises(SettingError, match=f"{name} has no setting 'nonsense'") as error:
        mh.aggregate(labels, name, nonsense=1)
    assert all(setting in str(error.value) for setting in default_settings(name))


def test_an_unknown_setting_names_the_nearest(labels, tokens):
    text = "dawid-skene has no setting 'max_iters'; did you mean max_iter?"
    with pytest.raises(SettingError, match=text):
        mh.aggregate(labels, "dawid-skene", max_iters=5)
    with pytest.raises(SettingError, match=text):
        mh.aggregate_tokens(*tokens, "dawid-skene", max_iters=5)
    with pytest.raises(SettingError, match="majority has no setting 'seed'; known: device"):
        mh.aggregate(labels, "majority", seed=5)


def test_values_are_checked(labels):
    with pytest.raises(SettingError, match="max_iter must be a whole number >= 1; got 0"):
        mh.aggregate(labels, "dawid-skene", max_iter=0)
    with pytest.raises(UnknownNameError, match="did you mean dawid-skene"):
        mh.aggregate(labels, "dawid-sken", max_iter=5)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_can_be_read_from_text(name):
    defaults = default_settings(name)
    texts = [f"{key}={value}" for key, value in defaults.items() if value is not None]
    found = parse_settings(name, texts)
    assert found == {key: value for key, value in defaults.items() if value is not None}
    assert [type(value) for value in found.values()] == [type(defaults[key]) for key in found]
    assert make_aggregator(name, found) == AGGREGATORS[name]()


def test_text_becomes_the_declared_type():
    texts = ["max_iter = 5", "tol=1", "start=spectral", "class_pseudo_count=inf"]
    found = parse_settings("dawid-skene", texts)
    assert found == {"max_iter": 5, "tol": 1.0, "start": "spectral", "class_pseudo_count": math.inf}
    assert isinstance(found["tol"], float)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("max_iter", "a setting must be NAME=VALUE; got 'max_iter'"),
        ("max_iter=five", "max_iter must be a whole number; got 'five'"),
        ("max_iter=5.5", "max_iter must be a whole number; got '5.5'"),
        ("tol=", "tol must be a number; got ''"),
        ("max_itr=5", "dawid-skene has no setting 'max_itr'; did you mean max_iter?"),
        ("prior_confusions=1", "prior_confusions cannot be given as text"),
    ],
)
def test_text_that_cannot_be_read_is_refused(text, error):
    with pytest.raises(SettingError, match=error.replace("?", r"\?")):
        parse_settings("dawid-skene", [text])


def test_a_number_that_has_no_float_is_refused():
    with pytest.raises(SettingError, match="max_iter must be a number of 64 bits"):
        AGGREGATORS["ebcc"](max_iter=10**400)


def test_a_setting_given_twice_is_refused():
    with pytest.raises(SettingError, match="max_iter of dawid-skene is given twice"):
        parse_settings("dawid-skene", ["max_iter=5", "max_iter=6"])


@pytest.mark.parametrize("name", NAMES)
def test_every_method_knows_its_name(name):
    assert AGGREGATORS[name].name == name
    assert set(default_settings(name)) == {
        field.name for field in dataclasses.fields(AGGREGATORS[name])
    }


def test_an_aggregator_is_a_method_too():
    grid = [[0, 1, 0], [1, 1, 0], [0, 0, 0]]
    found = mh.aggregate(grid, method=mh.aggregation.DawidSkene(max_iter=3))
    wanted = mh.aggregate(grid, method="dawid-skene", max_iter=3)
    assert np.array_equal(found.probabilities, wanted.probabilities)
    with pytest.raises(SettingError, match="give max_iter to DawidSkene, not beside it"):
        mh.aggregate(grid, method=mh.aggregation.DawidSkene(), max_iter=3)
    for wrong in (mh.aggregation.DawidSkene, 5):
        with pytest.raises(SettingError, match="method must be a name of AGGREGATORS"):
            mh.aggregate(grid, method=wrong)
