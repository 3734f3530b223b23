"""The benchmarks' own arithmetic: how often what is run, what counts of it, and what is said of failures."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks import measure, rounds, tables
from benchmarks.declare import Peer, Work
from benchmarks.measure import Seen
from benchmarks.report import Results
from benchmarks.tuned import AUTOTUNE, Grid, Rate, Tuned


def work(*peers: Peer, repeat: int = 1) -> Work:
    return Work("made_up", "made up", 1, lambda: None, lambda _: (), lambda _: (), peers, repeat=repeat)


def peer(system: str, note: str = "") -> Peer:
    return Peer(system, "", lambda _: [], note)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The peers that were run, one after another; each takes as many seconds as were run so far."""
    found: list[str] = []

    def child(_kind: str, _work: str, name: str) -> Seen:
        found.append(name)
        return Seen([len(found) / 10], [float(len(found))], peak=len(found))

    monkeypatch.setattr(measure, "child", child)
    monkeypatch.setattr(rounds, "installed", lambda _: True)
    return found


def test_every_peer_gets_its_rounds_in_turn(ran: list[str]) -> None:
    ours, theirs, once = peer("penstock"), peer("torch"), peer("grain")
    seen = rounds.run_speed(work(ours, theirs, once), quick=False)
    assert ran == ["penstock", "torch", "grain", "penstock", "torch"]
    assert (seen[ours].firsts, seen[ours].bests, seen[ours].peak) == ([0.1, 0.4], [1.0, 4.0], 4)
    assert (seen[ours].first, seen[ours].best) == (0.25, 1.0)
    assert seen[once].bests == [3.0]


def test_a_work_may_ask_for_as_many_times_as_many(ran: list[str]) -> None:
    rounds.run_speed(work(peer("penstock"), peer("grain"), repeat=3), quick=False)
    assert (ran.count("penstock"), ran.count("grain")) == (6, 3)


def test_what_is_slow_or_fails_is_not_run_again(ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    child = measure.child

    def fails(kind: str, name: str, who: str) -> Seen:
        return Seen(trouble="it fell") if child(kind, name, who) and "broken" in who else Seen([9.0])

    monkeypatch.setattr(measure, "child", fails)
    broken, slow = peer("torch", "broken"), peer("tf.data", "slow")
    made_up = work(broken, slow)
    seen = rounds.run_speed(made_up, quick=False)
    assert ran == ["torch broken", "tf.data slow"]
    assert (seen[broken].best, seen[slow].best) == (None, 9.0)
    assert Results([], speed={made_up: seen}).trouble() == ["made_up torch broken: it fell"]


def test_a_slow_first_process_of_ours_is_run_again_but_a_failure_is_not_forgotten(
    ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    child = measure.child
    troubles = iter(["", "", "it fell"])

    def slow(kind: str, name: str, who: str) -> Seen:
        child(kind, name, who)
        return Seen([9.0], trouble=next(troubles))

    monkeypatch.setattr(measure, "child", slow)
    ours = peer("penstock")
    assert rounds.run_speed(work(ours), quick=True)[ours].trouble == ""
    assert len(ran) == 2, "Numba had to compile"
    assert rounds.run_speed(work(ours), quick=True)[ours].trouble == "it fell"
    assert len(ran) == 3


def test_a_process_that_fails_in_a_later_round_is_told() -> None:
    seen = Seen([1.0], [0.5])
    seen.add(Seen([2.0], [], trouble="it fell"))
    assert (seen.trouble, seen.bests, tables.note(seen)) == ("it fell", [0.5], "failed")
    assert seen.best is None and Seen([0.001], trouble="it fell").best is None


def test_of_several_processes_the_middle_is_said() -> None:
    assert tables.note(Seen([1.0], [4.0, 1.0, 3.0, 2.0])) == "the best of 4 processes; their middle 2.5000"
    assert tables.note(Seen([1.0], [4.0, 1.0])) == ""
    assert tables.note(Seen([1.0])) == "first pass counts"


@pytest.mark.parametrize(
    ("times", "said"),
    [(1.065, "1.06"), (2.9, "2.90"), (2.999, "2.99"), (1.1, "1.10"), (3.04, "3.0"), (110, "110.0")],
)
def test_small_ratios_are_said_to_two_decimals(times: float, said: str) -> None:
    assert tables.ratio(times, 1.0) == said


def test_the_best_points_of_a_grid_run_again_by_turns_with_autotune(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    luck = {
        "1 1": [10, 10, 2, 2, 2, 2, 2],
        "2 1": [9, 9, 9, 8, 7, 9, 9],
        "4 1": [1, 1],
        AUTOTUNE: [8, 8, 3, 8, 8],
    }
    left: dict[str, Any] = {setting: iter(rates) for setting, rates in luck.items()}

    def rate(_: str, setting: str) -> Rate:
        asked.append(setting)
        return Rate(early=1.0, late=float(next(left[setting])), chosen=(setting,))

    monkeypatch.setattr(measure, "rate", rate)
    made_up = Tuned("made_up", "made up", lambda *_: None, (1, 2, 4), depths=(1,))
    seen = rounds.run_tuned(made_up, quick=False)
    assert asked[:6] == ["1 1", "2 1", "4 1", "4 1", "2 1", "1 1"]
    assert asked[6:12] == [AUTOTUNE, "1 1", "2 1", "2 1", "1 1", AUTOTUNE]
    assert seen.best == "2 1", "the other one was lucky"
    _, _, row = tables.tuned({made_up: seen})
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["made up", "8", "9 (2, 1)", "89%", "33%", "11%", AUTOTUNE]


def test_a_run_of_a_pipeline_that_fails_is_told() -> None:
    grid = Grid({"1 1": [Rate(late=1.0)]}, {"1 1": [Rate(late=1.0)], AUTOTUNE: [Rate(trouble="it fell")]})
    made_up = Tuned("made_up", "made up", lambda *_: None, (1,), depths=(1,))
    assert Results([], tuned={made_up: grid}).trouble() == ["made_up AUTOTUNE: it fell"]
    assert "(1 runs failed)" in tables.tuned({made_up: grid})[2]
    none = Grid(
        {"1 1": [Rate(trouble="it fell")]}, {"1 1": [Rate(trouble="it fell")], AUTOTUNE: [Rate(late=1.0)]}
    )
    assert tables.tuned({made_up: none})[2].count("| - ") == 3
