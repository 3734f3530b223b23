"""A user's function: called with an element as tf.data would, and its errors explained."""

from __future__ import annotations

from collections.abc import Callable
from traceback import format_exception
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.trace import Trace
from penstock.errors import FunctionError
from penstock.graph.op import Op
from penstock.graph.running import Context
from penstock.graph.site import failing_line
from penstock.random.scope import Scope, enter


class Declared(Protocol):
    """What was declared at a line of the user's code."""

    @property
    def site(self) -> str:
        """That line."""


class UserFunction:
    """A function of a user, with the op and the line that it was given to.

    `key` is the key of the random numbers that it draws; without one, `ps.random` refuses.
    """

    def __init__(
        self, function: Callable[..., Any], op: Declared, label: str, key: int | None = None
    ) -> None:
        self.function = function
        self.label = label
        self._site = op.site
        self._key = key

    def __call__(self, element: Any, number: int) -> Any:
        """Call it with an element: the parts of a plain tuple are separate arguments."""
        if type(element) is tuple:
            return self.call(element, number)
        return self.call((element,), number)

    def call(self, arguments: tuple[Any, ...], number: int) -> Any:
        """Call it with these arguments; whatever it raises becomes a `FunctionError`."""
        before = enter(None if self._key is None else Scope(self._key, number))
        try:
            return self.function(*arguments)
        except Exception as error:
            raise self.failed(error, number) from error
        finally:
            enter(before)

    def over_block(self, element: Any, numbers: NDArray[np.int64], trace: Trace) -> Any:
        """Call it once with stand-ins for the elements of these numbers; raises what it raises."""
        before = enter(None if self._key is None else Scope(self._key, numbers, trace))
        try:
            return self.function(*element) if type(element) is tuple else self.function(element)
        finally:
            enter(before)

    def failed(self, error: Exception, number: int) -> FunctionError:
        """The error that tells the user where and why the function failed."""
        where = failing_line(error.__traceback__)
        hint = ""
        if isinstance(error, ValueError) and "read-only" in str(error):
            hint = " Elements are views of the pipeline's memory: change a copy, `x = x.copy()`."
        failure = FunctionError(
            f"{self.label} at {self._site}: the function failed on element {number}: "
            f"{type(error).__name__}: {error}" + (f" ({where})." if where else ".") + hint,
            op=self.label,
            number=number,
        )
        _write_down(error, failure)
        return failure


def user_function(function: Callable[..., Any], op: Op, context: Context) -> UserFunction:
    """A function that was given to `op`, with randomness of its own in every epoch."""
    return UserFunction(function, op, context.label, context.key(op.own_seed, explicit=False))


def _write_down(error: Exception, failure: FunctionError) -> None:
    """Keep the user's traceback as text.

    Its frames refer to those that called them, and would keep the block and the whole run alive for
    as long as somebody keeps the error.
    """
    failure.add_note("".join(format_exception(error)).rstrip())
    error.__traceback__ = error.__cause__ = error.__context__ = None
