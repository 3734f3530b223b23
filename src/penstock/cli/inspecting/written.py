"""What `Dataset.write_tfrecord` writes: a folder of TFRecord files held to its manifest."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.cli.inspecting.findings import Finding
from penstock.cli.inspecting.looking import Looking, open_file
from penstock.cli.inspecting.saved import UNFINISHED
from penstock.cli.inspecting.tfrecord import TFRecords
from penstock.errors import StoreError
from penstock.kernels.crc32c_after import crc32c_after
from penstock.writing.manifest import COMPLETE, Feature, Manifest, Shard, load_manifest

PIECE = 1 << 20


def inspect_written(folder: str, looking: Looking) -> Finding:
    """What is in a folder that was written as a data set."""
    manifest = load_manifest(Path(folder))
    assert manifest is not None
    records = TFRecords(folder, looking)
    found = records.found
    found.details["state"] = "complete" if manifest.state == COMPLETE else UNFINISHED
    for shard in manifest.shards:
        _look(records, folder, manifest, shard, looking)
    found = records.finding()
    found.compression = manifest.compression
    if manifest.features is not None:
        found.details["written_as"] = {name: _said(one) for name, one in manifest.features.items()}
        found.code = _code(found.code, manifest.features)
    return found


def _look(records: TFRecords, folder: str, manifest: Manifest, shard: Shard, looking: Looking) -> None:
    path, found = str(Path(folder, shard.name)), records.found
    try:
        size, crc = _sum(path, looking) if looking.records is None else (None, "")
        records.add(path, manifest.compression)
    except StoreError as error:
        found.wrong(path, 0, f"a file that the manifest lists cannot be read: {error}")
        return
    if size is None:
        return
    count = found.files[-1].records
    if size != shard.bytes:
        found.wrong(
            path,
            min(size, shard.bytes),
            f"expected {shard.bytes:,} bytes, as the manifest says, got {size:,}",
        )
    elif count != shard.records:
        found.wrong(path, 0, f"expected {shard.records:,} records, as the manifest says, got {count:,}")
    elif crc != shard.crc32c and not found.files[-1].damaged:
        found.wrong(path, 0, f"expected the checksum {shard.crc32c}, as the manifest says, got {crc}")


def _sum(path: str, looking: Looking) -> tuple[int, str]:
    """The size of a file, and its sum as manifests have it."""
    crc, at = 0, 0
    with open_file(path, looking.progress) as stored:
        while piece := stored.read(at, PIECE):
            crc = crc32c_after(crc, piece)
            at += len(piece)
    return at, f"{crc:08x}"


def _said(feature: Feature) -> str:
    shape = "any rank" if feature.shape is None else str(list(feature.shape)).replace("None", "?")
    return f"{feature.dtype}{shape}" + (" or none" if feature.optional else "")


def _code(code: str, features: dict[str, Feature]) -> str:
    """The code with the shapes that the manifest knows, and records do not tell."""
    for name, feature in features.items():
        shape = feature.shape
        if shape is None or feature.optional or None in shape:
            continue
        line = re.escape(f"    {name!r}: ps.io.") + r".*"
        made = f'    {name!r}: ps.io.FixedLenFeature({list(shape)}, "{feature.stored}"),'
        code = re.sub(line, lambda _, made=made: made, code)  # type: ignore[misc]
    return code
