"""A dataset that moves samples to the GPU, in its workers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loaders import datasets, loader_calls, method, workers
from penstock.doctor.lint.module import constant, word
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`.cuda()`, `.to("cuda")` and `device="cuda"` in `__getitem__`."""
    loaders = list(loader_calls(facts))
    if loaders and not any(workers(facts, one) for one in loaders):
        return  # the training loop's own process reads the samples
    for owner in datasets(facts):
        getter = method(owner, "__getitem__")
        for node in facts.inside(getter) if getter is not None else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            places = [word(node, "device", 0 if node.func.attr == "to" else None)]
            if (node.func.attr == "cuda" and not facts.called(node)) or any(
                _cuda(facts, one) for one in places if one is not None
            ):
                yield (
                    node,
                    f"`{owner.name}.__getitem__` moves each sample to the GPU, in the worker that reads it",
                )


def _cuda(facts: Facts, node: ast.expr) -> bool:
    """Whether a device is a GPU, or one where there is one."""
    for one, _ in facts.origins(node):
        inner = one.args[:1] if isinstance(one, ast.Call) and facts.called(one) == "torch.device" else [one]
        for part in inner:
            if any(str(constant(kind)).startswith("cuda") for kind, _ in facts.origins(part)):
                return True
    return False


RULE = Rule(
    code="PSK206",
    name="cuda-in-dataset",
    level="error",
    title="GPU memory in a Dataset",
    why="Workers are processes. Each one that touches CUDA has a context of its own, of some hundred MB "
    "of device memory; forked ones fail, and samples go over one by one, not a batch at a time.",
    fix="Return tensors of the CPU, set pin_memory=True, and move the batch in the training loop with "
    "batch.to(device, non_blocking=True).",
    bad="""\
import torch
from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return torch.from_numpy(self.images[index]).cuda()
""",
    good="""\
import torch
from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return torch.from_numpy(self.images[index])
""",
    check=check,
    libraries=("torch",),
    hints=("__getitem__", "cuda"),
    sources=("https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",),
)
