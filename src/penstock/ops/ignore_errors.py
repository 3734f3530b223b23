"""`ignore_errors`: goes on after elements that fail; the report counts them and quotes the first."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.dropped import let_go

MANY = 10
"""Where so many elements fail and no other comes, it is hardly for bad data."""
QUOTED = 400
"""So many characters of the first error are quoted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class IgnoreErrors(Op):
    """Leaves out the elements that fail."""

    log_warning: bool = False

    name = "ignore_errors"
    parted = "each"

    def __post_init__(self) -> None:
        checks.flag(self.log_warning, "ignore_errors(log_warning=)")

    def start(self, context: Context) -> Running:
        return RunningIgnoreErrors(context, logging.getLogger("penstock") if self.log_warning else None)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningIgnoreErrors(Running):
    """Pulls again after an error; the report says how many elements were left out, and why the first was."""

    exact = True

    def __init__(self, context: Context, log: logging.Logger | None = None) -> None:
        self._context = context
        self._upstream = context.input()
        self._log = log
        self._ignored = 0
        self._passed = False
        self._first = ""
        """What was said of the first of them."""

    def pull(self, rows: int) -> Block | None:
        while True:
            try:
                block = self._upstream.pull(rows)
                self._passed = self._passed or block is not None
                if block is None and not self._passed and self._ignored >= MANY:
                    self._warn()
                return block
            except ElementError as error:
                self._leave_out(error)

    def _leave_out(self, error: ElementError) -> None:
        self._ignored += 1
        if not self._first:
            said = " ".join(str(error).split())  # on one line
            self._first = said if len(said) <= QUOTED else said[: QUOTED - 3] + "..."
        if self._log is not None:
            self._log.warning("%s left out an element: %s", self._context.label, error)
        let_go(error)

    def _warn(self) -> None:
        warnings.warn(
            f"{self._context.where} left out all of its {self._ignored:,} elements: each of them failed, the "
            f"first with: {self._first}",
            UserWarning,
            stacklevel=2,
        )
        self._passed = True  # once is enough

    def state(self) -> Any:
        return {"input": self._upstream.state(), "ignored": self._ignored, "first": self._first}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._ignored = state["ignored"]
        self._first = state.get("first", "")
        self._passed = True  # maybe, before

    def close(self) -> None:
        if self._ignored:
            things = "1 element" if self._ignored == 1 else f"{self._ignored:,} elements"
            which = "" if self._ignored == 1 else ", the first of them"
            self._context.note(f"left out {things} that failed{which}: {self._first}")
