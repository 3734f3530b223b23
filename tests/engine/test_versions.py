"""Modules that are edited or reloaded while a program runs: workers call the functions that it has."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import penstock as ps
from penstock.engine.processes.serving import serving
from penstock.functions.versions import changed, versions_of

pytestmark = pytest.mark.usefixtures("one_server")

HELPER = """
def plus(x):
    return int(x) + 1
"""
USES = """
import functools, threading, edited_helper

LOCK = threading.Lock()  # nothing that travels

def wrapped(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(x)
    return wrapper

def direct(x):
    return edited_helper.plus(x) * 10

@wrapped
def decorated(x):
    return edited_helper.plus(x) * 10

class Model:
    def __call__(self, x):
        return self.method(x)

    def method(self, x):
        return edited_helper.plus(x) * 10
"""
MADE: dict[str, Callable[[ModuleType], Callable[[Any], Any]]] = {
    "by its name": lambda uses: uses.direct,
    "through its module": lambda uses: lambda x: uses.direct(x),
    "decorated": lambda uses: uses.decorated,
    "partial": lambda uses: partial(uses.direct),
    "an object": lambda uses: uses.Model(),
    "a method": lambda uses: uses.Model().method,
}

NAMED = {name: made for name, made in MADE.items() if name != "through its module"}


@pytest.fixture
def uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of which the functions call those of another; workers find both."""
    (tmp_path / "edited_helper.py").write_text(HELPER)
    (tmp_path / "edited_uses.py").write_text(USES)
    monkeypatch.syspath_prepend(tmp_path)
    serving.lost(serving.server())  # it has those of another test
    for name in ("edited_helper", "edited_uses"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    found = importlib.import_module("edited_uses")
    monkeypatch.setitem(sys.modules, "edited_uses", found)
    return found


def in_workers(function: Any) -> list[int]:
    return [int(x) for x in ps.Dataset.range(3).map(function, num_parallel_calls=1, executor="processes")]


def edit(name: str, before: str, after: str, folder: Path) -> None:
    file = folder / f"{name}.py"
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))


@pytest.mark.parametrize("name", ["edited_helper", "edited_uses"])
@pytest.mark.parametrize("made", NAMED.values(), ids=NAMED)
def test_given_a_module_edited_while_the_program_runs_then_workers_call_what_it_has_imported(
    made: Callable[[ModuleType], Any], name: str, uses: ModuleType, tmp_path: Path
) -> None:
    function = made(uses)
    assert in_workers(function) == [10, 20, 30]
    edit(name, *(("+ 1", "+ 1000") if name == "edited_helper" else ("* 10", "* 7000")), tmp_path)
    serving.lost(serving.server())  # the next one imports the file as it is now
    assert in_workers(function) == [10, 20, 30]


@pytest.mark.parametrize("made", NAMED.values(), ids=NAMED)
def test_given_a_module_that_is_reloaded_then_workers_call_what_is_new(
    made: Callable[[ModuleType], Any], uses: ModuleType, tmp_path: Path
) -> None:
    assert in_workers(made(uses)) == [10, 20, 30]
    server = serving.server()
    edit("edited_helper", "+ 1", "+ 1000", tmp_path)
    importlib.reload(sys.modules["edited_helper"])
    assert in_workers(made(uses)) == [10_000, 10_010, 10_020]
    assert serving.server() is server


def test_given_a_module_that_does_not_travel_then_it_is_an_error_and_no_other_result(
    uses: ModuleType, tmp_path: Path
) -> None:
    function = MADE["through its module"](uses)
    assert in_workers(function) == [10, 20, 30]
    edit("edited_uses", "* 10", "* 7000", tmp_path)
    serving.lost(serving.server())
    with pytest.raises(ps.errors.PenstockError, match=r"lock.*edited_uses has been changed"):
        in_workers(function)


def test_functions_that_another_process_has_too_are_the_same() -> None:
    versions = versions_of([in_workers, edit, len, lambda x: x, partial(edit, "")])
    assert {name for _, name in versions} == {"in_workers", "edit"}
    assert not changed(versions)
    assert changed({**versions, (__name__, "edit"): versions[__name__, "in_workers"]}) == __name__
    assert not changed({("a_module_that_nobody_has", "edit"): versions[__name__, "edit"]})
