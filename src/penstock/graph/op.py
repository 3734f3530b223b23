"""The contract of an op's declaration."""

from __future__ import annotations

import copy
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.graph import checks
from penstock.graph.running import Context, Running
from penstock.kernels.spans import Empty
from penstock.site import user_site

INFINITE = -1
"""The cardinality of a dataset that never ends."""
UNKNOWN = -2
"""The cardinality of a dataset whose length is not known before it is read."""
AUTOTUNE = -1
"""Let Penstock choose: how many calls run at once, or how much is fetched ahead."""


SAID = "said_arguments"
"""Where an op has what its arguments came down to before it was first run (`graph/fingerprint.py`)."""


def fresh_seed() -> int:
    """A seed from the operating system, for an op whose user gave none."""
    return secrets.randbits(63)


@dataclass(frozen=True)
class Traits:
    """What the engine and the optimizer may know of an op, without knowing which op it is."""

    one_to_one: bool = False
    """Every input row gives one output row, at the same place."""
    reorders: bool = False
    """Gives the input's rows, each once, in another order."""
    random_access: bool = False
    """A source whose rows can be gathered by number, where its `size` is known."""
    costly_access: bool = False
    """A gathered row costs a read of its own: only a shuffle of the whole is worth that."""
    fuses: bool = False
    """Neighbouring ops of this kind can be made one."""
    seam: str = ""
    """The kind of seam that the engine puts here instead of a running op."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Op(ABC):
    """A frozen declaration of one step, with its inputs. Holds no data."""

    inputs: tuple[Op, ...] = ()
    site: str = field(default_factory=user_site, repr=False)
    own_seed: int = field(default_factory=fresh_seed, repr=False)
    """The seed of what is random in this op, where the user gave none."""
    given_name: str | None = field(default=None, repr=False, metadata={"fingerprint": False})
    """What the user calls this op; set by `named`, which checks it."""

    name: ClassVar[str] = ""
    traits: ClassVar[Traits] = Traits()
    positional: ClassVar[tuple[str, ...] | None] = None
    """The fields that are shown without their names; by default the op's first one."""
    tuning: ClassVar[frozenset[str]] = frozenset({"num_parallel_calls", "deterministic", "executor"})
    """The fields that decide when elements come, never which."""
    said_as: ClassVar[Mapping[str, str]] = {}
    """What the user calls a field whose name is another."""
    parted: ClassVar[str] = ""
    """Whether it may work on a part of its input, as one of several shards: over all of them the same
    elements come out. `"each"` for yes, `"evenly"` if also parts of one length give parts of one length."""
    opens: ClassVar[bool] = False
    """Whether a row of its input is what elements are read of: the name of a file, say."""

    @abstractmethod
    def start(self, context: Context) -> Running:
        """The op at work."""

    @abstractmethod
    def find_spec(self) -> Spec | None:
        """What is known of the elements before any is seen; None if nothing is."""

    @abstractmethod
    def find_cardinality(self) -> int:
        """How many elements come out: a number, `INFINITE` or `UNKNOWN`."""

    def sources(self) -> Iterable[str]:
        """The files, or folders of files, that this op names: when they change, so does what it gives."""
        return ()

    def files(self) -> int | None:
        """How many files this source has, `UNKNOWN` if a run finds out; None if it cannot read some alone."""
        return None

    def with_files(self, num_shards: int, index: int) -> Op:
        """This source over every `num_shards`-th of its files, from number `index` on."""
        raise TypeError(f"{self.name} has no files ({num_shards}, {index})")

    def over(self, *inputs: Op) -> Self:
        """The same op over other inputs."""
        return self.changed(inputs=inputs)

    def changed(self, **fields: Any) -> Self:
        """This op with other values in some fields, which are not checked again."""
        made = copy.copy(self)
        for name, value in fields.items():
            object.__setattr__(made, name, value)
        for name in ("spec", "cardinality"):
            made.__dict__.pop(name, None)
        if fields.keys() - {"inputs", "own_seed"}:
            made.__dict__.pop(SAID, None)
        return made

    @property
    def stored(self) -> int | None:
        """The epoch of the pass whose elements it has stored for those after it; None if it stores none."""
        return None

    def go_on_with(self, epoch: int) -> None:  # noqa: B027
        """If nothing is stored yet, store the elements of that epoch, whichever the next one is."""

    @property
    def seam(self) -> str:
        """The kind of seam that the engine puts here; none where it is empty."""
        return self.traits.seam

    @property
    def only_reads(self) -> bool:
        """Whether it reads files of this machine, and calls no function of the user's."""
        return False

    @property
    def stacks(self) -> int:
        """How many rows of its input make one of its own: they are best made side by side."""
        return 1

    @property
    def shape(self) -> str:
        """What decides how the state of the op looks: its name, and how a pass has changed it."""
        return self.name

    @cached_property
    def spec(self) -> Spec | None:
        """`find_spec`, found once."""
        return self.find_spec()

    @cached_property
    def cardinality(self) -> int:
        """`find_cardinality`, found once."""
        return self.find_cardinality()

    @property
    def hoistable(self) -> bool:
        """Whether a shuffle may be moved in front of this one-to-one op without a trace."""
        return False

    def named(self, name: str | None) -> Self:
        """The same op, called so by the user in messages and in the report; None for its own name."""
        checks.name(name, f"{self.name}(name=)")
        if name == self.given_name:
            return self
        named = copy.copy(self)  # and not `replace`, which would check all arguments again
        object.__setattr__(named, "given_name", name)
        return named

    def with_plain_numbers(self) -> Self:
        """The same op, with Python's numbers where the user gave NumPy's.

        As seeds, these overflow, and a state with one of them is no JSON.
        """
        said = {
            name: value.item()
            for name in _numbers_of(type(self))
            if hasattr(value := getattr(self, name), "item")
        }
        return self.changed(**said) if said else self

    @property
    def called(self) -> str:
        """The name that the user gave this op, or its own."""
        return self.given_name or self.name

    def with_carried_numbers(self) -> Op:
        """This op for a place where a shuffle has been moved in front of it, or it is the shuffle.

        Rows then carry the element numbers that they had before the shuffle.
        """
        raise TypeError(f"{self.name} does not move")

    def with_random_access(self) -> Op:
        """This source for a place where its rows are gathered, whatever it costs to make that possible."""
        return self

    def in_index_space(self, *, costly: bool = False) -> Op:
        """This shuffle over a source with random access: it reorders numbers and gathers rows.

        The same op where that is not possible; or not worth it, as a gathered row is `costly`.
        """
        raise TypeError(f"{self.name} does not reorder ({costly})")

    def fused_with(self, below: Op, index: int, below_index: int) -> Op:
        """This map and the map below it in one."""
        raise TypeError(f"{self.name} does not fuse with {below.name} ({index}, {below_index})")

    def at_once(self, empty: Empty) -> Block | None:  # noqa: ARG002
        """All that it gives, where that is little and at hand; None where it has to be started."""
        return None

    def ways(self) -> str:
        """How the op will run and why, for `explain()`; nothing where there is but one way."""
        return ""

    def arguments(self) -> dict[str, Any]:
        """What the user said, for `explain()` and messages."""
        hidden = {"inputs", "site"}
        return {
            part.name: getattr(self, part.name)
            for part in fields(self)
            if part.repr and part.name not in hidden and getattr(self, part.name) != part.default
        }

    def describe(self) -> str:
        """The op as it would be written in Python."""
        said = self.arguments()
        if self.given_name is not None:
            said["name"] = self.given_name
        bare = self.positional
        if bare is None:
            bare = tuple(part.name for part in fields(self) if part.name not in _OF_ALL)[:1]
        shown = [
            _show(field, value)
            if field in bare
            else f"{self.said_as.get(field, field)}={_show(field, value)}"
            for field, value in said.items()
        ]
        return f"{self.name}({', '.join(shown)})"

    def fail(self, message: str) -> str:
        """A message about this op, with the user's line."""
        return f"{self.called} at {self.site}: {message}"


@cache
def _numbers_of(kind: type[Op]) -> tuple[str, ...]:
    """The fields that are numbers."""
    return tuple(part.name for part in fields(kind) if str(part.type).startswith(("int", "float")))


_OF_ALL = frozenset(part.name for part in fields(Op))
_CHOSEN = {
    "buffer_size": {AUTOTUNE: "AUTOTUNE", UNKNOWN: "UNKNOWN"},
    "num_parallel_calls": {AUTOTUNE: "AUTOTUNE"},
}
"""Numbers that stand for a choice, by the field that they are said in."""


def _show(field: str, value: Any) -> str:
    if isinstance(value, int) and value in _CHOSEN.get(field, {}):
        return _CHOSEN[field][value]
    if isinstance(value, np.dtype):
        return str(value)
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
