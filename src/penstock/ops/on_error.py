"""`on_error`: goes on after elements that fail, up to a limit, and keeps account of them in a file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ArgumentTypeError, ElementError, StoreError
from penstock.graph import checks
from penstock.graph.fingerprint import UNSEEN
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.ignore_errors import RunningIgnoreErrors
from penstock.ops.parts.placed import placed
from penstock.site import user_site

ACTIONS = ("raise", "skip", "quarantine")


@dataclass(frozen=True, eq=False, kw_only=True)
class OnError(Op):
    """Leaves out the elements that fail, up to a limit; their errors go to a file where there is one."""

    action: str
    quarantine: str | None = field(default=None, metadata=UNSEEN)
    limit: int | None = field(default=None, metadata=UNSEEN)

    name = "on_error"
    parted = "each"

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ArgumentError(
                self.fail(f"expected one of {', '.join(map(repr, ACTIONS))}, got {self.action!r}.")
            )
        if (self.action == "quarantine") != (self.quarantine is not None):
            raise ArgumentError(
                self.fail(
                    f"expected quarantine='FILE', where errors are written to, with the action 'quarantine' "
                    f"and with no other, got {self.quarantine!r} with {self.action!r}."
                )
            )
        if self.limit is not None:
            checks.count(self.limit, "on_error(limit=)", least=0)

    def start(self, context: Context) -> Running:
        return RunningOnError(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return UNKNOWN


def path_of(quarantine: Any) -> str | None:
    """The file that the user named, if one was."""
    if quarantine is None:
        return None
    if not isinstance(quarantine, str | bytes | os.PathLike):
        raise ArgumentTypeError(
            f"on_error(quarantine=) at {user_site()}: expected the path of a file, got {quarantine!r}."
        )
    return os.fsdecode(quarantine)


class RunningOnError(RunningIgnoreErrors):
    """Writes a line for each element that fails, before it goes on."""

    def __init__(self, op: OnError, context: Context) -> None:
        super().__init__(context)
        self._op = op
        self._file = -1

    def _leave_out(self, error: ElementError) -> None:
        if self._op.limit is not None and self._ignored >= self._op.limit:
            error.add_note(f"{self._context.where}: it is one more than the limit of {self._op.limit}.")
            raise error
        if self._op.quarantine is not None:
            self._write(error, self._op.quarantine)
        super()._leave_out(error)

    def _write(self, error: ElementError, path: str) -> None:
        cause = error.__cause__
        said = {
            "op": error.op,
            "number": error.number,
            "file": error.file or None,
            "offset": None if error.offset < 0 else error.offset,
            "error": type(error).__name__,
            "cause": None if cause is None else type(cause).__name__,
            "message": str(error),
        }
        line = json.dumps(said, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
        with placed(self._context, missing=" Make its folder first."):
            try:
                if self._file < 0:
                    self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
                while line:
                    line = line[os.write(self._file, line) :]
            except OSError as failed:
                raise StoreError.of(failed, path) from failed

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
        super().close()
