"""The same pipeline in two libraries: the few words that a user's function needs, in each of them.

A case is a function of `Words`; run with `PenstockWords` and with `TensorFlowWords` it declares the
same pipeline twice. `trace` writes down what comes out in a form that can be compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

import penstock as ps

LIMIT = 40
"""Events looked at of a stream that may not end."""


class Words(ABC):
    """What the cases use, besides Python's own operators, of a library."""

    Dataset: Any
    TensorSpec: Any
    AUTOTUNE: Any
    experimental: Any
    """Where `assert_cardinality`, `pad_to_cardinality`, `group_by_reducer` and `Reducer` live."""
    image: Any
    string: Any
    """The dtype of bytes."""

    @abstractmethod
    def cast(self, x: Any, dtype: str) -> Any:
        """`x` as another dtype."""

    @abstractmethod
    def fill(self, size: Any, value: Any) -> Any:
        """A vector of `size` times `value`."""

    @abstractmethod
    def length(self, x: Any) -> Any:
        """The size of the first axis, as an int32."""

    @abstractmethod
    def stack(self, parts: list[Any]) -> Any:
        """Parts stacked along a new first axis."""

    @abstractmethod
    def fail_if(self, bad: Any, x: Any) -> Any:
        """`x`, unless `bad`: then the function fails."""

    @abstractmethod
    def events(self, ds: Any, limit: int) -> Iterator[Any]:
        """Each element, or `FAILED` where `next` raised and could be called again."""

    @abstractmethod
    def plain(self, leaf: Any) -> Any:
        """A leaf in the form in which it is compared."""

    def is_dataset(self, value: Any) -> bool:
        """Whether an element, or a part of one, is a dataset itself."""
        return isinstance(value, self.Dataset)


FAILED = "failed"


class PenstockWords(Words):
    Dataset = ps.Dataset
    AUTOTUNE = ps.AUTOTUNE
    experimental = ps
    string = bytes

    @property
    def TensorSpec(self) -> Any:  # noqa: N802
        return ps.TensorSpec

    @property
    def image(self) -> Any:
        return ps.image

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    def fill(self, size: Any, value: Any) -> Any:
        return np.full(size, value)

    def length(self, x: Any) -> Any:
        return np.int32(x.shape[0])

    def stack(self, parts: list[Any]) -> Any:
        return np.stack(parts)

    def fail_if(self, bad: Any, x: Any) -> Any:
        if bad:
            raise ValueError(f"{x} is bad")
        return x

    def events(self, ds: Any, limit: int) -> Iterator[Any]:
        with ds.iterate() as it:
            for _ in range(limit):
                try:
                    yield next(it)
                except ps.errors.ElementError:
                    yield FAILED
                except StopIteration:
                    return

    def plain(self, leaf: Any) -> Any:
        if isinstance(leaf, ps.Ragged):
            return ("ragged", leaf.dtype.name, leaf.to_list())
        return plain_array(leaf)


class TensorFlowWords(Words):
    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.Dataset = tf.data.Dataset
        self.TensorSpec = tf.TensorSpec
        self.AUTOTUNE = tf.data.AUTOTUNE
        self.experimental = tf.data.experimental
        self.image = tf.image
        self.string = tf.string

    def cast(self, x: Any, dtype: str) -> Any:
        return self.tf.cast(x, dtype)

    def fill(self, size: Any, value: Any) -> Any:
        return self.tf.fill([size], value)

    def length(self, x: Any) -> Any:
        return self.tf.shape(x)[0]

    def stack(self, parts: list[Any]) -> Any:
        return self.tf.stack(parts)

    def fail_if(self, bad: Any, x: Any) -> Any:
        with self.tf.control_dependencies([self.tf.debugging.Assert(~bad, [x])]):
            return self.tf.identity(x)

    def events(self, ds: Any, limit: int) -> Iterator[Any]:
        it = iter(ds)
        for _ in range(limit):
            try:
                yield next(it)
            except self.tf.errors.OpError:
                yield FAILED
            except StopIteration:
                return

    def plain(self, leaf: Any) -> Any:
        if isinstance(leaf, self.tf.RaggedTensor):
            return ("ragged", leaf.dtype.name, leaf.to_list())
        return plain_array(leaf.numpy() if isinstance(leaf, self.tf.Tensor) else leaf)


def plain_array(leaf: Any) -> Any:
    """An array as its dtype, its shape and its items; text counts as its bytes."""
    array = np.asarray(leaf)
    if array.dtype.kind in "SUO":
        items = [item.encode() if isinstance(item, str) else item for item in array.ravel().tolist()]
        if all(isinstance(item, bytes) for item in items):
            return ("string", array.shape, items)
        return ("object", array.shape, array.tolist())
    return (array.dtype.name, array.shape, array.tolist())


def plain(words: Words, value: Any, limit: int = LIMIT) -> Any:
    """An element in the form in which it is compared."""
    if isinstance(value, str) and value == FAILED:
        return FAILED
    if words.is_dataset(value):
        return ("dataset", trace(words, value, limit))
    if isinstance(value, dict):
        return {key: plain(words, part, limit) for key, part in sorted(value.items())}
    if isinstance(value, tuple):
        name = type(value).__name__ if hasattr(value, "_fields") else "tuple"
        return (name, [plain(words, part, limit) for part in value])
    return words.plain(value)


def trace(words: Words, ds: Any, limit: int = LIMIT) -> list[Any]:
    """What one pass gives: each element, or that it failed, in order."""
    return [plain(words, event, limit) for event in words.events(ds, limit)]


def loosely(value: Any) -> Any:
    """The same, where Python's numbers chose the dtype: 32 bits there, 64 here."""
    if isinstance(value, dict):
        return {key: loosely(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(loosely(part) for part in value)
    wide = {"int32": "int", "int64": "int", "float32": "float", "float64": "float"}
    return wide.get(value, value) if isinstance(value, str) else value
