"""How many rows are taken in at once."""

from penstock.engine.demand import PATIENCE
from penstock.engine.portions import LARGE, LEAST, PARTS, WAY, Portions


def portions(*, asked: int, cores: int = 2, length: int = -1) -> Portions:
    made = Portions(cores, length)
    made.asked = asked
    return made


def test_quick_rows_are_taken_in_as_asked_for() -> None:
    assert portions(asked=64).here(1e-9) == 64


def test_slow_rows_are_taken_in_for_as_long_as_one_waits() -> None:
    assert portions(asked=64).here(PATIENCE / 8) == 8


def test_one_row_is_taken_in_however_slow_it_is() -> None:
    assert portions(asked=64).here(1e9) == 1
    assert portions(asked=64).elsewhere(1e9) == 1


def test_workers_get_the_first_rows_in_more_parts_than_there_are_of_them() -> None:
    first = portions(asked=60, cores=4)
    assert first.elsewhere(LEAST) == 60 / (PARTS * 4) < 60 / 4
    first.begun = 30
    assert first.elsewhere(LEAST) == 30 / (PARTS * 4)


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


def test_the_last_rows_of_all_are_in_parts_again() -> None:
    last = portions(asked=32, cores=2, length=1000)
    last.begun = 1000 - 10
    assert last.elsewhere(LEAST) == 10 / (PARTS * 2)


def test_however_much_is_asked_for_the_last_rows_of_all_are_in_parts() -> None:
    last = portions(asked=512, cores=2, length=300)
    last.begun = 300 - 10
    assert last.elsewhere(LEAST) == 10 / (PARTS * 2)
