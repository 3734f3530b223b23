"""The run as a user holds it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator as AbstractIterator
from types import TracebackType
from typing import Any

from penstock.engine.cancel import Cancelled
from penstock.engine.run import AskedFromInside, Run
from penstock.errors import ClosedError, ElementError
from penstock.report.report import Report


class Iterator(AbstractIterator[Any]):
    """One pass over a dataset: an iterator, and a context manager that ends the run.

    >>> import penstock as ps
    >>> with ps.Dataset.range(3).iterate() as it:
    ...     [int(x) for x in it]
    [0, 1, 2]
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rows: AbstractIterator[Any] = iter(())
        self._turn = threading.RLock()  # one thread at a time asks for a block
        self._finalizer = weakref.finalize(self, run.drop)
        self._was_closed = False

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        # Without the lock: `elements` is an iterator written in C, of which each thread gets the next.
        for element in self._rows:
            return element
        with self._turn:
            for element in self._rows:  # another thread has got a block meanwhile
                return element
            failed = self._refill()
            if failed is None:
                for element in self._rows:
                    return element
                raise StopIteration
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
        if self._run.closed:
            return None
        try:
            block = self._run.next_block()
        except ElementError as error:
            return error
        except Cancelled:
            raise ClosedError("This iteration was closed while it waited for an element.") from None
        except AskedFromInside:
            raise
        except BaseException:
            self._end()
            raise
        if block is None:
            self._end()
        else:
            self._rows = block.elements()
        if self._was_closed:  # by another thread, or by a function that was just called
            self._rows = iter(())
            raise ClosedError("This iteration was closed while it waited for an element.")
        return None

    def _end(self) -> None:
        self._run.close()
        self._finalizer.detach()

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
