"""Penstock: the input pipeline of a training loop, with a memory budget that holds."""

from penstock import errors, image, random
from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import DatasetSpec, TensorSpec
from penstock.dataset import Dataset, assert_cardinality, group_by_reducer, pad_to_cardinality
from penstock.graph.op import AUTOTUNE, INFINITE, UNKNOWN
from penstock.ops.group_by_reducer import Reducer
from penstock.options import Options

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "DatasetSpec",
    "INFINITE",
    "Options",
    "Ragged",
    "Reducer",
    "TensorSpec",
    "UNKNOWN",
    "assert_cardinality",
    "errors",
    "group_by_reducer",
    "image",
    "pad_to_cardinality",
    "random",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version  # only where it is asked for: importing Penstock is quick

        return version("penstock")
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
