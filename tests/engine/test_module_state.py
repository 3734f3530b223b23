"""What modules of a user keep for themselves stays as it is in worker processes, and ends no run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.functions.data import LARGEST, WIDEST, Room

pytestmark = pytest.mark.usefixtures("one_server")

OTHER = """
from dataclasses import dataclass
@dataclass
class State:
    model: object = None
STATE = State()
KNOWN = [STATE]
def load():
    for one in KNOWN:
        one.model = one.model or 5
"""
SOURCE = """
import functools, mmap, os, pathlib, threading
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
import state_of_another
from state_of_another import STATE
LOCK = threading.Lock()
model = None
def load():
    global model
    model = 5
get = lambda: model
def by_global(x):
    load()
    return get()
def factory():
    def inside(x):
        with LOCK:
            return x
    return inside
made = factory()
def by_lock(x):
    return made(x) * 0 + 5
class Reader:
    places = {}
    opened = None
    def __call__(self, x):
        if "one" not in self.places:
            self.places["one"] = os.getpid()
        if Reader.opened is None:
            Reader.opened = os.getpid()
        return 5 if self.places["one"] == Reader.opened == os.getpid() else 0
by_class = Reader()
def by_record(x):
    state_of_another.load()
    return STATE.model
memory = mmap.mmap(-1, 4096)
LIVE = np.frombuffer(memory, np.uint8)
def by_live_memory(x):
    return int(LIVE[0]) + 5
class Fixed(type):
    def __setattr__(cls, name, value):
        raise RuntimeError
class Closed(metaclass=Fixed):
    SIZE = 5
def by_metaclass(x):
    return Closed.SIZE
@dataclass
class Secret:
    size: int = 5
    def __reduce__(self):
        raise TypeError
SECRET = Secret()
def by_secret(x):
    return SECRET.size
class Odd(type(pathlib.Path())):
    def __reduce__(self):
        raise TypeError
ODD = Odd("12345")
def by_path(x):
    return len(ODD.name)
def memo(function):
    kept = {}
    @functools.wraps(function)
    def inner(x):
        with LOCK:
            return kept.setdefault(int(x), function(x))
    return inner
@memo
def by_memo(x):
    return 5
def by_default(x, kept={}):
    with LOCK:
        return kept.setdefault(int(x), 5)
def counting(function):
    count = 0
    @functools.wraps(function)
    def inner(x):
        nonlocal count
        with LOCK:
            count += 1
            return function(x)
    return inner
@counting
def by_counter(x):
    return 5
def by_blocked_import(x):
    try:
        import blocked_by_a_user
    except ImportError:
        return 5
around = {}
exec("def nowhere(x): return 5", around)
nowhere = around["nowhere"]
nowhere.__module__ = None
def by_function_of_no_module(x):
    return nowhere(x)
TABLES = [np.zeros(4 << 20, np.uint8) for _ in range(3)]
ONE, TWO, THREE = TABLES
def by_tables(x):
    return int(ONE[0] + TWO[0] + THREE[0]) + 5
"""


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "state_of_another.py").write_text(OTHER)
    (folder / "state_of_users.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setitem(sys.modules, "blocked_by_a_user", None)
        yield importlib.import_module("state_of_users")
    del sys.modules["state_of_users"], sys.modules["state_of_another"]


FUNCTIONS = [line[4:].partition("(")[0] for line in SOURCE.splitlines() if line.startswith("def by_")]


@pytest.mark.parametrize("called_before", [False, True], ids=["fresh", "called before"])
@pytest.mark.parametrize("name", [*FUNCTIONS, "by_class"])
def test_then_workers_give_what_threads_give(states: Any, name: str, called_before: bool) -> None:
    function = getattr(states, name)
    if called_before:
        assert function(0) == 5
    ds = ps.Dataset.range(3).map(function, num_parallel_calls=1, executor="processes")
    with ds.iterate(memory="8MiB") as it:
        assert [int(x) for x in it] == [5, 5, 5]


def test_given_a_function_of_which_one_it_keeps_results_of_was_not_edited_then_it_goes_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "edited_in_part.py"
    file.write_text(
        "import functools\n"
        "@functools.lru_cache\ndef kept(x):\n    return x\n"
        "def calls(x):\n    return kept(int(x)) + 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module: Any = importlib.import_module("edited_in_part")
    file.write_text(file.read_text().replace("+ 1", "+ 1000"))
    ds = ps.Dataset.range(3).map(module.calls, num_parallel_calls=1, executor="processes")
    assert [int(x) for x in ds] == [1, 2, 3]
    del sys.modules["edited_in_part"]


def test_data_that_travels_has_room_for_so_much_in_all() -> None:
    room = Room()
    assert room.takes(list(range(LARGEST - 5)))
    assert not room.takes(list(range(10)))
    assert room.takes([1, 2])
    assert room.takes(bytes(10))
    assert not room.takes("x" * WIDEST)
