"""Penstock: the input pipeline of a training loop, with a memory budget that holds."""

from typing import Any as _Any

from penstock import errors, image, io, random
from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import DatasetSpec, TensorSpec
from penstock.dataset import Dataset, assert_cardinality, group_by_reducer, pad_to_cardinality
from penstock.engine.readers import reshard
from penstock.graph.op import AUTOTUNE, INFINITE, UNKNOWN
from penstock.memory.shared import Budget
from penstock.ops.group_by_reducer import Reducer
from penstock.options import Options
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


def __getattr__(name: str) -> _Any:
    if name == "doctor":
        from importlib import import_module  # a tool beside the pipeline: loaded where it is asked for

        return import_module("penstock.doctor")
    if name == "__version__":
        from importlib.metadata import version  # only where it is asked for: importing Penstock is quick

        return version("penstock")
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
