"""Add or multiply rows of a table, for compiled loops: a row is one vector.

A compiler that cannot prove that two arrays do not overlap adds one number after the other. These
functions tell LLVM to load a whole row, whatever its length. Sums stay in registers.

How many columns a row has is the length of `columns`. A tuple is known when a loop is compiled: a
row is then one vector, and there is one compiled loop for every length. An array gives one loop for
all lengths, which takes rows in vectors of eight.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from manyhands.core.arrays import Floats

Columns = tuple[int, ...] | Floats

_WHOLE = ir.IntType(64)
_LANES = 8  # columns at a time where their number is not known
_FLOAT_BYTES = 8


def _sum_rows(
    typing_context: Any, into: Any, at: Any, start: Any, start_at: Any, rows: Any, row_n: Any,
    begin: Any, end: Any, columns: Any,
) -> Any:  # fmt: skip
    return _joined(into, at, start, start_at, rows, row_n, begin, end, columns, by="fadd")


def _multiply_rows(
    typing_context: Any, into: Any, at: Any, start: Any, start_at: Any, rows: Any, row_n: Any,
    begin: Any, end: Any, columns: Any,
) -> Any:  # fmt: skip
    return _joined(into, at, start, start_at, rows, row_n, begin, end, columns, by="fmul")


def _joined(*given: Any, by: str) -> Any:
    """What joins rows by an instruction, for arguments of these types."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(place: int) -> Any:
            return context.make_array(signature.args[place])(context, builder, args[place]).data

        def add(width: int, shift: Any, n_columns: Any) -> None:
            first = _load(builder, _vector(builder, data(2), builder.add(args[3], shift), width))
            total = cgutils.alloca_once_value(builder, first)  # type: ignore[no-untyped-call]
            with _loop(builder, args[6], args[7], 1) as (n, _):
                row = _row(builder, data(5), n, n_columns, shift)
                more = _load(builder, _vector(builder, data(4), row, width))
                builder.store(getattr(builder, by)(builder.load(total), more), total)
            target = _vector(builder, data(0), builder.add(args[1], shift), width)
            _store(builder, builder.load(total), target)

        _by_columns(context, builder, signature.args[8], args[8], add)
        return context.get_dummy_value()

    return types.void(*given), emit


def _add_to_rows(
    typing_context: Any, rows: Any, row_n: Any, begin: Any, end: Any, values: Any, at: Any,
    columns: Any,
) -> Any:  # fmt: skip
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(place: int) -> Any:
            return context.make_array(signature.args[place])(context, builder, args[place]).data

        def add(width: int, shift: Any, n_columns: Any) -> None:
            more = _load(builder, _vector(builder, data(4), builder.add(args[5], shift), width))
            with _loop(builder, args[2], args[3], 1) as (n, _):
                row = _row(builder, data(1), n, n_columns, shift)
                target = _vector(builder, data(0), row, width)
                _store(builder, builder.fadd(_load(builder, target), more), target)

        _by_columns(context, builder, signature.args[6], args[6], add)
        return context.get_dummy_value()

    return types.void(rows, row_n, begin, end, values, at, columns), emit


def _by_columns(
    context: Any, builder: Any, columns_type: Any, columns: Any, add: Callable[..., None]
) -> None:
    """Call `add(width, first column, number of columns)` for all columns."""
    if isinstance(columns_type, types.BaseTuple):
        add(len(columns_type), _WHOLE(0), _WHOLE(len(columns_type)))
        return
    array = context.make_array(columns_type)(context, builder, columns)
    n_columns = builder.extract_value(array.shape, 0)
    whole = builder.and_(n_columns, _WHOLE(-_LANES))
    with _loop(builder, _WHOLE(0), whole, _LANES) as (shift, _):
        add(_LANES, shift, n_columns)
    with _loop(builder, whole, n_columns, 1) as (shift, _):
        add(1, shift, n_columns)


def _loop(builder: Any, begin: Any, end: Any, step: int) -> Any:
    return cgutils.for_range_slice(builder, begin, end, _WHOLE(step), _WHOLE)


def _row(builder: Any, row_n: Any, n: Any, n_columns: Any, shift: Any) -> Any:
    """Where the columns of the n-th row begin."""
    row = builder.load(builder.gep(row_n, [n]))
    if row.type != _WHOLE:
        row = builder.zext(row, _WHOLE)
    return builder.add(builder.mul(row, n_columns), shift)


def _vector(builder: Any, data: Any, at: Any, width: int) -> Any:
    kind = ir.VectorType(ir.DoubleType(), width)
    return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())


def _load(builder: Any, pointer: Any) -> Any:
    found = builder.load(pointer)
    found.align = _FLOAT_BYTES  # not that of the vector: rows begin anywhere
    return found


def _store(builder: Any, value: Any, pointer: Any) -> None:
    builder.store(value, pointer).align = _FLOAT_BYTES


sum_rows: Callable[..., None] = cast(Any, intrinsic(_sum_rows))
"""`into[at:] = start[start_at:] + sum of rows[row_n[n]]` for n from `begin` to `end`.

All arrays but `row_n` are flat arrays of floats; `at` and `start_at` are 64-bit integers."""

multiply_rows: Callable[..., None] = cast(Any, intrinsic(_multiply_rows))
"""`into[at:] = start[start_at:] x product of rows[row_n[n]]` for n from `begin` to `end`."""

add_to_rows: Callable[..., None] = cast(Any, intrinsic(_add_to_rows))
"""`rows[row_n[n]] += values[at:]` for n from `begin` to `end`, one after the other."""
