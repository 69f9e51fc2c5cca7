"""The significance level of checks that name annotators.

A table has hundreds of annotators and thousands of pairs to test, so p-values are corrected for the
number of tests. At `LEVEL`, a check reports one clean table in a thousand.
"""

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Floats

LEVEL = 0.001


def significant(p_value: Floats, n_tests: int | None = None) -> Bools:
    """Which tests are significant after Holm's correction; `n_tests` defaults to their number.

    >>> significant(np.array([1e-5, 4e-4, 0.9])).tolist()
    [True, True, False]
    >>> significant(np.array([6e-4, 0.9])).tolist()
    [False, False]
    """
    n_tests = len(p_value) if n_tests is None else n_tests
    order = np.argsort(p_value, kind="stable")
    corrected = p_value[order] * (n_tests - np.arange(len(p_value)))
    is_significant = np.zeros(len(p_value), dtype=bool)
    is_significant[order] = np.maximum.accumulate(corrected) < LEVEL
    return is_significant


def sort_by_p_value(codes: AnyArray, p_value: Floats) -> AnyArray:
    """Codes sorted by their p-value, the smallest first."""
    return codes[np.argsort(p_value, kind="stable")]
