"""A hint to the processor that a row will be needed soon.

With thousands of annotators the rows of their confusions lie scattered over memory, and a loop
that waits for each of them runs at half the speed of one that asks a few labels ahead.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from manyhands.core.arrays import AnyArray


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte_pointer = ir.IntType(8).as_pointer()
        whole = ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [args[1]]), byte_pointer)
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer, whole, whole, whole]),
            "llvm.prefetch.p0",
        )
        # for reading, to be kept in every cache level, in the data cache
        builder.call(function, [address, whole(0), whole(3), whole(1)])
        return context.get_dummy_value()

    return types.void(array, index), emit


prefetch: Callable[[AnyArray, Any], None] = cast(Any, intrinsic(_prefetch))
"""Ask for the cache line that holds `array[index]`; changes no value."""
