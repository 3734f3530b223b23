"""What the sources over files have in common: one file after another, each read by its format."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from penstock.blocks.block import Block
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.io.formats.reader import Reader


@dataclass(frozen=True, eq=False, kw_only=True)
class FilesOp(Op):
    """The elements of all files, in the order of their names as given."""

    filenames: tuple[str, ...]

    @abstractmethod
    def open(self, path: str, context: Context) -> Reader:
        """One of the files, open; its errors carry `context.label` and `context.where`."""

    def start(self, context: Context) -> Running:
        return RunningFiles(self, context)

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningFiles(Running):
    """Reads one file after another; one is open at a time."""

    def __init__(self, op: FilesOp, context: Context) -> None:
        self._op = op
        self._context = context
        self._next = 0
        self._reader: Reader | None = None

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._reader is None:
                if self._next == len(self._op.filenames):
                    return None
                path = self._op.filenames[self._next]
                self._next += 1
                self._reader = self._op.open(path, self._context)
            block = self._reader.pull(rows)
            if block is not None:
                return block
            self.close()

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
