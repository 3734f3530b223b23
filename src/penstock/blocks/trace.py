"""One call of a user's function over a whole block, and the stand-ins that it is called with.

A stand-in takes the place of a leaf and stands for that leaf in every row. What it cannot do for
all rows at once it refuses: the trace is marked as failed, so that no `except` in the user's
function can hide it, and the function is called row by row instead.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import Column
from penstock.blocks.spec import TensorSpec
from penstock.kernels.halves import Both, one_by_one
from penstock.kernels.spans import Empty

P = ParamSpec("P")
R = TypeVar("R")


class NotVectorizable(Exception):  # noqa: N818
    """A function did something that cannot be done for all rows at once; never reaches the user."""


class NotDecided(NotVectorizable):
    """A trial with a made-up element cannot tell whether rows would do; never reaches the user."""


class RowFailed(Exception):  # noqa: N818
    """One row of the block fails, the first that does: it is called by itself, the others are not."""

    def __init__(self, row: int) -> None:
        super().__init__(f"row {row} failed")
        self.row = row


class Trace:
    """One call over a block: how many rows it stands for, and whether it has failed."""

    __slots__ = (
        "both",
        "boxes",
        "empty",
        "failed",
        "largest",
        "made_up",
        "may_raise",
        "missed",
        "owed",
        "protected",
        "room",
        "rows",
        "sources",
    )

    def __init__(self, rows: int, empty: Empty = np.empty, both: Both = one_by_one, room: int = 0) -> None:
        self.rows = rows
        self.room = room
        """The bytes that results may have; 0 for as many as any block."""
        self.empty = empty
        self.both = both
        self.failed: str | None = None
        self.may_raise = False
        """Whether an operation was used that raises for some values, as a gather does."""
        self.made_up = False
        """Whether it is a trial in which results were made up too, of which only the spec is right."""
        self.largest = 0
        """The bytes of the largest result, the intermediate ones included."""
        self.missed = 0
        """The bytes of rows with which work could have been put off, if the kernel for it had been there."""
        self.sources: list[NDArray[Any]] = []
        """The block's own arrays, which nothing may be written to."""
        self.protected: list[NDArray[Any]] = []
        """Arrays that nothing may be written to either: they are yet to be cast, or are copies where
        NumPy gives a view, so that a write to one would not reach the other."""
        self.owed: list[Callable[[], object]] = []
        """What is to be done in the end if nobody has asked for it: it might fail, as it would in a row."""
        self.boxes: list[NDArray[Any]] = []
        """What is an array of rank 0 in a row, and no NumPy scalar: it changes in place."""

    def refuse(self, why: str) -> NoReturn:
        """Give up: this cannot be done for all rows at once."""
        if self.failed is None:
            self.failed = why
        raise NotVectorizable(why)

    def raised(self, error: BaseException) -> None:
        """Note that an operation raised: one row may have failed, and the others not."""
        if self.failed is None:
            self.failed = f"an operation over the block raised {type(error).__name__}"


def marking(operation: Callable[P, R]) -> Callable[P, R]:
    """An operation of a stand-in, its first argument, that marks the trace if it raises.

    The user's function may catch the exception: its handler is for one row, not for all of them.
    """

    @functools.wraps(operation)
    def operate(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return operation(*args, **kwargs)
        except BaseException as error:
            args[0]._trace.raised(error)  # type: ignore[attr-defined]
            raise

    return operate


class StandIn:
    """The place of a leaf in a call over a block."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def _refuse(self, why: str) -> NoReturn:
        self._trace.refuse(why)

    def __getattr__(self, name: str) -> Any:
        # Protocols look for special names to learn what they deal with; that is no use of a leaf.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        self._refuse(f"uses .{name}")

    def __bool__(self) -> bool:
        self._refuse("branches on an element's value")

    def __int__(self) -> int:
        self._refuse("calls int() on an element's value")

    def __float__(self) -> float:
        self._refuse("calls float() on an element's value")

    def __complex__(self) -> complex:
        self._refuse("calls complex() on an element's value")

    def __index__(self) -> int:
        self._refuse("uses an element's value as a Python number")

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        self._refuse("makes a NumPy array of an element's value")

    def __hash__(self) -> int:
        self._refuse("uses an element's value as a key")

    def __str__(self) -> str:
        self._refuse("makes text of an element's value")

    def __format__(self, form: str) -> str:
        self._refuse("makes text of an element's value")

    def __bytes__(self) -> bytes:
        self._refuse("makes bytes of an element's value")

    def __contains__(self, item: object) -> bool:
        self._refuse("looks for something in an element's value")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        self._refuse("calls an element's value")

    def __round__(self, digits: int | None = None) -> Any:
        self._refuse("calls round() on an element's value")

    def __delitem__(self, key: Any) -> None:
        self._refuse("deletes a part of an element's value")

    __repr__ = __str__


class Opaque(StandIn):
    """The place of a leaf whose rows are no array of one shape: it may only be passed through.

    Functions of Penstock that were given a `block_function` may do more with it. In a trial with a
    made-up element, `spec` is what is known of the leaf.
    """

    __slots__ = ("_column", "_spec")

    def __init__(self, column: Column, trace: Trace, spec: TensorSpec | None = None) -> None:
        super().__init__(trace)
        self._column = column
        self._spec = spec


class Undecided(Opaque):
    """The place of a leaf in a trial whose rows may or may not turn out to be of one shape."""

    __slots__ = ()

    def _refuse(self, why: str) -> NoReturn:
        raise NotDecided(why)


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Opaque, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ARG001
        self._refuse(f"uses {name} of an element that is no array of one shape")

    return refuse


_OPERATORS = """
lt le eq ne gt ge len getitem setitem iter add radd sub rsub mul rmul truediv rtruediv
floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or ror xor rxor lshift rlshift
rshift rrshift neg pos invert abs divmod rdivmod enter exit array_ufunc array_function
"""
for _name in _OPERATORS.split():
    setattr(Opaque, f"__{_name}__", _refusing(f"__{_name}__"))
# Setting `__eq__` on a class that exists leaves `__hash__` as it was.


_trusted: weakref.WeakSet[Any] = weakref.WeakSet()


def trusted(function: Callable[P, R]) -> Callable[P, R]:
    """Say that a function of Penstock has no side effects and takes stand-ins like leaves."""
    _trusted.add(function)
    return function


def is_trusted(function: Any) -> bool:
    """Whether `function` is one of Penstock that a call over a block may call."""
    try:
        return function in _trusted
    except TypeError:
        return False


def block_function(over_block: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a function of Penstock an implementation over whole blocks.

    `over_block` is called with the same arguments when one of them is a stand-in: `Rows` for leaves
    that are arrays of one shape, `Opaque` for others. It must give the same bits as a call a row.
    """

    def decorate(plain: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(plain)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for value in (*args, *kwargs.values()):
                if isinstance(value, StandIn):
                    try:
                        return over_block(*args, **kwargs)  # type: ignore[no-any-return]
                    except BaseException as error:
                        value._trace.raised(error)
                        raise
            return plain(*args, **kwargs)

        return trusted(call)

    return decorate
