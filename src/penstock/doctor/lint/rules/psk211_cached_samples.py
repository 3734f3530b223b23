"""`lru_cache` on what reads samples: the whole data set stays, in every worker."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loaders import datasets
from penstock.doctor.lint.module import constant, word
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """Methods of a `Dataset` that take an index and are cached without a bound."""
    for owner in datasets(facts):
        for one in owner.body:
            if not isinstance(one, ast.FunctionDef) or len(one.args.args) < 2:
                continue
            for decorator in one.decorator_list:
                if _unbounded(facts, decorator):
                    yield (
                        decorator,
                        f"`{owner.name}.{one.name}` keeps every sample it has read, in every worker",
                    )


def _unbounded(facts: Facts, node: ast.expr) -> bool:
    name = facts.called(node) if isinstance(node, ast.Call) else facts.name(node)
    if name == "functools.cache":
        return True
    if name != "functools.lru_cache" or not isinstance(node, ast.Call):
        return False
    return constant(word(node, "maxsize", 0)) is None and bool(node.args or node.keywords)


RULE = Rule(
    code="PSK211",
    name="cached-samples",
    level="error",
    title="a cache without bound in a Dataset",
    why="The cache keeps every sample that was ever read, and the dataset itself. Each worker process "
    "fills one of its own: the data set is in memory as many times as there are workers.",
    fix="Give lru_cache a maxsize, cache what is small, or use a format that the system's page cache "
    "serves (memory maps, Arrow).",
    bad="""\
from functools import lru_cache
from torch.utils.data import Dataset


class Images(Dataset):
    @lru_cache(maxsize=None)
    def __getitem__(self, index):
        return decode(self.paths[index])
""",
    good="""\
from functools import lru_cache
from torch.utils.data import Dataset


class Images(Dataset):
    @lru_cache(maxsize=256)
    def __getitem__(self, index):
        return decode(self.paths[index])
""",
    check=check,
    libraries=("torch",),
    hints=("cache", "Dataset"),
    sources=("https://github.com/pytorch/pytorch/issues/13246",),
)
