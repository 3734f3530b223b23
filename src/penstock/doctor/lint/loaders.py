"""torch's datasets and loaders as a file declares them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.module import Module, constant, word

BASES = frozenset(
    ["torch.utils.data.Dataset", "torchvision.datasets.VisionDataset", "torch.utils.data.MapDataPipe"]
)
LOADER = "torch.utils.data.DataLoader"


def datasets(module: Module) -> Iterator[ast.ClassDef]:
    """The classes of a file that are map-style datasets."""
    for node in module.nodes:
        if isinstance(node, ast.ClassDef) and any(is_dataset(module, base) for base in node.bases):
            yield node


def is_dataset(module: Module, base: ast.expr, depth: int = 4) -> bool:
    """Whether a base class is a dataset, or a class of this file that is one."""
    if isinstance(base, ast.Subscript):
        base = base.value  # Dataset[tuple[Tensor, int]]
    if module.name(base) in BASES:
        return True
    local = module.local_class(base)
    return local is not None and depth > 0 and any(is_dataset(module, one, depth - 1) for one in local.bases)


def method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """A method of a class by its name."""
    found = (one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == name)
    return next(found, None)


def workers(module: Module, call: ast.Call) -> bool:
    """Whether a loader has worker processes: `num_workers` is given and not 0."""
    given = word(call, "num_workers", 5)
    if given is None:
        return False
    values = [constant(one) for one, _ in module.origins(given)]
    return all(value is ... or (isinstance(value, int) and value > 0) for value in values)


def loader_calls(module: Module) -> Iterator[ast.Call]:
    """Every call that makes a `DataLoader`."""
    return (call for call in module.calls if module.called(call) == LOADER)
