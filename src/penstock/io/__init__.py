"""Data where people keep it: `ps.io`, what reads, parses, decodes and writes it."""

from penstock.io.decode_image import decode_image
from penstock.io.decode_jpeg import decode_and_crop_jpeg, decode_jpeg, extract_jpeg_shape
from penstock.io.decode_png import decode_png
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
from penstock.io.raw import decode_raw
from penstock.io.tfrecord_options import TFRecordOptions
from penstock.io.tfrecord_writer import TFRecordWriter

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
    "serialize_example",
    "serialize_sequence_example",
]
