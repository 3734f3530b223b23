"""TensorFlow's registry of gradients: it keeps the graph of every function that was trained with."""

from __future__ import annotations

import sys

from penstock.doctor.places import Places
from penstock.doctor.signals import Look, Signal, Suspect

OPS = "tensorflow.python.framework.ops"
MODELS = "keras.src.trainers.trainer"


def gradients(_: Look) -> float:
    """How many gradients are registered."""
    return float(len(sys.modules[OPS].gradient_registry._registry))


def registry(places: Places) -> Suspect:
    """Who keeps them: the registry itself."""
    del places
    names = [
        name for name in sys.modules[OPS].gradient_registry._registry if name.startswith("CustomGradient-")
    ]
    return Suspect(
        None,
        (
            "`tensorflow.python.framework.ops.gradient_registry._registry`",
            f"`{names[-1]}`" if names else "a gradient",
            "FuncGraph",
        ),
        f"TensorFlow's gradient registry has {len(names)} custom gradients by now, and each keeps the "
        f"graph of a "
        "model that was built and trained in the loop",
    )


SIGNALS = [
    Signal("tf.gradients", "keras-models", "gradients", 5, gradients, needs=OPS, quick=True, suspect=registry)
]
