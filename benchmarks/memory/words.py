"""The words of a pipeline in Penstock and in tf.data, and how each is run under a budget."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.memory.pipeline import Array, Words, mark


class PenstockWords:
    """The words of Penstock."""

    def __init__(self) -> None:
        import penstock as ps

        self._ps = ps
        self.autotune = ps.AUTOTUNE

    def generated(self, rows: Callable[[], Iterator[Array]], shape: Any, dtype: Any) -> Any:
        """A data set over a generator."""
        signature = self._ps.TensorSpec(shape, dtype)
        return self._ps.Dataset.from_generator(rows, output_signature=signature)

    def made(self, count: int, size: int) -> tuple[Any, Callable[[Any], Any]]:
        """A data set of numbers, and a function that makes `size` marked bytes of one."""
        numbers = self._ps.Dataset.range(count)
        return numbers, lambda number: np.full(size, mark(int(number)), np.uint8)

    def same(self, element: Any) -> Any:
        """An element, made anew."""
        return element.copy()

    def key(self, element: Any) -> Any:
        """The number, from 0 to 3, of the group that an element belongs to."""
        return int(element[0]) % 4


class TensorFlowWords:
    """The words of tf.data, whose runtime is started here so that it counts as idle."""

    def __init__(self) -> None:
        import tensorflow as tf

        self._tf = tf
        self.autotune = tf.data.AUTOTUNE
        for _ in tf.data.Dataset.range(1):
            pass

    def generated(self, rows: Callable[[], Iterator[Array]], shape: Any, dtype: Any) -> Any:
        """A data set over a generator."""
        signature = self._tf.TensorSpec(shape, dtype)
        return self._tf.data.Dataset.from_generator(rows, output_signature=signature)

    def made(self, count: int, size: int) -> tuple[Any, Callable[[Any], Any]]:
        """A data set of numbers, and a function that makes `size` marked bytes of one."""
        tf = self._tf
        numbers = tf.data.Dataset.range(count)
        return numbers, lambda number: tf.fill([size], tf.cast(mark(number), tf.uint8))

    def same(self, element: Any) -> Any:
        """An element, made anew."""
        return element + self._tf.constant(0, element.dtype)

    def key(self, element: Any) -> Any:
        """The number, from 0 to 3, of the group that an element belongs to."""
        return self._tf.cast(element[0] % 4, self._tf.int64)


def words(library: str) -> Words:
    """Load a library and return its words."""
    return PenstockWords() if library == "penstock" else TensorFlowWords()


@contextmanager
def iterating(library: str, dataset: Any, budget: int) -> Iterator[Iterator[Any]]:
    """Iterate under a budget as each library has it; everything is dropped at the end."""
    if library == "penstock":
        with dataset.iterate(memory=budget, seed=1) as running:
            yield running
        return
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.ram_budget = budget
    yield iter(dataset.with_options(options))
