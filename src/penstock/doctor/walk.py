"""The user's world: what can be reached from the user's names, and how it is called there."""

from __future__ import annotations

import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import _lru_cache_wrapper, partial
from gc import get_referents
from itertools import islice
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any, cast
from weakref import ReferenceType, ref

from penstock.doctor.inside import FEW, of_attributes, of_dict, of_function, of_sequence
from penstock.doctor.keepers import Keepers, registries
from penstock.doctor.places import Places, names_of

MOST = 1500
"""How many objects a walk looks at; those close to the user's names come first."""
MET = 3
"""Of each class of the user's so many objects are looked at though no name leads to them."""
MODULES = 200
"""So many modules of the user's are looked at: a script may make thousands."""
DEEPEST = 9
FOREIGN = 4
"""So many levels are gone down inside of a library's object."""
SCALARS = (int, float, bool, complex, type(None), range, slice, type(Ellipsis), type(NotImplemented))
CLOSED = frozenset[type]((*SCALARS, ModuleType, CodeType, FrameType, BuiltinFunctionType))
"""What is not looked into."""
PYTHON = ("builtins", "collections", "_contextvars")
"""Where Python's own containers come from: what is inside of them is not a library's."""
TEXT = (str, bytes, bytearray, memoryview)
GENERATOR = "builtins.generator"
REGISTRY = "__warningregistry__"
"""Where Python notes each text that was warned with."""


@dataclass(slots=True)
class Node:
    """An object that was met, and the way to it."""

    thing: object
    key: int
    """The same way has the same key at every walk."""
    above: Node | None
    label: str
    depth: int
    foreign: int = 0
    """How many levels inside of a library's object it is."""
    scope: str = ""
    """Of a root: where the name is: a module, or a function."""
    file: str = ""
    met: bool = False
    """Of a root: whether no name leads to it; the label is what it is called then."""

    def path(self) -> str:
        """The way in the user's words: `trainer.log['loss']`."""
        parts: list[str] = []
        node: Node | None = self
        while node is not None:
            parts.append(node.label)
            node = node.above
        return "".join(reversed(parts))

    def root(self) -> Node:
        """Where the way begins."""
        node = self
        while node.above is not None:
            node = node.above
        return node


class World:
    """Walks from the names in the user's modules and running functions."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._modules: list[tuple[str, ModuleType]] = []
        self._known = 0
        self.threads = False
        """Whether code of the user's was seen at work in another thread."""
        self._classes: dict[str, bool] = {}
        self._foreign: set[str] = set()
        """Names of classes that are not."""
        self._met: dict[str, list[ReferenceType[object]]] = {}
        """Some objects of each class of the user's: a library may be all that refers to them."""
        self._generators = 0
        self.keepers = Keepers()

    def roots(self) -> Iterator[Node]:
        """The registries of Python, the names in the user's modules and in the functions at work."""
        for thing, label in registries():
            yield Node(thing, hash(label), None, label, 0, FOREIGN, met=True)
        for thing, label in self.keepers.of(named=False):  # first: a name may lead to one now and then
            yield Node(thing, hash((label, id(thing))), None, label, 0, FOREIGN, met=True)
        for name, module in self.user_modules():
            at = getattr(module, "__file__", None) or _first_file(vars(module))
            for label, value in list(vars(module).items()):
                if (not label.startswith("__") or label == REGISTRY) and self.open(value):
                    yield Node(value, hash((name, label)), None, label, 0, 0, "", at)
        me = threading.get_ident()
        for thread, frame in list(sys._current_frames().items()):
            inner = sys._getframe() if thread == me else frame
            for one in self.places.stack(inner):
                code = one.f_code
                self.threads = self.threads or thread != me
                if code.co_name == "<module>":
                    continue
                for label, value in names_of(one).items():
                    if self.open(value) and not (label == "self" and self._is_met(value)):
                        key = hash((code.co_filename, code.co_firstlineno, label))
                        yield Node(value, key, None, label, 0, 0, code.co_name, code.co_filename)

    def meet(self, objects: Sequence[object], counts: Counter[str]) -> None:
        """Take note of objects of the user's classes, of which none is known that is still there."""
        mine = counts.keys() - self._foreign
        self._foreign |= {name for name in mine if not self.of_user_module(name.rpartition(".")[0])}
        wanted = {
            name
            for name in mine - self._foreign
            if not any(one() is not None for one in self._met.get(name, ()))
        }
        if counts[GENERATOR] != self._generators:
            self._generators = counts[GENERATOR]
            mine_too = [one for one in objects if type(one) is GeneratorType and self._waits(one)]
            self._met[GENERATOR] = [*self._met.get(GENERATOR, ()), *map(ref, mine_too)][-MET:]
        if not wanted:
            return
        found: dict[type, list[ReferenceType[object]] | None] = {}
        for one in objects:
            kind = type(one)
            if kind not in found:
                name = f"{kind.__module__}.{kind.__qualname__}"
                found[kind] = [] if name in wanted and kind.__weakrefoffset__ else None
            known = found[kind]
            if known is not None and len(known) < MET:
                known.append(ref(one))
        self._met |= {
            f"{kind.__module__}.{kind.__qualname__}": known for kind, known in found.items() if known
        }

    def _waits(self, one: GeneratorType[Any, Any, Any]) -> bool:
        """Whether a generator is the user's, and not over."""
        return one.gi_frame is not None and self.places.is_user(one.gi_code.co_filename)

    def _is_met(self, thing: object) -> bool:
        """Whether it is met anyway, in every sample and not only while one of its methods is at work."""
        kind = type(thing)
        known = self._met.get(f"{kind.__module__}.{kind.__qualname__}", ())
        return any(one() is thing for one in known)

    def objects(self) -> Iterator[Node]:
        """Those that are still there."""
        for name, known in self._met.items():
            file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None) or ""
            for number, one in enumerate(known):
                thing = one()
                if isinstance(thing, GeneratorType):
                    frame, code = thing.gi_frame, thing.gi_code
                    for label, value in names_of(frame).items() if frame is not None else ():
                        if self.open(value):
                            key = hash((code.co_filename, code.co_firstlineno, label))
                            yield Node(value, key, None, label, 0, 0, code.co_name, code.co_filename)
                elif thing is not None:
                    label = name.rpartition(".")[2]
                    yield Node(thing, hash((name, number)), None, label, 0, 0, "", file, met=True)
        for thing, label in self.keepers.of(named=True):
            yield Node(thing, hash((label, id(thing))), None, label, 0, FOREIGN, met=True)

    def user_modules(self) -> list[tuple[str, ModuleType]]:
        """The user's modules, looked for again only where one was imported."""
        if len(sys.modules) != self._known:
            self._known = len(sys.modules)
            found = (
                (name, module)
                for name, module in list(sys.modules.items())
                if name != "__main__" and self._of_user_file(getattr(module, "__file__", None))
            )
            self._modules = list(islice(found, MODULES))
        return [("__main__", sys.modules["__main__"]), *self._modules]

    def _of_user_file(self, file: object) -> bool:
        # Some libraries make modules up, with names of files that are none.
        return isinstance(file, str) and file.startswith("/") and self.places.is_user(file)

    def walk(self, most: int = MOST) -> Iterator[Node]:
        """What can be reached, the closest to a name first."""
        queue = deque(self.roots())
        seen = {id(queue)}
        left = most
        rest = self.objects()
        while left > 0:
            if not queue and (more := next(rest, None)) is not None:
                queue.append(more)  # what no name leads to
            if not queue:
                break
            node = queue.popleft()
            if id(node.thing) in seen:
                continue
            seen.add(id(node.thing))
            left -= 1
            yield node
            mine = self.of_user(type(node.thing))  # such as a layer inside of a library's model
            if node.depth < DEEPEST and (mine or node.foreign < FOREIGN):
                queue.extend(self._below(node, seen))

    def _below(self, node: Node, seen: set[int]) -> Iterator[Node]:
        depth, key = node.depth + 1, node.key
        kind = type(node.thing)
        mine = self.of_user(kind)  # what is inside of it is the user's again
        inside = not mine and (node.foreign or kind.__module__ not in PYTHON)
        foreign = node.foreign + 1 if inside else 0
        for label, thing in self.members(node.thing):
            if type(thing) not in CLOSED and id(thing) not in seen and self.open(thing):
                name = label or type(thing).__name__
                yield Node(thing, hash((key, name)), node, label, depth, foreign)

    def open(self, thing: object) -> bool:
        """Whether it is worth a look: no module, and no function or class of a library's."""
        kind = type(thing)
        if kind in CLOSED or issubclass(kind, ModuleType):
            return False
        if kind is FunctionType:
            return self.places.is_user(cast(FunctionType, thing).__code__.co_filename)
        return not issubclass(kind, type) or self.of_user(cast(type, thing))

    def members(self, thing: object) -> Iterator[tuple[str, object]]:
        """What an object refers to, each with what it is called there."""
        kind = type(thing)
        if kind in TEXT or kind in CLOSED or _is_penstock(kind):
            return
        try:
            if isinstance(thing, dict):
                yield from of_dict(thing)
                if kind is not dict:
                    yield from of_attributes(thing)
            elif isinstance(thing, list | tuple | deque):
                yield from of_sequence(thing)
            elif isinstance(thing, set | frozenset):
                yield from (("{}", one) for one in islice(thing, FEW))
            elif isinstance(thing, FunctionType):
                if self.places.is_user(thing.__code__.co_filename):
                    yield from of_function(thing)
            elif isinstance(thing, MethodType):
                yield ".__self__", thing.__self__
                yield "", thing.__func__
            elif isinstance(thing, staticmethod | classmethod):
                yield "", thing.__func__
            elif isinstance(thing, CellType):
                yield "", thing.cell_contents
            elif isinstance(thing, type):
                if self.of_user(thing):
                    yield from ((f".{k}", v) for k, v in list(vars(thing).items()) if not k.startswith("__"))
            elif isinstance(thing, _lru_cache_wrapper):
                yield "", thing.__wrapped__
            elif isinstance(thing, ContextVar):
                yield ".get()", thing.get(None)
            elif isinstance(thing, partial):
                yield from ((f".{name}", getattr(thing, name)) for name in ("func", "args", "keywords"))
            elif isinstance(thing, GeneratorType):
                yield from (("", one) for one in get_referents(thing))
            else:
                yield from of_attributes(thing)
        except (RuntimeError, ValueError, TypeError, AttributeError, ReferenceError):
            return  # changed by another thread meanwhile, an empty cell, an odd object: looked at next time

    def of_user(self, kind: type) -> bool:
        """Whether a class is the user's own."""
        return self.of_user_module(kind.__module__)

    def file_of(self, kind: type) -> list[str]:
        """The file of a class of the user's; none for others."""
        file = getattr(sys.modules.get(kind.__module__), "__file__", None) if self.of_user(kind) else None
        return [file] if isinstance(file, str) else []

    def of_user_module(self, name: str) -> bool:
        """Whether a module is the user's own."""
        known = self._classes.get(name)
        if known is None:
            file = getattr(sys.modules.get(name), "__file__", None)
            known = self._classes[name] = name == "__main__" or self._of_user_file(file)
        return known


def _is_penstock(kind: type) -> bool:
    """Whether it is Penstock's own: it says itself what it holds, and other threads are at work in it."""
    return kind.__module__.partition(".")[0] == "penstock"


def _first_file(scope: dict[str, Any]) -> str:
    return next((v.__code__.co_filename for v in scope.values() if isinstance(v, FunctionType)), "")
