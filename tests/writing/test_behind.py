"""A pipeline without its first elements gives what `skip` gives, and makes no more than it must."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from penstock.writing.behind import FromMiddle, behind

N = 50


def slices() -> ps.Dataset:
    return ps.Dataset.from_tensor_slices({"x": np.arange(N), "s": [f"{i}" for i in range(N)]})


PIPELINES: dict[str, Callable[[], ps.Dataset]] = {
    "range": lambda: ps.Dataset.range(N),
    "slices": slices,
    "map": lambda: ps.Dataset.range(N).map(lambda x: x * 3),
    "maps": lambda: slices().map(lambda e: e["x"] + 1).map(lambda x: {"y": x}),
    "random": lambda: ps.Dataset.range(N).map(lambda x: ps.random.uniform((3,)) + x),
    "random twice": lambda: (
        ps.Dataset.range(N)
        .map(lambda x: ps.random.uniform((3,)) + x)
        .map(lambda x: x * ps.random.uniform((3,)))
    ),
    "enumerate": lambda: ps.Dataset.range(N).enumerate(),
    "batch": lambda: ps.Dataset.range(N).batch(2),
    "shuffle": lambda: ps.Dataset.range(N).shuffle(10).map(lambda x: ps.random.uniform(()) + x),
    "scan": lambda: ps.Dataset.range(N).scan(0, lambda s, x: (s + x, s + x)),
    "python": lambda: ps.Dataset.range(N).map(lambda x: int(x) if x > 3 else 0),
    "generator": lambda: ps.Dataset.from_generator(lambda: iter(range(N))),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("count", [0, 1, 17, N, N + 5])
def test_given_a_pipeline_then_what_comes_is_the_rest_of_the_same_stream(name: str, count: int) -> None:
    ds = PIPELINES[name]()
    rest = ps.Dataset(behind(ds.op, count), ds.options())
    assert same(drain(rest), drain(ds)[count:])


@pytest.mark.parametrize("name", ["range", "slices", "map", "maps", "random", "random twice"])
def test_given_simple_maps_over_a_source_then_it_begins_in_the_middle(name: str) -> None:
    op = behind(PIPELINES[name]().op, 17)
    while op.inputs:
        op = op.inputs[0]
    assert isinstance(op, FromMiddle)


def test_given_a_source_behind_then_its_length_and_spec_are_those_of_the_rest() -> None:
    op = behind(slices().op, 17)
    assert op.cardinality == N - 17
    assert op.spec == slices().op.spec
