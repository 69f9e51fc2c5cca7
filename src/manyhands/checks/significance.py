"""How sure a check must be before it accuses anybody.

Hundreds of annotators and thousands of pairs are tested in one table, so every p-value is
corrected for the number of tests; at `LEVEL`, one clean table in a thousand is accused.
"""

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Floats

LEVEL = 0.001


def significant(p_value: Floats, n_tests: int | None = None) -> Bools:
    """Which tests stand after Holm's correction; `n_tests` counts those not in the array too.

    >>> significant(np.array([1e-5, 4e-4, 0.9])).tolist()
    [True, True, False]
    >>> significant(np.array([6e-4, 0.9])).tolist()
    [False, False]
    """
    n_tests = len(p_value) if n_tests is None else n_tests
    order = np.argsort(p_value, kind="stable")
    corrected = p_value[order] * (n_tests - np.arange(len(p_value)))
    standing = np.zeros(len(p_value), dtype=bool)
    standing[order] = np.maximum.accumulate(corrected) < LEVEL
    return standing


def by_worst(codes: AnyArray, p_value: Floats) -> AnyArray:
    """Codes, the least probable first."""
    return codes[np.argsort(p_value, kind="stable")]
