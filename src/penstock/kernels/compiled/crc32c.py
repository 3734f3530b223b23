"""CRC-32C (Castagnoli) of a span of a buffer, with the processor's instruction where it has one.

The instruction takes three cycles and a new one can start in each, so long spans are read as three
lanes side by side, whose sums are then put together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from penstock.kernels.crc32c import LANE, SHIFT, TABLES

_TRIPLE, _, _FEATURES = cpu_target.target_context.codegen().magic_tuple()
"""What Numba compiles for, and what its cache on disk is kept apart by."""
_HAS = frozenset(_FEATURES.split(","))
X86 = _TRIPLE.startswith("x86_64") and "+sse4.2" in _HAS
ARM = _TRIPLE.startswith(("aarch64", "arm64")) and "+crc" in _HAS
HARDWARE = X86 or ARM
"""Whether the processor has an instruction for this sum."""

_WORD, _BYTE, _HALF = ir.IntType(64), ir.IntType(8), ir.IntType(32)
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
"""Flat bytes that are only read, whether or not they could be written."""


def address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """The address of the byte at `at` of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _load64_made(typingctx: Any, data: Any, at: Any) -> Any:  # noqa: ARG001
    """The eight bytes from `at` on as one number, wherever they lie."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = address(context, builder, signature.args[0], args[0], args[1])
        return builder.load(builder.bitcast(place, _WORD.as_pointer()), align=1)

    return types.uint64(data, types.int64), generate


load64: Any = intrinsic(_load64_made)
"""The eight bytes from a place of an array on as one number; nothing is checked."""


def _instruction64_made(typingctx: Any, crc: Any, word: Any) -> Any:  # noqa: ARG001
    """The sum after eight bytes more."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        if X86:
            kind = ir.FunctionType(_WORD, (_WORD, _WORD))
            name = "llvm.x86.sse42.crc32.64.64"
            return builder.call(builder.module.declare_intrinsic(name, (), kind), args)
        kind = ir.FunctionType(_HALF, (_HALF, _WORD))
        sum_so_far = builder.trunc(args[0], _HALF)
        name = "llvm.aarch64.crc32cx"
        made = builder.call(builder.module.declare_intrinsic(name, (), kind), [sum_so_far, args[1]])
        return builder.zext(made, _WORD)

    return types.uint64(types.uint64, types.uint64), generate


_instruction64: Any = intrinsic(_instruction64_made)


def _instruction8_made(typingctx: Any, crc: Any, byte: Any) -> Any:  # noqa: ARG001
    """The sum after one byte more."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        sum_so_far = builder.trunc(args[0], _HALF)
        if X86:
            name, byte = "llvm.x86.sse42.crc32.32.8", args[1]
            kind = ir.FunctionType(_HALF, (_HALF, _BYTE))
        else:
            name, byte = "llvm.aarch64.crc32cb", builder.zext(args[1], _HALF)
            kind = ir.FunctionType(_HALF, (_HALF, _HALF))
        made = builder.call(builder.module.declare_intrinsic(name, (), kind), [sum_so_far, byte])
        return builder.zext(made, _WORD)

    return types.uint64(types.uint64, types.uint8), generate


_instruction8: Any = intrinsic(_instruction8_made)


@njit("uint64(uint64)", nogil=True, cache=True)
def _shifted(crc: Any) -> Any:
    """The sum after `LANE` bytes of zero more."""
    return np.uint64(
        SHIFT[0, crc & np.uint64(255)]
        ^ SHIFT[1, (crc >> np.uint64(8)) & np.uint64(255)]
        ^ SHIFT[2, (crc >> np.uint64(16)) & np.uint64(255)]
        ^ SHIFT[3, (crc >> np.uint64(24)) & np.uint64(255)]
    )


def _by_instruction(data: Any, start: Any, stop: Any) -> Any:
    crc = np.uint64(0xFFFFFFFF)
    at = start
    while stop - at >= 3 * LANE:
        second, third = np.uint64(0), np.uint64(0)
        for i in range(at, at + LANE, 8):
            crc = _instruction64(crc, load64(data, i))
            second = _instruction64(second, load64(data, i + LANE))
            third = _instruction64(third, load64(data, i + 2 * LANE))
        crc = _shifted(_shifted(crc) ^ second) ^ third
        at += 3 * LANE
    while stop - at >= 8:
        crc = _instruction64(crc, load64(data, at))
        at += 8
    while at < stop:
        crc = _instruction8(crc, data[at])
        at += 1
    return np.uint32(crc) ^ np.uint32(0xFFFFFFFF)


_SPAN = types.uint32(BYTES, types.int64, types.int64)


@njit(_SPAN, nogil=True, cache=True)
def by_tables(data: Any, start: Any, stop: Any) -> Any:
    """The sum of `data[start:stop]`, eight bytes at a time through eight tables."""
    byte = np.uint64(255)
    crc = np.uint64(0xFFFFFFFF)
    at = start
    while stop - at >= 8:
        word = load64(data, at) ^ crc
        crc = np.uint64(
            TABLES[7, word & byte]
            ^ TABLES[6, (word >> np.uint64(8)) & byte]
            ^ TABLES[5, (word >> np.uint64(16)) & byte]
            ^ TABLES[4, (word >> np.uint64(24)) & byte]
            ^ TABLES[3, (word >> np.uint64(32)) & byte]
            ^ TABLES[2, (word >> np.uint64(40)) & byte]
            ^ TABLES[1, (word >> np.uint64(48)) & byte]
            ^ TABLES[0, word >> np.uint64(56)]
        )
        at += 8
    while at < stop:
        crc = np.uint64(TABLES[0, (crc ^ np.uint64(data[at])) & byte]) ^ (crc >> np.uint64(8))
        at += 1
    return np.uint32(crc) ^ np.uint32(0xFFFFFFFF)


# Compiled only where it can be: LLVM does not survive an instruction that its target lacks.
crc32c_span = njit(_SPAN, nogil=True, cache=True)(_by_instruction) if HARDWARE else by_tables
"""The sum of `data[start:stop]`, which must lie within `data`."""
