"""`Dataset.as_tensorflow`: a dataset as a `tf.data.Dataset`."""

from __future__ import annotations

import itertools
import weakref
from functools import cache
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from penstock.errors import ClosedError, ElementError
from penstock.frameworks.counted import counted
from penstock.frameworks.declared import Declared
from penstock.frameworks.tensorflow_layout import Array, Layout, layout_of, may_be_ragged
from penstock.graph.op import INFINITE
from penstock.io.formats.optional import optional
from penstock.ops.parts.signature import signature_of
from penstock.site import user_site

PATIENCE = 0.005
"""Seconds after which TensorFlow gets the small elements that are there."""


def as_tensorflow(dataset: Declared) -> Any:
    """The dataset as a `tf.data.Dataset`; each iteration over that is a run."""
    tf = optional("tensorflow", "tensorflow")
    call = f"as_tensorflow at {user_site()}"
    layout = _layout(tf, dataset, call)

    plain = tf.autograph.experimental.do_not_convert
    graph = tf.compat.v1.get_default_graph() if tf.inside_function() else None
    with tf.init_scope():  # also where a function of TensorFlow is just being traced
        rows = _rows(tf, Feed(dataset, layout), graph)
        count = dataset.cardinality()
        if count == INFINITE or count >= 0:
            rows = rows.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
        if count < 0:
            return rows.map(plain(lambda *tensors: layout.packed(tf, tensors)))
        # Not `assert_cardinality(count)`: after a failing element that would fail for ever.
        numbered = tf.data.Dataset.zip((tf.data.Dataset.range(count), rows))
        return numbered.map(plain(lambda _, tensors: layout.packed(tf, tensors)))


def _layout(tf: Any, dataset: Declared, call: str) -> Layout:
    spec = signature_of(dataset.element_spec, call)
    first = None
    if any(may_be_ragged(leaf) for leaf in spec.leaves):
        first = _first(dataset)
    return layout_of(tf, spec.structure, spec.leaves, first, call)


def _first(dataset: Declared) -> Any:
    """An element, to see what is ragged in it; None if there is none that is whole."""
    with dataset.iterate(epoch=0) as elements:
        try:
            return next(elements, None)
        except ElementError:
            return None


def _rows(tf: Any, feed: Feed, graph: Any) -> Any:
    """A dataset of TensorFlow with the tensors of each element; one that is made in a graph lives with it."""
    specs = feed.layout.specs(tf)
    functions = _functions(tf, tuple(spec.dtype for spec in specs))
    variant = tf.raw_ops.GeneratorDataset(
        init_func_other_args=[tf.constant(_OPEN.add(feed), tf.int64)],
        next_func_other_args=[],
        finalize_func_other_args=[],
        init_func=functions.start,
        next_func=functions.pull,
        finalize_func=functions.end,
        output_types=[spec.dtype for spec in specs],
        output_shapes=[spec.shape for spec in specs],
    )
    # Whatever is made of the dataset refers to this tensor, but for a graph, which refers to the last one.
    weakref.finalize(variant, _OPEN.drop, feed.number)
    if graph is not None:
        weakref.finalize(graph, _let_go, variant)
    made = tf.data.experimental.from_variant(variant, specs)
    return made.unbatch() if feed.layout.together else made


def _let_go(_: Any) -> None:
    """Nothing: until it is called, what it is called with is kept."""


class Feed:
    """A dataset that TensorFlow may iterate over, by number."""

    number = 0

    def __init__(self, dataset: Declared, layout: Layout) -> None:
        self._dataset = dataset
        self.layout = layout

    def start(self) -> Pass:
        """Start a run."""
        return Pass(counted(self._dataset), self.layout)


class Pass:
    """A run, as TensorFlow pulls from it."""

    def __init__(self, run: Any, layout: Layout) -> None:
        self._run = run
        self._layout = layout
        self._rows = 1
        self._error: ElementError | None = None

    def pull(self) -> list[Array]:
        """The arrays of the next element, or of the next elements together."""
        if not self._layout.together:
            return self._layout.arrays(next(self._run))
        elements = self._some()
        if elements:
            return self._layout.stacked(elements)
        error, self._error = self._error, None
        raise error or StopIteration

    def _some(self) -> list[Any]:
        """As many elements as are made quickly; an error after some of them waits for the next pull."""
        began = perf_counter()
        elements: list[Any] = []
        if self._error is not None:
            return elements
        try:
            for element in islice(self._run, self._rows):
                elements.append(element)
                if perf_counter() - began > PATIENCE:
                    break
        except ElementError as error:
            self._error = error.with_traceback(None)
        quick = perf_counter() - began < PATIENCE / 2
        self._rows = min(2 * self._rows, self._layout.together) if quick else max(self._rows // 2, 1)
        return elements

    def close(self) -> None:
        """End the run."""
        self._run.close()


class Open:
    """What TensorFlow may ask for, by number: it can hold nothing of Python's but numbers."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._feeds: dict[int, Feed] = {}
        self.passes: dict[int, Pass] = {}

    def add(self, feed: Feed) -> int:
        """Give a feed its number."""
        feed.number = next(self._numbers)
        self._feeds[feed.number] = feed
        return feed.number

    def drop(self, number: int) -> None:
        """Nothing in TensorFlow refers to that feed any more."""
        self._feeds.pop(number, None)

    def start(self, number: Any) -> Any:
        """Start a run over a feed; its number."""
        feed = self._feeds.get(int(number))
        if feed is None:
            raise ClosedError("Nothing in Python refers to this dataset of TensorFlow any more. Keep it.")
        run = next(self._numbers)
        self.passes[run] = feed.start()
        return np.int64(run)

    def pull(self, run: Any) -> list[Array]:
        """What comes next in a run."""
        return self.passes[int(run)].pull()

    def end(self, run: Any) -> Any:
        """End a run."""
        done = self.passes.pop(int(run), None)
        if done is not None:
            done.close()
        return np.int64(0)


_OPEN = Open()
"""One a process, as TensorFlow keeps the functions that it calls for as long as the process lives."""


class _Functions:
    """What TensorFlow calls to start, pull and end a run: made once, and not once a dataset."""

    def __init__(self, tf: Any, dtypes: tuple[Any, ...]) -> None:
        number = tf.TensorSpec((), tf.int64)
        self._kept: list[Any] = []  # TensorFlow refers to them weakly

        def traced(function: Any, out: Any) -> Any:
            def call(number: Any) -> Any:
                return tf.numpy_function(function, [number], out)

            self._kept.append(function)
            return tf.function(call, input_signature=[number], autograph=False).get_concrete_function()

        self.start = traced(_OPEN.start, tf.int64)
        self.pull = traced(_OPEN.pull, list(dtypes))
        self.end = traced(_OPEN.end, tf.int64)


_functions = cache(_Functions)
