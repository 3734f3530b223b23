"""`distribute`: the maps above it, run by workers on other machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from penstock.cluster.connection import check_engine, connected
from penstock.cluster.feeding import Feeding
from penstock.cluster.line import Away, Elsewhere, Mapped, line_of, one_by_one
from penstock.cluster.worker import Job, job_of
from penstock.engine.context import StageContext
from penstock.errors import ArgumentError
from penstock.graph import checks
from penstock.graph.op import Op
from penstock.graph.plan import Node
from penstock.graph.running import Context, Running
from penstock.site import user_site


@dataclass(frozen=True, eq=False, kw_only=True)
class Distribute(Away):
    """The last of the maps whose calls are made elsewhere; those before it are `Mapped`."""

    engine: str
    workers: int

    name = "distribute"
    tuning: ClassVar[frozenset[str]] = frozenset({"engine", "workers"})

    def start(self, context: Context) -> Running:
        ray = connected(context.where)
        stage = cast(StageContext, context)
        if not any(node is stage.node for node in stage.run.plan.root.walk()):
            raise ArgumentError(
                f"{context.where}: expected distribute in the pipeline itself, not in a dataset that a "
                f"function returns. Use it after the flat_map or interleave."
            )
        return Feeding(ray, stage, _job(stage), self.workers)

    def ways(self) -> str:
        maps, above = [self.op], self.inputs[0]
        while isinstance(above, Away):
            maps.append(above.op)
            above = above.inputs[0]
        said = ", ".join(op.describe() for op in reversed(maps))
        return f"{said}: in {self.workers} Ray workers; what is above runs here"

    def describe(self) -> str:
        return f"distribute(engine={self.engine!r}, workers={self.workers})"


def distributed(op: Op, engine: Any, workers: Any) -> Distribute:
    """A pipeline with its last maps elsewhere."""
    check_engine(engine, "distribute(engine=)")
    checks.count(workers, "distribute(workers=)", least=1)
    made, line = line_of(op)
    if not line:
        raise ArgumentError(
            f"distribute at {user_site()}: expected a map right before it, as its calls are what goes to "
            f"other machines, got {op.called} at {op.site}. Say distribute right after the maps that take "
            f"long; shuffle, batch and prefetch come after it."
        )
    for one in line[:-1]:
        made = Mapped(inputs=(made,), op=one_by_one(one), own_seed=one.own_seed, site=one.site)
    last = line[-1]
    return Distribute(
        inputs=(made,), op=one_by_one(last), own_seed=last.own_seed, engine=engine, workers=workers
    )


def _job(context: StageContext) -> Job:
    """What the workers of a run need to know."""
    line: list[tuple[int, Op]] = []
    node = context.node
    while isinstance(node.op, Away):
        line.append((node.index, node.op.op.changed(own_seed=node.op.own_seed)))
        node = node.inputs[0]
    return job_of(context, _names(context.run.plan.declared), line[::-1], node.index)


def _names(node: Node) -> Node:
    """A pipeline of which only is left what its ops are called, as if all of them ran here."""
    op = node.op
    called = op.op.called if isinstance(op, Away) else op.called
    inputs = tuple(map(_names, node.inputs))
    return Node(Elsewhere(given_name=called, site=op.site, own_seed=op.own_seed), inputs, node.index)
