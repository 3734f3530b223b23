"""The structure of an element: a nest of dicts, tuples and named tuples over leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Structure:
    """One node of a nest: a leaf (`kind=None`), or a container of child structures.

    `kind` is `tuple`, `dict` or a named tuple's class; `keys` are a dict's keys, in their order.
    """

    kind: type | None = None
    keys: tuple[Any, ...] = ()
    children: tuple[Structure, ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Whether an element of this structure is one leaf."""
        return self.kind is None

    @property
    def leaves(self) -> int:
        """How many leaves an element of this structure has."""
        return 1 if self.kind is None else sum(child.leaves for child in self.children)

    @cached_property
    def is_flat(self) -> bool:
        """Whether an element of this structure is a plain tuple or dict of leaves."""
        return self.kind in (tuple, dict) and all(child.is_leaf for child in self.children)

    def flatten(self, element: Any) -> list[Any]:
        """The leaves of `element`, in order; raises TypeError where it has another structure."""
        kind: Any = type(element)
        if self.is_flat and kind is self.kind and len(element) == len(self.children):
            quick = list(element) if kind is tuple else [element.get(key, ()) for key in self.keys]
            if not any(map(_is_nest, quick)):
                return quick
        out: list[Any] = []
        self._flatten(element, out)
        return out

    def _flatten(self, element: Any, out: list[Any]) -> None:
        if self.kind is None:
            if isinstance(element, dict | tuple):
                raise TypeError(self._mismatch(element))
            out.append(element)
            return
        if self.kind is dict:
            if not isinstance(element, dict) or len(element) != len(self.keys):
                raise TypeError(self._mismatch(element))
            try:
                parts: Sequence[Any] = [element[key] for key in self.keys]
            except KeyError:
                raise TypeError(self._mismatch(element)) from None
        else:
            # A list stands for a tuple where one is expected, as a user's function may return it.
            if not isinstance(element, tuple | list) or len(element) != len(self.children):
                raise TypeError(self._mismatch(element))
            parts = element
        for child, part in zip(self.children, parts, strict=True):
            child._flatten(part, out)

    def _mismatch(self, element: Any) -> str:
        came = structure_of(element)
        return f"expected the structure {self}, got {came}"

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The element whose leaves these are."""
        if self.kind is None:
            return leaves[0]
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        parts = [child._build(leaves) for child in self.children]
        if self.kind is tuple:
            return tuple(parts)
        if self.kind is dict:
            return dict(zip(self.keys, parts, strict=True))
        return self.kind(*parts)

    def packer(self) -> Callable[[tuple[Any, ...]], Any]:
        """A function from a tuple of leaves to an element, quick for the common flat structures."""
        if self.kind is None:
            return lambda leaves: leaves[0]
        if all(child.is_leaf for child in self.children):
            if self.kind is tuple:
                return lambda leaves: leaves
            if self.kind is dict:
                keys = self.keys
                return lambda leaves: dict(zip(keys, leaves, strict=True))
        return self.unflatten

    def paths(self) -> list[str]:
        """Where each leaf sits, as it would be written in Python: `['image']`, `[0]`."""
        if self.kind is None:
            return [""]
        out = []
        for key, child in zip(self._labels(), self.children, strict=True):
            out += [f"{key}{rest}" for rest in child.paths()]
        return out

    def _labels(self) -> list[str]:
        if self.kind is dict:
            return [f"[{key!r}]" for key in self.keys]
        if self.kind is tuple:
            return [f"[{i}]" for i in range(len(self.children))]
        return [f".{name}" for name in self.kind._fields]  # type: ignore[union-attr]

    def __str__(self) -> str:
        if self.kind is None:
            return "leaf"
        inner = [str(child) for child in self.children]
        if self.kind is dict:
            return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(self.keys, inner, strict=True)) + "}"
        if self.kind is tuple:
            return "(" + ", ".join(inner) + ("," if len(inner) == 1 else "") + ")"
        return f"{self.kind.__name__}({', '.join(inner)})"


LEAF = Structure()


def _is_nest(part: Any) -> bool:
    return isinstance(part, dict | tuple)


def structure_of(element: Any, *, top: bool = True) -> Structure:
    """The structure of `element`. A list is a tuple at the top and one leaf below it."""
    if isinstance(element, dict):
        children = tuple(structure_of(value, top=False) for value in element.values())
        return Structure(dict, tuple(element), children)
    if isinstance(element, tuple):
        kind = type(element) if is_namedtuple(element) else tuple
        return Structure(kind, (), tuple(structure_of(part, top=False) for part in element))
    if top and isinstance(element, list):
        return Structure(tuple, (), tuple(structure_of(part, top=False) for part in element))
    return LEAF


def is_namedtuple(value: Any) -> bool:
    """Whether `value` is an instance of a named tuple's class."""
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def tuple_of(structures: Sequence[Structure]) -> Structure:
    """The structure of a tuple of elements of these structures."""
    return Structure(tuple, (), tuple(structures))
