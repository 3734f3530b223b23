"""A pipeline as a state remembers it: every op with its arguments, so that a difference can be named."""

from __future__ import annotations

import sys
from hashlib import blake2b
from typing import Any

from penstock.graph.fingerprint import arguments_of
from penstock.graph.op import Op

SHORT = 40
"""Arguments up to this length are kept as they are; of others a hash is."""

Line = list[Any]
"""An op: its name, and its arguments by name."""


def described(op: Op) -> list[Line]:
    """Every op with its arguments, the sources first."""
    lines = [line for above in op.inputs for line in described(above)]
    return [*lines, [op.name, {name: _short(said) for name, said in arguments_of(op).items()}]]


def python() -> str:
    """The version of Python: another one compiles functions to other code."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def difference(ops: list[Op], ours: list[Line], theirs: list[Line], *, compiled: bool = True) -> str:
    """What differs in the pipeline of a state, in words; nothing if it is the same.

    `ops` are those of this pipeline, in the order of `ours`. Without `compiled`, functions that cannot be
    compared are taken to be the same.
    """
    for op, (name, mine), (its_name, its) in zip(ops, ours, theirs, strict=False):
        if name != its_name:
            return f"it has {its_name} where this one has {name} at {op.site}"
        for argument in sorted({*mine, *its}):
            here, there = mine.get(argument), its.get(argument)
            if here == there or (not compiled and _hashed(here) and _hashed(there)):
                continue
            return f"its {name} {_said(op, argument, here, there)} ({op.called} at {op.site})"
    if len(ours) != len(theirs):
        longer, which = (ours, "this one") if len(ours) > len(theirs) else (theirs, "it")
        more = longer[min(len(ours), len(theirs))][0]
        many = "1 op" if len(theirs) == 1 else f"{len(theirs)} ops"
        return f"it has {many} and this one has {len(ours)}: {which} goes on with {more}"
    return ""


def _said(op: Op, argument: str, here: str | None, there: str | None) -> str:
    called = op.said_as.get(argument, argument)
    if here is None or there is None or _hashed(here) or _hashed(there):
        return f"was declared with another {called}"
    return f"has {called}={there}, where this one has {called}={here}"


def _hashed(said: str | None) -> bool:
    return said is not None and said.startswith("#")


def _short(said: str) -> str:
    if len(said) <= SHORT and "code(" not in said:
        return said
    return "#" + blake2b(said.encode(errors="surrogatepass"), digest_size=8).hexdigest()
