"""The names of the features that a tf.train.Example has, for messages."""

from __future__ import annotations

from collections.abc import Iterator

SHOWN = 8
"""So many names are shown."""


def names_in(record: bytes | memoryview) -> str:
    """Which features an example has, in words; nothing of one whose bytes are odd, or that has none.

    >>> import penstock as ps
    >>> names_in(ps.io.serialize_example({"size": 3, "label": 1}))
    "'label' and 'size'"
    """
    try:
        found = [
            bytes(key).decode(errors="backslashreplace")
            for features in _fields(memoryview(record), 1)
            for entry in _fields(features, 1)
            for key in _fields(entry, 1)
        ]
    except (ValueError, IndexError):
        return ""
    names = [repr(name) for name in sorted(set(found))]
    if len(names) > SHOWN:
        names = [*names[: SHOWN - 1], f"{len(names) - SHOWN + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _fields(message: memoryview, number: int) -> Iterator[memoryview]:
    """The fields of that number in a message; `ValueError` where there is anything but bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 != 2:
            raise ValueError(tag)
        size, at = _varint(message, at)
        if tag >> 3 == number:
            yield message[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at
