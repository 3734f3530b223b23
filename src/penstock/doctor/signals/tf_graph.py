"""TensorFlow's graph of version 1: every op that is made stays in it."""

from __future__ import annotations

import sys
from typing import Any

from penstock.doctor.places import Place, Places
from penstock.doctor.signals import Look, Signal, Suspect

OPS = "tensorflow.python.framework.ops"


def graph() -> Any:
    """The graph that ops go to outside of functions, if there is one."""
    return sys.modules[OPS]._default_graph_stack._global_default_graph


def operations(_: Look) -> float | None:
    """How many ops it has."""
    there = graph()
    return None if there is None else float(there._version if hasattr(there, "_version") else there.version)


def newest(places: Places) -> Suspect:
    """The line that has made the last ops."""
    there = graph()
    made = there.get_operations()[-1]
    name = made.type
    for line in reversed(list(made.traceback)):
        if places.is_user(line.filename):
            return Suspect(Place(line.filename, line.lineno), ("the default graph", f"op `{name}`"))
    return Suspect(None, ("the default graph", f"op `{name}`"))


def kept(thing: object, where: str) -> str | None:
    """Graphs that user code keeps."""
    del where
    ops = sys.modules.get(OPS)
    return "tf-graph" if ops is not None and isinstance(thing, (ops.Graph, ops.Operation)) else None


SIGNALS = [Signal("tf.operations", "tf-graph", "ops", 10, operations, needs=OPS, quick=True, suspect=newest)]
