"""The errors of Penstock.

```
PenstockError
├── ArgumentError (ValueError)       a wrong value when a dataset is declared or a run is opened
├── ArgumentTypeError (TypeError)    a wrong type or structure, likewise
├── BudgetError (MemoryError)        one element of each op does not fit the memory budget
├── CardinalityError (ValueError)    a stream has another length than was asserted
├── ClosedError (RuntimeError)       a run is used after its end
├── StoreError (OSError)             a file cannot be opened, read or written
└── ElementError                     one element failed; the next pull goes on after it
    ├── DataError (ValueError)       the element itself is at fault: its shape, its dtype, its bytes
    ├── FunctionError                the user's function raised; the cause is attached
    └── WorkerError                  the worker processes that were given the element died of it
```

`LentWarning` (UserWarning) says that the user keeps many elements alive.

Every message says what was expected, what came, where, and what to do.
"""

from __future__ import annotations


class PenstockError(Exception):
    """The root of all errors that Penstock raises on purpose."""


class ArgumentError(PenstockError, ValueError):
    """A wrong value, found when a dataset is declared or a run is opened."""


class ArgumentTypeError(PenstockError, TypeError):
    """A wrong type or structure, found when a dataset is declared or a run is opened."""


class BudgetError(PenstockError, MemoryError):
    """One element of each op does not fit the memory budget, beside those of the others."""


class CardinalityError(PenstockError, ValueError):
    """A stream has another length than was asserted."""


class ClosedError(PenstockError, RuntimeError):
    """A run is used after its end."""


class LentWarning(UserWarning):
    """The user keeps more elements alive than the pipeline itself holds."""


class ElementError(PenstockError):
    """One element failed; the run is intact and the next pull goes on after it.

    `op` names the op, `number` is the element's number at that op (from 0, within the epoch); where
    the element came from a file, `file` and `offset` say which, and at which byte.
    """

    def __init__(
        self, message: str, *, op: str = "", number: int = -1, file: str = "", offset: int = -1
    ) -> None:
        super().__init__(message)
        self.op = op
        self.number = number
        self.file = file
        self.offset = offset

    def came_from(self, said: str, file: str = "", offset: int = -1) -> None:
        """Say where the element came from, in words and by file and byte."""
        self.file, self.offset = file, offset
        self.args = (f"{self} {said}",)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), str(self), self.op, self.number, self.file, self.offset)


class DataError(ElementError, ValueError):
    """The element itself is at fault: its shape, its dtype, its bytes."""


class FunctionError(ElementError):
    """The user's function raised; the exception it raised is `__cause__`."""


class WorkerError(ElementError):
    """Worker processes died, or were stuck, at this element, one after another."""


class StoreError(PenstockError, OSError):
    """A file cannot be opened, read or written; `file` and `offset` say which, and where."""

    def __init__(self, message: str, *, file: str = "", offset: int = -1) -> None:
        super().__init__(message)
        self.file = file
        self.offset = offset

    @classmethod
    def of(cls, error: OSError, file: str, offset: int = -1) -> StoreError:
        """What the operating system said of a file."""
        where = "" if offset < 0 else f" at byte {offset}"
        made = cls(f"{file}{where}: {error.strerror or error}.", file=file, offset=offset)
        made.errno = error.errno
        return made

    def at(self, where: str, hint: str = "") -> StoreError:
        """The same error, with the op and the user's line in front, and what to do behind."""
        made = StoreError(f"{where}: {self}{hint}", file=self.file, offset=self.offset)
        made.errno = self.errno
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_store, (str(self), self.file, self.offset, self.errno)


def _rebuild(
    kind: type[ElementError], message: str, op: str, number: int, file: str, offset: int
) -> ElementError:
    return kind(message, op=op, number=number, file=file, offset=offset)


def _rebuild_store(message: str, file: str, offset: int, errno: int | None) -> StoreError:
    made = StoreError(message, file=file, offset=offset)
    made.errno = errno
    return made
