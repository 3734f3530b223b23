"""A plan in words: what was declared, what the optimizer made of it, and what each op will need."""

from __future__ import annotations

from typing import Any

from penstock.blocks.spec import Spec
from penstock.graph.op import INFINITE, UNKNOWN
from penstock.graph.plan import Node, Plan
from penstock.memory.sizes import show_bytes
from penstock.report.table import counted


class Explanation(str):
    """A text that shows itself as it is, and also as plain data."""

    data: dict[str, Any]

    def __new__(cls, text: str, data: dict[str, Any]) -> Explanation:
        """The text of a plan, with its data."""
        self = super().__new__(cls, text)
        self.data = data
        return self

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data, fit for JSON."""
        return self.data

    def __repr__(self) -> str:
        return str(self)


def explain(plan: Plan, budget: int) -> Explanation:
    """The plan before and after the optimizer, in words and as data."""
    labels = plan.labels()
    lines = [f"budget {show_bytes(budget)}, blocks of about {show_bytes(plan.block_bytes)}", ""]
    lines.append("declared:")
    lines += _tree(plan.declared, labels)
    runs = _tree(plan.root, labels)
    lines += ["", "runs as declared"] if runs == lines[3:] else ["", "runs as:", *runs]
    lines += ["", "because:"] if plan.changes else []
    lines += [f"  {change}" for change in plan.changes]
    data = {
        "budget": budget,
        "block_bytes": plan.block_bytes,
        "declared": [_node(node, labels) for node in plan.declared.walk()],
        "plan": [_node(node, labels) for node in plan.root.walk()],
        "changes": list(plan.changes),
    }
    return Explanation("\n".join(lines), data)


def _tree(node: Node, labels: dict[int, str], depth: int = 1) -> list[str]:
    """One line an op, the sources first, a step to the right for each further input."""
    lines = []
    for i, above in enumerate(node.inputs):
        lines += _tree(above, labels, depth + (i > 0 or len(node.inputs) > 1))
    facts = [_count(node.op.cardinality), _element(_spec(node))]
    ways = node.op.ways()
    lines.append(
        "  " * depth
        + f"{node.op.describe()}  [{', '.join(fact for fact in facts if fact)}]"
        + (f"  {ways}" if ways else "")
    )
    return lines


def _spec(node: Node) -> Spec | None:
    """What the op gives at its place in the plan: a shuffle that was moved gives what it now gets."""
    return _spec(node.inputs[0]) if node.op.traits.reorders else node.op.spec


def _node(node: Node, labels: dict[int, str]) -> dict[str, Any]:
    spec = _spec(node)
    return {
        "op": labels.get(node.index, node.op.name),
        "declared": node.op.describe(),
        "line": node.op.site,
        "elements": node.op.cardinality,
        "element_bytes": spec.row_bytes if spec else None,
        "runs": node.op.ways(),
    }


def _count(cardinality: int) -> str:
    words = {INFINITE: "endless", UNKNOWN: "length unknown"}
    return words.get(cardinality, counted(cardinality))


def _element(spec: Spec | None) -> str:
    size = spec.row_bytes if spec is not None else None
    return f"{show_bytes(size)} each" if size is not None else ""
