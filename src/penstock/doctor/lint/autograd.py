"""What carries a graph of torch's autograd: losses that `backward` is called on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.flow import Definition
from penstock.doctor.lint.module import Module

SAME = frozenset(
    [
        "mean",
        "sum",
        "cpu",
        "cuda",
        "clone",
        "to",
        "float",
        "half",
        "double",
        "view",
        "reshape",
        "squeeze",
        "unsqueeze",
    ]
)
"""Methods of a tensor that give a tensor with the same graph behind it."""
BACKWARD = frozenset(["backward", "manual_backward"])
OFF = frozenset(
    ["torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode"]
)


def backwards(module: Module) -> Iterator[tuple[ast.Call, ast.Name]]:
    """Every call of `backward`, with the name of the loss.

    `loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)` and the like.
    """
    for call in module.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in BACKWARD:
            continue
        base = call.func.value
        if call.args and isinstance(call.args[0], ast.Name):
            yield call, call.args[0]
        elif (
            isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) and base.func.attr == "scale"
        ):
            if base.args and isinstance(base.args[0], ast.Name):
                yield call, base.args[0]
        elif (name := behind(base)) is not None:
            yield call, name


def behind(node: ast.expr) -> ast.Name | None:
    """The name whose graph an expression carries on, as `loss.mean()` does; None if it is cut off.

    >>> behind(ast.parse("2 * loss.sum()", mode="eval").body).id
    'loss'
    >>> behind(ast.parse("loss.item() * 2", mode="eval").body)
    """
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
        return behind(node.func.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        right = (
            behind(node.right)
            if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant)
            else None
        )
        return behind(node.left) or right
    return None


def with_graph(module: Module) -> dict[Definition, ast.Call]:
    """The definitions whose value has a graph for certain, with the `backward` that shows it."""
    found: dict[Definition, ast.Call] = {}
    for call, name in backwards(module):
        for made in module.definitions(name):
            found.setdefault(made, call)
            for out in _outputs(module, made):
                found.setdefault(out, call)
            for part in _parts(made.value):
                if "loss" in part.id.lower():
                    for deeper in module.definitions(part):
                        if deeper.kind in {"assign", "unpack"} and isinstance(deeper.value, ast.Call):
                            found.setdefault(deeper, call)
    return found


def shown(module: Module, graphs: dict[Definition, ast.Call], made: Definition, loop: ast.AST) -> bool:
    """Whether a value is made in a loop, and a `backward` in the same loop shows that it has a graph."""
    return made in graphs and module.within(made.node, loop) and module.within(graphs[made], loop)


def _outputs(module: Module, loss: Definition) -> Iterator[Definition]:
    """The outputs of a model that a loss was computed from: `out` in `loss = criterion(out, y)`."""
    if not isinstance(loss.value, ast.Call):
        return
    for part in loss.value.args:
        for made in module.definitions(part) if isinstance(part, ast.Name) else ():
            if (
                made.kind == "assign"
                and isinstance(made.value, ast.Call)
                and _trained(module, made.value.func)
            ):
                yield made


def _trained(module: Module, node: ast.expr) -> bool:
    """Whether what is called is a model for certain: the file asks it for its parameters."""
    if not isinstance(node, ast.Name):
        return False
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "parameters"
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == node.id
        for call in module.calls
    )


def _parts(node: ast.expr | None) -> Iterator[ast.Name]:
    """The names that a sum is made of."""
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult, ast.Div)):
        yield from _parts(node.left)
        yield from _parts(node.right)


def cut_off(module: Module, name: ast.Name) -> bool:
    """Whether a function lets go of the graph in place: `loss.detach_()`."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in {"detach_", "requires_grad_"}
        and isinstance(node.value, ast.Name)
        and node.value.id == name.id
        for node in ast.walk(module.maker(name))
    )  # fmt: skip


def grad_off(module: Module, node: ast.AST) -> bool:
    """Whether a node runs where torch records no graph: under `no_grad`, by a decorator, or by a switch."""
    for above in module.ancestors(node):
        if isinstance(above, (ast.With, ast.AsyncWith)) and any(
            _off(module, item.context_expr) for item in above.items
        ):
            return True
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(_off(module, one) for one in above.decorator_list):
                return True
            for one in ast.walk(above):
                if isinstance(one, ast.Call) and module.called(one).endswith("set_grad_enabled"):
                    return True
    return False


def _off(module: Module, node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    name = module.name(func)
    last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return name in OFF or "inference" in last or "grad" in last


def begun_before(module: Module, total: ast.expr, loop: ast.AST) -> bool:
    """Whether the total was begun before the loop, as a number or a tensor of its own."""
    while isinstance(total, (ast.Attribute, ast.Subscript)):
        total = total.value
    if not isinstance(total, ast.Name):
        return False
    found = module.definitions(total)
    inside = [one for one in found if module.within(one.node, loop)]
    return len(inside) < len(found) and not any(
        one.kind == "assign" and not isinstance(one.value, ast.BinOp) for one in inside
    )
