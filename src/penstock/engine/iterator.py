"""The run as a user holds it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from collections.abc import Iterator as AbstractIterator
from itertools import compress, repeat
from operator import length_hint
from types import TracebackType
from typing import Any

from penstock.engine.cancel import Cancelled
from penstock.engine.checkpointed import Checkpointed
from penstock.engine.endings import works_for
from penstock.engine.run import ASKED, AskedFromInside, Run
from penstock.errors import ClosedError, ElementError, PenstockError
from penstock.report.report import Report

GO_ON = "To go on without such elements: ignore_errors() or on_error('skip'), behind the op that failed."


class Iterator(Checkpointed, AbstractIterator[Any]):
    """One pass over a dataset: an iterator, and a context manager that ends the run.

    >>> import penstock as ps
    >>> with ps.Dataset.range(3).iterate() as it:
    ...     [int(x) for x in it]
    [0, 1, 2]
    """

    def __init__(self, run: Run, resume: Callable[[Any], Run]) -> None:
        """`resume` starts a run of the same pipeline from a state on."""
        self._resume = resume
        self._turn = threading.RLock()  # one thread at a time asks for a block
        self._was_closed = False
        self._begin(run)

    def _begin(self, run: Run) -> None:
        self._run = run
        self._rows: AbstractIterator[Any] = iter(())
        self._at = run.began, repeat(True, 0)
        """The elements of the pass up to the end of the block at hand, and as many True as are left of these.

        One value: whoever asks for the state may be a signal's handler, between any two steps of this thread.
        """
        self._finalizer = weakref.finalize(self, run.drop)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        # Without the lock: `elements` is an iterator written in C, of which each thread gets the next.
        for element in self._rows:
            return element
        if not self._run.is_ours:
            raise PenstockError(
                "An iteration was asked for an element in a process that was forked while it ran: its "
                "threads, workers and files are those of the other. Start another one there: ds.iterate()."
            )
        if works_for(self._run):  # a thread that has the turn may be waiting for this one
            raise AskedFromInside(ASKED)
        with self._turn:
            for element in self._rows:  # another thread has got a block meanwhile
                return element
            failed = self._refill()
            if failed is None:
                for element in self._rows:
                    return element
                raise StopIteration
        failed.add_note(GO_ON)
        # Whoever keeps the error keeps this frame, which must not keep the run alive.
        del self
        try:
            raise failed.with_traceback(None)
        finally:
            del failed

    def _refill(self) -> ElementError | None:
        self._rows = iter(())  # lets go of the last block before the next one is made
        if self._was_closed:
            raise ClosedError("This iteration was closed. Start another one with ds.iterate().")
        end, _ = self._at
        if self._run.closed:
            return None
        try:
            block = self._run.next_block(end)
        except ElementError as error:
            self._at = end + 1, repeat(True, 0)
            return error
        except Cancelled:
            raise ClosedError("This iteration was closed while it waited for an element.") from None
        except AskedFromInside:
            raise
        except BaseException:
            self._end()
            raise
        if block is None:
            self._run.ended(end)
            self._end()
        else:
            left = repeat(True, block.rows)
            rows = compress(block.elements(), left)
            with self._run.standing:
                self._at = end + block.rows, left
                self._rows = rows
        if self._was_closed:  # by another thread, or by a function that was just called
            self._rows = iter(())
            raise ClosedError("This iteration was closed while it waited for an element.")
        return None

    def _end(self) -> None:
        self._run.close()
        self._finalizer.detach()

    def state(self) -> dict[str, Any]:
        """Where this iteration stands: plain data, with which `ds.iterate(state=...)` goes on with the rest.

        It may be taken at any element, and kept as JSON. An element that failed has been used up.

        >>> import json
        >>> import penstock as ps
        >>> ds = ps.Dataset.range(10).shuffle(4, seed=1).batch(2)
        >>> with ds.iterate() as it:
        ...     first = [next(it).tolist() for _ in range(2)]
        ...     saved = json.dumps(it.state())
        ...     rest = [batch.tolist() for batch in it]
        >>> with ds.iterate(state=json.loads(saved)) as it:
        ...     [batch.tolist() for batch in it] == rest
        True
        """
        return self._run.states.packed(*self.mark())

    def mark(self) -> tuple[Any, int]:
        """Where it stands: the state of its ops, and the number of elements that were handed out."""
        with self._run.standing:
            end, left = self._at
            return self._run.where(end - length_hint(left))

    def load_state_dict(self, state_dict: Any) -> None:
        """Go on where another iteration of the same pipeline stood, by torch's name for it.

        This iteration begins anew from there, whatever it has given already.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(5)
        >>> with ds.iterate() as it, ds.iterate() as other:
        ...     first = next(it)
        ...     other.load_state_dict(it.state_dict())
        ...     int(next(other))
        1
        """
        with self._turn:
            if self._was_closed:
                raise ClosedError("This iteration was closed. Start another one: ds.iterate(state=...).")
            run = self._resume(state_dict)
            self._rows = iter(())
            self._end()
            self._begin(run)

    def report(self) -> Report:
        """What each op has held, how long it took, and what it had to put up with.

        >>> import penstock as ps
        >>> with ps.Dataset.range(100).batch(10).iterate(memory="16MiB") as it:
        ...     batches = list(it)
        >>> [(op.name, op.elements) for op in it.report().ops]
        [('range', 100), ('batch', 10)]
        """
        return self._run.report()

    def __repr__(self) -> str:
        state = "ended" if self._run.closed else "open"
        return f"<Iterator, {state}, over {self._run.plan.declared.op.called}>"

    def close(self) -> None:
        """End the run now and give everything back. May be called more than once."""
        self._was_closed = True
        self._rows = iter(())
        self._end()

    def __enter__(self) -> Iterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
