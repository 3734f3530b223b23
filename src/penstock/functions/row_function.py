"""A user's functions over the rows of a block: over all at once where that gives the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn
from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import Spec
from penstock.blocks.trace import NotDecided, NotVectorizable, RowFailed
from penstock.errors import ArgumentError
from penstock.functions.function import RAISED, UserFunction, ends_program
from penstock.functions.jitted import JittedRows
from penstock.functions.over_block import call_over_block, spec_of_traced, trial_block
from penstock.functions.plain_rows import Outcome, PlainRows
from penstock.functions.purity import plain_namedtuples, purity
from penstock.kernels.halves import Both, one_by_one
from penstock.kernels.spans import Empty

FIRST = 4
"""So many rows of each kind are compared with plain calls before the others are trusted."""
KINDS = 32
"""Blocks of more kinds than this, by dtype and shape, are not each looked at."""


class Calls(Protocol):
    """Calls of functions with the rows of a block: here, or somewhere else."""

    def apply(self, block: Block, numbers: NDArray[np.int64], room: int, place: int) -> Outcome:
        """As `RowFunction.apply`."""


class RowFunction:
    """Calls the functions over the block where they allow it, and row by row otherwise.

    The results are the same to the last bit. It holds nothing of a run but what it has `learned`, which the
    next run may start from. `executor` is the way that the user asked for, of `EXECUTORS`; `both` does large
    compiled works.
    """

    def __init__(
        self,
        functions: Sequence[UserFunction],
        empty: Empty = np.empty,
        executor: str = "auto",
        both: Both = one_by_one,
        learned: Learned | None = None,
    ) -> None:
        self.functions = self._functions = functions
        self._empty, self._both = empty, both
        self.executor = executor
        self.plain = self._plain = PlainRows(functions, empty)
        self.learned = Learned() if learned is None else learned
        jit = executor == "jit"
        self._rows = JittedRows(functions, empty, self.learned.compiled) if jit else self._plain
        self.empty_at: Callable[[int, int], Empty] = lambda _, __: empty
        """What allocates for so many rows from a place of the stream on, in calls over the block."""
        self.calls: Calls | None = None
        """What decides where the calls are made, if that is not here; the engine may put something here."""
        self.larger: Callable[[], int] = lambda: 1
        """How many times as large as others blocks are for whoever makes the calls."""
        self.missed = 0
        """The bytes of the last block with which work was not put off, as the kernel for it is not loaded."""
        self._kinds: dict[Hashable, _Kind] = {}
        verdicts = [purity(function.function) for function in functions]
        self._identity = any(verdict.compares_identity for verdict in verdicts)
        self.why = next((verdict.why_not for verdict in verdicts if not verdict.pure), "")
        """Why it is called row by row; empty if it is not."""
        if executor not in ("auto", "block"):
            self.why = f"executor={executor!r} asks for that"

    @property
    def users_own(self) -> list[Callable[..., Any]]:
        """The user's functions as they are, the first to be called first."""
        return [function.function for function in self.functions]

    @property
    def way(self) -> str:
        """How the functions are called, in words."""
        if self.executor == "jit":
            return "compiled by Numba"
        return f"called row by row: {self.why}" if self.why else "called over whole blocks"

    def apply(self, block: Block, numbers: NDArray[np.int64], room: int, place: int) -> Outcome:
        """As `PlainRows.apply`; `place` is that of the first row in the op's stream."""
        calls = self.calls
        return (self.here if calls is None else calls.apply)(block, numbers, room, place)

    def here(self, block: Block, numbers: NDArray[np.int64], room: int, place: int) -> Outcome:
        """As `apply`, on this thread."""
        self.missed = 0
        if self.why:
            return self._row_by_row(block, numbers, room)
        if block.nbytes > room * block.rows:
            # For rows larger than a block there is nothing to gain, and twice the memory to lose.
            return self._plain.apply(block, numbers, room)
        kind = self._kind(block)
        if self.why:
            return self._row_by_row(block, numbers, room)
        if kind is None or kind.larger_than(room):
            return self._plain.apply(block, numbers, room)
        rows = min(block.rows, kind.rows(room))
        part, own = block.slice(0, rows), numbers[:rows]
        try:
            empty = self.empty_at(place, rows)
            traced = call_over_block(self._functions, part, own, empty, both=self._both, room=room)
            self._compare(kind, part, own, traced.block, room, place)
        except _Another as another:
            self.refused(str(another))
        except RowFailed as failed:
            return self._around(failed.row, block, numbers, room, place)
        except NotVectorizable as refused:
            self.why = str(refused)
        except RAISED as error:
            if ends_program(error):
                raise
            # A plain call finds out which row fails, and says so.
            self.why = f"the call over a block raised {type(error).__name__}"
        if self.why:
            return self._row_by_row(block, numbers, room)
        self.missed = traced.trace.missed
        kind.learn(max(traced.block.nbytes, traced.trace.largest), traced.block.rows)
        done = traced.block
        if block.numbers is not None:
            done.numbers = own
        return Outcome(done, rows)

    def expect(self, block: Block, row_bytes: int) -> None:
        """Take over what a row of such a block takes, from whoever has found it out; 0 for nobody."""
        kind = self._kind(block) if row_bytes and not self.why else None
        if kind is not None:
            kind.learn(row_bytes, 1)

    def refused(self, why: str) -> None:
        """Call them row by row from now on: somebody else has found out why."""
        self.why = self.why or why
        self.learned.compared.clear()  # no later run is to trust them without another look

    @property
    def row_bytes(self) -> int:
        """What a row takes at most, the intermediate results included; 0 until that is known."""
        return max((kind.row_bytes for kind in list(self._kinds.values())), default=0)

    def _row_by_row(self, block: Block, numbers: NDArray[np.int64], room: int) -> Outcome:
        if self.executor == "block":
            raise ArgumentError(
                f"{self._functions[-1].where}: executor='block' asks for one call over all rows of a block, "
                f"which this function does not allow: {self.why}. Use executor='auto'."
            )
        return self._rows.apply(block, numbers, room)

    def _around(
        self, failed: int, block: Block, numbers: NDArray[np.int64], room: int, place: int
    ) -> Outcome:
        """The rows before one that failed; if there are none, that one by itself: it says what is wrong."""
        if failed:
            return self.here(block.slice(0, failed), numbers[:failed], room, place)
        return self._plain.apply(block.slice(0, 1), numbers[:1], room)

    def most(self, room: int) -> int | None:
        """How many rows it takes at once, of which results fill `room`; None until that is known."""
        known = [kind.rows(room) for kind in list(self._kinds.values()) if kind.known]
        return min(known) if known and not self.why else None

    @property
    def fills_cores(self) -> bool:
        """Whether calls keep a core busy; row by row, they may wait for a file or a server."""
        return not self.why or self.executor == "jit"

    def find_spec(self, spec: Spec) -> tuple[Spec, bool] | None:
        """The spec of the results and whether a row may fail, found with a made-up element."""
        made = None if self.why else trial_block(spec)
        if made is None:
            return None
        block, opaque = made
        numbers = np.zeros(1, np.int64)
        try:
            with np.errstate(all="ignore"):
                self._check(block)
                traced = call_over_block(self._functions, block, numbers, np.empty, opaque)
                if not traced.trace.made_up:
                    self._compare(_Kind(_Compared()), block, numbers, traced.block, 1 << 62, 0)
        except (NotDecided, RowFailed):
            return None
        except NotVectorizable as refused:
            self.why = str(refused)
            return None
        except Exception as error:
            self.why = f"it raised {type(error).__name__} for an element of ones"
            return None
        return spec_of_traced(traced), traced.trace.may_raise

    def _kind(self, block: Block) -> _Kind | None:
        """What is known of blocks of these dtypes and shapes; None if they are not for this way."""
        signature = (block.structure, tuple(_signature(column) for column in block.columns))
        kind = self._kinds.get(signature)
        if kind is None and len(self._kinds) < KINDS:
            kind = _Kind(self.learned.before(signature))
            try:
                self._check(block)
            except NotVectorizable as refused:
                self.why = str(refused)
                return None
            self._kinds[signature] = kind
        return kind

    def _check(self, block: Block) -> None:
        if not plain_namedtuples(block.structure):
            raise NotVectorizable("an element is a named tuple with methods of its own")
        if self._identity and any(isinstance(column, ObjectColumn) for column in block.columns):
            raise NotVectorizable("it asks what an object is")

    def _compare(
        self, kind: _Kind, block: Block, numbers: NDArray[np.int64], done: Block, room: int, place: int
    ) -> None:
        """Hold some rows to what plain calls give."""
        rows = kind.due(place, block.rows)
        for row in rows:
            outcome = self._plain.apply(block.slice(row, row + 1), numbers[row : row + 1], room)
            plain = outcome.block
            if plain is None:
                raise NotVectorizable("a plain call failed")
            if plain.structure != done.structure or not all(
                same_leaf(left.item(0), right.item(row))
                for left, right in zip(plain.columns, done.columns, strict=True)
            ):
                raise _Another("a plain call gave another result")
        kind.were_same(place, rows)


class _Another(NotVectorizable):
    """The functions give one result for a row alone, and another for it among others."""


class Learned:
    """What runs have found out about functions."""

    def __init__(self) -> None:
        self.compared: dict[Hashable, _Compared] = {}
        """By the kinds of their blocks."""
        self.compiled: dict[Hashable, Any] = {}
        """What Numba has compiled, by what it was compiled from."""
        self.measured: dict[bool, Any] = {}
        """What calls over blocks took so far, and those row by row (`engine/taken.py`)."""
        self.called: tuple[str, str, float] | None = None
        """Who is to make the calls, why, and the seconds that a row takes, where that was measured."""
        self.row_by_row = ""
        """Why those calls are made row by row; empty if they are not."""
        self.rows = 0
        """Rows that were called, in all runs."""
        self.seconds = 0.0
        """What a row took in a worker process, last time."""
        self.nbytes: tuple[int, int] | None = None
        """The bytes that the work on a block took at most, last time, and those of one of its results."""

    def before(self, signature: Hashable) -> _Compared:
        """What was compared of that kind; of the kinds of long ago nothing is kept."""
        if signature not in self.compared and len(self.compared) >= KINDS:
            self.compared.clear()
        return self.compared.setdefault(signature, _Compared())


class _Compared:
    """Which rows of one kind of blocks were what plain calls give."""

    def __init__(self) -> None:
        self.first = 0
        self.places: set[int] = set()


class _Kind:
    """What is known in this run of the blocks of one structure, of certain dtypes and shapes."""

    def __init__(self, before: _Compared) -> None:
        self._before = before
        self._begun = False
        self._row_bytes: int | None = None

    @property
    def known(self) -> bool:
        """Whether it is known what a row takes."""
        return self._row_bytes is not None

    @property
    def row_bytes(self) -> int:
        """What a row takes; 0 until that is known."""
        return self._row_bytes or 0

    def rows(self, room: int) -> int:
        """How many rows to call the functions with: one, until it is known what a row takes."""
        if self._row_bytes is None:
            return 1
        return max(1, room // max(self._row_bytes, 1))

    def larger_than(self, room: int) -> bool:
        """Whether a row is known to take that much: then a second one to compare with is too many."""
        return self._row_bytes is not None and self._row_bytes >= room

    def learn(self, nbytes: int, rows: int) -> None:
        """Note what a row takes at most, the intermediate results included."""
        self._row_bytes = max(self._row_bytes or 0, nbytes // rows)

    def due(self, place: int, count: int) -> list[int]:
        """The rows to compare: the first few, those whose places are powers of two, and one in each run."""
        first = min(max(FIRST - self._before.first, int(not self._begun)), count)
        rows = list(range(first))
        power = 1 << (max(place + first, 1) - 1).bit_length()
        while power < place + count:
            if power not in self._before.places:
                rows.append(power - place)
            power *= 2
        return rows

    def were_same(self, place: int, rows: list[int]) -> None:
        """These of the rows from that place on have been compared, and nothing is wrong with them."""
        self._begun = True
        self._before.first += sum(1 for at, row in enumerate(rows) if at == row)
        self._before.places.update(place + row for row in rows)


def _signature(column: Column) -> Hashable:
    if isinstance(column, DenseColumn):
        return column.dtype, column.row_shape
    if isinstance(column, BytesColumn):
        return column.text, column.shape
    return type(column)


def same_leaf(left: Any, right: Any) -> bool:
    """Whether two leaves are equal in type, dtype, shape and every bit."""
    if isinstance(left, np.ndarray | np.generic):
        return (
            isinstance(right, np.ndarray | np.generic)
            and left.dtype == right.dtype
            and left.shape == right.shape
            and (left.dtype.hasobject or np.array_equal(_bytes_of(left), _bytes_of(right)))
        )
    if isinstance(left, Ragged):
        return (
            isinstance(right, Ragged)
            and same_leaf(left.row_splits, right.row_splits)
            and same_leaf(left.values, right.values)
        )
    return type(left) is type(right) and (left is right or bool(left == right))


def _bytes_of(leaf: Any) -> NDArray[np.uint8]:
    """The bytes of a leaf, not copied if they lie in order. A `memoryview` compares them one by one."""
    return np.ascontiguousarray(leaf).reshape(-1).view(np.uint8)
