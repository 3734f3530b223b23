"""Ctrl-C and handlers of signals come between any two steps of the main thread: here, at each in turn."""

import dis
import gc
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import CodeType, FrameType
from typing import Any

import pytest

import penstock as ps
from penstock.engine import executor, iterator, parallel, roster, run, stage
from penstock.engine.endings import Ends, is_inside
from penstock.engine.processes.serving import serving
from penstock.engine.stage import Stage

PULLING = [
    iterator.Iterator.__next__,
    iterator.Iterator._refill,
    run.Run.next_block,
    run.Run._next_block,
    run.Run._pull,
    run.Run._mark,
]
CLOSING = [
    iterator.Iterator.close,
    iterator.Iterator._end,
    run.Run.close,
    run.Run._take_apart,
    Ends.make,
    Stage.close,
]
DATASETS: dict[str, Callable[[], ps.Dataset]] = {
    "source": lambda: ps.Dataset.range(40),
    "shuffle, batch": lambda: ps.Dataset.range(120).shuffle(7, seed=1).batch(3),
    "threads": lambda: ps.Dataset.range(40).map(int, executor="threads", num_parallel_calls=2),
    "prefetch": lambda: ps.Dataset.range(40).prefetch(2),
}


def _calls(code: CodeType) -> set[int]:
    """Where a function calls something, but for the end of a `with`: what comes there comes after it."""
    made: set[int] = set()
    nothings = 0
    for step in dis.get_instructions(code):
        if step.opname.startswith("CALL") and nothings < 3:
            made.add(step.offset)
        if step.opname not in ("PRECALL", "CACHE"):
            nothings = nothings + 1 if step.opname == "LOAD_CONST" and step.argval is None else 0
    return made


@contextmanager
def at_step(
    number: int, functions: list[Any], call: Callable[[], None], *, calls: bool = False
) -> Iterator[list[int]]:
    """Have something called before the step of that number of these functions; the list has the steps made.

    With `calls`, only at calls: Python looks for signals there, and raises what their handlers do as theirs.
    """
    codes: set[CodeType] = {function.__code__ for function in functions}
    steps: list[int] = []
    wanted = {code: _calls(code) if calls else None for code in codes}

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if event == "call":
            if frame.f_code not in codes:
                return None
            frame.f_trace_opcodes = True
        elif event == "opcode" and ((only := wanted[frame.f_code]) is None or frame.f_lasti in only):
            steps.append(frame.f_lasti)
            if len(steps) == number:
                call()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield steps
    finally:
        sys.settrace(before)


def interrupt() -> None:
    raise KeyboardInterrupt


def small(name: str) -> ps.Dataset:
    return DATASETS[name]().with_options(ps.Options(block_rows=4))


def pulls(it: Any) -> None:
    for _ in range(9):
        next(it)


@pytest.mark.parametrize(
    ("functions", "work", "least"),
    [(PULLING, pulls, 25), (CLOSING, iterator.Iterator.close, 10)],
    ids=["pull", "close"],
)
@pytest.mark.parametrize("name", DATASETS)
def test_given_ctrl_c_at_any_call_when_it_is_closed_again_then_nothing_is_left(
    name: str, functions: list[Any], work: Callable[[Any], None], least: int
) -> None:
    budget = ps.Budget("32MiB")
    for number in count(1):
        it = small(name).iterate(memory=budget)
        next(it)
        interrupted = False
        with at_step(number, functions, interrupt, calls=True) as steps:
            try:
                work(it)
            except KeyboardInterrupt:
                interrupted = True
        it.close()
        assert (it._run._ends.made, budget.runs, is_inside()) == (True, 0, False), number
        if not interrupted:
            break
    assert number > len(steps) > least


# Python drops what is raised where its own set of threads forgets one.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", DATASETS)
def test_given_real_signals_at_random_moments_when_it_is_closed_then_nothing_is_left(name: str) -> None:
    def handler(*_: object) -> None:
        raise KeyboardInterrupt

    moments = random.Random(name)
    budget = ps.Budget("32MiB")
    before = signal.signal(signal.SIGALRM, handler)
    gc.disable()  # Python would drop what is raised while it collects
    try:
        for trial in range(300):
            it = small(name).repeat().iterate(memory=budget)
            try:
                signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.0002, 0.004), 0.05)
                for _ in it:
                    pass
            except (KeyboardInterrupt, RuntimeError):  # which Python's own start of a thread makes of it
                signal.setitimer(signal.ITIMER_REAL, 0)
            it.close()
            assert (it._run._ends.made, budget.runs, is_inside()) == (True, 0, False), trial
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", DATASETS)
def test_given_a_signal_at_any_step_when_its_handler_takes_the_state_then_the_rest_is_exact(
    name: str,
) -> None:
    whole = [str(x) for x in small(name)]
    number = 0
    while True:
        number += 1
        taken: list[Any] = []
        had = 0
        with small(name).iterate() as it:
            next(it)
            with at_step(number, PULLING, lambda it=it, taken=taken: taken.append(it.state())) as steps:  # type: ignore[misc]
                while had < 9 and not taken:
                    had += 1
                    next(it)
        if not taken:
            break
        # The element that was on its way counts or does not: it had been taken from its block, or had not.
        assert taken[0]["elements"] in (had, had + 1), number
        if number % 7 == 0:
            with small(name).iterate(state=taken[0]) as rest:
                assert [str(x) for x in rest] == whole[taken[0]["elements"] :], number
    assert number > len(steps) > 100


def test_given_an_end_that_fails_then_the_others_are_made_and_it_is_raised() -> None:
    made: list[str] = []
    ends = Ends()
    ends.add(lambda: made.append("first"))

    def fails() -> None:
        raise OSError(28, "No space left on device")

    ends.add(fails)
    ends.add(lambda: made.append("last"))
    with pytest.raises(OSError, match="No space left"):
        ends.make()
    ends.make()
    assert (made, ends.made) == (["last", "first"], True)


def test_given_a_run_that_fails_to_start_then_it_is_not_on_the_budget() -> None:
    budget = ps.Budget("32MiB")
    state = ps.Dataset.range(4).iterate().state()
    state["state"] = 7
    with pytest.raises(ps.errors.PenstockError):
        ps.Dataset.range(4).iterate(memory=budget, state=state)
    assert budget.runs == 0


@pytest.mark.usefixtures("one_server")
def test_given_ctrl_c_at_any_call_of_a_start_then_no_workers_and_no_bytes_are_left() -> None:
    starting = [parallel.Parallel.__init__, roster.Roster.__init__, executor.Executor.__init__, stage.start]
    budget = ps.Budget("32MiB")
    users = serving._users
    number = 0
    while True:
        number += 1
        interrupted, it = False, None
        with at_step(number, starting, interrupt, calls=True) as steps:
            try:
                ds = ps.Dataset.range(40).map(int, executor="processes", num_parallel_calls=2)
                it = ds.batch(4).iterate(memory=budget)
            except KeyboardInterrupt:
                interrupted = True
        if it is not None:
            it.close()
        assert (serving._users, budget.runs) == (users, 0), number
        if not interrupted:
            break
    assert number > len(steps) > 10
