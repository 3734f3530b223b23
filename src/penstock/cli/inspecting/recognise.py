"""What kind of file it is: by its first bytes, and where these say nothing, by its name."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from pathlib import PurePosixPath

from penstock.cli.inspecting.looking import NAMED
from penstock.cli.inspecting.values import is_text, kind_of
from penstock.errors import DataError
from penstock.io.formats.saved import HEAD_MAGIC
from penstock.io.stores.decompress import stream_of
from penstock.io.stores.opening import open_stored
from penstock.io.stores.stored import Stored
from penstock.kernels.crc32c import masked, plain_crc32c

HEAD = 64 << 10
"""So many bytes are looked at."""
RIEGELI = bytes.fromhex("83af70d10d884a3f")
"""How a file of records begins that the library Riegeli has written, as ArrayRecord files are."""
PICTURES = ("JPEG", "PNG", "GIF", "BMP", "WebP")
PACKED = {"gz": "GZIP", "gzip": "GZIP", "tgz": "GZIP", "zlib": "ZLIB", "zst": "ZSTD", "zstd": "ZSTD"}
NAMES = {
    "tfrecord": "TFRecord",
    "tfrecords": "TFRecord",
    "tfrec": "TFRecord",
    "parquet": "Parquet",
    "pq": "Parquet",
    "arrow": "Arrow",
    "arrows": "Arrow",
    "feather": "Arrow",
    "ipc": "Arrow",
    "npy": "NumPy",
    "npz": "NumPy",
    "array_record": "ArrayRecord",
    "arrayrecord": "ArrayRecord",
    "csv": "CSV",
    "tsv": "CSV",
    "jsonl": "JSON lines",
    "ndjson": "JSON lines",
    "tar": "tar",
    "tgz": "tar",
    "txt": "text",
    "text": "text",
    "md": "text",
    "log": "text",
    "jpg": "picture",
    "jpeg": "picture",
    "png": "picture",
    "gif": "picture",
    "bmp": "picture",
    "webp": "picture",
}
SHARD = re.compile(r"-\d{3,}-of-\d{3,}(\.|$)")
"""How TensorFlow's tools number the files of a data set."""


@dataclass(frozen=True)
class Kind:
    """The format of a file, and how it is packed; no format where it is not known."""

    format: str
    compression: str | None = None


def recognise(path: str) -> Kind:
    """What a file is. `StoreError` if it cannot be opened."""
    with open_stored(path) as stored:
        head = stored.read(0, HEAD)
        compression = compression_of(head)
        if compression:
            head = _unpacked(stored, compression)
    named = format_of_name(path)
    found = format_of_bytes(head, named)
    if not found and compression and not named:
        named = "TFRecord"  # nothing else is packed as a whole without saying so in its name
    return Kind(found or named, compression)


def compression_of(head: bytes) -> str | None:
    """How a file is packed, as `compression_type` calls it."""
    if head[:3] == b"\x1f\x8b\x08":
        return "GZIP"
    if head[:4] == b"\x28\xb5\x2f\xfd":
        return "ZSTD"
    deflate = len(head) > 2 and head[0] == 0x78 and (head[0] << 8 | head[1]) % 31 == 0 and not head[1] & 32
    return "ZLIB" if deflate and not is_text(head[:256], cut=True) else None


def _unpacked(stored: Stored, compression: str) -> bytes:
    """The first bytes of what a file holds; as many as can be unpacked."""
    out = bytearray(HEAD)
    stream = stream_of(stored, compression, NAMED)
    try:
        return bytes(out[: stream.read_into(memoryview(out))])
    except DataError:
        return b""


def format_of_bytes(head: bytes, named: str) -> str:
    """The format of a file that begins so; nothing if that is not known."""
    for begins, found in (
        (b"PAR1", "Parquet"),
        (b"ARROW1", "Arrow"),
        (b"\x93NUMPY", "NumPy"),
        (RIEGELI, "ArrayRecord"),
        (HEAD_MAGIC, "saved blocks"),
    ):
        if head.startswith(begins):
            return found
    if is_frame(head):
        return "TFRecord"
    if head[:4] == b"PK\x03\x04" and re.search(rb"^PK\x03\x04.{26}[^\0]*\.npy", head[:400], re.DOTALL):
        return "NumPy"
    if is_tar(head):
        return "tar"
    if kind_of(head) in PICTURES:
        return "picture"
    if head[:4] == b"\xff\xff\xff\xff" and len(head) > 8 and named == "Arrow":
        return "Arrow"
    if head and is_text(head, cut=len(head) == HEAD):
        return format_of_text(head.decode("utf-8-sig", errors="ignore"), named)
    return ""


def is_frame(head: bytes) -> bool:
    """Whether these bytes begin with the length of a record and its checksum."""
    if len(head) < 12:
        return False
    length, crc = struct.unpack_from("<QI", head)
    return bool(length < 1 << 61 and masked(plain_crc32c(head[:8])) == crc)


def is_tar(head: bytes) -> bool:
    """Whether these bytes begin with the header of a member."""
    if len(head) < 512 or head[0] == 0:
        return False
    said = head[148:156].strip(b" \0")
    return (
        said.isdigit() and sum(head[:148]) + sum(head[156:512]) + 256 == int(said, 8)
        if _octal(said)
        else False
    )


def _octal(said: bytes) -> bool:
    return bool(said) and all(48 <= digit <= 55 for digit in said)


def format_of_text(text: str, named: str) -> str:
    """JSON lines, CSV or plain text."""
    lines = text.splitlines()[:20]
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip()[:1] in ("{", "[") and named in ("", "JSON lines", "text"):
        try:
            json.loads(first)
        except ValueError:
            return named if named == "JSON lines" else "text"
        return "JSON lines"
    if named in ("CSV", "JSON lines", "text", "TFRecord"):
        return named
    counts = {line.count(",") for line in lines[:-1] if line.strip()}
    return "CSV" if len(lines) > 2 and len(counts) == 1 and min(counts) > 0 else "text"


def format_of_name(path: str) -> str:
    """The format that the name of a file says it has; nothing if it says none."""
    name = PurePosixPath(path).name.lower()
    endings = [one for one in name.split(".")[1:] if one not in PACKED or one == "tgz"]
    found = NAMES.get(endings[-1], "") if endings else ""
    if not found and ("tfrecord" in name or SHARD.search(name)):
        return "TFRecord"
    return found
