"""Where the features that are asked for lie in the records, and their values out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn
from penstock.blocks.placed import Held, places_of
from penstock.blocks.spec import BYTES, dtype_name
from penstock.errors import DataError
from penstock.io.examples.names import names_in
from penstock.kernels.spans import Empty, offsets_of

Index = NDArray[np.int64]
Raw = NDArray[np.uint8]

KINDS = {BYTES: 1, np.dtype(np.float32): 2, np.dtype(np.int64): 3}
"""A dtype's number on the wire."""
MISSING = 9
"""The fault of a record without a feature."""
_NAMES = {number: dtype_name(dtype) for dtype, number in KINDS.items()}


@dataclass(frozen=True)
class Slot:
    """What is asked for: a key's values, their dtype, and how many (`need`; -1: any multiple of `stride`)."""

    name: str
    key: str
    dtype: np.dtype[Any]
    need: int = -1
    stride: int = 1
    may_miss: bool = True


class BadRecord(Exception):  # noqa: N818
    """A record that cannot be parsed, by its number among the records; becomes a `DataError`."""

    def __init__(self, record: int, message: str) -> None:
        super().__init__(message)
        self.record = record


@dataclass(frozen=True)
class Found:
    """The places of one slot's values, record by record; a count of -1 where it is missing.

    Places are addresses in `held`, which is kept for them; the records have `size` bytes.
    """

    held: Held
    size: int
    dtype: np.dtype[Any]
    counts: Index
    first: Index
    last: Index

    @cached_property
    def lengths(self) -> Index:
        """How many values there are."""
        return np.maximum(self.counts, 0)

    @cached_property
    def offsets(self) -> Index:
        """Where the values of each record lie, laid end to end."""
        return offsets_of(self.lengths)

    def numbers(self, places: Index, out: NDArray[Any]) -> None:
        """Write the numbers of each record to `out`, from its place on."""
        from penstock.kernels.compiled import example_values as kernels

        if self.dtype == np.float32:
            done = kernels.fill_floats(self.first, self.last, self.counts, places, out.view(np.uint32))
        else:
            done = kernels.fill_ints(self.first, self.last, self.counts, places, out)
        hold(done, len(self.first))

    def spans(self, places: Index, total: int) -> tuple[Index, Index]:
        """Where strings lie and how long they are: each record's from its place on, the others empty."""
        from penstock.kernels.compiled import example_values as kernels

        begins, lengths = np.zeros(total, np.int64), np.zeros(total, np.int64)
        hold(
            kernels.find_strings(self.first, self.last, self.counts, places, begins, lengths), len(self.first)
        )
        return begins, lengths

    def strings(self, begins: Index, lengths: Index, other: bytes, empty: Empty) -> tuple[Raw, Index]:
        """Strings end to end, and their offsets; those that begin at `-1 - i` come from `other`."""
        from penstock.kernels.compiled import example_values as kernels

        offsets = offsets_of(lengths)
        out = empty(int(offsets[-1]), np.dtype(np.uint8))
        kernels.copy_strings(np.frombuffer(other, np.uint8), begins, offsets, out)
        return out, offsets


def hold(done: int, number: int) -> None:
    """Hold what was filled to what was counted; less is filled only where the bytes have changed since."""
    if done < number:
        raise DataError(
            "tf.train.Example: expected the bytes of the records to stay as they are while they are parsed, "
            "but they have changed. Do not write to the buffer or the file that they come from."
        )


class Keys:
    """The slots' keys, as the kernels take them."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.slots = slots
        names = list(dict.fromkeys(slot.key for slot in slots))
        raw = [name.encode(errors="surrogatepass") for name in names]
        self.bytes = np.frombuffer(b"".join(raw), np.uint8)
        self.bounds = offsets_of(np.array([len(key) for key in raw], np.int64))
        number = {name: i for i, name in enumerate(names)}
        table = [(number[s.key], KINDS[s.dtype], s.need, s.stride, int(s.may_miss)) for s in slots]
        self.table = np.array(table, np.int64).reshape(len(slots), 5)


def find(serialized: BytesColumn, keys: Keys) -> list[Found]:
    """Look at the records, whose strings these are; `BadRecord` for the first that is not right."""
    from penstock.kernels.compiled.example import survey_examples

    begins, lengths, held = places_of(serialized)
    slots, records = keys.slots, len(begins)
    counts, first, last = (np.empty((len(slots), records), np.int64) for _ in range(3))
    fault = np.zeros(4, np.int64)
    fault[2] = -1
    done = survey_examples(
        begins, begins + lengths, keys.bytes, keys.bounds, keys.table, counts, first, last, fault
    )
    if done < records:
        place = int(begins[done]), int(lengths[done])
        record = serialized.reshaped(()).item(done) if fault[0] == MISSING else b""
        raise explain(fault, slots, done, place, has=names_in(record))
    size = int(lengths.sum())
    return [Found(held, size, slot.dtype, counts[i], first[i], last[i]) for i, slot in enumerate(slots)]


def explain(
    fault: Index,
    slots: Sequence[Slot],
    record: int,
    place: tuple[int, int],
    within: str = "",
    has: str = "",
) -> BadRecord:
    """What is wrong with a record, in words: `place` is where it begins, and its bytes.

    `has` are the features that it has.
    """
    code, at, slot, got = fault.tolist()
    begin, size = place
    byte = at - begin
    words = _DAMAGE.get(code, "").format(size=size)
    if slot >= 0:
        asked = slots[slot]
        name = f"feature {asked.name!r}{within}: "
        if asked.name != asked.key:
            name = f"feature {asked.name!r}, of the key {asked.key!r}{within}: "
        words = name + (words or _unlike(code, asked, got, has))
    return BadRecord(record, f"at byte {byte}: {words}")


_DAMAGE = {
    1: "expected a whole message, got one that ends in the middle of a field (the record has {size} bytes)",
    2: "expected a varint of at most 10 bytes, got a longer one",
    3: "expected a field of a protocol buffer, got a tag that is none",
    4: "expected the end of a group, got that of another, or more than 100 groups in one another",
    5: "expected one value in a map entry, got two",
    6: "expected packed floats of 4 bytes each, got bytes that are no multiple of 4",
}


def _unlike(code: int, asked: Slot, got: int, has: str) -> str:
    dtype = dtype_name(asked.dtype)
    many = f"{asked.need} {dtype} value{'s' * (asked.need != 1)}"
    if asked.need < 0:
        many = f"{dtype} values" if asked.stride == 1 else f"a multiple of {asked.stride} {dtype} values"
    if code == 7:
        return (
            f"expected {many}, got {_NAMES[got]} values" if got else f"expected {many}, got none of any kind"
        )
    if code == 8:
        return f"expected {many}, got {got}"
    others = f": it has {has}" if has else ""
    return f"expected {many}, but the example does not have it{others}. Give it a default, or leave it out"
