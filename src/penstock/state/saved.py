"""What a state is: a dict of plain data, with what is needed to tell whether it fits, and to go on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph.fingerprint import remember
from penstock.graph.op import Op
from penstock.graph.plan import Node, Plan
from penstock.graph.track import State
from penstock.site import user_site
from penstock.state.described import described, difference, python

FORMAT = 1
"""The number of the form of a state. A library reads those of all before it."""
CHECK = "check"
"""Where a state has the hash of the rest of it."""
PARTS = ("penstock", "epoch", "seed", "seeds", "python", "pipeline", "plan", "parts", "elements", "state")
"""What the rest is. What users put beside it is theirs."""
STORED = "stored"
"""Where the state of the ops has the epochs of the passes that they have stored, in the order of `seeds`."""
FEED = {"epoch", "state"}
"""What the state of a framework's feed has."""
CHANGED = "it is not as it was when it was taken. Go on from one that was saved earlier, or begin anew"


@dataclass(frozen=True)
class Saved:
    """A state, read."""

    seed: int | None
    epoch: int
    at: State
    """Where the run of the plan stood."""
    elements: int
    """How many elements of the pass have been handed out, failed ones too."""
    seeds: tuple[int, ...]
    """For every op, the sources first, the seed that it had where the user gave none."""
    pipeline: list[Any]
    plan: list[str]
    python: str
    stored: tuple[int | None, ...] = ()
    """For every op, the epoch of the pass that it had stored."""


def head_of(plan: Plan, seed: int | None, epoch: int) -> dict[str, Any]:
    """What is in every state of a run of this plan; `elements` and `state` are added to it."""
    _refuse_any_order(plan.root)
    return {
        "penstock": FORMAT,
        "epoch": epoch,
        "seed": seed,
        "seeds": [node.op.own_seed for node in plan.declared.walk()],
        "python": python(),
        "pipeline": described(plan.declared.op),
        "plan": shape_of(plan.root),
    }


@dataclass
class States:
    """Makes the states of a run, also when it has ended."""

    plan: Plan
    seed: int | None
    epoch: int
    head: dict[str, Any] | None = None
    """What they all have in common; the run of a plain pipeline has it made when it is needed."""

    def __post_init__(self) -> None:
        for node in self.plan.declared.walk():
            with suppress(Exception):  # whoever asks for a state is told what is wrong
                remember(node.op)
        self._plain = self.head is None

    def packed(self, at: State, elements: int) -> dict[str, Any]:
        """What the user gets of a state, and `iterate(state=...)` takes."""
        self.head = self.head or head_of(self.plan, self.seed, self.epoch)
        stored = [node.op.stored for node in self.plan.declared.walk()] if self._plain else []
        if any(epoch is not None for epoch in stored):
            at = {**at, STORED: stored}
        return sealed({**self.head, "elements": elements, "state": at})


def sealed(state: dict[str, Any]) -> dict[str, Any]:
    """The state, with what tells later whether it is still as it was."""
    return {**state, CHECK: _hash(state)}


def _hash(state: Mapping[str, Any]) -> str:
    parts = [state.get(name) for name in PARTS]
    text = json.dumps(parts, sort_keys=True, default=lambda array: array.tolist())
    return blake2b(text.encode(), digest_size=8).hexdigest()


def is_as_it_was(state: Mapping[str, Any]) -> bool:
    """Whether nothing has changed a state since it was taken; those of older libraries do not tell."""
    try:
        return CHECK not in state or bool(state[CHECK] == _hash(state))
    except (AttributeError, TypeError, ValueError):  # something that no state has
        return False


def _refuse_any_order(root: Node) -> None:
    for node in root.walk():
        if node.op.seam and getattr(node.op, "deterministic", None) is False:
            raise ArgumentError(
                node.op.fail(
                    "expected elements in a fixed order, to say where an iteration stands: with "
                    "deterministic=False, nobody knows which ones are left. Leave it out."
                )
            )


def shape_of(root: Node) -> list[str]:
    """What of a plan decides how its state looks: which ops run, and how the optimizer has changed them."""
    return [f"{node.index} {node.op.shape}" for node in root.walk()]


def unpacked(state: Any) -> Saved:
    """A state, read; `ArgumentError` if it is none, or one of a newer library."""
    if isinstance(state, str | bytes):
        try:
            state = json.loads(state)
        except (ValueError, RecursionError):
            raise ArgumentError(_refused(f"expected what it.state() gave, got {state[:40]!r}")) from None
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(_refused(f"expected what it.state() gave, got {_kind(state)}"))
    number = state.get("penstock")
    if state.keys() == FEED:
        raise ArgumentError(
            _refused(
                "expected what it.state() gave, got what state_dict() of a feed gave (as_torch, as_jax). "
                "Give that to load_state_dict of the feed"
            )
        )
    if not isinstance(number, int):
        raise ArgumentError(
            _refused(f"expected what it.state() gave, got a dict with {sorted(map(repr, state))[:6]}")
        )
    if FORMAT < number < 1_000_000:
        raise ArgumentError(
            _refused(
                f"the state has the form {number}, and this version of Penstock reads up to {FORMAT}. "
                f"Update Penstock"
            )
        )
    if not 0 < number <= FORMAT:
        raise ArgumentError(_refused("the state is damaged: its form is no number that there is"))
    if "parts" in state:
        raise ArgumentError(_refused("the state is one of ps.reshard. Go on with it there: ps.reshard"))
    if not is_as_it_was(state):
        raise ArgumentError(_refused(f"the state is damaged: {CHANGED}"))
    try:
        seed = state["seed"]
        at = dict(state["state"])
        stored = at.pop(STORED, ())
        return Saved(
            seed=None if seed is None else int(seed),
            epoch=int(state["epoch"]),
            at=at,
            elements=int(state["elements"]),
            seeds=tuple(map(int, state["seeds"])),
            pipeline=[[str(name), dict(said)] for name, said in state["pipeline"]],
            plan=list(state["plan"]),
            python=str(state["python"]),
            stored=tuple(None if each is None else int(each) for each in stored),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(_refused(f"the state is damaged: {error!r}")) from None


def _refused(what: str) -> str:
    return f"iterate(state=) at {user_site()}: {what}."


def _kind(state: Any) -> str:
    name = type(state).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def checked(saved: Saved, op: Op) -> None:
    """Refuse a state of another pipeline, and say what differs."""
    ops = list(walked(op))
    differs = difference(ops, described(op), saved.pipeline, compiled=saved.python == python())
    if not differs and len(saved.seeds) != len(ops):
        differs = f"it has {len(saved.seeds)} seeds for {len(ops)} ops"
    if differs:
        raise ArgumentError(
            _refused(
                f"the state is of another pipeline: {differs}. Declare the pipeline as it was, "
                f"or begin anew: ds.iterate()"
            )
        )


def walked(op: Op) -> Iterator[Op]:
    """All ops of a pipeline, the sources first."""
    for above in op.inputs:
        yield from walked(above)
    yield op


def with_seeds(op: Op, seeds: tuple[int, ...]) -> Op:
    """The pipeline with the seeds that its ops had where the user gave none."""
    left = iter(seeds)

    def visit(op: Op) -> Op:
        inputs = tuple(visit(above) for above in op.inputs)
        return op.changed(inputs=inputs, own_seed=next(left))

    return visit(op)
