"""`pad_to_cardinality`: empty elements behind the last, up to a length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.build import repeated
from penstock.blocks.columns import DenseColumn
from penstock.blocks.spec import BYTES, OBJECT, TEXT, Spec, TensorSpec, spec_of
from penstock.blocks.structure import LEAF, Structure
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.graph.op import Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.known import known_spec, said_spec


@dataclass(frozen=True, eq=False, kw_only=True)
class PadToCardinality(Op):
    """Elements that are dicts, up to `target` of them, with a mask that tells real from padding."""

    target: int
    mask_key: str = "valid"

    name = "pad_to_cardinality"

    def __post_init__(self) -> None:
        checks.count(self.target, "pad_to_cardinality(cardinality=)", least=0)
        have, spec = self.inputs[0].cardinality, self.inputs[0].spec
        if have < 0:
            raise ArgumentError(
                self.fail("expected a dataset of known length. Use assert_cardinality before it.")
            )
        if have > self.target:
            raise ArgumentError(
                self.fail(f"expected at most {self.target} elements, got a dataset of {have}.")
            )
        if spec is not None:
            self.check_dict(spec.structure)

    def check_dict(self, structure: Structure) -> None:
        """Refuse elements that have no place for the mask."""
        if structure.kind is not dict:
            raise ArgumentTypeError(
                self.fail(f"expected elements that are dicts, to put the mask in, got {structure}.")
            )

    def start(self, context: Context) -> Running:
        return RunningPad(self, context)

    def find_spec(self) -> Spec | None:
        spec = self.inputs[0].spec
        if spec is None:
            return None
        structure, kept = masked(spec.structure, self.mask_key)
        leaves = [spec.leaves[place] for place in kept]
        return Spec(structure, [*leaves, TensorSpec((), bool)])

    def find_cardinality(self) -> int:
        return self.target


def masked(structure: Structure, key: str) -> tuple[Structure, list[int]]:
    """A dict with a mask at its end, and which leaves it keeps: a key of that name is replaced."""
    keys: list[Any] = []
    children: list[Structure] = []
    kept: list[int] = []
    at = 0
    for name, child in zip(structure.keys, structure.children, strict=True):
        if name != key:
            keys.append(name)
            children.append(child)
            kept += range(at, at + child.leaves)
        at += child.leaves
    return Structure(dict, (*keys, key), (*children, LEAF)), kept


class Filler:
    """What the padding looks like: zeros, and strings of no length."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.structure = spec.structure
        self._leaves = spec.leaves

    def block(self, rows: int) -> Block:
        """So many elements of padding."""
        columns = [repeated(_zero(leaf), rows) for leaf in self._leaves]
        return Block(self.structure, columns, rows)


def _zero(spec: TensorSpec) -> Any:
    shape = tuple(size or 0 for size in spec.shape or ())
    nothing = {BYTES: b"", TEXT: "", OBJECT: None}
    if spec.dtype in nothing:
        empty = np.full(shape, nothing[spec.dtype], object)
        return empty if shape else nothing[spec.dtype]
    return np.zeros(shape, spec.dtype)[()]


class RunningPad(Running):
    """Adds the mask, and the padding when the input has ended."""

    exact = True

    def __init__(self, op: PadToCardinality, context: Context) -> None:
        self._op = op
        self._context = context
        self._upstream = context.input()
        self._filler: Filler | None = None
        self._left = op.target - op.inputs[0].cardinality
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        block = None if self._ended else self._upstream.pull(rows)
        if block is not None:
            if self._filler is None:
                self._op.check_dict(block.structure)
                leaves = [spec_of(column.item(0)) for column in block.columns]
                self._filler = Filler(Spec(block.structure, leaves))
            return self._masked(block, valid=True)
        self._ended = True
        rows = min(rows, self._left)
        if rows == 0:
            return None
        self._left -= rows
        return self._masked(self._padding().block(rows), valid=False)

    def state(self) -> Any:
        like = None if self._filler is None else said_spec(self._filler.spec)
        return {"input": self._upstream.state(), "left": self._left, "ended": self._ended, "like": like}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._left, self._ended = state["left"], state["ended"]
        like = known_spec(state["like"])
        self._filler = None if like is None else Filler(like)

    def _padding(self) -> Filler:
        if self._filler is None:
            spec = self._op.inputs[0].spec
            if spec is None:
                raise ArgumentError(
                    self._op.fail("expected an element to model padding on, got an empty dataset.")
                )
            self._filler = Filler(spec)
        return self._filler

    def _masked(self, block: Block, *, valid: bool) -> Block:
        structure, kept = masked(block.structure, self._op.mask_key)
        mask = DenseColumn(np.full(block.rows, valid))
        return Block(structure, [*(block.columns[place] for place in kept), mask], block.rows)
