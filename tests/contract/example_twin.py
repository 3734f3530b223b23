"""tf.train.Example read in plain Python, as protobuf reads it: what the kernels are compared with."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

KINDS = {1: "bytes", 2: "float32", 3: "int64"}


class Damaged(ValueError):  # noqa: N818
    """A record that is no Example."""


def varint(raw: bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for i in range(10):
        if at + i >= end:
            raise Damaged("cut")
        value |= (raw[at + i] & 127) << 7 * i
        if raw[at + i] < 128:
            return value & (1 << 64) - 1, at + i + 1
    raise Damaged("long varint")


def tag(raw: bytes, at: int, end: int) -> tuple[int, int, int]:
    value, at = varint(raw, at, end)
    if not 8 <= value < 1 << 32:
        raise Damaged("tag")
    return value >> 3, value & 7, at


def body(raw: bytes, at: int, end: int, wire: int) -> tuple[int, int]:
    """Where a field's bytes begin and end."""
    if wire == 0:
        return at, varint(raw, at, end)[1]
    if wire in (1, 5):
        size = 8 if wire == 1 else 4
    elif wire == 2:
        size, at = varint(raw, at, end)
    else:
        raise Damaged("wire type")
    if size > end - at:
        raise Damaged("cut")
    return at, at + size


def fields(raw: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message: number, wire type, begin and end; groups are left out."""
    while at < end:
        number, wire, at = tag(raw, at, end)
        if wire == 3:
            at = after_group(raw, at, end, number)
            continue
        begin, at = body(raw, at, end, wire)
        yield number, wire, begin, at


def after_group(raw: bytes, at: int, end: int, number: int) -> int:
    inside = [number]
    while inside:
        number, wire, at = tag(raw, at, end)
        if wire == 3:
            if len(inside) == 100:
                raise Damaged("groups")
            inside.append(number)
        elif wire == 4:
            if inside.pop() != number:
                raise Damaged("group")
        else:
            at = body(raw, at, end, wire)[1]
    return at


def located(raw: bytes, keys: Iterable[bytes]) -> dict[bytes, tuple[int, int]]:
    """Where the values of these keys lie."""
    wanted, found = set(keys), {}
    for number, wire, begin, end in fields(raw, 0, len(raw)):
        if (number, wire) != (1, 2):
            continue
        for inner, inner_wire, first, last in fields(raw, begin, end):
            if (inner, inner_wire) != (1, 2):
                continue
            key, value = b"", None
            for part, part_wire, start, stop in fields(raw, first, last):
                if (part, part_wire) == (1, 2):
                    key = raw[start:stop]
                elif (part, part_wire) == (2, 2):
                    if value is not None:
                        raise Damaged("two values")
                    value = start, stop
            if key in wanted:
                found[key] = value or (0, 0)
    return found


def feature(raw: bytes, begin: int, end: int) -> tuple[str, list[Any]] | None:
    """A feature's kind and values; None if it has no kind."""
    kind, values = 0, []
    for number, wire, first, last in fields(raw, begin, end):
        if wire != 2 or number not in KINDS:
            continue
        if number != kind:
            kind, values = number, []
        values += list(listed(raw, first, last, kind))
    return (KINDS[kind], values) if kind else None


def listed(raw: bytes, begin: int, end: int, kind: int) -> Iterator[Any]:
    for number, wire, first, last in fields(raw, begin, end):
        if number != 1:
            continue
        if kind == 1 and wire == 2:
            yield raw[first:last]
        elif kind == 2 and wire in (2, 5):
            if (last - first) % 4:
                raise Damaged("floats")
            yield from struct.unpack(f"<{(last - first) // 4}I", raw[first:last])  # the bits, NaN or not
        elif kind == 3 and wire in (0, 2):
            at = first
            while at < last:
                value, at = varint(raw, at, last)
                yield value - (1 << 64) if value >> 63 else value


def parsed(raw: bytes, keys: Iterable[str]) -> dict[str, tuple[str, list[Any]] | None]:
    """The kinds and values of these keys; `Damaged` where the record is no Example."""
    names = list(keys)
    found = located(raw, [name.encode() for name in names])
    return {name: feature(raw, *found[name.encode()]) if name.encode() in found else None for name in names}
