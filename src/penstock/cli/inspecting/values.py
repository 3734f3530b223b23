"""Values as people read them: short, on one line, with what cannot be printed escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penstock.memory.sizes import show_bytes

TEXT = 60
"""So many characters of a string are shown."""
NUMBERS = 6
"""So many numbers of a list are shown."""
KINDS = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"\x93NUMPY", "NumPy array"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"OggS", "Ogg"),
    (b"fLaC", "FLAC"),
    (b"ID3", "MP3"),
)


def kind_of(data: bytes) -> str:
    """What bytes look like: a kind of file, text, or nothing that is known.

    >>> kind_of(b"GIF89a..."), kind_of("grün".encode()), kind_of(bytes(4))
    ('GIF', 'text', 'bytes')
    """
    if data[:4] == b"RIFF":
        return {b"WEBP": "WebP", b"WAVE": "WAV"}.get(data[8:12], "bytes")
    for begins, kind in KINDS:
        if data.startswith(begins) and (kind != "BMP" or len(data) >= 26):
            return kind
    return "text" if is_text(data[:4096], cut=len(data) > 4096) else "bytes"


def is_text(data: bytes, *, cut: bool = False) -> bool:
    """Whether these are UTF-8 of characters that people write; `cut`: the last one may be incomplete."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if not cut or error.start < len(data) - 3:
            return False
        text = data[: error.start].decode()
    return all(char >= " " or char in "\t\n\r\f" for char in text)


def show(value: Any) -> str:
    r"""A value of a sample.

    >>> show(b"caf\xc3\xa9"), show(bytes(70_000)), show([1, 2]), show(0.1)
    ("b'caf\\xc3\\xa9'", "b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00...' (68.4 KiB)", '[1, 2]', '0.1')
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value))
    if isinstance(value, str):
        return repr(value if len(value) <= TEXT else value[: TEXT - 3] + "...")
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{key!r}: {show(one)}" for key, one in few(value.items())) + _more(value) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(show(one) for one in few(value)) + _more(value) + "]"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= TEXT else text[: TEXT - 3] + "..."


def few(values: Iterable[Any]) -> list[Any]:
    """The first of some values."""
    return [one for one, _ in zip(values, range(NUMBERS), strict=False)]


def _more(values: Any) -> str:
    return f", ... {len(values):,} in all" if len(values) > NUMBERS else ""


def _bytes(data: bytes) -> str:
    size = f" ({show_bytes(len(data))})" if len(data) > TEXT else ""
    room = TEXT if is_text(data[:TEXT], cut=True) else TEXT // 2 if len(data) <= TEXT // 2 else 8
    return (repr(data) if len(data) <= room else repr(data[:room])[:-1] + "...'") + size


def _array(value: Any) -> str:
    if value.ndim == 0:
        return show(value.item())
    if value.ndim == 1 and value.size <= NUMBERS:
        return show(value.tolist())
    return (
        f"{value.dtype}{list(value.shape)} "
        + show(value.reshape(-1)[: NUMBERS + 1].tolist()[:NUMBERS])[:-1]
        + ", ...]"
    )


def look(strings: Sequence[bytes]) -> str:
    """What some strings look like, the most frequent first."""
    kinds: dict[str, int] = {}
    for one in strings:
        if one:
            kinds[kind_of(one)] = kinds.get(kind_of(one), 0) + 1
    return ", ".join(sorted(kinds, key=lambda kind: -kinds[kind]))
