"""Modules that are edited or reloaded while a program runs: workers call the functions that it has."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import penstock as ps
from penstock.engine.processes.serving import serving
from penstock.functions.reached import reached
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

    @property
    def bound(self):
        return edited_helper.plus

    @staticmethod
    def static(x):
        return edited_helper.plus(x) * 10

@functools.lru_cache
def kept(x):
    return edited_helper.plus(x) * 10
"""
MADE: dict[str, Callable[[ModuleType], Callable[[Any], Any]]] = {
    "by its name": lambda uses: uses.direct,
    "through its module": lambda uses: lambda x: uses.direct(x),
    "decorated": lambda uses: uses.decorated,
    "partial": lambda uses: partial(uses.direct),
    "an object": lambda uses: uses.Model(),
    "a method": lambda uses: uses.Model().method,
    "a property": lambda uses: partial(lambda model, x: model.bound(x) * 10, uses.Model()),
    "a static method": lambda uses: uses.Model.static,
    "a default": lambda uses: lambda x, function=uses.direct: function(x),
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


@pytest.mark.parametrize("name", ["edited_helper", "edited_uses"])
def test_given_a_function_that_pickles_have_by_name_only_then_it_is_an_error_too(
    name: str, uses: ModuleType, tmp_path: Path
) -> None:
    kept = uses.kept  # its results are kept by functools
    assert in_workers(lambda x: kept(int(x))) == [10, 20, 30]
    edit(name, *(("+ 1", "+ 1000") if name == "edited_helper" else ("* 10", "* 7000")), tmp_path)
    serving.lost(serving.server())
    with pytest.raises(ps.errors.PenstockError, match=f"{name} has been changed.*executor='threads'"):
        in_workers(lambda x: kept(int(x)))


def test_functions_that_another_process_has_too_are_compared(uses: ModuleType) -> None:
    functions = [uses.direct, len, lambda x: x, partial(uses.Model.method, ""), in_workers]
    versions = versions_of(one for one, _ in reached(functions))
    # Those of this module are not: pytest has made other code of their assertions.
    assert versions.keys() == {
        ("edited_uses", "direct"),
        ("edited_uses", "Model.method"),
        ("edited_helper", "plus"),
    }
    assert not changed(versions)
    other = {**versions, ("edited_uses", "direct"): versions["edited_helper", "plus"]}
    assert changed(other) == "edited_uses"
    assert not changed({("a_module_that_nobody_has", "edit"): b""})


def test_a_function_is_the_same_wherever_it_stands_and_another_where_it_does_something_else(
    uses: ModuleType, tmp_path: Path
) -> None:
    def version() -> Any:
        return versions_of([uses.direct])

    was = version()
    edit("edited_uses", "def direct(x):", "\n# It stands lower.\n\ndef direct(x):", tmp_path)
    importlib.reload(uses)
    assert version() == was
    edit("edited_uses", "def direct(x):", "def direct(x, y=1):", tmp_path)
    importlib.reload(uses)
    assert version() != was


OTHERWISE = {
    "default in a tuple": ("table=(1, (2, slice(3)))", "table=(1, (2, slice(4)))"),
    "class as a default": ("dtype=float", "dtype=complex"),
    "what a decorator closes over": ("@scaled(2)", "@scaled(9)"),
}


@pytest.mark.parametrize(("before", "after"), OTHERWISE.values(), ids=OTHERWISE)
def test_a_function_is_another_one_where_what_it_is_made_with_is(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edited_made.py").write_text(
        "import functools\n"
        "def scaled(factor):\n"
        "    def wrap(function):\n"
        "        @functools.wraps(function)\n"
        "        def inner(x):\n"
        "            return function(x) * factor\n"
        "        return inner\n"
        "    return wrap\n"
        "@scaled(2)\n"
        "def made(x, table=(1, (2, slice(3))), dtype=float):\n"
        "    return x\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module: Any = importlib.import_module("edited_made")
    was = versions_of([module.made])
    assert was == versions_of([module.made])
    edit("edited_made", before, after, tmp_path)
    importlib.reload(module)
    assert versions_of([module.made]) != was
    del sys.modules["edited_made"]


def test_given_an_interpreter_without_assertions_then_workers_have_none_either(tmp_path: Path) -> None:
    (tmp_path / "asserts.py").write_text(
        "import functools\n\n@functools.lru_cache\ndef checked(x):\n    assert False\n    return x\n"
    )
    script = "import asserts, penstock as ps\n" + (
        "calls = dict(num_parallel_calls=1, executor='processes')\n"
        "rows = ps.Dataset.range(3).map(lambda x: asserts.checked(int(x)), **calls)\n"
        "print([int(x) for x in rows])\n"
    )
    ran = subprocess.run([sys.executable, "-O", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == ("[0, 1, 2]\n", 0), ran.stderr
