"""What the user's names lead to, and how it is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from penstock.doctor.places import Places
from penstock.doctor.walk import World

SOURCE = """
class Trainer:
    registry = ["of the class"]
    def __init__(self):
        self.log = {"loss": ["of an attribute"]}

def with_default(x, cache=["of a default"]):
    return cache

def maker():
    inner = ["of a closure"]
    def use():
        return inner
    return use

trainer = Trainer()
use = maker()
plain = ["of the module"]
looked = []

def run(look):
    local = ["of a function"]
    looked.extend(look())
    return local
"""


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> dict[str, tuple[str, str]]:
    """The way to each list that says where it is, and the function that its name is in."""
    file = f"{tmp_path}/train.py"
    module = ModuleType("train")
    module.__file__ = file
    exec(compile(SOURCE, file, "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "train", module)
    world = World(Places(file))

    def look() -> list[tuple[str, tuple[str, str]]]:
        lists = [node for node in world.walk() if isinstance(node.thing, list) and node.thing]
        return [(str(node.thing[0]), (node.path(), node.root().scope)) for node in lists]

    run: Callable[..., object] = vars(module)["run"]
    run(look)
    return dict(reversed(vars(module)["looked"]))


@pytest.mark.parametrize(
    ("what", "path", "scope"),
    [
        ("of the module", "plain", ""),
        ("of the class", "Trainer.registry", ""),
        ("of an attribute", "trainer.log['loss']", ""),
        ("of a default", "with_default(cache=)", ""),
        ("of a closure", "use<inner>", ""),
        ("of a function", "local", "run"),
    ],
)
def test_given_a_list_then_it_is_called_as_the_user_would(
    named: dict[str, tuple[str, str]], what: str, path: str, scope: str
) -> None:
    assert named[what] == (path, scope)
