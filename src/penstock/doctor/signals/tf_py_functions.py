"""Python functions that TensorFlow calls: those of `from_generator` and `py_function` are kept."""

from __future__ import annotations

import sys

from penstock.doctor.places import Places
from penstock.doctor.signals import Look, Signal, Suspect

SCRIPTS = "tensorflow.python.ops.script_ops"


def registered(_: Look) -> float:
    """How many Python functions are registered."""
    functions = sys.modules[SCRIPTS]._py_funcs
    return float(functions.size())


def registry(places: Places) -> Suspect:
    """Who keeps them: the registry itself."""
    del places
    return Suspect(
        None,
        (
            "`tensorflow.python.ops.script_ops._py_funcs`",
            "the Python functions of `from_generator`, `py_function`",
        ),
        "TensorFlow's registry of Python functions gets more of them: datasets over Python code are "
        "made in the loop",
    )


SIGNALS = [
    Signal(
        "tf.py_functions",
        "tf-datasets",
        "functions",
        8,
        registered,
        needs=SCRIPTS,
        quick=True,
        suspect=registry,
    )
]
