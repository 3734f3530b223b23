"""How many rows are taken in at once."""

import heapq
import math

import pytest

from penstock.engine.demand import PATIENCE
from penstock.engine.portions import LARGE, LEAST, SURE, WAY, WORTH, Portions


def portions(*, asked: int, cores: int = 2, length: int = -1) -> Portions:
    made = Portions(cores, length)
    made.ask(asked)
    return made


def take(of: Portions, seconds: float, *, now: float = 0.0) -> int:
    """Have a worker take rows in."""
    rows = of.elsewhere(seconds, now=now)
    of.took(rows, now)
    return rows


def test_quick_rows_are_taken_in_as_asked_for() -> None:
    assert portions(asked=64).here(1e-9) == 64


def test_slow_rows_are_taken_in_for_as_long_as_one_waits() -> None:
    assert portions(asked=64).here(PATIENCE / 8) == 8


def test_rows_here_end_with_the_first_ones_too() -> None:
    first = portions(asked=10)
    first.took(7)
    assert [first.here(1e-9), first.first_left] == [3, 3]
    first.took(3)
    assert [first.here(1e-9), first.first_left] == [10, 0]


def test_one_row_is_taken_in_however_slow_it_is() -> None:
    assert portions(asked=64).here(1e9) == 1
    assert portions(asked=64).elsewhere(1e9) == 1


def test_workers_get_the_same_of_the_first_rows() -> None:
    first = portions(asked=60, cores=4)
    assert [take(first, LEAST) for _ in range(4)] == [15] * 4


def test_who_comes_later_gets_fewer_of_the_first_rows() -> None:
    first = portions(asked=60, cores=2)
    assert take(first, LEAST / 2) == 30
    assert take(first, LEAST / 2, now=5 * LEAST) == 25  # 20 of 30 are not done yet, and 30 are left
    assert take(first, LEAST / 2, now=15 * LEAST) == 5


def test_of_rows_that_take_long_some_are_kept_back_and_shared_out_again() -> None:
    first = portions(asked=60, cores=4)
    seconds = 2 * WORTH / (15 * (1 - SURE))
    part = math.ceil(SURE * 60 / 4)
    assert [take(first, seconds) for _ in range(4)] == [part] * 4
    rest = (60 - 4 * part) / 4
    assert take(first, seconds, now=part * seconds) == math.ceil(rest)


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


@pytest.mark.parametrize("asked", [32, 512], ids=["fewer than there are", "more than there are"])
def test_the_last_rows_of_all_are_shared_out_again(asked: int) -> None:
    last = portions(asked=asked, cores=2, length=300)
    last.begun = 300 - 10
    assert last.elsewhere(LEAST) == 10 / 2


def test_what_takes_long_of_the_last_rows_is_kept_back() -> None:
    assert portions(asked=512, cores=2, length=300).elsewhere(WORTH / 29) == math.ceil(SURE * 300 / 2)
    assert portions(asked=512, cores=2, length=300).elsewhere(WORTH / 31) == 300 / 2


def test_who_is_done_while_others_are_not_gets_more_of_the_last_rows() -> None:
    last = portions(asked=50, cores=2, length=1000)
    last.begun = 1000 - 90
    assert take(last, LEAST / 4) == 45
    assert take(last, LEAST / 4, now=5 * LEAST) == (90 - 20) / 2 < 45


def test_who_is_busy_for_longer_than_all_others_gets_none_of_the_last_rows() -> None:
    last = portions(asked=50, cores=3, length=1000)
    last.begun = 700
    assert take(last, LEAST / 5) == 50
    last.begun = 1000 - 20
    assert take(last, LEAST / 5) == 20 / 2


def test_rows_that_a_source_did_not_have_keep_nobody_busy() -> None:
    last = portions(asked=64, cores=2, length=1000)
    last.begun = 900
    assert last.elsewhere(LEAST / 4, now=0.0) > 20
    last.took(20, 0.0)
    assert last.elsewhere(LEAST / 4, now=0.0) == (80 + 20) / 2


def test_given_blocks_that_took_longer_than_expected_then_parts_end_with_the_first_rows_too() -> None:
    late = portions(asked=64)
    for now in (0.0, 0.01, 0.02):
        late.took(20, now)
    assert [late.first_left, take(late, 0.002, now=0.025)] == [4, 4]


def test_parts_end_with_the_first_rows() -> None:
    first = portions(asked=19, cores=2)
    assert [take(first, LEAST), take(first, LEAST)] == [10, 9]


@pytest.mark.parametrize("cores", [2, 3, 16])
@pytest.mark.parametrize("length", [100, 1000, 4321])
@pytest.mark.parametrize("most", [1000, 20], ids=["all", "few at a time"])
def test_given_rows_that_take_as_long_then_all_workers_are_done_at_nearly_the_same_time(
    cores: int, length: int, most: int
) -> None:
    seconds, way = 1e-3, 3e-4
    of = portions(asked=64, cores=cores, length=length)
    free = [0.0] * cores  # when each worker is done with what it has
    parts = 0
    while of.begun < length:
        now = heapq.heappop(free)
        rows = min(of.elsewhere(seconds, now=now), length - of.begun, most)
        of.took(rows, now)
        heapq.heappush(free, now + way + rows * seconds)
        parts += 1
    assert max(free) - min(free) <= 2 * LEAST + 2 * way + 8 * seconds
    assert parts <= length / min(64, most) + 8 * cores
