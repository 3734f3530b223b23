"""`ps.random`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.ways import why_row_by_row
from penstock.random.scope import drawing_for

DRAWS: dict[str, Any] = {
    "uniform": lambda x: ps.random.uniform((3,)),
    "uniform between": lambda x: ps.random.uniform((), -2, 5, np.float64),
    "uniform half": lambda x: ps.random.uniform((2, 2), dtype=np.float16),
    "uniform of an element": lambda x: ps.random.uniform((), 0, x.astype(np.float32) + 1),
    "uniform whole": lambda x: ps.random.uniform((4,), 3, 9, np.int32),
    "normal": lambda x: ps.random.normal((5,)),
    "normal moved": lambda x: ps.random.normal((), 3.0, 0.5, np.float64),
    "integers": lambda x: ps.random.integers(-5, 5, (3,)),
    "integers wide": lambda x: ps.random.integers(0, 1 << 40),
    "bernoulli": lambda x: ps.random.bernoulli(0.3, (4,)),
    "choice": lambda x: ps.random.choice([1.5, 2.5, 9.0], (2,)),
    "none": lambda x: ps.random.uniform((0,)),
    "seeded": lambda x: ps.random.uniform(seed=3),
    "two": lambda x: (ps.random.uniform(), ps.random.uniform()),
}


def by_row(function: Any) -> Any:
    """The same function, called row by row because it branches on its element."""
    return lambda x: function(x) if x >= 0 else None


@pytest.mark.parametrize("name", DRAWS)
def test_given_a_draw_then_the_bits_are_those_of_a_call_a_row(name: str) -> None:
    numbers = ps.Dataset.range(40)
    over, plain = numbers.map(DRAWS[name]), numbers.map(by_row(DRAWS[name]))
    assert over.op.hoistable
    assert not plain.op.hoistable
    assert why_row_by_row(over) == ""
    # The second map's key is that of its place in the pipeline, which is the same.
    assert same(drain(over), drain(plain))


@pytest.mark.parametrize("name", DRAWS)
def test_given_a_seed_then_a_run_repeats_and_an_epoch_does_not(name: str) -> None:
    ds = ps.Dataset.range(20).map(DRAWS[name])
    assert same(drain(ds), drain(ds))
    if name != "none":
        assert not same(drain(ds), drain(ds, epoch=1))
        assert not same(drain(ds), drain(ds, seed=8))


def test_given_two_draws_two_maps_and_two_elements_then_all_differ() -> None:
    pair = DRAWS["two"]
    ds = ps.Dataset.range(30).map(lambda x: (pair(x), x)).map(lambda a, x: (a, pair(x)))
    values = [float(v) for (a, b) in drain(ds) for v in (*a, *b)]
    assert len(set(values)) == len(values) == 120


def test_given_fused_maps_then_each_keeps_its_own_randomness() -> None:
    draw = DRAWS["uniform"]
    ds = ps.Dataset.range(9).map(draw).map(lambda u: (u, ps.random.uniform((3,))))
    apart = drain(ds.with_options(ps.Options(optimize=False)))
    assert same(drain(ds), apart)
    assert all(not np.array_equal(a, b) for a, b in apart)


def test_given_many_draws_then_they_are_spread_as_they_should() -> None:
    def draw(x: Any) -> Any:
        return {
            "uniform": ps.random.uniform((), -1, 3),
            "normal": ps.random.normal(mean=2.0, stddev=3.0),
            "integers": ps.random.integers(2, 7),
            "bernoulli": ps.random.bernoulli(0.25),
            "choice": ps.random.choice([10, 20]),
        }

    batch = next(iter(ps.Dataset.range(20000).map(draw).batch(20000).iterate(seed=1)))
    assert batch["uniform"].dtype == batch["normal"].dtype == np.float32
    assert -1 <= batch["uniform"].min() < -0.99 < 2.99 < batch["uniform"].max() < 3
    assert abs(batch["uniform"].mean() - 1) < 0.05
    assert abs(batch["normal"].mean() - 2) < 0.1
    assert abs(batch["normal"].std() - 3) < 0.1
    assert abs((np.abs(batch["normal"] - 2) < 3).mean() - 0.6827) < 0.02
    assert np.bincount(batch["integers"]).tolist()[:2] == [0, 0]
    assert (abs(np.bincount(batch["integers"])[2:] - 4000) < 300).all()
    assert abs(batch["bernoulli"].mean() - 0.25) < 0.02
    assert abs((batch["choice"] == 10).mean() - 0.5) < 0.02


def test_given_neighbours_then_their_draws_do_not_go_together() -> None:
    ds = ps.Dataset.range(4000).map(lambda x: ps.random.normal((2,), dtype=np.float64)).batch(4000)
    values = next(iter(ds.iterate(seed=3)))
    assert abs(np.corrcoef(values[:-1, 0], values[1:, 0])[0, 1]) < 0.06
    assert abs(np.corrcoef(values[:, 0], values[:, 1])[0, 1]) < 0.06


def test_given_no_element_then_the_error_says_what_to_do() -> None:
    with pytest.raises(ps.errors.ArgumentError, match=r"ds\.map\(function\).*give a seed"):
        ps.random.uniform()
    assert ps.random.uniform(seed=1) == ps.random.uniform(seed=1) != ps.random.uniform(seed=2)


def test_given_a_scope_then_it_ends_also_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), drawing_for(key=1, numbers=2):
        ps.random.uniform()
        raise ZeroDivisionError
    with pytest.raises(ps.errors.ArgumentError):
        ps.random.uniform()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ps.random.uniform((), 0, None, np.int32, seed=1),
        lambda: ps.random.uniform((-1,), seed=1),
        lambda: ps.random.uniform("ab", seed=1),
        lambda: ps.random.uniform(dtype=np.complex64, seed=1),
        lambda: ps.random.normal(dtype=np.int32, seed=1),
        lambda: ps.random.integers(3, 3, seed=1),
        lambda: ps.random.choice([], seed=1),
    ],
)
def test_given_a_wrong_argument_then_it_is_refused(wrong: Any) -> None:
    with pytest.raises((ps.errors.ArgumentError, ps.errors.ArgumentTypeError, ValueError)):
        wrong()
