"""The contract of a running op, and what it is given to run with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.errors import ElementError
from penstock.graph.track import State, Track
from penstock.kernels.halves import Half
from penstock.memory.account import Account
from penstock.memory.ledger import Ledger
from penstock.memory.spill import Scratch
from penstock.options import Options


class Running(ABC):
    """One op at work: sequential, simple, and knowing no thread.

    A pull that raises an `ElementError` has used up one element; the next pull goes on after it.
    Any other exception means that the op is broken and ends the run.
    """

    exact: ClassVar[bool] = False
    """Whether `state` may be asked between any two pulls. An op of which it may not calls
    `context.track.take(self.state)` in a pull, where it holds nothing that it has not handed on."""
    replays: ClassVar[str] = ""
    """Why the op has a state at its beginning only, and is put where it was by doing all of it again."""

    @abstractmethod
    def pull(self, rows: int) -> Block | None:
        """From one up to `rows` rows, never more; None at the end, and then always None."""

    def close(self) -> None:  # noqa: B027
        """Give back what the op holds; called once, also after an error."""

    def state(self) -> Any:
        """Plain data, fit for JSON, with which another one of the same op goes on from here."""
        raise NotImplementedError(f"{type(self).__name__} does not say where it stands")

    def restore(self, state: Any) -> None:
        """Go to where another one was when it gave this state; called once, before the first pull."""
        raise NotImplementedError(f"{type(self).__name__} cannot be put where it was")


class Task(ABC):
    """Some rows that an op has taken in, and what it does with them: on any thread, once."""

    rows: int
    nbytes: int
    """What they take."""

    @abstractmethod
    def do(self, rows: int) -> tuple[list[Block | ElementError], Task | None]:
        """What comes of up to `rows` of them, a block's worth at most, in order; and what is left."""


class Divisible(Running):
    """An op whose work on some rows does not depend on its work on others."""

    @abstractmethod
    def divide(self, rows: int) -> Task | None:
        """Take in up to `rows` rows; None at the end. One call at a time, and the tasks in order."""

    @property
    @abstractmethod
    def side_by_side(self) -> bool:
        """Whether tasks may be done at the same time by now."""

    @property
    @abstractmethod
    def fills_cores(self) -> bool:
        """Whether a task keeps a core busy: then there is nothing to gain by more of them than cores."""

    @property
    def function(self) -> Any:
        """The `RowFunction` that tasks call, of which the engine may choose how it is called; or None."""
        return None


class Context(ABC):
    """What a running op is given: its inputs, its account, its randomness, its limits."""

    account: Account
    ledger: Ledger
    options: Options
    label: str
    """How the op is called in the report and by `error.op`."""
    where: str
    """How the op is called in messages: its label, and the user's line."""
    block_bytes: int
    """About how many bytes one block should have."""
    epoch: int
    """A key of 64 bits that differs from epoch to epoch, and between repetitions."""
    track: Track
    """Where the op stands, if it cannot say so at any moment."""
    stacks: int = 1
    """How many rows of this op the one below makes one of."""

    @abstractmethod
    def input(self, which: int = 0, repetition: int | None = None, epoch: int | None = None) -> Input:
        """Start an input of this op.

        With a `repetition`, the input gets an epoch of its own, as `repeat` needs; with an `epoch`,
        that one.
        """

    @abstractmethod
    def open(self, pipeline: Pipeline, number: int) -> Input:
        """Start a dataset that a user's function returned for element `number`, inside this op."""

    @abstractmethod
    def empty(self, shape: Any, dtype: Any) -> NDArray[Any]:
        """An uninitialised array from the pool, on this op's account."""

    @abstractmethod
    def both(self, first: Half, second: Half) -> None:
        """Do two halves of a compiled work that lets go of the GIL, side by side where that is to be had."""

    @abstractmethod
    def key(self, seed: int, *, explicit: bool, each_epoch: bool = True, index: int | None = None) -> int:
        """The key of this op's randomness.

        `seed` is the op's own; `explicit` says that the user gave it. A run's seed takes the place of
        a seed that the user did not give. `each_epoch` makes the key another one in every epoch.
        `index` is the op's number in the declared pipeline, where a pass has moved it.
        """

    @abstractmethod
    def label_of(self, index: int) -> str:
        """How the op of that number in the declared pipeline is called, where a pass has moved it."""

    @abstractmethod
    def scratch(self) -> Scratch:
        """The run's scratch file, made when it is first needed."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Say once, in the report, that this op makes do with less than it was asked for."""

    def on_close(self, end: Callable[[], None]) -> Callable[[], None]:
        """Have `end` called, by any thread, when this part of the run is to end.

        For what keeps the op waiting: `end` makes it raise, and does not wait. What is returned makes that
        end early, and is called when there is nothing to wait for any more.
        """
        return end

    def read_ahead(self, stored: Any) -> Any:
        """A stored file (`io.stores`) for reading it in order: what comes next is on its way already.

        The same file where that is of no use, or there is no engine that does it. Closing what is
        returned closes the file.
        """
        return stored

    def rows_for(self, row_bytes: int) -> int:
        """How many rows of that size make a block; at least one."""
        rows = max(1, self.block_bytes // max(row_bytes, 1))
        fixed = self.options.block_rows
        return rows if fixed is None else min(rows, fixed)


class Input(Running):
    """A started input: it counts and watches what passes, and closing it closes all above it."""

    exact = True
    random_access: bool = False
    """Whether `size` and `gather` may be called."""

    @abstractmethod
    def state(self) -> State:
        """Where the input stands, between any two pulls."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many rows a source with random access has; negative where none can be gathered now."""

    @abstractmethod
    def gather(self, index: NDArray[Any]) -> Block:
        """The rows of these numbers, from a source with random access.

        At least one of them, and no more than up to a row that fails. Where that is the first, an
        `ElementError`, which uses up that one.
        """


class Pipeline:
    """What a `Dataset` is to an op: something with an op that can be opened inside a run."""

    op: Any
    _options: Options
