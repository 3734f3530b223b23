"""What functions read of modules that a program has changed: the same in worker processes."""

from __future__ import annotations

import importlib
import operator
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.functions.function import user_function
from penstock.functions.reached import reached
from penstock.functions.settings import settings_of

SOURCE = """
import os
import sys
from dataclasses import dataclass
import numpy as np
from types import SimpleNamespace
@dataclass
class Record:
    size: int
class Config:
    SIZE = 3
    OPENED = None
    @classmethod
    def by_class(cls, x):
        if cls.OPENED is None:
            cls.OPENED = os.getpid()
        return cls.OPENED == os.getpid()
def helper(x):
    return 0
SIZE = 3
OPTIONS = {"size": 3}
ARGUMENTS = None
ARRAY = None
TABLE_OF = {}
DTYPE = np.float32
KIND = None
FOLDER = None
WRAPPED = None
NUMBER = None
RECORD = Record(3)
LARGE = list(range(50_000))
TEXT = "a" * 200_000
TABLE = [list(range(900)) for _ in range(900)]
RING = []
RING.append(RING)
OPENED = None
STATE = {"opened": None}
NOTES = SimpleNamespace(opened=None)
def times(x):
    return int(x) * SIZE
def inner(x):
    return times(x) + 0
def by_option(x):
    return int(x) * OPTIONS["size"]
def by_argument(x):
    return int(x) * ARGUMENTS.size
def by_process(x):
    global OPENED
    if OPENED is None:
        OPENED = os.getpid()
    return OPENED == os.getpid()
def by_item(x):
    if STATE["opened"] is None:
        STATE["opened"] = os.getpid()
    return STATE["opened"] == os.getpid()
def by_note(x):
    if NOTES.opened is None:
        NOTES.opened = os.getpid()
    return NOTES.opened == os.getpid()
def by_module(x):
    if this.OPENED is None:
        this.OPENED = os.getpid()
    return this.OPENED == os.getpid()
this = sys.modules[__name__]
class Times:
    def __call__(self, x):
        return self.of(x)
    def of(self, x):
        return int(x) * SIZE
class Sized:
    SIZE = 3
    def __call__(self, x):
        return int(x) * self.SIZE
def by_array(x):
    return int(x) * int(ARRAY[1])
def by_table(x):
    return int(x) * TABLE_OF[1999]
def by_dtype(x):
    return int(x) * (DTYPE(0).itemsize - 1)
def by_enum(x):
    return int(x) * KIND.value
def by_path(x):
    return int(x) * len(FOLDER.name)
def by_partial(x):
    return WRAPPED(int(x))
def by_number(x):
    return int(x) * NUMBER
def by_record(x):
    return int(x) * RECORD.size
def by_class(x):
    return int(x) * Config.SIZE
def by_helper(x):
    return helper(int(x))
def by_import(x):
    import users_settings
    from users_settings import OPTIONS
    return int(x) * (users_settings.SIZE + OPTIONS["size"]) // 2
by_class_of_its_own = Config.by_class
"""


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of a user, whose settings were changed after it was imported."""
    (tmp_path / "users_settings.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    module: Any = importlib.import_module("users_settings")
    module.SIZE = 7
    module.OPTIONS["size"] = 7
    module.ARGUMENTS = Namespace(size=7)
    module.ARRAY, module.DTYPE = np.array([1, 7]), np.float64
    module.TABLE_OF.update(dict.fromkeys(range(2000), 7))
    module.KIND, module.FOLDER, module.NUMBER = signal.Signals(7), Path("/a/seventh"), np.float32(7)
    module.WRAPPED = partial(operator.mul, 7)
    module.RECORD.size = module.Config.SIZE = module.Sized.SIZE = 7
    module.helper = lambda x: x * 7
    yield module
    del sys.modules["users_settings"]


FUNCTIONS: dict[str, Callable[[Any], Callable[[Any], int]]] = {
    "of the module": lambda module: module.times,
    "that calls one of the module": lambda module: module.inner,
    "that reads the module": lambda module: lambda x: int(x) * module.SIZE,
    "partial": lambda module: partial(lambda factor, x: int(x) * module.SIZE * factor, 1),
    "object": lambda module: module.Times(),
    "method": lambda module: module.Times().of,
    "with a dict": lambda module: module.by_option,
    "with arguments": lambda module: module.by_argument,
    "with an array": lambda module: module.by_array,
    "with a large dict": lambda module: module.by_table,
    "with a class of NumPy's": lambda module: module.by_dtype,
    "with an enum": lambda module: module.by_enum,
    "with a path": lambda module: module.by_path,
    "with a partial": lambda module: module.by_partial,
    "with a number of NumPy's": lambda module: module.by_number,
    "with a record": lambda module: module.by_record,
    "with a class": lambda module: module.by_class,
    "with its own class": lambda module: module.Sized(),
    "with another function put there": lambda module: module.by_helper,
    "that imports": lambda module: module.by_import,
}


@pytest.mark.parametrize("which", FUNCTIONS)
def test_given_a_setting_that_was_changed_then_worker_processes_have_it(
    changed: ModuleType, which: str
) -> None:
    ds = ps.Dataset.range(4).map(FUNCTIONS[which](changed), num_parallel_calls=1, executor="processes")
    assert [int(x) for x in ds] == [0, 7, 14, 21]


def test_given_another_setting_in_the_next_pass_then_workers_have_that(changed: Any) -> None:
    ds = ps.Dataset.range(4).map(changed.times, num_parallel_calls=1, executor="processes")
    for size in (5, 6):
        changed.SIZE = size
        assert [int(x) for x in ds] == [0, size, 2 * size, 3 * size]


def as_it_is(value: Any) -> Any:
    return value


def test_given_functions_that_use_penstock_then_nothing_of_it_is_changed_in_workers(changed: Any) -> None:
    def draws(x: Any) -> Any:
        return ps.random.uniform(()) + ps.AUTOTUNE + user_function(x, x, x) + changed.SIZE

    assert settings_of(reached([draws]), as_it_is) == {"users_settings": {"SIZE": 7}}


def test_given_what_is_no_setting_then_it_is_left_to_the_import(changed: Any) -> None:
    found = settings_of(reached([lambda: (changed.LARGE, changed.Times, changed.times)]), as_it_is)
    assert found == {"users_settings": {"SIZE": 7}}


@pytest.mark.parametrize("name", ["LARGE", "TEXT", "TABLE", "RING"])
def test_given_data_that_is_large_then_it_is_left_to_the_import(changed: Any, name: str) -> None:
    reads = eval(f"lambda: module.{name}", {"module": changed})
    assert settings_of(reached([reads]), as_it_is) == {}


@pytest.mark.parametrize("name", ["by_process", "by_item", "by_note", "by_module", "by_class_of_its_own"])
def test_given_what_a_function_sets_itself_then_each_process_has_its_own(changed: Any, name: str) -> None:
    function = getattr(changed, name)
    assert function(0)  # it was called in this process before
    ds = ps.Dataset.range(4).map(function, num_parallel_calls=1, executor="processes")
    assert all(ds)
