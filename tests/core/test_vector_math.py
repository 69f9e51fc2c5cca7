"""Exponentials and logarithms of vectors are those of the C library, within a stated error."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyhands.core.row_vectors import add_to_rows, multiply_rows, sum_rows
from manyhands.core.vector_math import fast_exp, fast_log


@numba.njit
def each(function, values):
    found = np.empty_like(values)
    for n in range(len(values)):
        found[n] = function(values[n])
    return found


def test_exponentials_of_a_whole_range():
    x = np.concatenate([np.linspace(-708, 0, 200_001), -np.logspace(-300, 0, 1000)])
    expected = np.exp(x)
    np.testing.assert_allclose(each(fast_exp, x), expected, rtol=1e-14, atol=0)
    assert fast_exp(0.0) == fast_exp(-0.0) == 1.0


@pytest.mark.parametrize("x", [-708.5, -745.0, -1e300, -math.inf])
def test_exponentials_of_hardly_anything_are_zero(x):
    assert fast_exp(x) == 0.0


@given(st.floats(min_value=2.3e-308, max_value=1e308))
def test_logarithms_of_normal_floats(x):
    assert fast_log(x) == pytest.approx(math.log(x), rel=4e-16, abs=4e-16)


def test_logarithms_near_one_keep_their_digits():
    x = np.concatenate([1 + np.linspace(-1e-3, 1e-3, 20_001), 1 - np.logspace(-16, -3, 500)])
    expected = np.array([math.log(each) for each in x])
    np.testing.assert_allclose(each(fast_log, x), expected, rtol=1e-15, atol=0)


@numba.njit
def added(table, row, values, start, columns):
    """The sum of rows, and the table with some values added to each of them."""
    into = np.full(len(columns) + 2, np.nan)
    sum_rows(into, np.int64(1), start, np.int64(3), table, row, 0, len(row), columns)
    add_to_rows(table, row, 0, len(row), values, np.int64(2), columns)
    return into


@pytest.mark.parametrize("n_columns", [1, 2, 3, 7, 8, 10, 16, 19])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_rows_are_added_as_numpy_does(n_columns, known, kind):
    rng = np.random.default_rng(n_columns)
    table = rng.normal(size=(6, n_columns))
    row = np.array([4, 0, 4, 5], dtype=kind)
    start, values = rng.normal(size=n_columns + 3), rng.normal(size=n_columns + 2)
    columns = (0,) * n_columns if known else np.zeros(n_columns)
    flat = table.reshape(-1).copy()
    into = added(flat, row, values, start, columns)
    np.testing.assert_allclose(into[1:-1], start[3:] + table[row].sum(axis=0), rtol=1e-14)
    assert np.isnan(into[[0, -1]]).all()  # nothing beside the row is written
    expected = table.copy()
    np.add.at(expected, row, values[2:])
    np.testing.assert_allclose(flat.reshape(6, n_columns), expected, rtol=1e-14)


@numba.njit
def multiplied(table, row, start, columns):
    """The product of rows."""
    into = np.full(len(columns) + 2, np.nan)
    multiply_rows(into, np.int64(1), start, np.int64(3), table, row, 0, len(row), columns)
    return into


@pytest.mark.parametrize("n_columns", [1, 3, 8, 10, 19])
@pytest.mark.parametrize("known", [True, False])
def test_rows_are_multiplied_as_numpy_does(n_columns, known):
    rng = np.random.default_rng(n_columns)
    table, row = rng.normal(size=(6, n_columns)), np.array([4, 0, 4, 5], dtype=np.int32)
    start = rng.normal(size=n_columns + 3)
    columns = (0,) * n_columns if known else np.zeros(n_columns)
    into = multiplied(table.reshape(-1), row, start, columns)
    np.testing.assert_allclose(into[1:-1], start[3:] * table[row].prod(axis=0), rtol=1e-14)
    assert np.isnan(into[[0, -1]]).all()  # nothing beside the row is written
