"""A dataset that moves samples to the GPU, in its workers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loaders import datasets, method
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`.cuda()` and `.to("cuda")` in `__getitem__`."""
    for owner in datasets(facts):
        getter = method(owner, "__getitem__")
        for node in facts.inside(getter) if getter is not None else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            device = constant(facts.origins(node.args[0])[0][0]) if node.args else ...
            if (node.func.attr == "cuda" and not facts.called(node)) or (
                node.func.attr == "to" and isinstance(device, str) and device.startswith("cuda")
            ):
                yield (
                    node,
                    f"`{owner.name}.__getitem__` moves each sample to the GPU, in the worker that reads it",
                )


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
