"""A user's function: called with an element as tf.data would, and its errors explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.blocks.structure import is_namedtuple
from penstock.errors import FunctionError
from penstock.graph.op import Op
from penstock.graph.site import failing_line


class UserFunction:
    """A function of a user, with the op and the line that it was given to."""

    def __init__(self, function: Callable[..., Any], op: Op, label: str) -> None:
        self.function = function
        self.label = label
        self._site = op.site

    def __call__(self, element: Any, number: int) -> Any:
        """Call it with an element: the parts of a plain tuple are separate arguments."""
        if type(element) is tuple:
            return self.call(element, number)
        return self.call((element,), number)

    def call(self, arguments: tuple[Any, ...], number: int) -> Any:
        """Call it with these arguments; whatever it raises becomes a `FunctionError`."""
        try:
            return self.function(*arguments)
        except Exception as error:
            raise self.failed(error, number) from error

    def failed(self, error: Exception, number: int) -> FunctionError:
        """The error that tells the user where and why the function failed."""
        where = failing_line(error.__traceback__)
        hint = ""
        if isinstance(error, ValueError) and "read-only" in str(error):
            hint = " Elements are views of the pipeline's memory: change a copy, `x = x.copy()`."
        return FunctionError(
            f"{self.label} at {self._site}: the function failed on element {number}: "
            f"{type(error).__name__}: {error}" + (f" ({where})." if where else ".") + hint,
            op=self.label,
            number=number,
        )


def unpacked(element: Any) -> bool:
    """Whether an element's parts are given to a user's function one by one."""
    return type(element) is tuple and not is_namedtuple(element)
