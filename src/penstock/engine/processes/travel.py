"""Functions, results and errors on their way between processes.

Functions go by `cloudpickle`: lambdas, closures and what is defined in a script or a notebook go by value.
Large arrays among what they refer to lie in one piece of shared memory that all workers map.
"""

from __future__ import annotations

import importlib
import io
import mmap
import os
import pickle
import random
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from operator import attrgetter
from types import BuiltinMethodType, CodeType, MethodType, ModuleType
from typing import Any

from penstock.blocks.structure import Structure
from penstock.errors import ElementError, PenstockError
from penstock.functions.reached import reached
from penstock.functions.said import said_by
from penstock.functions.settings import Settings, apply, settings_of
from penstock.functions.versions import Versions, changed, compared

SHARED = 16 << 10
"""Arrays of at least so many bytes are shared; smaller ones are part of the pickle."""
_ALIGNED = 64
_WITH_CACHE = type(lru_cache(abs))
"""What `functools.cache` makes of a function."""
_registering = threading.Lock()


@dataclass(frozen=True, slots=True)
class Parcel:
    """Functions in a piece of shared memory: the pickle, then the arrays, each at its place."""

    pickled: int
    arrays: tuple[tuple[int, int, bool], ...]
    """Where each array begins, how long it is, and whether it is read-only."""
    nbytes: int


def dumps(value: Any, by_value: Iterable[str] = (), buffers: Any = None, sees: Any = None) -> bytes:
    """A pickle, with functions and classes of these modules by value.

    `sees` is called with each thing in it that is not of Python's plain types.
    """
    cloudpickle = _cloudpickle()
    modules = [sys.modules[name] for name in by_value if name in sys.modules]
    if not modules:
        return _dumped(cloudpickle, value, buffers, sees)
    with _registering:
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            return _dumped(cloudpickle, value, buffers, sees)
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)


def _dumped(cloudpickle: Any, value: Any, buffers: Any, sees: Any) -> bytes:
    kind = cloudpickle.Pickler if sees is None else _seeing(cloudpickle)
    with io.BytesIO() as file:
        pickler = kind(file, protocol=5, buffer_callback=buffers)
        pickler.sees = sees
        pickler.dump(value)
        return file.getvalue()


@cache
def _seeing(cloudpickle: Any) -> type[Any]:
    """A pickler that shows what it comes across."""

    class Seeing(cloudpickle.Pickler):  # type: ignore[misc]
        sees: Callable[[Any], None]

        def reducer_override(self, thing: Any) -> Any:
            self.sees(thing)
            if isinstance(thing, BuiltinMethodType | MethodType) and (drawn := _drawn(thing)):
                return getattr, drawn
            if isinstance(thing, _WITH_CACHE) and not _is_imported(thing, cloudpickle):
                return _cached, (thing.cache_parameters(), thing.__wrapped__)
            return super().reducer_override(thing)

    return Seeing


def _is_imported(function: Any, cloudpickle: Any) -> bool:
    """Whether a worker finds it by its name."""
    module = getattr(function, "__module__", None)
    by_value = module == "__main__" or module in cloudpickle.list_registry_pickle_by_value()
    return not by_value and "<locals>" not in getattr(function, "__qualname__", "<locals>")


def _cached(parameters: dict[str, Any], function: Callable[..., Any]) -> Any:
    """A function with a cache of its own, which is empty."""
    return lru_cache(**parameters)(function)


def _drawn(method: Any) -> tuple[ModuleType, str] | None:
    """Where a function such as `random.random` is found: in a pickle of it there would be its generator."""
    numpys = sys.modules.get("numpy.random")
    for module, generator in ((random, "_inst"), (numpys, "mtrand._rand")):
        if module is not None and method.__self__ is attrgetter(generator)(module):
            return module, method.__name__
    return None


def _cloudpickle() -> Any:
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        raise PenstockError(
            "Worker processes need cloudpickle, to get functions to them: pip install cloudpickle."
        ) from None


class Packing:
    """Functions about to be put into shared memory: the size is known first."""

    def __init__(self, functions: Sequence[Any], by_value: Collection[str] = ()) -> None:
        self._arrays: list[memoryview] = []
        self._seen: dict[str, None] = {}
        called = list(reached(getattr(function, "function", function) for function in functions))
        versions = compared((function for function, _ in called), by_value)
        self.importable = {module for module, _ in versions}
        """Users' modules that workers import, and of which the functions are to be the same there."""
        settings = settings_of(called, partial(dumps, by_value=by_value))
        whole = (list(functions), settings, versions)
        self._pickled = dumps(whole, by_value, self._keep, self._see)
        places = []
        end = _aligned(len(self._pickled))
        for array in self._arrays:
            places.append((end, array.nbytes, array.readonly))
            end = _aligned(end + array.nbytes)
        self.parcel = Parcel(len(self._pickled), tuple(places), max(end, 1))

    def _see(self, thing: Any) -> None:
        """Note where something comes from that the pickle refers to."""
        names: tuple[Any, ...] = ()
        if isinstance(thing, ModuleType):
            names = (thing.__name__,)
        elif isinstance(thing, CodeType):
            names = thing.co_names
        else:
            with suppress(Exception):  # anything may be wrong with an object of the user's own
                # Ufuncs have no module to say: the pickle names the one where they are found.
                named = getattr(thing, "__module__", None)
                names = (named or pickle.whichmodule(thing, thing.__name__),)  # type: ignore[attr-defined]
        self._seen.update(dict.fromkeys(name for name in names if isinstance(name, str)))

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < SHARED:
            return True  # in the pickle
        self._arrays.append(raw)
        return False

    def modules(self) -> list[str]:
        """The modules that loading them imports, and those that they import when they are called."""
        return [name for name in self._seen if name in sys.modules and name not in ("__main__", "builtins")]

    def write(self) -> int:
        """The descriptor of shared memory that they lie in."""
        descriptor = os.memfd_create("penstock-functions", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, self.parcel.nbytes)
            with mmap.mmap(descriptor, self.parcel.nbytes) as pages:
                pages[: len(self._pickled)] = self._pickled
                for (start, size, _), array in zip(self.parcel.arrays, self._arrays, strict=True):
                    pages[start : start + size] = array
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def opened(parcel: Parcel, descriptor: int) -> list[Any]:
    """The functions, their large arrays as views of the shared memory; writes stay in this process.

    `ImportError` where a module has other functions here than where they come from.
    """
    pages = mmap.mmap(
        descriptor, parcel.nbytes, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE
    )
    whole = memoryview(pages)
    arrays = [
        whole[start : start + size].toreadonly() if frozen else whole[start : start + size]
        for start, size, frozen in parcel.arrays
    ]
    found: tuple[list[Any], Settings, Versions] = pickle.loads(whole[: parcel.pickled], buffers=arrays)
    functions, settings, versions = found
    apply(settings, pickle.loads)
    module = changed(versions)
    if module:
        raise ImportError(f"the module {module} has been changed since it was imported", name=module)
    return functions


def dumps_with(by_value: Iterable[str], *structures: Structure | None) -> Callable[[Any], bytes]:
    """How to pickle a message with these structures in it, which may have classes of the user's own."""
    if all(structure is None or _is_plain(structure) for structure in structures):
        return _plainly
    return lambda message: dumps(message, by_value)


def _plainly(message: Any) -> bytes:
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def _is_plain(structure: Structure) -> bool:
    return (
        structure.kind in (None, dict, tuple)
        and all(type(key) in (str, int) for key in structure.keys)
        and all(map(_is_plain, structure.children))
    )


@dataclass(frozen=True, slots=True)
class Sent:
    """An error as it is sent: pickled where that can be done, and its text."""

    pickled: bytes | None
    cause: bytes | None
    notes: tuple[str, ...]
    said: str
    cause_said: str

    def error(self) -> BaseException:
        """The error again."""
        error = _loaded(self.pickled, self.said)
        if self.cause_said:
            error.__cause__ = _loaded(self.cause, self.cause_said)
        for note in self.notes:
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        return error


def as_sent(error: BaseException) -> Sent:
    """An error made ready to be sent."""
    cause = error.__cause__ if isinstance(error, ElementError) else None
    notes = tuple(getattr(error, "__notes__", ()))
    said = "" if cause is None else _said(cause)
    return Sent(_pickle_of(error), None if cause is None else _pickle_of(cause), notes, _said(error), said)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {said_by(error)}"


class _AsItIs:
    """An error that is made again without its `__init__`, which may ask for more than the error has kept."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> Any:
        return _made_again, (type(self._error), self._error.args, self._error.__dict__)


def _made_again(
    kind: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]
) -> BaseException:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


def _pickle_of(error: BaseException) -> bytes | None:
    for whole in (error, _AsItIs(error)):
        with suppress(Exception, SystemExit):  # anything may be wrong with an error of the user's own
            pickled = dumps(whole)
            pickle.loads(pickled)
            return pickled
    return None


def _loaded(pickled: bytes | None, said: str) -> BaseException:
    try:
        found = None if pickled is None else pickle.loads(pickled)
    except (Exception, SystemExit):  # likewise
        found = None
    return found if isinstance(found, BaseException) else RuntimeError(said)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
