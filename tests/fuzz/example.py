"""Damages tf.train.Examples in many ways and parses them: the right data comes, or a `DataError`.

A record lies right before memory that nobody may read, so that a read beyond its end ends the process, and
what is written beyond the end of a result is seen. Many features are what merged messages are: lists of
several kinds, in parts, some empty, and keys that come twice.

PYTHONPATH=src:tests python -m fuzz.example 1000000
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from time import perf_counter
from typing import Any

import numpy as np

import penstock as ps
from contract.example_twin import KINDS, Damaged, parsed
from fuzz.guarded import Canaries, Guarded
from penstock.blocks.columns import BytesColumn
from penstock.io.examples.found import BadRecord
from penstock.io.examples.parse import Parser
from penstock.io.examples.readings import Frame

KEYS = ("a", "b", "label", "ключ", "")


def varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def unknown(bits: random.Random) -> bytes:
    """A field that no Example has."""
    number, kind = bits.choice([4, 9, 15, 16, 3000]), bits.randrange(5)
    if kind == 0:
        return varint(number << 3) + varint(bits.getrandbits(bits.choice([3, 30, 64])))
    if kind == 1:
        return varint(number << 3 | 1) + bits.randbytes(8)
    if kind == 2:
        return field(number, bits.randbytes(bits.randrange(9)))
    if kind == 3:
        return varint(number << 3 | 5) + bits.randbytes(4)
    return varint(number << 3 | 3) + unknown(bits) + varint(number << 3 | 4)


def seldom(bits: random.Random) -> bytes:
    return unknown(bits) if bits.random() < 0.05 else b""


def a_list(bits: random.Random, kind: int) -> bytes:
    """A BytesList, a FloatList or an Int64List, packed or not."""
    count = bits.choice([0, 1, 1, 1, 2, 3, 9, 40])
    if kind == 1:
        return b"".join(
            field(1, bits.randbytes(bits.choice([0, 3, 20]))) + seldom(bits) for _ in range(count)
        )
    if kind == 2:
        values = [bits.randbytes(4) for _ in range(count)]
        return (
            field(1, b"".join(values)) if bits.random() < 0.7 else b"".join(b"\x0d" + one for one in values)
        )
    numbers = [bits.getrandbits(bits.choice([1, 7, 20, 63, 64])) for _ in range(count)]
    if bits.random() < 0.7:
        return field(1, b"".join(map(varint, numbers))) + seldom(bits)
    return b"".join(b"\x08" + varint(number) for number in numbers)


def kind_of(bits: random.Random, key: str) -> int:
    """A kind: that of the key, mostly."""
    return KEYS.index(key) % 3 + 1 if bits.random() < 0.9 else bits.choice([1, 2, 3])


def merged(bits: random.Random, own: int) -> bytes:
    """A Feature of its own kind, of another, and of its own again, each in any number of lists."""
    feature = b""
    for kind in bits.choice([(own, 0, own), (own, 0, own), (0, own), (own, 0), (own, 0, 0, own)]):
        kind = kind or bits.choice([1, 2, 3])
        for _ in range(bits.choice([1, 1, 2, 3])):
            feature += field(kind, a_list(bits, kind) if bits.random() < 0.8 else b"") + seldom(bits)
    return feature


def feature_of(bits: random.Random, key: str) -> bytes:
    """A Feature: plain mostly, else in lists that do not belong together, merged, or empty."""
    if bits.random() < 0.25:
        return merged(bits, kind_of(bits, key))
    feature = seldom(bits)
    for _ in range(bits.choice([1, 1, 1, 1, 2, 0])):
        kind = kind_of(bits, key)
        feature += field(kind, a_list(bits, kind))
    return feature


def record(bits: random.Random) -> bytes:
    """An Example of a few features, oddly written at times."""
    out = b""
    for _ in range(bits.choice([1, 1, 2])):
        entries = b""
        keys = bits.sample(KEYS, bits.randrange(len(KEYS)))
        if keys and bits.random() < 0.3:
            keys += bits.choices(keys, k=bits.choice([1, 2]))
        for key in keys:
            feature = feature_of(bits, key)
            parts = [field(1, key.encode()), field(2, feature), seldom(bits)]
            if bits.random() < 0.1:
                bits.shuffle(parts)
            entries += field(1, b"".join(parts)) + seldom(bits)
        out += field(1, entries) + seldom(bits)
    return out


def damaged(bits: random.Random, raw: bytes, other: bytes) -> bytes:
    """The record with some damage, or none."""
    data = bytearray(raw)
    for _ in range(bits.choice([0, 1, 1, 1, 2, 4])):
        if not data:
            break
        at, size = bits.randrange(len(data)), bits.choice([1, 1, 2, 5, 20])
        way = bits.randrange(8)
        if way <= 1:
            data[at] ^= 1 << bits.randrange(8)
        elif way == 2:
            data[at] = bits.choice([0, 1, 127, 128, 255, bits.randrange(256)])
        elif way == 3:
            del data[at:]
        elif way == 4:
            del data[at : at + size]
        elif way == 5:
            data[at:at] = data[at : at + size]
        elif way == 6:
            data[at:at] = varint(bits.getrandbits(bits.choice([8, 31, 32, 62, 63, 64])))
        else:
            data[at : at + size] = other[at : at + size]
    return bytes(data)


Asked = tuple[str, str, int | None, Any]
"""A key, a dtype, how many values (None: any), and a default (None: must be there)."""


def asked_for(bits: random.Random) -> list[Asked]:
    out: list[Asked] = []
    for key in bits.sample(KEYS, bits.randrange(1, 4)):
        dtype = KINDS[kind_of(bits, key)]
        count = bits.choice([None, None, None, 1, 1, 2])
        has_default = count is not None and bits.random() < 0.7
        one: Any = b"zz" if dtype == "bytes" else 5
        out.append((key, dtype, count, [one] * (count or 0) if has_default else None))
    return out


def parser_of(asked: list[Asked]) -> Parser:
    features: dict[str, Any] = {}
    for key, dtype, count, default in asked:
        if count is None:
            features[key] = ps.io.VarLenFeature(dtype)
        else:
            features[key] = ps.io.FixedLenFeature([count], dtype, default)
    return Parser(features, "fuzz")


def expected(raw: bytes, asked: list[Asked]) -> dict[str, list[Any]] | None:
    """What plain Python says; None for an error."""
    try:
        found = parsed(raw, [key for key, *_ in asked])
    except Damaged:
        return None
    out = {}
    for key, dtype, count, default in asked:
        one = found[key]
        if one is None:
            if count is not None and default is None:
                return None
            values = default or []
            if dtype == "float32":
                values = np.array(values, np.float32).view(np.uint32).tolist()
        elif one[0] != dtype or (count is not None and len(one[1]) != count):
            return None
        else:
            values = one[1]
        out[key] = list(values)
    return out


def plain(columns: dict[str, Any], asked: list[Asked]) -> dict[str, list[Any]]:
    out = {}
    for key, dtype, *_ in asked:
        item = columns[key].item(0)
        out[key] = item.view(np.uint32).tolist() if dtype == "float32" else item.tolist()
    return out


def fuzz(count: int, seed: int) -> Counter[str]:
    """Parse so many damaged records; `AssertionError` where one is not what plain Python says."""
    bits = random.Random(seed)
    guarded, canaries = Guarded(), Canaries()
    parsers = [(asked, parser_of(asked)) for asked in (asked_for(bits) for _ in range(40))]
    records = [record(bits) for _ in range(200)]
    seen: Counter[str] = Counter()
    for i in range(count):
        if i % 50 == 0:
            records[bits.randrange(len(records))] = record(bits)
        raw = damaged(bits, bits.choice(records), bits.choice(records))
        asked, parser = bits.choice(parsers)
        right = expected(raw, asked)
        try:
            frame = Frame(1, None, canaries.empty)
            one = BytesColumn(guarded.put(raw), np.array([0, len(raw)]), text=False)
            columns = parser.columns(one, frame)
        except BadRecord:
            assert right is None, (raw, asked)
            seen["failed"] += 1
        else:
            assert right is not None, (raw, asked)
            assert plain(columns, asked) == right, (raw, asked)
            seen["good"] += 1
        canaries.check()
    return seen


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", type=int, nargs="?", default=1_000_000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    began = perf_counter()
    print(dict(fuzz(options.count, options.seed)), f"{perf_counter() - began:.0f} s")
