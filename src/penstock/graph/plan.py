"""The plan: ops after the optimizer's passes, ready to run. Pure data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.graph.op import Op
from penstock.options import Options

BLOCK_BYTES = 1 << 20
"""A block of about this size stays in a core's own cache while the ops of a chain work on it."""


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
        """How each op is called: its name, with its number where the name is not unique."""
        names = [node.op.name for node in self.declared.walk()]
        return {
            node.index: node.op.name
            if names.count(node.op.name) == 1
            else f"{node.op.name}#{node.index}"
            for node in self.declared.walk()
        }


def declared_nodes(op: Op) -> Node:
    """The pipeline as it was declared, each op with its number, the sources first."""
    counter = iter(range(1 << 62))

    def visit(op: Op) -> Node:
        inputs = tuple(visit(above) for above in op.inputs)
        return Node(op, inputs, next(counter))

    return visit(op)
