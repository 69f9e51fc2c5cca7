"""A hint to the processor that a row will be needed soon.

With thousands of annotators, the rows of their confusions are scattered over memory. A loop that
requests each row a few labels ahead runs twice as fast as one that waits for it. Where LLVM cannot
compile the instruction, the hint does nothing: results are the same, only slower.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from manyhands.core.arrays import AnyArray


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    wanted = can_prefetch()

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if wanted:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            _call_prefetch(builder, builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, index), emit


def _call_prefetch(builder: Any, pointer: Any) -> None:
    byte_pointer, whole = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte_pointer, whole, whole, whole]),
        "llvm.prefetch.p0",
    )
    # for reading, to be kept in every cache level, in the data cache
    address = builder.bitcast(pointer, byte_pointer)
    builder.call(function, [address, whole(0), whole(3), whole(1)])


@cache
def can_prefetch() -> bool:
    """Whether LLVM compiles the instruction on this platform, tried on a function of one call."""
    try:
        module = ir.Module()
        parameters = [ir.IntType(8).as_pointer()]
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), "probe")
        builder = ir.IRBuilder(function.append_basic_block())
        _call_prefetch(builder, function.args[0])
        builder.ret_void()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        compiled = binding.parse_assembly(str(module))
        compiled.verify()
        binding.Target.from_default_triple().create_target_machine().emit_object(compiled)
    except (RuntimeError, TypeError, AttributeError, NotImplementedError):
        return False
    return True


prefetch: Callable[[AnyArray, Any], None] = cast(Any, intrinsic(_prefetch))
"""Request the cache line that holds `array[index]`; changes no value."""
