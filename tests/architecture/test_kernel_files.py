"""Compiled kernels on disk are those of the source as it is, whoever compiles meanwhile."""

import fcntl
import importlib
import os
import sys
from pathlib import Path

import pytest

INNER = "from manyhands.core.kernels import kernel\n\n@kernel\ndef inner(x):\n    return x + {}\n"
OUTER = """\
from inner_a import SIZE, inner
from manyhands.core.kernels import kernel

@kernel
def outer(x):
    return inner(x) * SIZE
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Makes a kernel that calls one of another file; of several versions the newest is loaded."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # of the two modules themselves

    def make(added, size=1):
        (tmp_path / "inner_a.py").write_text(INNER.format(added) + f"SIZE = {size}\n")
        if not (tmp_path / "outer_a.py").exists():
            (tmp_path / "outer_a.py").write_text(OUTER)
        for name in ("inner_a", "outer_a"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module("outer_a").outer

    return make


def hits(kernel):
    return sum(kernel.stats.cache_hits.values())


def test_a_kernel_is_loaded_from_disk(modules):
    assert modules(1)(10) == 11
    again = modules(1)
    assert again(10) == 11
    assert hits(again) == 1


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_changed(modules):
    assert modules(1)(10) == 11
    assert modules(20)(10) == 30


def test_a_kernel_is_compiled_anew_when_a_number_of_another_file_changed(modules):
    assert modules(1, size=2)(10) == 22
    assert modules(1, size=30)(10) == 330


def test_types_have_files_of_their_own(modules):
    kernel = modules(1)
    assert (kernel(10), kernel(0.5)) == (11, 1.5)
    again = modules(1)
    assert (again(0.5), again(10)) == (1.5, 11)
    assert hits(again) == 2


def test_what_was_not_saved_whole_is_not_loaded(modules, monkeypatch):
    kernel = modules(1)

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel._cache._cache_file, "_save_index", killed)
    with pytest.raises(KeyboardInterrupt):
        kernel(10)
    again = modules(1)
    assert again(10) == 11
    assert hits(again) == 0


def test_processes_take_turns(modules, monkeypatch):
    kernel = modules(1)
    files, tried = kernel._cache._cache_file, []
    save = files._save_data

    def held(*given):
        other = os.open(Path(files._cache_path) / "manyhands.lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
        tried.append(save(*given))

    monkeypatch.setattr(files, "_save_data", held)
    assert kernel(10) == 11
    assert len(tried) == 1
