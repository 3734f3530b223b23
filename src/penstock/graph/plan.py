"""The plan: ops after the optimizer's passes, ready to run. Pure data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.graph.op import Op
from penstock.options import Options

BLOCK_BYTES = 8 << 20
"""The most bytes of a block: larger ones leave the core's cache, smaller ones cost more calls."""

TAKEN = ("pool",)
"""Names of accounts that are no op's."""


@dataclass(frozen=True)
class Node:
    """An op in its place in a plan; `index` is its number in the pipeline as it was declared."""

    op: Op
    inputs: tuple[Node, ...]
    index: int

    def walk(self) -> Iterator[Node]:
        """This node and all above it, the sources first."""
        for node in self.inputs:
            yield from node.walk()
        yield self

    def with_inputs(self, *inputs: Node) -> Node:
        """The same op over other inputs."""
        return replace(self, inputs=inputs)


@dataclass(frozen=True)
class Plan:
    """What a run runs."""

    declared: Node
    root: Node
    options: Options
    block_bytes: int
    changes: tuple[str, ...] = ()
    """What each pass did, in words."""

    def labels(self) -> dict[int, str]:
        """How each op is called, each in its own way: by its name, with its number where others share it."""
        nodes = list(self.declared.walk())
        times = Counter([*TAKEN, *(node.op.called for node in nodes)])
        return {
            # A name that looks like one with a number gets one too, so that no two are the same.
            node.index: called if times[called] == 1 and "#" not in called else f"{called}#{node.index}"
            for node in nodes
            for called in [node.op.called]
        }

    def first_places(self) -> dict[int, int]:
        """The number of each declared op, or that of its first place where a dataset is in several."""
        first: dict[int, int] = {}
        return {node.index: first.setdefault(node.op.own_seed, node.index) for node in self.declared.walk()}


def declared_nodes(op: Op) -> Node:
    """The pipeline as it was declared, each op with its number, the sources first."""
    counter = iter(range(1 << 62))

    def visit(op: Op) -> Node:
        inputs = tuple(visit(above) for above in op.inputs)
        return Node(op, inputs, next(counter))

    return visit(op)
