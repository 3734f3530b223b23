"""`Dataset.from_tensors`: one element."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.build import LeafError, as_leaf, column_of
from penstock.blocks.spec import Spec, spec_of
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import ArgumentTypeError
from penstock.graph.fingerprint import UNSEEN
from penstock.graph.op import Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.declared import DeclaredArrays
from penstock.site import user_site


@dataclass(frozen=True, eq=False, kw_only=True)
class FromTensors(Op):
    """One element with these leaves."""

    structure: Structure = field(repr=False)
    tensors: tuple[Any, ...] = field(repr=False)
    born: float = field(default_factory=perf_counter, repr=False, metadata=UNSEEN)
    """When it was declared: inside a run, its arrays may be that run's."""

    name = "from_tensors"

    @classmethod
    def of(cls, tensors: Any) -> FromTensors:
        """The op of a user's nest of values."""
        structure = structure_of(tensors, top=False)
        leaves = []
        for path, leaf in zip(structure.paths(), structure.flatten(tensors), strict=True):
            try:
                leaves.append(as_leaf(leaf))
            except LeafError as error:
                raise ArgumentTypeError(f"{cls.name} at {user_site()}: element{path} is {error}.") from None
        return cls(structure=structure, tensors=tuple(leaves))

    def __post_init__(self) -> None:
        if not self.tensors:
            raise ArgumentTypeError(self.fail("expected at least one value, got none."))

    def start(self, context: Context) -> Running:
        return RunningTensors(self, context)

    def find_spec(self) -> Spec:
        return Spec(self.structure, [spec_of(leaf) for leaf in self.tensors])

    def find_cardinality(self) -> int:
        return 1

    def describe(self) -> str:
        return f"from_tensors({', '.join(map(repr, self.find_spec().leaves))})"


class RunningTensors(Running):
    """Views of the user's arrays, read-only, so that nobody changes the data by accident."""

    exact = True

    def __init__(self, op: FromTensors, context: Context) -> None:
        self._op = op
        self._given = False
        self._declared = DeclaredArrays(op.tensors, op.born, context)

    def pull(self, rows: int) -> Block | None:  # noqa: ARG002
        if self._given:
            return None
        self._given = True
        columns = [column_of([_locked(leaf)]) for leaf in self._op.tensors]
        return Block(self._op.structure, columns, 1)

    def state(self) -> Any:
        return {"given": self._given}

    def restore(self, state: Any) -> None:
        self._given = state["given"]

    def close(self) -> None:
        self._declared.close()


def _locked(leaf: Any) -> Any:
    if not isinstance(leaf, np.ndarray):
        return leaf
    view = leaf.view()
    view.flags.writeable = False
    return view
