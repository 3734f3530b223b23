"""Series that are leaks, and series that only look like it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.doctor.verdict import binned, judge, theil_sen

STEPS = [float(x) for x in range(200)]
Shape = Callable[[float], float]

LEAKS: dict[str, Shape] = {
    "one a step": lambda x: x,
    "many a step": lambda x: 5e6 + 4096 * x,
    "one every seventh step": lambda x: x // 7,
    "one an epoch": lambda x: 40 * (x // 20),
    "one a long epoch": lambda x: 500 * ((x + 24) // 55),
    "warm-up, and then slower": lambda x: 3000 * (1 - math.exp(-x / 6)) + 5 * x,
    "faster and faster": lambda x: x + 0.01 * x * x,
    "with spikes": lambda x: 10 * x + (4000 if x % 25 == 3 else 0),
}
CLEAN: dict[str, Shape] = {
    "flat": lambda _: 7.0,
    "warm-up": lambda x: 3000 * (1 - math.exp(-x / 6)),
    "long warm-up": lambda x: min(x, 110.0) * 50,
    "a cache that fills late": lambda x: min(x, 160.0),
    "a cache that fills slowly": lambda x: 5000 * (1 - math.exp(-x / 60)),
    "a sawtooth": lambda x: 30 * (x % 50),
    "a long sawtooth": lambda x: 30 * (x % 90),
    "spikes": lambda x: 5000.0 if x % 25 == 3 else 10.0,
    "one jump": lambda x: 0.0 if x < 100 else 9000.0,
    "falling": lambda x: -10 * x,
    "up and then down": lambda x: 40 * min(x, 200 - x),
}


@pytest.mark.parametrize("name", LEAKS)
def test_given_growth_that_goes_on_then_it_is_a_leak(name: str) -> None:
    judged = judge(STEPS, [LEAKS[name](x) for x in STEPS], least=10)
    assert judged.growth is not None, judged.reason
    assert 0 < judged.growth.low <= judged.growth.slope <= judged.growth.high


@pytest.mark.parametrize("name", CLEAN)
def test_given_what_only_looks_like_a_leak_then_there_is_none(name: str) -> None:
    assert judge(STEPS, [CLEAN[name](x) for x in STEPS], least=10).growth is None


def test_given_growth_that_is_too_little_then_it_does_not_matter() -> None:
    values = [0.02 * x for x in STEPS]
    assert judge(STEPS, values, least=10).reason == "flat"
    assert judge(STEPS, values, least=1).growth is not None


def test_given_few_moments_that_scatter_then_a_slope_that_may_be_none_is_none() -> None:
    values = [0.0, 8.6, 2.2, 9.8, 5.4, 9.0, 8.6, 12.2, 8.8, 14.4]  # up by chance as well
    xs = STEPS[: len(values)]
    late = (xs[2:], values[2:])
    assert theil_sen(*late)[0] > 0 >= theil_sen(*late)[1]
    assert judge(xs, values, least=1).reason == "flat"


def test_given_a_long_pause_then_it_does_not_grow_in_every_window() -> None:
    values = [x if x < 90 else 90 if x < 150 else x - 60 for x in STEPS]
    assert judge(STEPS, values, least=10).reason == "it does not grow in every window"


def test_given_that_most_is_given_back_for_a_while_then_it_falls_back() -> None:
    values = [10 * x - (900 if 120 <= x < 130 else 0) for x in STEPS]
    assert judge(STEPS, values, least=10).reason == "it falls back"
    assert judge(STEPS, [10 * x for x in STEPS], least=10).growth is not None


def test_given_a_slope_that_is_small_beside_the_scatter_then_it_is_noise() -> None:
    chance = random.Random(227)
    values = [x + chance.gauss(0, 60) for x in STEPS]
    assert judge(STEPS, values, least=10).reason == "within the noise"


def test_given_noise_alone_then_a_leak_is_hardly_ever_seen() -> None:
    chance = random.Random(7)
    seen = 0
    for _ in range(300):
        values = [chance.gauss(1000, 50) for _ in STEPS]
        seen += judge(STEPS, values, least=10).growth is not None
    assert seen == 0


def test_given_growth_in_noise_then_the_interval_holds_the_true_slope() -> None:
    chance = random.Random(3)
    held = 0
    for _ in range(100):
        values = [8 * x + chance.gauss(0, 60) for x in STEPS]
        growth = judge(STEPS, values, least=10).growth
        held += growth is not None and growth.low <= 8 <= growth.high
    assert held >= 85


def test_given_few_moments_then_nothing_is_said() -> None:
    assert judge([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], least=1).reason == "too short"
    assert judge([], [], least=1).reason == "too short"


def test_given_moments_that_crowd_at_the_start_then_they_count_once() -> None:
    xs = [x / 100 for x in range(100)] + [float(x) for x in range(1, 60)]
    bx, by = binned(xs, [2 * x for x in xs])
    assert len(bx) <= 40
    assert by == pytest.approx([2 * x for x in bx], abs=1.5)


@given(st.floats(-100, 100), st.floats(-1000, 1000))
def test_given_a_line_then_theil_sen_finds_its_slope(slope: float, start: float) -> None:
    found, low, high = theil_sen(STEPS[:30], [start + slope * x for x in STEPS[:30]])
    assert found == pytest.approx(slope, abs=1e-6)
    assert low <= found <= high


def test_given_moments_that_become_few_then_windows_with_few_steps_need_not_add_as_much() -> None:
    steps = [*range(0, 66, 2), 125, 138, 156, 260, 312, 343, 396]
    xs, grows = [float(x) for x in steps], [30 * x + 0.08 * x * x for x in steps]
    assert judge(xs, grows, least=8).growth is not None
    assert judge(xs, [min(y, 4000.0) for y in grows], least=8).growth is None


def test_given_moments_of_one_step_then_there_is_an_answer() -> None:
    xs = [0.0, *[5.0] * 30, 6.0]
    assert judge(xs, [float(i) for i in range(32)], least=1).growth is None
