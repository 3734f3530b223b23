"""The arithmetic of JPEGs, sixteen numbers at a time: the bits of libjpeg-turbo's vector code.

Numbers of 16 bits wrap around here as they do there. Whoever calls holds every address to its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

LANES = 16
GROUP = 64 * LANES
"""The numbers of a group: of sixteen blocks side by side the first of each, the second of each, and so on."""
_WORD = ir.IntType(64)


def _vector(bits: int, count: int = LANES) -> Any:
    return ir.VectorType(ir.IntType(bits), count)


def _place(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    return builder.inttoptr(builder.add(address, ir.Constant(_WORD, offset)), kind.as_pointer())


def _load(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    return builder.load(_place(builder, address, offset, kind), align=1)


def _store(builder: Any, value: Any, address: Any, offset: int = 0) -> None:
    builder.store(value, _place(builder, address, offset, value.type), align=1)


def _in_turn(builder: Any, left: Any, right: Any) -> Any:
    """One of the left, one of the right, and so on."""
    count = left.type.count
    mask = [i // 2 + count * (i % 2) for i in range(2 * count)]
    return builder.shuffle_vector(left, right, ir.Constant(_vector(32, 2 * count), mask))


def _within(builder: Any, value: Any, low: int, high: int) -> Any:
    for limit, beyond in ((low, "<"), (high, ">")):
        bound = ir.Constant(value.type, limit)
        value = builder.select(builder.icmp_signed(beyond, value, bound), bound, value)
    return value


def _inverse(builder: Any, x: Sequence[Any]) -> list[Any]:
    """The inverse cosine transform of eight numbers, quick and not quite exact, as `jidctfst` has it."""
    add, subtract, narrow, wide = builder.add, builder.sub, _vector(16), _vector(32)

    def times(value: Any, constant: int) -> Any:
        """By a constant in 256ths."""
        shifted = builder.sext(builder.shl(value, ir.Constant(narrow, 2)), wide)
        product = builder.mul(shifted, ir.Constant(wide, constant << 6))
        return builder.trunc(builder.ashr(product, ir.Constant(wide, 16)), narrow)

    sum_04, difference_04 = add(x[0], x[4]), subtract(x[0], x[4])
    sum_26 = add(x[2], x[6])
    turned_26 = subtract(times(subtract(x[2], x[6]), 362), sum_26)
    even = (
        add(sum_04, sum_26),
        add(difference_04, turned_26),
        subtract(difference_04, turned_26),
        subtract(sum_04, sum_26),
    )
    z13, z10 = add(x[5], x[3]), subtract(x[5], x[3])
    z11, z12 = add(x[1], x[7]), subtract(x[1], x[7])
    odd_7 = add(z11, z13)
    z5 = times(add(z10, z12), 473)
    odd_6 = subtract(add(subtract(times(z10, -413), z10), z5), odd_7)
    odd_5 = subtract(times(subtract(z11, z13), 362), odd_6)
    odd_4 = add(subtract(times(z12, 277), z5), odd_5)
    return [
        add(even[0], odd_7),
        add(even[1], odd_6),
        add(even[2], odd_5),
        subtract(even[3], odd_4),
        add(even[3], odd_4),
        subtract(even[2], odd_5),
        subtract(even[1], odd_6),
        subtract(even[0], odd_7),
    ]


def _transform(typing: Any, group: Any, plane: Any, stride: Any) -> Any:  # noqa: ARG001
    """Make samples of a group, eight lines of 128, `stride` bytes apart; the group is then all zeros."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        group, plane, stride = args
        narrow = _vector(16)
        numbers: list[Any] = [None] * 64
        for column in range(8):
            places = [2 * LANES * i for i in range(column, 64, 8)]
            numbers[column::8] = _inverse(builder, [_load(builder, group, i, narrow) for i in places])
            for place in places:
                _store(builder, ir.Constant(narrow, 0), group, place)
        for row in range(8):
            line = [_sample(builder, x) for x in _inverse(builder, numbers[8 * row : 8 * row + 8])]
            while len(line) > 1:  # the samples of a block side by side
                half = len(line) // 2
                line = [_in_turn(builder, line[i], line[i + half]) for i in range(half)]
            _store(builder, line[0], builder.add(plane, builder.mul(stride, ir.Constant(_WORD, row))))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _sample(builder: Any, value: Any) -> Any:
    small = _within(builder, builder.ashr(value, ir.Constant(value.type, 5)), -128, 127)
    return builder.xor(builder.trunc(small, _vector(8)), ir.Constant(_vector(8), -128))


def _weigh(typing: Any, near: Any, far: Any, sums: Any) -> Any:  # noqa: ARG001
    """Three times sixteen bytes and sixteen others, as numbers of 16 bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        near, far = (builder.zext(_load(builder, one, 0, _vector(8)), _vector(16)) for one in args[:2])
        _store(builder, builder.add(builder.mul(near, ir.Constant(_vector(16), 3)), far), args[2])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _smooth(typing: Any, sums: Any, out: Any) -> Any:  # noqa: ARG001
    """The 32 samples between the first sixteen of such sums after the one at `sums`, and their neighbours."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        kind = _vector(16)
        before, here, after = (_load(builder, args[0], 2 * i, kind) for i in range(3))
        here = builder.mul(here, ir.Constant(kind, 3))

        def sample(neighbour: Any, half: int) -> Any:
            weighed = builder.add(builder.add(here, neighbour), ir.Constant(kind, half))
            return builder.trunc(builder.lshr(weighed, ir.Constant(kind, 4)), _vector(8))

        _store(builder, _in_turn(builder, sample(before, 8), sample(after, 7)), args[1])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _colour(typing: Any, luma: Any, blue: Any, red: Any, out: Any) -> Any:  # noqa: ARG001
    """Sixteen pixels of red, green and blue, of their luma and their two chromas."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        wide, bytes_ = _vector(32), _vector(8)
        luma, blue, red = (builder.zext(_load(builder, one, 0, bytes_), wide) for one in args[:3])
        blue, red = (builder.sub(one, ir.Constant(wide, 128)) for one in (blue, red))

        def mixed(of_blue: int, of_red: int) -> Any:
            sum_ = ir.Constant(wide, 1 << 15)
            for chroma, share in ((blue, of_blue), (red, of_red)):
                if share:
                    sum_ = builder.add(sum_, builder.mul(chroma, ir.Constant(wide, share)))
            whole = builder.add(luma, builder.ashr(sum_, ir.Constant(wide, 16)))
            return builder.trunc(_within(builder, whole, 0, 255), bytes_)

        shares = (0, 91881), (-22554, -46802), (116130, 0)
        r, g, b = (mixed(*share) for share in shares)
        one_after_another = ir.Constant(_vector(32, 2 * LANES), list(range(2 * LANES)))
        first = builder.shuffle_vector(r, g, one_after_another)
        second = builder.shuffle_vector(b, b, one_after_another)
        mask = [i + LANES * channel for i in range(LANES) for channel in range(3)]
        pixels = builder.shuffle_vector(first, second, ir.Constant(_vector(32, 3 * LANES), mask))
        _store(builder, pixels, args[3])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


def _big_word(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """The eight bytes at an address as one number, the first of them the highest."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.bswap(builder.load(_place(builder, args[0], 0, _WORD), align=1))

    return types.uint64(types.int64), generate


# Their types are those of the compiler's, which says nothing of how they are called.
transform: Any = intrinsic(_transform)
weigh: Any = intrinsic(_weigh)
smooth: Any = intrinsic(_smooth)
colour: Any = intrinsic(_colour)
big_word: Any = intrinsic(_big_word)
