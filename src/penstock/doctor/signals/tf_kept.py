"""Things of TensorFlow that user code keeps: variables, tensors, datasets, iterators."""

from __future__ import annotations

import sys
from typing import Any

VARIABLES = "tensorflow.python.ops.resource_variable_ops"
TENSORS = "tensorflow.python.framework.ops"
DATA = "tensorflow.python.data."
DATASETS = f"{DATA}ops.dataset_ops"
ITERATORS = f"{DATA}ops.iterator_ops"
TAPES = "tensorflow.python.eager.backprop"
MADE = {
    "tf-variables": (VARIABLES, "ResourceVariable"),  # what `assign` gives back is none of these
    "tf-datasets": (DATASETS, "DatasetV2"),
}
KINDS = (
    ("tf-variables", VARIABLES, "BaseResourceVariable"),
    ("tf-tensors", "tensorflow.python.framework.tensor", "Tensor"),
    ("tf-tensors", TAPES, "GradientTape"),
    ("tf-datasets", DATASETS, "DatasetV2"),
    ("tf-datasets", ITERATORS, "OwnedIterator"),
)


LONGEST = 2000
"""So many datasets behind one are counted."""


def history(thing: object) -> int | None:
    """How many datasets a dataset is made from: each keeps those before it, and is iterated over anew."""
    if not type(thing).__module__.startswith(DATA):
        return None
    kind = getattr(sys.modules.get(DATASETS), "DatasetV2", ())
    left: list[Any] = [thing] if isinstance(thing, kind) else []
    seen: set[int] = set()
    while left and len(seen) < LONGEST:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            left.extend(one._inputs())
    return len(seen) or None


def kept(thing: object, where: str) -> str | None:
    """The kind of a TensorFlow object."""
    del where
    if not type(thing).__module__.startswith(("tensorflow", "keras")):
        return None
    for kind, module, name in KINDS:
        owner = getattr(sys.modules.get(module), name, None)
        if owner is not None and isinstance(thing, owner):
            return kind
    return None
