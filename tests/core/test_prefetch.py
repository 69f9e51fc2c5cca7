"""Prefetching is a hint: kernels give the same results without it."""

import numba
import numpy as np
import pytest
from numba.extending import intrinsic

from manyhands.aggregation.kernels import confusion_loops
from manyhands.annotations import Annotations
from manyhands.core import prefetch


def sum_ahead():
    """A new kernel with the hint in it, compiled when it is first called."""
    hint = intrinsic(prefetch._prefetch)

    @numba.njit
    def sums(values):
        total = 0.0
        for n in range(len(values)):
            hint(values, min(n + 2, len(values) - 1))
            total += values[n]
        return total

    return sums


def llvm_of(kernel):
    (code,) = kernel.inspect_llvm().values()
    return code


def test_the_platform_is_tried_once():
    prefetch.can_prefetch.cache_clear()
    assert prefetch.can_prefetch() is prefetch.can_prefetch()
    assert prefetch.can_prefetch.cache_info().misses == 1


@pytest.mark.parametrize("available", [True, False])
def test_a_kernel_without_the_hint_gives_the_same(available, monkeypatch):
    if available and not prefetch.can_prefetch():
        pytest.skip("this platform cannot prefetch")
    monkeypatch.setattr(prefetch, "can_prefetch", lambda: available)
    kernel = sum_ahead()
    assert kernel(np.arange(10.0)) == 45.0
    assert ("llvm.prefetch" in llvm_of(kernel)) is available


@pytest.mark.parametrize("error", [RuntimeError, TypeError, AttributeError, NotImplementedError])
def test_a_platform_that_cannot_compile_the_hint_goes_without(error, monkeypatch):
    def broken(*_):
        raise error("LLVM ERROR")

    monkeypatch.setattr(prefetch, "_call_prefetch", broken)
    prefetch.can_prefetch.cache_clear()
    try:
        assert prefetch.can_prefetch() is False
        assert sum_ahead()(np.arange(10.0)) == 45.0
    finally:
        prefetch.can_prefetch.cache_clear()


def test_an_instruction_that_llvm_refuses_is_not_used(monkeypatch):
    def wrong_name(builder, pointer):
        builder.call(pointer, [])

    monkeypatch.setattr(prefetch, "_call_prefetch", wrong_name)
    prefetch.can_prefetch.cache_clear()
    try:
        assert prefetch.can_prefetch() is False
    finally:
        prefetch.can_prefetch.cache_clear()


@pytest.mark.parametrize("n_classes", [3, 20])
def test_the_e_step_without_the_hint_has_the_same_bits(n_classes, monkeypatch):
    usual = confusion_loops.expect_items
    rng = np.random.default_rng(0)
    label = rng.integers(0, n_classes, 300)
    ann = Annotations.from_arrays(
        rng.integers(0, 40, 300), rng.integers(0, 9, 300), label, classes=range(n_classes)
    )
    row = confusion_loops.rows_of_labels(ann.annotator, ann.label, 9, n_classes)
    log_confusion = np.log(rng.dirichlet(np.ones(n_classes), (9, n_classes)))
    log_prior, known = np.log(np.full(n_classes, 1 / n_classes)), np.zeros(0, dtype=np.int32)

    def expectation(kernel):
        found = [np.zeros(n) for n in (len(ann) * n_classes, log_confusion.size, n_classes)]
        total = kernel(0, len(ann), ann.item_offsets, row, known, 1, log_prior,
                       log_confusion.ravel(), False, *found, np.zeros(n_classes))  # fmt: skip
        return [total, *found]

    before = expectation(usual)
    monkeypatch.setattr(prefetch, "can_prefetch", lambda: False)
    monkeypatch.setattr(confusion_loops, "prefetch", intrinsic(prefetch._prefetch))
    without = numba.njit(error_model="numpy", fastmath={"contract"})(usual.py_func)
    for one, two in zip(before, expectation(without), strict=True):
        np.testing.assert_array_equal(one, two)
    assert "llvm.prefetch" not in llvm_of(without)
