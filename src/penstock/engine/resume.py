"""A run that goes on where another one stood."""

from __future__ import annotations

from typing import Any

from penstock.engine.run import Run
from penstock.errors import ArgumentError
from penstock.graph.op import Op
from penstock.graph.passes import plan_of
from penstock.graph.plan import Plan
from penstock.graph.track import State
from penstock.memory.shared import Budget
from penstock.options import Options
from penstock.state.saved import Saved, checked, shape_of, unpacked, walked, with_seeds


def resumed(
    op: Op, options: Options, budget: Budget, state: Any, *, seed: int | None = None, epoch: int | None = None
) -> Run:
    """The run of a pipeline from a state of it on; `ArgumentError` if it is a state of another one."""
    saved = unpacked(state)
    checked(saved, op)
    _agree("seed", seed, saved.seed)
    _agree("epoch", epoch, saved.epoch)
    for each, stored in zip(walked(op), saved.stored, strict=False):
        if stored is not None:
            each.go_on_with(stored)
    plan = plan_of(with_seeds(op, saved.seeds), options, budget.total)
    at = state_for(plan, saved)
    run = Run(plan, budget, seed=saved.seed, epoch=saved.epoch, state=at, elements=saved.elements)
    if at is not saved.at:
        run.root.note(
            f"went through {saved.elements} elements again, to go on after them: the state was taken with "
            f"other passes of the optimizer"
        )
    return run


def state_for(plan: Plan, saved: Saved) -> State:
    """The state of a plan; where the optimizer made another one of the same pipeline, by going through it."""
    if shape_of(plan.root) == saved.plan or "ended" in saved.at:
        return saved.at
    return {"skip": saved.elements}


def _agree(name: str, said: int | None, saved: int | None) -> None:
    if said is not None and said != saved:
        raise ArgumentError(
            f"iterate(state=): the state was taken with {name}={saved}, got {name}={said}. Leave {name} out: "
            f"the state has it."
        )
