"""What is kept: values appended to something that outlives the loop, and names that are only called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.doctor.lint.loops import Loop, always, loops, repeated
from penstock.doctor.lint.module import Module, word


@dataclass(frozen=True)
class Kept:
    """One `container.append(item)` in a loop that the container was not made in."""

    call: ast.Call
    container: ast.expr
    item: ast.expr
    loop: Loop
    outermost: Loop


def appended(module: Module) -> Iterator[Kept]:
    """Every append, in a loop, to a container that is older than the loop and has no bound of its own."""
    for call in module.calls:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr != "append" or len(call.args) != 1:
            continue
        around = list(loops(module, call))
        if around and older(module, func.value, around[0]) and not bounded(module, func.value):
            yield Kept(call, func.value, call.args[0], around[0], around[-1])


def older(module: Module, container: ast.expr, loop: ast.AST) -> bool:
    """Whether a container was made before a loop: by its name, or as a part of something that was."""
    while isinstance(container, (ast.Subscript, ast.Attribute)):
        container = container.value
    if not isinstance(container, ast.Name):
        return False
    found = module.definitions(container)
    return bool(found) and not any(module.within(one.node, loop) for one in found)


def bounded(module: Module, container: ast.expr) -> bool:
    """Whether the container drops what is too much: a deque with a length; or somebody empties it."""
    for one, _ in module.origins(container):
        if (
            isinstance(one, ast.Call)
            and module.called(one) == "collections.deque"
            and word(one, "maxlen", 1) is not None
        ):
            return True
    text = ast.unparse(container)
    where = module.owner(container) if text.startswith("self.") else None
    for node in ast.walk(where or module.maker(container)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in {"clear", "pop", "popleft"} and ast.unparse(node.func.value) == text:
                return True
        elif isinstance(node, ast.Delete) and any(ast.unparse(one).startswith(text) for one in node.targets):
            return True
    return False


def made_again(module: Module, node: ast.AST) -> ast.AST | None:
    """The loop that makes something again in every round, or the function that does and that a loop calls."""
    if (loop := repeated(module, node)) is not None:
        return loop
    maker = module.maker(node)
    if (
        not isinstance(maker, ast.FunctionDef)
        or maker.decorator_list
        or next(iter(loops(module, node)), None)
    ):
        return None
    if not always(module, node, maker) or module.yields(maker):
        return None
    called = (call for call in module.calls if module.function(call.func) is maker)
    return maker if any(repeated(module, call) is not None for call in called) else None


def uses(module: Module, name: str, made: ast.AST, scope: ast.AST) -> list[ast.Name]:
    """Where a scope reads a name as it is defined at `made`."""
    return [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and any(one.node is made for one in module.definitions(node))
    ]


def named(module: Module, node: ast.expr) -> ast.Name | None:
    """The name that an expression is assigned to, if that is all that happens to it."""
    above = module.parents[node]
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        return above.targets[0]
    return None


def only_called(module: Module, name: str, made: ast.AST, scope: ast.AST) -> bool:
    """Whether all that a scope does with a name, as defined at `made`, is to call it, at least once."""
    parents = [(node, module.parents[node]) for node in uses(module, name, made, scope)]
    return bool(parents) and all(
        isinstance(above, ast.Call) and above.func is node for node, above in parents
    )
