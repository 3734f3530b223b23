"""Penstock: the input pipeline of a training loop, with a memory budget that holds."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from penstock import errors
from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import DatasetSpec, TensorSpec
from penstock.dataset import Dataset, assert_cardinality, group_by_reducer, pad_to_cardinality
from penstock.engine.readers import reshard
from penstock.graph.op import AUTOTUNE, INFINITE, UNKNOWN
from penstock.memory.shared import Budget
from penstock.ops.group_by_reducer import Reducer
from penstock.options import Options

if _TYPE_CHECKING:
    from penstock import image, io, random
    from penstock.sources import (
        ArrayRecordDataset,
        ArrowDataset,
        CsvDataset,
        FixedLengthRecordDataset,
        ImageFolderDataset,
        JsonLinesDataset,
        NpyDataset,
        ParquetDataset,
        TextLineDataset,
        TFRecordDataset,
        WebDataset,
        from_ray,
        from_tensorflow,
    )

__all__ = [
    "AUTOTUNE",
    "ArrayRecordDataset",
    "ArrowDataset",
    "Budget",
    "CsvDataset",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "INFINITE",
    "ImageFolderDataset",
    "JsonLinesDataset",
    "NpyDataset",
    "Options",
    "ParquetDataset",
    "Ragged",
    "Reducer",
    "TFRecordDataset",
    "TensorSpec",
    "TextLineDataset",
    "UNKNOWN",
    "WebDataset",
    "assert_cardinality",
    "errors",
    "from_ray",
    "from_tensorflow",
    "group_by_reducer",
    "image",
    "io",
    "pad_to_cardinality",
    "random",
    "reshard",
]


_ROOMS = {"doctor", "image", "io", "random"}
"""Loaded where they are first asked for, as the sources are: importing Penstock is quick."""


def __getattr__(name: str) -> _Any:
    from importlib import import_module, metadata

    if name in _ROOMS:  # which also sets it here
        return import_module(f"penstock.{name}")
    if name in __all__:  # what is not here already is a source
        globals()[name] = found = getattr(import_module("penstock.sources"), name)
        return found
    if name == "__version__":
        return metadata.version("penstock")
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, *_ROOMS})
