"""What the sources over files have in common: their names, and one file after another or in turn."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import BYTES, TEXT, Spec, dtype_name
from penstock.errors import ArgumentError, ArgumentTypeError, DataError, ElementError
from penstock.graph import checks
from penstock.graph.op import AUTOTUNE, UNKNOWN, Op
from penstock.graph.running import Context, Input, Pipeline, Running
from penstock.graph.track import State, Track
from penstock.io.formats.reader import Reader
from penstock.io.stores.decompress import COMPRESSIONS
from penstock.ops.from_tensor_slices import FromTensorSlices
from penstock.ops.interleave import Interleave
from penstock.ops.parts.dropped import let_go
from penstock.ops.parts.placed import placed
from penstock.site import user_site


def names_of(filenames: Any, call: str) -> dict[str, Any]:
    """The arguments of a `FilesOp` that say which files: `filenames`, or a dataset of names as `inputs`.

    `filenames` is what the user gave; `call` names the source.
    """
    if isinstance(filenames, Pipeline):
        spec = filenames.op.spec
        if spec is not None and not (spec.structure.is_leaf and spec.leaves[0].dtype in (BYTES, TEXT)):
            came = dtype_name(spec.leaves[0].dtype) if spec.structure.is_leaf else str(spec.structure)
            raise ArgumentTypeError(
                f"{call}(filenames=) at {user_site()}: expected a dataset of file names, got one of {came}."
            )
        return {"inputs": (filenames.op,)}
    given = filenames
    if isinstance(given, str | bytes | os.PathLike):
        given = [given]
    elif isinstance(given, np.ndarray):
        given = given.ravel().tolist()
    if not isinstance(given, Iterable):
        raise _no_names(filenames, call)
    names = tuple(_name(one, filenames, call) for one in given)
    if not names:
        raise ArgumentError(
            f"{call}(filenames=) at {user_site()}: expected at least one file name, got none."
        )
    return {"filenames": names}


def _name(value: Any, given: Any, call: str) -> str:
    if not isinstance(value, str | bytes | os.PathLike):
        raise _no_names(given, call)
    name = os.fsdecode(value)
    if not name or "\0" in name:
        raise ArgumentError(f"{call}(filenames=) at {user_site()}: expected file names, got {name!r}.")
    return str(name)


def _no_names(given: Any, call: str) -> ArgumentTypeError:
    text = repr(given)
    return ArgumentTypeError(
        f"{call}(filenames=) at {user_site()}: expected a file name, a list of them or a dataset of them, "
        f"got {text if len(text) <= 80 else text[:77] + '...'}."
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class FilesOp(Op):
    """The elements of all files, in the order of their names.

    The names are `filenames`, or the elements of the only input. A subclass that has a `__post_init__`
    calls this one's first.
    """

    filenames: tuple[str, ...] = ()
    compression_type: str | None = None
    num_parallel_reads: int | None = None
    buffer_size: int | None = field(default=None, metadata={"fingerprint": False})
    """About how many bytes are read at a time; None for what suits a block."""

    first_decides: ClassVar[bool] = False
    """Whether the first element says what all others are like."""

    parted = "each"
    opens = True

    def __post_init__(self) -> None:
        if self.compression_type not in COMPRESSIONS:
            raise ArgumentError(
                f"{self.name}(compression_type=) at {self.site}: expected None or one of "
                f"{', '.join(repr(one) for one in COMPRESSIONS if one)}, got {self.compression_type!r}."
            )
        if self.num_parallel_reads is not None:
            call = f"{self.name}(num_parallel_reads=)"
            checks.count(self.num_parallel_reads, call, least=1, also={AUTOTUNE: "ps.AUTOTUNE"})
        if self.buffer_size is not None:
            checks.count(self.buffer_size, f"{self.name}(buffer_size=)", least=0)

    @abstractmethod
    def open(self, path: str, context: Context) -> Reader:
        """One of the files, open; its errors carry `context.label` and `context.where`."""

    def start(self, context: Context) -> Running:
        return RunningFiles(self, context)

    def find_cardinality(self) -> int:
        return UNKNOWN

    def sources(self) -> Iterable[str]:
        return self.filenames

    def files(self) -> int | None:
        return None if self.inputs else len(self.filenames)

    def with_files(self, num_shards: int, index: int) -> Op:
        return self.changed(filenames=self.filenames[index::num_shards])

    def read(self) -> Op:
        """What a dataset over these files is made of: this op, or several files in turn."""
        if self.num_parallel_reads is None:
            return self
        # As bytes: the name of a file need not be text.
        names = self.inputs or (FromTensorSlices.of([os.fsencode(name) for name in self.filenames]),)
        return FilesInTurn(
            inputs=names,
            function=partial(_one_file, self),
            cycle_length=self.num_parallel_reads,
            block_length=1,
            num_parallel_calls=self.num_parallel_reads,
            site=self.site,
            reads=self,
        ).named(self.called)

    def of_one(self, path: str) -> FilesOp:
        """The same for one file alone."""
        return self.changed(filenames=(path,), inputs=(), num_parallel_reads=None)


@dataclass(frozen=True, eq=False, kw_only=True)
class FilesInTurn(Interleave):
    """Several files at a time, an element of each in turn."""

    reads: FilesOp

    def find_spec(self) -> Spec | None:
        return self.reads.spec

    def sources(self) -> Iterable[str]:
        return self.reads.sources()

    def describe(self) -> str:
        return self.reads.describe()


def _one_file(reads: FilesOp, name: Any) -> Pipeline:
    """The dataset of one file; `name` is an element of the names."""
    if not isinstance(name, str | bytes):
        raise TypeError(f"expected the name of a file, got {name!r}")
    one = Pipeline()
    one.op = reads.of_one(os.fsdecode(name))
    return one


class RunningFiles(Running):
    """Reads one file after another; one is open at a time. Errors number elements over all files."""

    exact = True

    def __init__(
        self, op: FilesOp, context: Context, open: Callable[[str, Context], Reader] | None = None
    ) -> None:
        self._op = op
        self._open = open or op.open
        self._context = context
        self._names: Input | None = context.input() if op.inputs else None
        self._next = 0
        self._seen = 0
        self._reader: Reader | None = None
        self._track = Track()
        """Where in the file at hand it stands."""
        self._before: State = {}
        """Where the names stood before that of the file at hand."""

    def state(self) -> Any:
        state: dict[str, Any] = {"seen": self._seen, "next": self._next, "file": None}
        if self._reader is not None:
            state.update(next=self._next - 1, file=self._track.here())
        if self._names is not None:
            state["names"] = self._names.state() if self._reader is None else self._before
        return state

    def restore(self, state: Any) -> None:
        self._seen, self._next = state["seen"], state["next"]
        if self._names is not None:
            self._names.restore(state["names"])
        elif self._next and self._op.first_decides:
            self._look_at_first()
        if state["file"] is not None:
            self._go_on_in(state["file"])

    def _look_at_first(self) -> None:
        """Read an element of the first file, which tells what those of all files are like."""
        reader = self._opened(self._op.filenames[0])
        try:
            reader.pull(1)
        except ElementError as error:
            let_go(error)
        finally:
            reader.close()

    def _go_on_in(self, state: State) -> None:
        """Open the next file, and go where another one was in it."""
        path = self._next_path()
        if path is None:
            return
        reader = self._reader = self._opened(path)
        self._track = Track()
        if "at" in state:
            reader.restore(state["at"])
            self._track.stand(state["at"])
        left, rows = state.get("skip", 0), 1
        while left:
            try:
                block = reader.pull(min(left, rows))
            except ElementError as error:
                let_go(error)
                passed = 1
            else:
                if block is None:
                    return
                passed = block.rows
                rows = min(2 * rows, self._context.rows_for(block.nbytes // passed))
            left -= passed
            self._track.passed(passed)

    def pull(self, rows: int) -> Block | None:
        try:
            block = self._pull(rows)
        except ElementError as error:
            if error.op == self._context.label and error.file:
                error.number = self._seen
            self._seen += 1
            self._track.passed(1)
            raise
        if block is not None:
            self._seen += block.rows
            self._track.passed(block.rows)
        return block

    def _pull(self, rows: int) -> Block | None:
        while True:
            if self._reader is None:
                path = self._next_path()
                if path is None:
                    return None
                self._reader, self._track = self._opened(path), Track()
            elif self._track.since and self._track.pace.due:
                state = self._track.pace.taken(self._reader.state)
                if state is not None:
                    self._track.stand(state)
            with placed(self._context):
                block = self._reader.pull(rows)
            if block is not None:
                return block
            self.close()

    def _opened(self, path: str) -> Reader:
        with placed(self._context):
            return self._open(path, self._context)

    def _next_path(self) -> str | None:
        number = self._next
        if self._names is None:
            if number == len(self._op.filenames):
                return None
            self._next += 1
            return self._op.filenames[number]
        self._before = self._names.state()
        block = self._names.pull(1)
        if block is None:
            return None
        self._next += 1
        name = block.element(0)
        if not isinstance(name, str | bytes):
            raise DataError(
                f"{self._context.where}: expected element {number} of the dataset of file names to be a "
                f"name, got {name!r}.",
                op=self._context.label,
                number=number,
            )
        return os.fsdecode(name)

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
