"""The optimizer's passes: each does what it says, and keeps the stream identical."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from penstock.graph.passes import plan_of
from penstock.options import PASSES

PIXELS = np.random.default_rng(0).integers(0, 255, (90, 4, 3)).astype(np.uint8)
COUNTED: list[int] = []


def scaled(x: Any) -> Any:
    return x.astype(np.float32) / 255


def flipped(x: Any) -> Any:
    return ps.image.random_flip_left_right(x)


def noisy(x: Any) -> Any:
    return x + ps.random.normal(x.shape)


def counted(x: Any) -> Any:
    COUNTED.append(1)
    return x


def smaller(x: Any) -> Any:
    return x[0, 0]


def branching(x: Any) -> Any:
    return x if x.mean() > 100 else x + 1


def picked(x: Any) -> Any:
    return x[x[0, 0] % 4]


def pixels() -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(PIXELS)


def generated() -> ps.Dataset:
    spec = ps.TensorSpec((4, 3), np.uint8)
    return ps.Dataset.from_generator(lambda: iter(PIXELS), output_signature=spec)


STREAMS: dict[str, Callable[[], ps.Dataset]] = {
    "maps": lambda: pixels().map(scaled).map(flipped).map(noisy),
    "maps and a shuffle": lambda: pixels().map(scaled).map(noisy).shuffle(20),
    "a shuffle of all": lambda: pixels().map(flipped).map(scaled).shuffle(1000),
    "two shuffles": lambda: pixels().map(noisy).shuffle(11).map(noisy).shuffle(5),
    "a shuffle between": lambda: pixels().map(scaled).shuffle(8).map(noisy).batch(7),
    "from a generator": lambda: generated().map(scaled).map(noisy).shuffle(13).batch(4),
    "a map that counts": lambda: pixels().map(counted).map(scaled).shuffle(9),
    "a map that branches": lambda: pixels().map(branching).map(noisy).shuffle(9),
    "after a batch": lambda: pixels().batch(4).map(noisy).shuffle(5),
    "repeated": lambda: pixels().take(10).map(noisy).shuffle(4).repeat(3),
    "an explicit seed": lambda: pixels().map(noisy).shuffle(9, seed=4),
}


@pytest.mark.parametrize("name", STREAMS)
def test_given_a_pass_off_or_alone_then_the_stream_is_the_same(name: str) -> None:
    ds = STREAMS[name]()
    expected = drain(ds.with_options(ps.Options(optimize=False)))
    for passes in [True, *[(one,) for one in PASSES], *[_without(one) for one in PASSES]]:
        for rows in (None, 1, 6, 64):
            options = ps.Options(optimize=passes, block_rows=rows)
            assert same(drain(ds.with_options(options)), expected), (passes, rows)


def _without(name: str) -> tuple[str, ...]:
    return tuple(one for one in PASSES if one != name)


def names(ds: ps.Dataset, *passes: str) -> list[str]:
    """The ops of the plan that these passes make, the source first."""
    plan = plan_of(ds.op, ps.Options(optimize=passes))
    return [node.op.name for node in plan.root.walk()]


def test_given_neighbouring_pure_maps_then_they_are_fused() -> None:
    ds = pixels().map(scaled).map(flipped).map(noisy)
    assert names(ds, "fuse_maps") == ["from_tensor_slices", "map"]
    assert names(ds) == ["from_tensor_slices", "map", "map", "map"]


@pytest.mark.parametrize("other", [counted, branching])
def test_given_a_map_that_is_not_understood_then_it_is_not_fused(other: Any) -> None:
    assert names(pixels().map(other).map(scaled), "fuse_maps").count("map") == 2
    assert names(pixels().map(scaled).map(other), "fuse_maps").count("map") == 2


def test_given_a_pure_map_then_the_shuffle_moves_in_front_of_it() -> None:
    assert names(pixels().map(scaled).shuffle(9), "hoist_shuffle") == [
        "from_tensor_slices",
        "shuffle",
        "map",
    ]
    assert names(generated().map(scaled).shuffle(9), "hoist_shuffle")[1:] == ["shuffle", "map"]
    assert names(pixels().map(lambda x: x**2).shuffle(9), "hoist_shuffle")[1:] == ["shuffle", "map"]


def powered(x: Any) -> Any:
    return 2 ** x.astype(np.int64)


@pytest.mark.parametrize("other", [counted, branching, picked, powered])
def test_given_a_map_that_may_tell_or_fail_then_the_shuffle_stays(other: Any) -> None:
    assert names(pixels().map(other).shuffle(9), "hoist_shuffle")[1:] == ["map", "shuffle"]


def test_given_a_map_that_makes_rows_smaller_then_the_shuffle_stays_behind_it() -> None:
    assert names(generated().map(smaller).shuffle(9), "hoist_shuffle")[1:] == ["map", "shuffle"]


def test_when_a_plan_is_made_then_a_function_with_side_effects_is_not_called() -> None:
    COUNTED.clear()
    plan_of(pixels().map(counted).map(scaled).shuffle(9).op, ps.Options())
    assert COUNTED == []


def test_given_a_hoisted_shuffle_then_plans_cost_no_calls_of_the_function() -> None:
    ds = pixels().map(scaled).map(flipped).shuffle(9)
    plan_of(ds.op, ps.Options())
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.ops.map.RowFunction", lambda *args: calls.append(args))
        plan_of(ds.op, ps.Options())
    assert calls == []
