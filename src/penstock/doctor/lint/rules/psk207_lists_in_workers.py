"""Datasets that keep Python lists, read by worker processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loaders import datasets, loader_calls, method, workers
from penstock.doctor.lint.module import word
from penstock.doctor.lint.rule import Hit, Rule

LOADS = frozenset(
    ["json.load", "json.loads", "pickle.load", "builtins.list", "builtins.sorted", "builtins.dict"]
)


def check(facts: Facts) -> Iterator[Hit]:
    """Lists made in `__init__` and read in `__getitem__`, of a dataset that this file gives to workers."""
    fed = {owner for call in loader_calls(facts) if workers(facts, call) and (owner := _dataset(facts, call))}
    for owner in datasets(facts):
        first, getter = method(owner, "__init__"), method(owner, "__getitem__")
        if owner not in fed or first is None or getter is None:
            continue
        read = {
            node.value.attr
            for node in ast.walk(getter)
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and _own(node.value)
        }
        for node in facts.inside(first):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and (name := _list(facts, node, first)) in read:
                yield node, f"`self.{name}` is a Python list: every worker ends up with a copy of it"


def _own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _dataset(facts: Facts, call: ast.Call) -> ast.ClassDef | None:
    given = word(call, "dataset", 0)
    for one, _ in facts.origins(given) if given is not None else ():
        if isinstance(one, ast.Call) and (found := facts.local_class(one.func)) is not None:
            return found
    return None


def _list(facts: Facts, node: ast.Assign | ast.AnnAssign, first: ast.FunctionDef) -> str:
    """The attribute that a statement makes a list of objects, "" if it does no such thing."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, ast.Attribute) or not _own(target) or node.value is None:
        return ""
    for one, _ in facts.origins(node.value):
        grows = isinstance(one, ast.List) and not one.elts and _appended(first, target, node.value)
        made = isinstance(one, (ast.ListComp, ast.DictComp)) or facts.called(one) in LOADS
        lines = isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in {
            "readlines", "splitlines", "to_dict", "tolist"}  # fmt: skip
        if not (grows or made or lines):
            return ""
    return target.attr


def _appended(first: ast.FunctionDef, target: ast.Attribute, value: ast.expr) -> bool:
    """Whether the list is filled by appending in a loop, under its own name or a local one."""
    names = {ast.unparse(target), ast.unparse(value)}
    for loop in ast.walk(first):
        if isinstance(loop, (ast.For, ast.While)):
            for node in ast.walk(loop):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in {"append", "extend"}
                    and ast.unparse(node.func.value) in names
                ):
                    return True
    return False


RULE = Rule(
    code="PSK207",
    name="lists-in-workers",
    level="warning",
    title="a Dataset keeps Python lists",
    why="Workers share the memory of the parent until somebody writes. Reading a Python object writes its "
    "reference count, so page after page is copied: in the end every worker has a list of its own.",
    fix="Keep NumPy or torch arrays (strings as one array of bytes with offsets), or an Arrow table: one "
    "object, however many rows.",
    bad="""\
import json
from torch.utils.data import DataLoader, Dataset


class Captions(Dataset):
    def __init__(self, path):
        self.rows = [json.loads(line) for line in open(path)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]["text"]


loader = DataLoader(Captions("captions.jsonl"), batch_size=32, num_workers=8)
""",
    good="""\
import json
import numpy as np
from torch.utils.data import DataLoader, Dataset


class Captions(Dataset):
    def __init__(self, path):
        self.rows = np.array([json.loads(line)["text"] for line in open(path)], dtype=np.bytes_)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index].decode()


loader = DataLoader(Captions("captions.jsonl"), batch_size=32, num_workers=8)
""",
    check=check,
    libraries=("torch",),
    hints=("__getitem__", "DataLoader", "num_workers"),
    sources=(
        "https://github.com/pytorch/pytorch/issues/13246",
        "https://github.com/pytorch/pytorch/issues/20433",
    ),
)
