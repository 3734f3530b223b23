"""`torch.cuda.empty_cache()` at every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.autograd import BACKWARD
from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import loops, repeated
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`empty_cache()` in the loop that calls `backward`, in every round."""
    trained = [
        call for call in facts.calls if isinstance(call.func, ast.Attribute) and call.func.attr in BACKWARD
    ]
    steps = {loop for call in trained if (loop := next(iter(loops(facts, call)), None)) is not None}
    for call in facts.calls:
        if facts.called(call) == "torch.cuda.empty_cache" and repeated(facts, call) in steps:
            yield (
                call,
                "empty_cache() at every step: the GPU waits and the next step allocates everything again",
            )


RULE = Rule(
    code="PSK213",
    name="empty-cache-each-step",
    level="warning",
    title="empty_cache() at every step",
    why="torch keeps freed blocks to use them again at once. `empty_cache` waits for the GPU and hands "
    "them back; the next step asks for them again. It frees nothing that is still in use, so it mends "
    "no leak.",
    fix="Leave it out, or call it once between phases. To fight fragments set PYTORCH_CUDA_ALLOC_CONF to "
    "expandable_segments:True.",
    bad="""\
import torch


def train(loader, model, criterion, optimizer):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        torch.cuda.empty_cache()
""",
    good="""\
import torch


def train(loader, model, criterion, optimizer):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    torch.cuda.empty_cache()
""",
    check=check,
    libraries=("torch",),
    hints=("empty_cache", "backward"),
    sources=("https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management",),
)
