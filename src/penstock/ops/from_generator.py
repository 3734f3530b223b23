"""`Dataset.from_generator`: the elements that a Python generator yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

import numpy as np

from penstock.blocks.receive import SMALL
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentTypeError, DataError
from penstock.functions.function import UserFunction, ends_program
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.collect import Collector
from penstock.ops.parts.collected import CollectedSource
from penstock.ops.parts.signature import agrees, converted


@dataclass(frozen=True, eq=False, kw_only=True)
class FromGenerator(Op):
    """What `generator(*args)` yields, checked against a signature if there is one."""

    generator: Callable[..., Iterable[Any]]
    args: tuple[Any, ...] = ()
    signature: Spec | None = None

    name = "from_generator"
    said_as = {"signature": "output_signature"}

    def __post_init__(self) -> None:
        if isinstance(self.generator, Iterator) and not callable(self.generator):
            name = getattr(self.generator, "__name__", "gen")
            name = name if name.isidentifier() else "gen"
            raise ArgumentTypeError(
                f"from_generator(generator=) at {self.site}: expected a function that gives a new iterator "
                f"each time, got {self.generator!r}. Pass the function {name}, not {name}()."
            )
        if not callable(self.generator):
            raise ArgumentTypeError(
                f"from_generator(generator=) at {self.site}: expected a function that gives something to "
                f"iterate over, got {checks.shown(self.generator)}.{_hint(self.generator)}"
            )
        if not isinstance(self.args, tuple | list):
            raise ArgumentTypeError(
                self.fail(f"expected args to be a tuple of arguments, got {self.args!r}.")
            )
        checks.takes(self.generator, "from_generator(generator=)", len(self.args), "those of args=")

    def start(self, context: Context) -> Running:
        return RunningGenerator(self, context)

    def find_spec(self) -> Spec | None:
        return self.signature

    def find_cardinality(self) -> int:
        return UNKNOWN


def _hint(value: Any) -> str:
    """How to get the elements of what is no function, with a space before it."""
    if isinstance(value, Iterable):
        return " Use `lambda: values`, or from_tensor_slices(values) for the rows of arrays and lists."
    if hasattr(value, "__getitem__") and hasattr(value, "__len__"):
        return " Use `lambda: (values[i] for i in range(len(values)))`."
    return ""


class RunningGenerator(CollectedSource):
    """Asks a new generator for elements, until they fill a block.

    A generator that raises has ended, as generators do.
    """

    replays = "a generator cannot be put in the middle"

    def __init__(self, op: FromGenerator, context: Context) -> None:
        self._op = op
        self._label, self._where = context.label, context.where
        self._function = UserFunction(op.generator, op, context.label)
        structure = None if op.signature is None else op.signature.structure
        super().__init__(Collector(context.label, context.block_bytes, structure, where=context.where))
        self._source: Iterator[Any] | None = None
        self._seen = 0

    def _make(self, rows: int) -> None:
        """Collect up to so many elements, fewer if they fill a block."""
        if self._source is None:
            self._source = self._opened()
        signature, made = self._op.signature, self._made
        single = signature.leaves[0] if signature is not None and signature.structure.is_leaf else None
        for _ in range(rows):
            try:
                element = next(self._source)
            except StopIteration:
                self._end()
                return
            except (Exception, SystemExit) as error:
                self._end()
                if ends_program(error):
                    raise
                raise self._function.failed(error, self._seen) from error
            number = self._seen
            self._seen += 1
            if type(element) is np.ndarray and element.nbytes <= SMALL and single and agrees(element, single):
                made.add_small(element)
                del element  # a view would keep what it is of while the generator goes on
            else:
                if signature is None:
                    leaves = made.leaves_of(element, number)
                else:
                    leaves = converted(element, signature, self._label, number, self._where)
                del element  # a reference to it more, and its arrays would be copied
                made.add(leaves)
                del leaves
            if made.full:
                return

    def _opened(self) -> Iterator[Any]:
        try:
            made = self._function.call(tuple(self._op.args), 0)
            if not isinstance(made, Iterable):
                raise DataError(
                    self._op.fail(
                        f"expected the generator to return something to iterate over, got {made!r}."
                    ),
                    op=self._label,
                    number=0,
                )
            return iter(made)
        except BaseException:
            self._ended = True
            raise

    def _end(self) -> None:
        self._ended = True
        self._source = None

    def state(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        assert state is None, "it begins at the beginning"

    def close(self) -> None:
        source, self._source = self._source, None
        self._ended = True
        self._error = None
        # A generator that another thread is still inside of closes when that thread lets go of it.
        if isinstance(source, GeneratorType) and not source.gi_running:
            source.close()
