"""How many rows are taken in at once."""

import heapq
import math

import pytest

from penstock.engine.demand import PATIENCE
from penstock.engine.portions import LARGE, LEAST, SURE, WAY, Portions


def portions(*, asked: int, cores: int = 2, length: int = -1) -> Portions:
    made = Portions(cores, length)
    made.ask(asked)
    return made


def take(of: Portions, seconds: float, *, now: float = 0.0) -> int:
    """Have a worker take rows in."""
    rows = of.elsewhere(seconds, now=now)
    of.begun += rows
    return rows


def test_quick_rows_are_taken_in_as_asked_for() -> None:
    assert portions(asked=64).here(1e-9) == 64


def test_slow_rows_are_taken_in_for_as_long_as_one_waits() -> None:
    assert portions(asked=64).here(PATIENCE / 8) == 8


def test_one_row_is_taken_in_however_slow_it_is() -> None:
    assert portions(asked=64).here(1e9) == 1
    assert portions(asked=64).elsewhere(1e9) == 1


def test_workers_get_the_same_of_the_first_rows_and_share_the_rest_again() -> None:
    first = portions(asked=60, cores=4)
    part = math.ceil(SURE * 60 / 4)
    assert [take(first, LEAST) for _ in range(4)] == [part] * 4
    done = part * LEAST
    assert take(first, LEAST, now=done) == math.ceil(SURE * (60 - 4 * part) / 4)


def test_more_that_is_asked_for_later_is_not_shared_out_like_the_first() -> None:
    later = portions(asked=10)
    later.begun = 10
    later.ask(1000)
    assert later.elsewhere(PATIENCE / 8) == 8 * WAY


def test_parts_for_workers_do_not_become_smaller_than_is_worth_the_way() -> None:
    assert portions(asked=64, cores=16).elsewhere(LEAST / 16) == 16


def test_after_the_first_rows_workers_get_what_takes_as_long_as_the_way_is_worth() -> None:
    later = portions(asked=1000)
    later.begun = 1000
    assert later.elsewhere(PATIENCE / 8) == 8 * WAY
    assert later.elsewhere(PATIENCE / 8, larger=2) == 8 * LARGE


def test_larger_blocks_for_workers_have_as_many_times_the_rows() -> None:
    later = portions(asked=10)
    later.begun = 10
    assert [later.elsewhere(1e-9, larger=times) for times in (1, 3)] == [10, 30]


def test_the_last_rows_of_all_are_shared_out_again() -> None:
    last = portions(asked=32, cores=2, length=1000)
    last.begun = 1000 - 10
    assert last.elsewhere(LEAST) == math.ceil(SURE * 10 / 2)


def test_however_much_is_asked_for_the_last_rows_of_all_are_shared_out() -> None:
    last = portions(asked=512, cores=2, length=300)
    last.begun = 300 - 10
    assert last.elsewhere(LEAST) == math.ceil(SURE * 10 / 2)


def test_who_is_done_while_others_are_not_gets_more_of_the_last_rows() -> None:
    last = portions(asked=64, cores=2, length=1000)
    last.begun = 1000 - 120
    others = take(last, LEAST / 2)
    left = 120 - others
    assert last.elsewhere(LEAST / 2, now=0.0) == math.ceil(SURE * (left + others) / 2) > left / 2


@pytest.mark.parametrize("cores", [2, 3, 16])
@pytest.mark.parametrize("length", [100, 1000, 4321])
def test_given_rows_that_take_as_long_then_all_workers_are_done_at_nearly_the_same_time(
    cores: int, length: int
) -> None:
    seconds, way = 1e-3, 3e-4
    of = portions(asked=64, cores=cores, length=length)
    free = [0.0] * cores  # when each worker is done with what it has
    parts = 0
    while of.begun < length:
        now = heapq.heappop(free)
        rows = min(of.elsewhere(seconds, now=now), length - of.begun)
        of.begun += rows
        heapq.heappush(free, now + way + rows * seconds)
        parts += 1
    assert max(free) - min(free) <= 2 * LEAST + 2 * way + 8 * seconds
    assert parts <= length / 64 + 8 * cores
