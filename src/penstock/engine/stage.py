"""A stage: one started op, with what it started above it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.engine.meter import Meter
from penstock.errors import ElementError, StoreError
from penstock.graph.running import Input, Running
from penstock.graph.track import State

if TYPE_CHECKING:
    from penstock.engine.context import StageContext

Seam = Callable[["StageContext", Any], Running]


class Stage(Input):
    """Counts the rows, the time and the failures of one running op, and watches its blocks."""

    def __init__(self, context: StageContext, running: Running, meter: Meter) -> None:
        self._context = context
        self._running = running
        self._meter = meter
        self._closed = False
        self._restored: State | None = None
        self._begun = False
        self.started_by: StageContext | None = None
        self.random_access = context.node.op.traits.random_access

    def pull(self, rows: int) -> Block | None:
        self._context.cancel.check()
        meter = self._meter
        began = perf_counter()
        try:
            if not self._begun:
                self._begin(rows)
            block = self._running.pull(rows)
        except ElementError:
            meter.failed += 1
            self._context.track.passed(1)
            raise
        except StoreError:
            self._context.cancel.check()  # the end of the run ends reads that wait
            raise
        finally:
            took = perf_counter() - began
            meter.seconds += took
            self._context.spent_by_input(took)
        return self._count(block)

    def _count(self, block: Block | None) -> Block | None:
        if block is not None:
            self._meter.elements += block.rows
            self._meter.blocks += 1
            self._context.track.passed(block.rows)
            self._context.account.adopt(block)
        return block

    def adopt(self, block: Block) -> None:
        """Watch what was made of a block since it left the op."""
        self._context.account.adopt(block)

    def state(self) -> State:
        if self._restored is not None:
            return self._restored
        if self._closed:
            return {}  # nobody will pull from it again
        if self._running.exact or not self._begun:
            return {"at": self._running.state()}
        return self._context.track.here()

    def restore(self, state: State) -> None:
        self._restored = state  # the first pull does it: it may have to read

    def _begin(self, rows: int) -> None:
        """Put the op where the state says, if there is one; else this is its beginning."""
        self._begun = True
        state, self._restored = self._restored, None
        if state is not None:
            self._go_on(state, rows)
        elif not self._running.exact:
            self._context.track.stand(self._running.state())

    def _go_on(self, state: State, rows: int) -> None:
        """Put the op there, and drop the elements that it has handed on since."""
        running, track, left = self._running, self._context.track, state.get("skip", 0)
        if "ended" in state:
            self._running = Nothing(running)
            return
        if "at" in state:
            running.restore(state["at"])
            track.stand(state["at"])
        if left and running.replays:
            # Ops behind this one may ask it for far more once more than it had handed on at that moment.
            self._context.note(f"goes through its elements again, from the first on: {running.replays}")
        while left:
            self._context.cancel.check()
            try:
                block = running.pull(min(left, rows))
            except ElementError as error:
                error.__traceback__ = error.__cause__ = error.__context__ = None  # its frames hold blocks
                block, passed = None, 1
            else:
                if block is None:
                    break
                passed = block.rows
                rows = max(rows, min(2 * rows, self._context.rows_for(block.nbytes // passed)))
            left -= passed
            track.passed(passed)
            del block  # its memory is free for the next one

    def note(self, text: str) -> None:
        """Say something of the op in the report."""
        self._context.note(text)

    @property
    def size(self) -> int:
        return self._running.size  # type: ignore[attr-defined, no-any-return]

    def gather(self, index: NDArray[Any]) -> Block:
        self._context.cancel.check()
        try:
            block = self._running.gather(index)  # type: ignore[attr-defined]
        except ElementError:
            self._meter.failed += 1
            raise
        counted = self._count(block)
        assert counted is not None
        return counted

    def close(self) -> None:
        """Close the op and everything that it started."""
        if self._closed:
            return
        self._closed = True
        try:
            try:
                self._running.close()
            finally:
                self._context.close_inputs()
                if self.started_by is not None:
                    self.started_by.leave(self)  # what a nested dataset has made goes with it
        except (KeyboardInterrupt, SystemExit):
            self._closed = False  # of what was interrupted something is left, for the next time
            raise


class Nothing(Running):
    """An op that has nothing more to give."""

    exact = True

    def __init__(self, ended: Running) -> None:
        self._ended = ended

    def pull(self, rows: int) -> Block | None:  # noqa: ARG002
        return None

    def state(self) -> Any:
        return None

    def close(self) -> None:
        self._ended.close()


def start(context: StageContext) -> Stage:
    """Start the op of a context, or the seam that stands for it."""
    op = context.node.op
    seam = context.run.seams.get(op.seam)
    try:
        running = op.start(context) if seam is None else seam(context, op)
        stage = Stage(context, running, context.meter)
    except BaseException:
        try:
            for end in context.begun:
                end()
        finally:
            context.close_inputs()  # there is no stage that would
        raise
    context.begun = []  # the stage ends it: each would keep the other until the collector comes by
    return stage
