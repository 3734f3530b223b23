"""Pictures: their sizes, by their headers, and whether they are complete. Pixels are not decoded."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.cli.inspecting.findings import Column, FileFound, Finding, wider
from penstock.cli.inspecting.looking import Looking, open_file
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.values import kind_of
from penstock.errors import DataError, PenstockError
from penstock.image.codecs.jpeg_header import read_header
from penstock.image.codecs.png_chunks import SAMPLES, read_chunks

SIZES = ("height", "width", "channels")


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What a picture is."""
    found = Finding(path, "picture", unit="picture", compression=kind.compression)
    look_at(found, [path], looking)
    return found


def look_at(found: Finding, paths: Iterable[str], looking: Looking) -> None:
    """Look at pictures, and tell of them together."""
    columns = [Column(name, "int", present=0) for name in SIZES]
    kinds: dict[str, int] = {}
    count = total = 0
    smallest, largest = 1 << 62, 0
    for path in paths:
        if looking.records is not None and count >= looking.records:
            found.whole = False
            break
        count += 1
        try:
            with open_file(path, looking.progress) as stored:
                data = stored.read(0, stored.size)
        except PenstockError as error:
            found.wrong(path, 0, str(error))
            continue
        total += len(data)
        smallest, largest = min(smallest, len(data)), max(largest, len(data))
        kind = kind_of(data)
        kinds[kind] = kinds.get(kind, 0) + 1
        sizes = _sizes(found, path, kind, data)
        if len(found.samples) < looking.samples:
            found.samples.append(
                {"file": path, "picture": kind + " " + " x ".join(str(one) for one in sizes)}
            )
        for column, size in zip(columns, sizes, strict=False):
            column.present = (column.present or 0) + 1
            column.range = wider(column.range, (size, size))
    found.columns = columns
    found.details["kinds"] = kinds
    found.records = count
    if largest:
        found.record_bytes = (smallest, total / count, largest)
    found.files = [FileFound(found.path, total, count, found.damaged)]


def _sizes(found: Finding, path: str, kind: str, data: bytes) -> tuple[int, ...]:
    """Height, width and channels, as far as they are known."""
    try:
        if kind == "JPEG":
            header = read_header(memoryview(data), "inspect")
            if b"\xff\xd9" not in data[-4096:]:
                found.wrong(path, len(data), "the JPEG is cut off: it has no mark of its end")
            return header.height, header.width, header.components
        if kind == "PNG":
            chunks = read_chunks(memoryview(data), "inspect")
            return chunks.height, chunks.width, SAMPLES[chunks.colour]
        if kind == "BMP":
            return abs(int.from_bytes(data[22:26], "little", signed=True)), int.from_bytes(
                data[18:22], "little"
            )
        if kind == "GIF":
            return int.from_bytes(data[8:10], "little"), int.from_bytes(data[6:8], "little")
    except DataError as error:
        said = str(error).removeprefix("inspect: ")
        byte = re.search(r"byte (\d+)", said)
        found.wrong(path, int(byte[1]) if byte else 0, said)
        return ()
    if kind not in ("WebP",):
        found.wrong(path, 0, f"expected a picture, got bytes that begin with {data[:8]!r}")
    return ()
