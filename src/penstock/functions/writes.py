"""What instructions of a function write to, of all that is there before and after a call."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import Any


def written(instructions: list[dis.Instruction], i: int, cells: dict[str, Any], own: tuple[str, ...]) -> str:
    """What an instruction changes of things that are there before and after the call; in words."""
    one = instructions[i]
    if one.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
        return f"it sets the global {one.argval}"
    if one.opname == "STORE_DEREF" and one.argval in cells:
        return f"it sets {one.argval} of the function around it"
    if one.opname in ("STORE_ATTR", "DELETE_ATTR") and _stays(instructions[i - 1], cells, own):
        return f"it sets the attribute {one.argval}"
    if one.opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
        container = _before_index(instructions, i)
        if container is not None and (container.opname == "LOAD_ATTR" or _stays(container, cells, own)):
            return f"it sets items of {container.argval}"
    return ""


def _stays(loads: dis.Instruction, cells: dict[str, Any], own: tuple[str, ...]) -> bool:
    """Whether what an instruction loads is there before and after the call."""
    if loads.opname == "LOAD_DEREF":
        return loads.argval in cells
    # A SWAP comes before what is written in `a.b += c`, of which it is not easily told what `a` is.
    return loads.opname in ("LOAD_GLOBAL", "SWAP") or loaded_name(loads) in own


def _before_index(instructions: list[dis.Instruction], i: int) -> dis.Instruction | None:
    """Before an instruction that sets an item: the one that has loaded what the item is set of."""
    pushed = 0
    for j in range(i - 1, 0, -1):
        one = instructions[j]
        argument = one.arg if one.opcode >= dis.HAVE_ARGUMENT else None
        try:
            pushed += dis.stack_effect(one.opcode, argument, jump=False)
        except ValueError:
            return None
        if pushed == 1:
            return instructions[j - 1]
    return None


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those within it: of lambdas, comprehensions and functions inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)


def loaded_name(loads: dis.Instruction) -> Any:
    """The name that an instruction loads: of two in one, since 3.13, the last."""
    return loads.argval[-1] if isinstance(loads.argval, tuple) else loads.argval
