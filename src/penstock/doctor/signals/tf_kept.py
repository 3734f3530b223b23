"""Things of TensorFlow that user code keeps: variables, tensors, datasets, iterators."""

from __future__ import annotations

import sys

VARIABLES = "tensorflow.python.ops.resource_variable_ops"
TENSORS = "tensorflow.python.framework.ops"
DATASETS = "tensorflow.python.data.ops.dataset_ops"
ITERATORS = "tensorflow.python.data.ops.iterator_ops"
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
