"""A user's function: called with an element as tf.data would, and its errors explained."""

from __future__ import annotations

import threading
from collections.abc import Callable
from difflib import get_close_matches
from traceback import format_exception
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.trace import Trace
from penstock.errors import FunctionError
from penstock.functions.said import said_by
from penstock.random.scope import Scope, enter
from penstock.site import failing_line

if TYPE_CHECKING:  # workers need nothing of declarations
    from penstock.graph.op import Op
    from penstock.graph.running import Context

SHOWN = 20
"""So many keys of an element are named in a message."""
LONGEST = 100
"""To a key of more characters no near one is looked for."""


in_worker = False
"""Whether this process is a worker, which is no program of the user's."""


ENDING = (SystemExit, KeyboardInterrupt)
"""What ends a program, where it is raised on its main thread."""
RAISED = (Exception, *ENDING)
"""What becomes an error of its element, unless it ends the program."""


def ends_program(error: BaseException) -> bool:
    """Whether it is to end the program: on the main thread, where a handler of signals may have raised it."""
    if not isinstance(error, ENDING) or in_worker:
        return False
    return threading.current_thread() is threading.main_thread()


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
        self.where = f"{label} at {op.site}"
        self._key = key

    def __call__(self, element: Any, number: int) -> Any:
        """Call it with an element: the parts of a plain tuple are separate arguments."""
        before = enter(self.scope(number))
        try:
            return self.function(*element) if type(element) is tuple else self.function(element)
        except RAISED as error:
            if ends_program(error):
                raise
            raise self.failed_with(element, error, number) from error
        finally:
            enter(before)

    def scope(self, number: int) -> Scope | None:
        """What it draws random numbers by, for the element of that number."""
        return None if self._key is None else Scope(self._key, number)

    def failed_with(self, element: Any, error: BaseException, number: int) -> FunctionError:
        """As `failed`, for a call with an element."""
        hint = _hint_for_arguments(error, element) or _hint_for_keys(error, element)
        return self.failed(error, number, hint)

    def call(self, arguments: tuple[Any, ...], number: int) -> Any:
        """Call it with these arguments; whatever it raises becomes a `FunctionError`."""
        before = enter(self.scope(number))
        try:
            return self.function(*arguments)
        except RAISED as error:
            if ends_program(error):
                raise
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

    def failed(self, error: BaseException, number: int, hint: str = "") -> FunctionError:
        """The error that tells the user where and why the function failed, and what to do."""
        where = failing_line(error.__traceback__)
        if isinstance(error, ValueError) and "read-only" in said_by(error):
            hint = " Elements are views of the pipeline's memory: change a copy, `x = x.copy()`."
        if isinstance(error, ENDING):
            hint = " To end a run, leave the loop over it, or end the stream with take_while()."
        said = said_by(error).removesuffix(".")
        what = type(error).__name__ + (f": {said}" if said else "")
        failure = FunctionError(
            f"{self.where}: the function failed on element {number}: {what}"
            f"{f' ({where})' if where else ''}.{hint}",
            op=self.label,
            number=number,
        )
        _write_down(error, failure)
        return failure


def user_function(function: Callable[..., Any], op: Op, context: Context) -> UserFunction:
    """A function that was given to `op`, with randomness of its own in every epoch."""
    return UserFunction(function, op, context.label, context.key(op.own_seed, explicit=False))


def _hint_for_arguments(error: BaseException, element: Any) -> str:
    """How a function is called with this element, if that is what it failed for."""
    entered = error.__traceback__ is not None and error.__traceback__.tb_next is not None
    if entered or not isinstance(error, TypeError) or "positional argument" not in said_by(error):
        return ""
    if type(element) is not tuple:
        kind = f"a {type(element).__name__}" if isinstance(element, dict | tuple) else "no tuple"
        return f" The element is {kind}: it is one argument, as in `lambda x: ...`."
    if len(element) == 1:
        return " The element is a tuple of 1: its part is the only argument, as in `lambda x: ...`."
    names = ", ".join(["x", "y", "z"][: len(element)]) if len(element) <= 3 else "*parts"
    return (
        f" The element is a tuple of {len(element)}: its parts are separate arguments, "
        f"as in `lambda {names}: ...`."
    )


def _hint_for_keys(error: BaseException, element: Any) -> str:
    """Which keys there are, if the function asked for another one."""
    parts = element if type(element) is tuple else (element,)
    dicts = [part for part in parts if isinstance(part, dict)]
    if not isinstance(error, KeyError) or not dicts or not error.args:
        return ""
    key = error.args[0]
    if not isinstance(key, str | int) or len(str(key)) > LONGEST:
        return ""
    if any(key in part for part in dicts):
        return ""  # it is of another dict
    keys = [name for part in dicts for name in part]
    near = get_close_matches(str(key), [name for name in keys if isinstance(name, str)], 1)
    shown = ", ".join(map(repr, keys[:SHOWN])) + (", ..." if len(keys) > SHOWN else "")
    return f" The element has the keys {shown}.{f' Did you mean {near[0]!r}?' if near else ''}"


def _write_down(error: BaseException, failure: FunctionError) -> None:
    """Keep the user's traceback as text.

    Its frames refer to those that called them, and would keep the block and the whole run alive for
    as long as somebody keeps the error.
    """
    failure.add_note("".join(format_exception(error)).rstrip())
    error.__traceback__ = error.__cause__ = error.__context__ = None
