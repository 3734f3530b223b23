"""Data where people keep it: `ps.io`, what reads, parses, decodes and writes it."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from penstock.io.examples.features import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        SparseFeature,
        VarLenFeature,
    )
    from penstock.io.examples.parse import parse_example, parse_single_example
    from penstock.io.examples.parse_sequence import parse_sequence_example, parse_single_sequence_example
    from penstock.io.examples.ragged_feature import RaggedFeature
    from penstock.io.examples.serialize import serialize_example
    from penstock.io.examples.serialize_sequence import serialize_sequence_example
    from penstock.io.examples.sparse import SparseValue
    from penstock.io.formats.image_folder import class_names
    from penstock.io.jpeg import decode_and_crop_jpeg, decode_jpeg, extract_jpeg_shape
    from penstock.io.picture import decode_image
    from penstock.io.png import decode_png
    from penstock.io.raw import decode_raw
    from penstock.io.tfrecord_options import TFRecordOptions
    from penstock.io.tfrecord_writer import TFRecordWriter
    from penstock.io.whole_file import read_file

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "SparseValue",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "class_names",
    "decode_and_crop_jpeg",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "extract_jpeg_shape",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "read_file",
    "serialize_example",
    "serialize_sequence_example",
]

# Where each name lives: loaded when it is first asked for, since the engine needs only `io.stores`.
_HOMES = {
    "FixedLenFeature": "examples.features",
    "FixedLenSequenceFeature": "examples.features",
    "RaggedFeature": "examples.ragged_feature",
    "SparseFeature": "examples.features",
    "SparseValue": "examples.sparse",
    "TFRecordOptions": "tfrecord_options",
    "TFRecordWriter": "tfrecord_writer",
    "VarLenFeature": "examples.features",
    "class_names": "formats.image_folder",
    "decode_and_crop_jpeg": "jpeg",
    "decode_image": "picture",
    "decode_jpeg": "jpeg",
    "decode_png": "png",
    "decode_raw": "raw",
    "extract_jpeg_shape": "jpeg",
    "parse_example": "examples.parse",
    "parse_sequence_example": "examples.parse_sequence",
    "parse_single_example": "examples.parse",
    "parse_single_sequence_example": "examples.parse_sequence",
    "read_file": "whole_file",
    "serialize_example": "examples.serialize",
    "serialize_sequence_example": "examples.serialize_sequence",
}


def __getattr__(name: str) -> _Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock.io' has no attribute {name!r}")
    globals()[name] = found = getattr(_import_module(f"penstock.io.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
