"""TensorFlow's graphs of version 1: every op that is made stays in its graph."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from penstock.doctor.places import Place, Places
from penstock.doctor.signals import Look, Signal, Suspect, loaded

OPS = "tensorflow.python.framework.ops"
SESSION = "tensorflow.python.client.session"
MADE = {"tf-graph": (OPS, "Graph")}
_GRAPHS: WeakSet[Any] = WeakSet()
"""Those of the user that were met: one that was made before the watch is met once, and then set aside."""


def meet(objects: Sequence[object], types: Counter[str]) -> None:
    """Take note of the graphs among objects."""
    if loaded(OPS) and types[f"{OPS}.Graph"]:
        kind = sys.modules[OPS].Graph
        _GRAPHS.update(one for one in objects if type(one) is kind)


def graphs(look: Look) -> list[Any]:
    """The default graph, and the user's own; not those of functions."""
    ops = sys.modules[OPS]
    meet(look.objects, look.types)
    default = ops._default_graph_stack._global_default_graph
    return list({id(one): one for one in [*_GRAPHS, default] if one is not None}.values())


def size(graph: Any) -> float:
    """How many ops a graph has."""
    return float(graph._version if hasattr(graph, "_version") else graph.version)


def operations(look: Look) -> float | None:
    """How many ops the largest graph has."""
    found = graphs(look)
    return max(map(size, found)) if found else None


def alive(look: Look) -> float:
    """How many graphs there are."""
    return float(len(graphs(look)))


def newest(places: Places) -> Suspect:
    """The line that has made the last ops."""
    made = max(graphs(Look()), key=size).get_operations()[-1]
    chain = ("a graph of TensorFlow", f"op `{made.type}`")
    for line in reversed(list(made.traceback)):
        if places.is_user(line.filename):
            return Suspect(Place(line.filename, line.lineno), chain)
    return Suspect(None, chain)


def kept(thing: object, where: str) -> str | None:
    """Graphs that user code keeps."""
    del where
    ops = sys.modules.get(OPS)
    session = getattr(sys.modules.get(SESSION), "BaseSession", ())
    known = (ops.Graph, ops.Operation, session) if ops is not None and session else ()
    return "tf-graph" if isinstance(thing, known) else None


SIGNALS = [
    Signal(
        "tf.operations",
        "tf-graph",
        "ops",
        10,
        operations,
        needs=OPS,
        objects=True,
        quick=True,
        suspect=newest,
    ),
    Signal("tf.graphs", "tf-graph", "graphs", 6, alive, needs=OPS, objects=True),
]
