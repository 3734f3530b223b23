"""Memory by its address: what kernels over many small messages need to be quick.

Numba counts a reference to an array in every function that is given one, and looks at every index for
a negative one. A plain address costs neither. Whoever calls holds every address to its bounds.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _pointer(builder: Any, address: Any, bits: int) -> Any:
    return builder.inttoptr(address, ir.IntType(bits).as_pointer())


def _byte_at(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """The byte at an address, as an int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.zext(builder.load(_pointer(builder, args[0], 8), align=1), ir.IntType(64))

    return types.int64(types.int64), generate


def _number_at(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """The int64 at an address, in the machine's order."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.load(_pointer(builder, args[0], 64), align=8)

    return types.int64(types.int64), generate


def _put_byte(typing: Any, address: Any, value: Any) -> Any:  # noqa: ARG001
    """Write the lowest byte of an int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        builder.store(builder.trunc(args[1], ir.IntType(8)), _pointer(builder, args[0], 8), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _put_number(typing: Any, address: Any, value: Any) -> Any:  # noqa: ARG001
    """Write an int64, in the machine's order."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        builder.store(args[1], _pointer(builder, args[0], 64), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _copy_word(typing: Any, to: Any, source: Any) -> Any:  # noqa: ARG001
    """Copy four bytes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        word = builder.load(_pointer(builder, args[1], 32), align=1)
        builder.store(word, _pointer(builder, args[0], 32), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _copy(typing: Any, to: Any, source: Any, size: Any) -> Any:  # noqa: ARG001
    """Copy `size` bytes: one memcpy."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        target, source = _pointer(builder, args[0], 8), _pointer(builder, args[1], 8)
        cgutils.raw_memcpy(builder, target, source, args[2], 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _turn_word(typing: Any, to: Any, source: Any) -> Any:  # noqa: ARG001
    """Copy eight bytes, the last one first."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        word = builder.load(_pointer(builder, args[1], 64), align=1)
        builder.store(builder.bswap(word), _pointer(builder, args[0], 64), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _fetch(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """Have the bytes at an address brought near: they are read soon. Any address will do."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        number = ir.IntType(32)
        place = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [place, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place], kind)
        read, soon, data = number(0), number(3), number(1)
        builder.call(function, [_pointer(builder, args[0], 8), read, soon, data])
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _bytes_at(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """A pointer to the bytes at an address, for `carray`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return _pointer(builder, args[0], 8)

    return types.CPointer(types.uint8)(types.int64), generate  # type: ignore[no-untyped-call]


# Their types are those of the compiler's, which says nothing of how they are called.
bytes_at: Any = intrinsic(_bytes_at)
byte_at: Any = intrinsic(_byte_at)
number_at: Any = intrinsic(_number_at)
put_byte: Any = intrinsic(_put_byte)
put_number: Any = intrinsic(_put_number)
copy_word: Any = intrinsic(_copy_word)
copy: Any = intrinsic(_copy)
fetch: Any = intrinsic(_fetch)
turn_word: Any = intrinsic(_turn_word)
