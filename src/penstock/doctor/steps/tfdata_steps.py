"""Steps of tf.data: elements of its iterators."""

from __future__ import annotations

import sys
from collections.abc import Callable

from penstock.doctor.steps import Source, Tick, wrapped

MODULE = "tensorflow.python.data.ops.iterator_ops"


def _elements(tick: Tick) -> Callable[[], None]:
    return wrapped(sys.modules[MODULE].OwnedIterator, "__next__", tick)


SOURCES = [Source("elements of a tf.data iterator", 4, MODULE, _elements)]
