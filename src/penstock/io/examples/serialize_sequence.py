"""`serialize_sequence_example`: one element at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.errors import ArgumentTypeError
from penstock.io.examples.serialize import serialize_example


def serialize_sequence_example(
    context: Mapping[str, Any], feature_lists: Mapping[str, Iterable[Any]]
) -> bytes:
    """Serialize two dicts as a `tf.train.SequenceExample`: its context, and its lists of features.

    Values are what `serialize_example` takes; each item of a list is one feature.

    >>> import penstock as ps
    >>> ps.io.serialize_sequence_example({}, {"x": [1, 2]})
    b'\\n\\x00\\x12...'
    """
    if not isinstance(context, Mapping) or not isinstance(feature_lists, Mapping):
        raise ArgumentTypeError(
            "ps.io.serialize_sequence_example: expected two dicts, the context and the feature lists, got a "
            f"{type(context).__name__} and a {type(feature_lists).__name__}."
        )
    entries = b""
    for name in sorted(feature_lists, key=str.encode):
        steps = b"".join(_field(1, _feature(value)) for value in feature_lists[name])
        entries += _field(1, _field(1, name.encode()) + _field(2, steps))
    return serialize_example(context) + _field(2, entries)


def _feature(value: Any) -> bytes:
    """The bytes of a value's Feature: those of an Example, without what is around it."""
    example = serialize_example({"": value})
    # The key is empty, so that 0a 00 stands before the feature: three fields around it, each with a length.
    at = _past_length(example, 1)
    at = _past_length(example, at + 1) + 2
    return example[_past_length(example, at + 1) :]


def _past_length(raw: bytes, at: int) -> int:
    while raw[at] >= 128:
        at += 1
    return at + 1


def _field(number: int, body: bytes) -> bytes:
    size, head = len(body), bytearray([number << 3 | 2])
    while size >= 128:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + body
