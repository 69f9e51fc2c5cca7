"""Kernels where nothing can be written: they run, and one line says so."""

import warnings
from types import SimpleNamespace

import numba
import pytest

from manyhands.core import kernels


@pytest.fixture
def unwritable(monkeypatch):
    """As if numba had no folder to keep compiled code in."""
    njit = numba.njit

    def refuse(*, cache=False, **settings):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**settings)

    monkeypatch.setattr(kernels, "numba", SimpleNamespace(njit=refuse))
    monkeypatch.setattr(kernels, "_NOT_KEPT", [])
    kernels._warn_of_no_cache.cache_clear()
    yield
    kernels._warn_of_no_cache.cache_clear()


def test_a_kernel_runs_and_one_warning_is_given(unwritable):
    @kernels.kernel
    def double(x):
        return 2 * x

    with pytest.warns(UserWarning, match="compiled code cannot be kept.*NUMBA_CACHE_DIR") as found:
        said = [kernels.run_blocks(double, blocks) for blocks in ([1, 2], [3])]
    assert said == [[2, 4], [6]]
    assert len(found) == 1


def test_nothing_is_said_where_code_is_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernels.run_blocks(abs, [-1, 2]) == [1, 2]


def test_a_full_disk_does_not_stop_a_kernel(monkeypatch):
    class Full:
        _cache_path = "/nowhere/at/all"

    kernels._warn_of_no_cache.cache_clear()
    with pytest.warns(UserWarning, match="cannot be kept"):
        kernels._save(Full(), "key", "data")
    kernels._warn_of_no_cache.cache_clear()
