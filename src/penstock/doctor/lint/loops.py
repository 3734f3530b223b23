"""Loops: which one a line is in, whether it really comes round again, and what stays the same in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.flow import Function
from penstock.doctor.lint.module import COMPREHENSIONS, FUNCTIONS, LOOPS, Module, constant

Loop = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
ENDS = (ast.Break, ast.Return, ast.Raise)
HARMLESS = ("builtins.", "functools.", "itertools.", "logging.", "math.", "os.path.")
"""Modules whose functions give the same for the same, or nothing at all."""
LITERALS = (ast.Tuple, ast.List, ast.Set, ast.Dict)


def loops(module: Module, node: ast.AST) -> Iterator[Loop]:
    """The loops around a node that run it once a round, from the nearest on, within its function."""
    below = node
    for above in module.ancestors(node):
        if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
            return
        if isinstance(above, ast.While):
            if below is above.test or below in above.body:
                yield above
        elif isinstance(above, (ast.For, ast.AsyncFor)):
            if below in above.body:
                yield above
        elif isinstance(above, COMPREHENSIONS):
            if below is not above.generators[0]:
                yield above
        elif isinstance(above, ast.comprehension) and below is above.iter:
            # The first `for` of a comprehension evaluates what it goes over once, the others each time.
            pass
        below = above


def repeated(module: Module, node: ast.AST) -> Loop | None:
    """The nearest loop in which a node is sure to run again and again; None if there is none.

    Loops that leave after the node, few rounds written out, and lines under an `if` do not count.

    >>> module = Module("for i in x:\\n    f(i)\\n\\nwhile True:\\n    f(1)\\n    break")
    >>> [repeated(module, call) is not None for call in module.calls]
    [True, False]
    """
    for loop in loops(module, node):
        if few(module, loop):
            continue
        if always(module, node, loop):
            return loop
        return None
    return None


def few(module: Module, loop: Loop) -> bool:
    """Whether the rounds of a loop are written out: `for split in ("train", "test")`."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter if isinstance(loop, (ast.For, ast.AsyncFor)) else loop.generators[0].iter
    for one, _ in module.origins(over):
        if (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and one.func.attr in {"items", "keys", "values"}
            and not one.args
            and all(isinstance(kept, ast.Dict) for kept, _ in module.origins(one.func.value))
        ):
            return True
        if (
            isinstance(one, ast.Call)
            and module.called(one) in {"builtins.enumerate", "builtins.zip"}
            and one.args
            and any(isinstance(kept, LITERALS) for part in one.args for kept, _ in module.origins(part))
        ):
            return True
        if isinstance(one, ast.Call) and module.called(one) == "builtins.range" and len(one.args) == 1:
            rounds = constant(module.origins(one.args[0])[0][0])
            if isinstance(rounds, int) and rounds <= 1:
                return True
        if isinstance(one, LITERALS):
            return True
    return False


def always(module: Module, node: ast.AST, loop: ast.AST) -> bool:
    """Whether every round of a loop, or call of a function, runs a node, and no loop is left then."""
    below = node
    for above in module.ancestors(node):
        if above is loop:
            return not isinstance(loop, LOOPS) or not _leaves(loop.body, below)
        if isinstance(above, (ast.If, ast.IfExp, ast.Match, ast.BoolOp, ast.ExceptHandler)):
            return False
        for block in (getattr(above, "body", None), getattr(above, "orelse", None)):
            if isinstance(block, list) and below in block and _leaves(block, below):
                return False
        below = above
    return False


def _leaves(block: list[ast.stmt], node: ast.AST) -> bool:
    """Whether a block leaves the loop, whatever happens, at or after a statement of it."""
    if node not in block:
        return False
    return any(isinstance(one, ENDS) for one in block[block.index(node) :])


def assigned(loop: Loop) -> set[str]:
    """The names and first names of attributes that a loop assigns, deletes or changes by a method."""
    found: set[str] = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif (
            isinstance(node, (ast.Attribute, ast.Subscript))
            and not isinstance(node.ctx, ast.Load)
            and (name := root(node))
        ):
            found.add(name)
    return found


def root(node: ast.AST) -> str:
    """The first name of `a.b[c].d`: `a`; "" if it starts with something else.

    >>> root(ast.parse("a.b[c].d", mode="eval").body)
    'a'
    """
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def same_each_round(module: Module, node: ast.AST, loop: Loop, pure: tuple[str, ...]) -> bool:
    """Whether an expression is sure to mean the same in every round of a loop.

    Its names are set outside the loop, nothing in the loop could change what they mean, and it calls only
    what starts with one of `pure`, methods of what these give, and functions of this file that do no more.
    """
    changed = assigned(loop)
    handed = _handed(module, loop, node)
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            found = module.definitions(one)
            if found and all(module.within(made.node, node) for made in found):
                continue  # its own, such as the parameter of a lambda
            if one.id in handed:
                return False
            if one.id in changed and any(
                module.within(made.node, loop) and not module.within(made.node, node) for made in found
            ):
                return False
            if one.id in changed and any(made.kind == "other" for made in found):
                return False
        elif isinstance(one, ast.Call) and not _pure(module, one, pure):
            return False
    own = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    parts = {root(one) for one in ast.walk(node) if isinstance(one, (ast.Attribute, ast.Subscript))}
    return not changed & (parts - own)


def _pure(module: Module, call: ast.Call, pure: tuple[str, ...]) -> bool:
    name = module.called(call)
    if name:
        return name.startswith(pure) and "random" not in name
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        return True  # a method of what a call gave, which is looked at itself
    if isinstance(call.func, ast.Attribute):
        return bool(module.name(call.func.value)) or _from_pure(module, call.func.value, pure)
    made = module.function(call.func)
    return made is not None and _pure_body(module, made, pure)


def _pure_body(module: Module, made: Function, pure: tuple[str, ...], depth: int = 3) -> bool:
    """Whether a function of this file gives the same for the same: it calls only what is known to do so."""
    if depth <= 0 or any(isinstance(one, (ast.Global, ast.Nonlocal)) for one in ast.walk(made)):
        return False
    for one in module.inside(made):
        if not isinstance(one, ast.Call):
            continue
        name = module.called(one)
        inner = module.function(one.func)
        if "random" in name or "time" in name or (name and not name.startswith((*pure, *HARMLESS))):
            return False
        if inner is not None and inner is not made and not _pure_body(module, inner, pure, depth - 1):
            return False
        if not name and inner is None and not isinstance(one.func, ast.Attribute):
            return False
    return True


def _from_pure(module: Module, node: ast.expr, pure: tuple[str, ...]) -> bool:
    """Whether a value was made by something pure, such as a dataset that only has methods without effect."""
    made = [one for one, _ in module.origins(node)]
    return bool(made) and all(
        isinstance(one, ast.Call) and _chain_start(module, one).startswith(pure) for one in made
    )


def _chain_start(module: Module, call: ast.Call) -> str:
    node: ast.AST = call
    while isinstance(node, ast.Call):
        if name := module.called(node):
            return name
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return ""


def _handed(module: Module, loop: Loop, node: ast.AST) -> set[str]:
    """Names that the loop hands to functions, or calls methods of, outside of `node`: they may change."""
    found: set[str] = set()
    for one in ast.walk(loop):
        if not isinstance(one, ast.Call) or module.within(one, node):
            continue
        if module.called(one).startswith(
            ("builtins.print", "builtins.len", "builtins.range", "builtins.enumerate")
        ):
            continue
        found.update(part.id for part in one.args if isinstance(part, ast.Name))
        if isinstance(one.func, ast.Attribute) and not module.name(one.func):
            found.add(root(one.func))
    return found - {""}
