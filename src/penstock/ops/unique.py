"""`unique`: every element the first time it comes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.spec import Spec
from penstock.errors import BudgetError, DataError, ElementError
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.memory.account import Account
from penstock.memory.sizes import show_bytes

LONG = 64
"""Keys of more bytes than this are kept as digests of 128 bits."""
KEY_BYTES = 200
"""About what one key takes in a set."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Unique(Op):
    """Leaves out the elements that have come before."""

    name = "unique"

    def start(self, context: Context) -> Running:
        return RunningUnique(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningUnique(Running):
    """Keeps what it has seen: numbers as sorted arrays, anything else as keys in a set."""

    replays = "what it has seen may be larger than a state"

    def __init__(self, op: Unique, context: Context) -> None:
        self._context = context
        self._upstream = context.input()
        self._room = Room(context.account, op)
        self._numbers: Numbers | None = None
        self._keys: Keys | None = None
        self._rest: Block | None = None
        self._error: ElementError | None = None
        self._seen = 0

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            block, self._rest = self._rest, None
            if block is None:
                block = self._upstream.pull(rows)
            if block is None:
                return None
            fresh = self._fresh(block)
            if len(fresh) == block.rows:
                return block
            if len(fresh):
                return block.take(fresh, self._context.empty)

    def _fresh(self, block: Block) -> NDArray[np.int64]:
        """The rows of a block that have not come before."""
        if self._keys is None:
            column = block.columns[0] if block.structure.is_leaf else None
            if isinstance(column, DenseColumn) and column.array.ndim == 1:
                numbers = self._numbers = self._numbers or Numbers(self._room, column.array.dtype)
                if column.array.dtype == numbers.dtype:
                    self._seen += block.rows
                    return numbers.fresh(column.array)
            self._keys = Keys(self._room, self._numbers)
            self._numbers = None
        return self._fresh_keys(block, self._keys)

    def _fresh_keys(self, block: Block, keys: Keys) -> NDArray[np.int64]:
        fresh = []
        leaves = zip(*[column.items() for column in block.columns], strict=True)
        for row, parts in enumerate(leaves):
            number = self._seen
            self._seen += 1
            try:
                new = keys.add(parts)
            except TypeError as error:
                label = self._context.label
                self._error = DataError(
                    f"{self._context.where}: expected leaves that can be hashed, got element {number}: "
                    f"{error}.",
                    op=label,
                    number=number,
                )
                if row + 1 < block.rows:
                    self._rest = block.slice(row + 1, block.rows)
                break
            if new:
                fresh.append(row)
        return np.array(fresh, np.int64)

    def state(self) -> Any:
        return {"input": self._upstream.state()}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])

    def close(self) -> None:
        self._numbers = self._keys = self._rest = self._error = None
        self._room.release()


class Room:
    """The bytes reserved for what has been seen."""

    def __init__(self, account: Account, op: Unique) -> None:
        self._account = account
        self._op = op
        self._held = 0

    def hold(self, size: int) -> None:
        """Hold so many bytes in all, more or less than before; `BudgetError` if they do not fit."""
        if size > self._held:
            if not self._account.request(size - self._held):
                raise BudgetError(
                    self._op.fail(
                        f"needs {show_bytes(size)} to remember the elements that it has seen, more "
                        f"than the memory budget leaves. Raise it: ds.iterate(memory=...), "
                        f"ps.Options(memory=...) or PENSTOCK_MEMORY."
                    )
                )
        elif size < self._held:
            self._account.release(self._held - size)
        self._held = size

    def release(self) -> None:
        """Give all of it back."""
        self.hold(0)


class Numbers:
    """Numbers that have been seen, in sorted arrays each at least twice as long as the next."""

    def __init__(self, room: Room, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.sorted: list[NDArray[Any]] = []
        self._room = room

    def fresh(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Which of the values are new, in their order; they are seen from now on."""
        found, first = np.unique(values, return_index=True)
        new = np.ones(len(found), bool)
        for known in self.sorted:
            place = np.minimum(np.searchsorted(known, found), len(known) - 1)
            at = known[place]
            new &= (at != found) & ~((at != at) & (found != found))
        if new.any():
            self._add(found[new])
        return np.sort(first[new])

    def _add(self, values: NDArray[Any]) -> None:
        held = sum(array.nbytes for array in self.sorted)
        # While two arrays are merged, both and the result are there.
        self._room.hold(2 * (held + values.nbytes))
        while self.sorted and len(self.sorted[-1]) < 2 * len(values):
            values = np.sort(np.concatenate([self.sorted.pop(), values]), kind="stable")
        self.sorted.append(values)


class Keys:
    """Keys of anything that can be hashed, in a set."""

    def __init__(self, room: Room, numbers: Numbers | None) -> None:
        self._room = room
        known = [] if numbers is None else numbers.sorted
        self._seen: set[Any] = {(_number(value),) for array in known for value in array.tolist()}

    def add(self, parts: tuple[Any, ...]) -> bool:
        """Whether an element with these leaves is new; it is seen from now on."""
        key = tuple(_key(part) for part in parts)
        if key in self._seen:
            return False
        self._room.hold((len(self._seen) + 1) * KEY_BYTES)
        self._seen.add(key)
        return True


def _key(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray) and leaf.dtype != object:
        same = leaf + 0 if leaf.dtype.kind in "fc" else leaf  # -0.0 equals 0.0
        return leaf.dtype.str, leaf.shape, _short(np.ascontiguousarray(same).tobytes())
    if isinstance(leaf, np.ndarray):
        return leaf.shape, tuple(_key(item) for item in leaf.ravel())
    if isinstance(leaf, np.generic):
        return _number(leaf.item())
    if isinstance(leaf, bytes):
        return _short(leaf)
    if isinstance(leaf, str):
        return "text", _short(leaf.encode())
    return leaf


def _number(value: Any) -> Any:
    return "nan" if value != value else value


def _short(data: bytes) -> bytes:
    return data if len(data) <= LONG else b"#" + hashlib.blake2b(data, digest_size=16).digest()
