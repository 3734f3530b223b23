"""The optimizer: small passes over a plan. Each keeps the stream identical, or is not taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.graph.op import Op
from penstock.graph.plan import BLOCK_BYTES, Node, Plan, declared_nodes
from penstock.memory.sizes import show_bytes
from penstock.options import Options

LEAST_BLOCK = 16 << 10
UNSIZED_BLOCK = 64 << 10
"""The bytes of a block where the pass `size_blocks` is off."""

Rewrite = Callable[[Node], "tuple[Node, str] | None"]
"""A node made better, and what was done, in words; or None."""


def plan_of(op: Op, options: Options, budget: int = BLOCK_BYTES << 10) -> Plan:
    """The plan of a pipeline: what runs, and what the optimizer has done to it."""
    declared = declared_nodes(op)
    root, changes = declared, []
    enabled = options.passes()
    for name, rewrite in REWRITES.items():
        if name in enabled:
            root, done = _everywhere(root, rewrite)
            changes += [f"{name}: {words}" for words in done]
    block_bytes = UNSIZED_BLOCK
    if "size_blocks" in enabled:
        block_bytes = block_bytes_for(budget, sum(1 for _ in root.walk()))
        changes.append(f"size_blocks: blocks of about {show_bytes(block_bytes)}")
    return Plan(declared, root, options, block_bytes, tuple(changes))


def block_bytes_for(budget: int, stages: int) -> int:
    """How large blocks are: two of every stage take an eighth of the budget at most."""
    least = min(LEAST_BLOCK, max(1, budget // (2 * stages)))
    return max(least, min(BLOCK_BYTES, budget // (16 * stages)))


def _everywhere(node: Node, rewrite: Rewrite) -> tuple[Node, list[str]]:
    """Rewrite from the sources down, and each place until nothing more is found there."""
    done: list[str] = []
    inputs = []
    for above in node.inputs:
        better, words = _everywhere(above, rewrite)
        inputs.append(better)
        done += words
    if any(better is not above for better, above in zip(inputs, node.inputs, strict=True)):
        node = node.with_inputs(*inputs)
    found = rewrite(node)
    if found is None:
        return node, done
    better, said = found
    # What has moved up may move further, past what it now stands under.
    node, more = _everywhere(better, rewrite)
    return node, [*done, said, *more]


def fuse_maps(node: Node) -> tuple[Node, str] | None:
    """Make two neighbouring maps one: no block is built between them."""
    if not node.inputs or not node.op.traits.fuses:
        return None
    above = node.inputs[0]
    if not (above.op.traits.fuses and above.op.hoistable and node.op.hoistable):
        return None
    fused = Node(above.op.fused_with(node.op, above.index, node.index), above.inputs, node.index)
    return fused, f"{above.op.describe()} and {node.op.describe()} run as one"


def hoist_shuffle(node: Node) -> tuple[Node, str] | None:
    """Shuffle before a one-to-one map rather than after it, where the rows are no larger there."""
    if not node.op.traits.reorders or not node.op.hoistable:
        return None
    above = node.inputs[0]
    if not above.op.traits.one_to_one or not above.op.hoistable or not _rows_no_larger(above, node.op):
        return None
    shuffle = Node(node.op.with_carried_numbers(), above.inputs, node.index)
    moved = Node(above.op.with_carried_numbers(), (shuffle,), above.index)
    return moved, f"{node.op.describe()} now comes before {above.op.describe()}"


def _rows_no_larger(node: Node, shuffle: Op) -> bool:
    source = node.inputs[0]
    while source.op.traits.one_to_one and source.op.hoistable:
        source = source.inputs[0]
    if _shuffled_by_number(shuffle, source.op) is not None:
        return True  # the shuffle will hold numbers, no rows at all
    before = node.inputs[0].op.spec
    after = node.op.spec
    small = None if before is None else before.row_bytes
    large = None if after is None else after.row_bytes
    return small is not None and large is not None and small <= large


def index_shuffle(node: Node) -> tuple[Node, str] | None:
    """Shuffle row numbers and gather, over a source with random access: no buffer at all."""
    if not node.op.traits.reorders:
        return None
    source = node.inputs[0]
    better = _shuffled_by_number(node.op, source.op)
    if better is None:
        return None
    words = f"{node.op.describe()} reorders row numbers of {source.op.called}, and keeps no rows"
    source = replace(source, op=source.op.with_random_access())
    return Node(better, (source,), node.index), words


def _shuffled_by_number(shuffle: Op, source: Op) -> Op | None:
    """The shuffle of a source's row numbers; None where it cannot be one, or already is."""
    traits = source.traits
    if not traits.random_access:
        return None
    better = shuffle.in_index_space(costly=traits.costly_access)
    return None if better is shuffle else better


REWRITES: Mapping[str, Rewrite] = {
    "fuse_maps": fuse_maps,
    "hoist_shuffle": hoist_shuffle,
    "index_shuffle": index_shuffle,
}
