"""Functions that a framework traces and compiles: `tf.function`, `jax.jit`, `torch.compile`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.doctor.lint.flow import Function
from penstock.doctor.lint.loops import Loop, loops
from penstock.doctor.lint.module import Module, constant

TRACERS = {
    "tf.function": "tf",
    "jax.jit": "jax",
    "jax.pmap": "jax",
    "equinox.filter_jit": "jax",
    "flax.nnx.jit": "jax",
}


@dataclass(frozen=True)
class Traced:
    """A function that is traced: by which library, with which options, and its body if it is in this file."""

    library: str
    options: ast.Call | None
    body: Function | None

    def option(self, name: str) -> ast.expr | None:
        """What an option is set to."""
        words = self.options.keywords if self.options is not None else []
        return next((one.value for one in words if one.arg == name), None)


def tracer(module: Module, node: ast.expr) -> tuple[str, ast.Call | None] | None:
    """The library and the options of a decorator: `@tf.function`, `@jax.jit`, `@partial(jax.jit, ...)`."""
    if library := TRACERS.get(module.name(node)):
        return library, None
    if isinstance(node, ast.Call):
        name = module.called(node)
        if name in TRACERS and not node.args:
            return TRACERS[name], node
        if name == "functools.partial" and node.args and (library := TRACERS.get(module.name(node.args[0]))):
            return library, node
    return None


def traced_def(module: Module, made: Function) -> Traced | None:
    """How a function of this file is traced by its decorators, if it is."""
    if isinstance(made, ast.Lambda):
        return None
    for one in made.decorator_list:
        if found := tracer(module, one):
            return Traced(found[0], found[1], made)
    return None


def traced(module: Module, node: ast.expr) -> Traced | None:
    """How what is called is traced: a decorated function, or what `tf.function(f)` or `jax.jit(f)` gave."""
    made = module.function(node)
    if made is not None:
        return traced_def(module, made)
    for one, _ in module.origins(node):
        if isinstance(one, ast.Call) and (library := TRACERS.get(module.called(one))) and one.args:
            return Traced(library, one, module.function(one.args[0]))
    return None


def inside_traced(module: Module, node: ast.AST) -> bool:
    """Whether a node is in a function that is traced itself, so that its loops are no loops of Python."""
    for above in module.ancestors(node):
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) and traced_def(module, above):
            return True
    return False


def counts(module: Module, node: ast.expr, loop: Loop) -> bool:
    """Whether an expression is a Python number that is another one in every round of a loop."""
    if isinstance(node, ast.BinOp):
        pair = [node.left, node.right]
        return any(counts(module, one, loop) for one in pair) and all(
            counts(module, one, loop) or isinstance(constant(one), (int, float)) for one in pair
        )
    if isinstance(node, ast.Call) and module.called(node) in {"builtins.int", "builtins.float"} and node.args:
        return counts(module, node.args[0], loop)
    if not isinstance(node, ast.Name):
        return False
    found = module.definitions(node)
    inside = [one for one in found if module.within(one.node, loop)]
    if not inside:
        return False
    return all(_counter(module, one) for one in inside) and all(
        isinstance(constant(one.value), (int, float)) for one in found if one not in inside
    )


def _counter(module: Module, one: object) -> bool:
    kind, value, part = one.kind, one.value, one.part  # type: ignore[attr-defined]
    if kind == "loop" and isinstance(value, ast.Call):
        name = module.called(value)
        return (name in {"builtins.range", "tqdm.trange"} and part is None) or (
            name == "builtins.enumerate" and part == 0
        )
    return kind == "augment" and isinstance(constant(value), (int, float))


def counted_calls(module: Module) -> Iterator[tuple[ast.Call, Traced, Loop]]:
    """Calls of traced functions in a loop, outside of other traced functions."""
    for call in module.calls:
        around = next(iter(loops(module, call)), None)
        if around is None or inside_traced(module, call):
            continue
        if found := traced(module, call.func):
            yield call, found, around


def rounds(module: Module, loop: Loop) -> int | None:
    """How many rounds a `for` over `range(n)` has, if that is written down."""
    if (
        isinstance(loop, ast.For)
        and isinstance(loop.iter, ast.Call)
        and module.called(loop.iter) == "builtins.range"
    ):
        numbers = [constant(module.origins(one)[0][0]) for one in loop.iter.args]
        whole = [one for one in numbers if isinstance(one, int)]
        if len(whole) == len(numbers) and whole:
            return len(range(*whole))
    return None
