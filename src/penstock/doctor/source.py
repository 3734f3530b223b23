"""What the source says: where a name is bound, and which lines can make it longer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.places import Place, Places

GROWS = {
    "add",
    "append",
    "appendleft",
    "extend",
    "extendleft",
    "insert",
    "push",
    "put",
    "put_nowait",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_hook",
    "setdefault",
    "update",
    "write",
    "writelines",
}
"""Methods that make a container longer."""


def name_in(labels: tuple[str, ...]) -> str:
    """The last name on a way: `history` of `trainer.history['loss']`."""
    for label in reversed(labels):
        text = label.strip("<>").removeprefix(".").removeprefix("(").removesuffix("=)")
        text = text.rpartition(".")[2] if all(map(str.isidentifier, text.split("."))) else text
        if text.isidentifier():
            return text
    return ""


def spelled(path: str) -> str:
    """A way as it can be written in code: `trainer.log['loss']`; nothing where it cannot."""
    try:
        tree = ast.parse(path, mode="eval")
    except SyntaxError:
        return ""
    known = (
        ast.Expression,
        ast.Name,
        ast.Attribute,
        ast.Subscript,
        ast.Constant,
        ast.expr_context,
        ast.UnaryOp,
        ast.USub,
    )
    whole = all(isinstance(node, known) and getattr(node, "value", 0) is not ... for node in ast.walk(tree))
    return path if whole else ""


def function_at(places: Places, file: str, line: int) -> int:
    """Where the function begins that a line is in; 0 for a line of the module itself."""
    tree, found = places.tree(file), 0
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (
            node.end_lineno or 0
        ):
            found = max(found, min([node.lineno, *(one.lineno for one in node.decorator_list)]))
    return found


def called(places: Places, file: str, name: str) -> list[Place]:
    """The lines that call a method of what a name has."""
    tree = places.tree(file)
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree is not None else []
    lines = {
        one.lineno for one in calls if isinstance(one, ast.Attribute) and name in set(_targets(one.value))
    }
    return [Place(file, line) for line in sorted(lines)]


def rebound(places: Places, file: str, name: str) -> list[Place]:
    """The lines that bind a name."""
    tree = places.tree(file)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)] if tree is not None else []
    return sorted({Place(file, node.lineno) for node in nodes if name in _bound(node)}, key=lambda p: p.line)


def bound_at(places: Places, file: str, name: str) -> Place | None:
    """The first line that binds a name or an attribute of that name."""
    tree = places.tree(file)
    if tree is None or not name:
        return None
    lines = [int(getattr(node, "lineno", 0)) for node in ast.walk(tree) if name in _bound(node)]
    return Place(file, min(lines)) if lines else None


def _bound(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Assign):
        return {found for target in node.targets for found in _targets(target)}
    if isinstance(node, ast.AnnAssign):
        return set(_targets(node.target))
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.arg):
        return {node.arg}
    return set()


def _targets(target: ast.expr) -> Iterator[str]:
    yield from map(_called, _places(target))


def _places(target: ast.expr) -> Iterator[ast.expr]:
    """The names and attributes that a target binds."""
    if isinstance(target, ast.Name | ast.Attribute):
        yield target
    elif isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _places(one)


def growing_lines(places: Places, file: str, name: str) -> list[Place]:
    """The lines of a file that can make `name` longer."""
    tree = places.tree(file)
    if tree is None or not name:
        return []
    return sorted({Place(file, line) for line in _growing(tree, name)}, key=lambda place: place.line)


def remade_lines(places: Places, file: str, name: str) -> list[Place]:
    """The lines of a file that bind `name` to what it was before with something more."""
    tree = places.tree(file)
    found = {
        node.lineno
        for node in (ast.walk(tree) if tree is not None and name else ())
        if (isinstance(node, ast.AugAssign) and name in _names(node.target))
        or (isinstance(node, ast.Assign) and any(_from_itself(one, node.value, name) for one in node.targets))
    }
    return [Place(file, line) for line in sorted(found)]


def _growing(tree: ast.Module, name: str) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if node.func.id == "setattr" and name in _names(node.args[0]):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in GROWS and name in _names(node.func.value):
                yield node.lineno
        elif isinstance(node, ast.AugAssign) and name in _names(node.target):
            yield node.lineno
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                subscript = isinstance(target, ast.Subscript) and name in _names(target.value)
                if subscript or _from_itself(target, node.value, name):
                    yield node.lineno


def _from_itself(target: ast.expr, value: ast.expr, name: str) -> bool:
    """Whether a name, or an attribute, is bound to what it was before with something more."""
    kinds = [type(one) for one in _places(target) if _called(one) == name]
    return any(_called(one) == name and type(one) in kinds for one in ast.walk(value))


def _called(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }
