"""Exponentials and logarithms that a compiler turns into vector instructions.

Those of the C library are calls, one number at a time. These are a few multiplications without a
branch, so that a loop over them handles several numbers at once.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from manyhands.core.kernels import kernel

_LOWEST = -708.0  # smaller exponents give 0: exp(-708) is 3e-308
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 x 2^52: adding it rounds to whole numbers, kept in the low bits
_FRACTION = 0x000FFFFFFFFFFFFF  # bits of a float below its exponent
_HALF = 0x3FE0000000000000  # the bits of 0.5
_EXPONENT_TO_FLOAT = 0x4330000000000000  # the bits of 2^52
_BIAS = 4503599627370496.0 + 1022.0  # 2^52, and the exponent of numbers from 0.5 to 1
_ROOT_HALF = 0.7071067811865476


def _as_float(typing_context: Any, bits: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), emit


def _as_bits(typing_context: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), emit


as_float: Callable[[Any], float] = cast(Any, intrinsic(_as_float))
as_bits: Callable[[float], Any] = cast(Any, intrinsic(_as_bits))


@kernel(contract=True)
def fast_exp(x: float) -> float:
    """The exponential of x <= 0, with a relative error below 1e-14; 0 below -708.

    exp(x) = 2^n exp(r) with |r| <= log(2) / 2, and exp(r) by its series.
    """
    within = max(x, _LOWEST)
    rounded = within * _LOG2_E + _ROUND
    n = rounded - _ROUND
    r = within - n * _LN2_HIGH
    r -= n * _LN2_LOW
    series = 1 / 39916800
    series = series * r + 1 / 3628800
    series = series * r + 1 / 362880
    series = series * r + 1 / 40320
    series = series * r + 1 / 5040
    series = series * r + 1 / 720
    series = series * r + 1 / 120
    series = series * r + 1 / 24
    series = series * r + 1 / 6
    series = series * r + 0.5
    series = series * r + 1.0
    series = series * r + 1.0
    found = as_float(as_bits(series) + (as_bits(rounded) << np.int64(52)))
    return found if x >= _LOWEST else 0.0


@kernel(contract=True)
def fast_log(x: float) -> float:
    """The logarithm of a normal float above 0, with an error below 4e-16 (1 + |log x|).

    log(x) = n log(2) + log(m) with m near 1, and log(m) = 2 artanh((m - 1) / (m + 1)) by its
    series.
    """
    bits = as_bits(x)
    m = as_float((bits & np.int64(_FRACTION)) | np.int64(_HALF))
    n = as_float((bits >> np.int64(52)) | np.int64(_EXPONENT_TO_FLOAT)) - _BIAS
    low = 1.0 if m < _ROOT_HALF else 0.0
    m += m * low
    n -= low
    f = (m - 1.0) / (m + 1.0)
    s = f * f
    series = 1 / 21
    series = series * s + 1 / 19
    series = series * s + 1 / 17
    series = series * s + 1 / 15
    series = series * s + 1 / 13
    series = series * s + 1 / 11
    series = series * s + 1 / 9
    series = series * s + 1 / 7
    series = series * s + 1 / 5
    series = series * s + 1 / 3
    return n * _LN2_HIGH + (2.0 * f + (2.0 * f * s * series + n * _LN2_LOW))
