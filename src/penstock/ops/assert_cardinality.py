"""`assert_cardinality`: a length that the user knows, and that is held to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import CardinalityError
from penstock.graph import checks
from penstock.graph.op import INFINITE, Op
from penstock.graph.running import Context, Running


@dataclass(frozen=True, eq=False, kw_only=True)
class AssertCardinality(Op):
    """Says how many elements there are, and raises where there are more or fewer."""

    expected: int

    name = "assert_cardinality"

    def __post_init__(self) -> None:
        checks.count(
            self.expected,
            "assert_cardinality(expected_cardinality=)",
            least=0,
            also={INFINITE: "ps.INFINITE"},
        )

    def start(self, context: Context) -> Running:
        return RunningAssertCardinality(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return self.expected


class RunningAssertCardinality(Running):
    """Counts what passes; an element that fails is not counted."""

    exact = True

    def __init__(self, op: AssertCardinality, context: Context) -> None:
        self._op = op
        self._upstream = context.input()
        self._seen = 0

    def pull(self, rows: int) -> Block | None:
        expected = self._op.expected
        if expected == INFINITE:
            block = self._upstream.pull(rows)
            if block is None:
                raise self._wrong(f"an endless dataset, got {self._seen} elements")
        else:
            # All that were promised are delivered before one too many is found out.
            block = self._upstream.pull(min(rows, max(expected - self._seen, 1)))
            if block is None and self._seen < expected:
                raise self._wrong(f"{expected} elements, got only {self._seen}")
            if block is not None and self._seen + block.rows > expected:
                raise self._wrong(f"{expected} elements, got more")
        self._seen += 0 if block is None else block.rows
        return block

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]

    def _wrong(self, what: str) -> CardinalityError:
        return CardinalityError(self._op.fail(f"expected {what}. Assert the length that it has."))
