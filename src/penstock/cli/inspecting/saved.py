"""What `Dataset.save` writes: the elements of its blocks, each block held to its checksum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn, DenseColumn, RaggedColumn
from penstock.blocks.spec import dtype_name
from penstock.cli.inspecting.findings import Column, FileFound, Finding, wider
from penstock.cli.inspecting.looking import Looking
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.values import show
from penstock.errors import StoreError
from penstock.io.formats.saved import SavedError
from penstock.io.formats.saved_file import Checked, SavedFile
from penstock.io.formats.saved_manifest import COMPLETE, SavedManifest, load_manifest

UNFINISHED = "not complete: it is being written, or that was interrupted"


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in one file of saved blocks; the manifest beside it says what its elements are."""
    manifest = load_manifest(Path(path).parent)
    found = Finding(path, "saved dataset", unit="element", compression=kind.compression)
    if manifest is None:
        found.error = "the manifest.json that says what its elements are is not beside it"
        return found
    _Saved(found, manifest, looking).add(Path(path), None)
    return found


def inspect_saved(folder: str, looking: Looking) -> Finding:
    """What is in the folder of a saved dataset."""
    found = Finding(folder, "saved dataset", unit="element")
    manifest = load_manifest(Path(folder))
    assert manifest is not None
    found.details["state"] = "complete" if manifest.state == COMPLETE else UNFINISHED
    found.details["files"] = len(manifest.shards)
    found.records = 0
    saved = _Saved(found, manifest, looking)
    for shard in manifest.shards:
        saved.add(Path(folder, shard.name), shard.rows)
    return found


class _Saved:
    """Some files of one saved dataset."""

    def __init__(self, found: Finding, manifest: SavedManifest, looking: Looking) -> None:
        self._found = found
        self._looking = looking
        self._structure = manifest.found_structure()
        spec = manifest.element_spec()
        self._names = [path or "(element)" for path in self._structure.paths()]
        for i, name in enumerate(self._names):
            leaf = None if spec is None else spec.leaves[i]
            dtype = "several" if leaf is None else dtype_name(leaf.dtype)
            found.columns.append(Column(name, dtype, shape=None if leaf is None else leaf.shape))

    def add(self, path: Path, rows: int | None) -> None:
        """Look at one more file, which should have so many rows."""
        found, before, seen = self._found, self._found.damaged, 0
        size = path.stat().st_size if path.exists() else 0
        try:
            file = SavedFile(path, self._structure, Checked(), verify=True)
        except SavedError as error:
            found.wrong(str(path), error.offset, str(error))
        except StoreError as error:
            found.wrong(str(path), 0, str(error))
        else:
            try:
                seen = self._blocks(file)
                if rows is not None and file.rows != rows:
                    found.wrong(
                        str(path), 0, f"expected {rows:,} rows, as the manifest says, got {file.rows:,}"
                    )
            finally:
                file.close()
        found.records = (found.records or 0) + seen
        found.files.append(FileFound(str(path), size, seen, found.damaged - before))

    def _blocks(self, file: SavedFile) -> int:
        seen, most = 0, self._looking.records
        for number in range(len(file.index.table)):
            rows = int(file.index.rows[number])
            if most is not None:
                if seen >= most:
                    self._found.whole = False
                    break
                self._found.whole = self._found.whole and rows <= most - seen
                rows = min(rows, most - seen)
            self._looking.progress.step(file.path, int(file.index.starts[number]), int(file.index.starts[-1]))
            try:
                block = file.part(number, 0, rows, np.empty)
            except SavedError as error:
                self._found.wrong(file.path, error.offset, str(error))
                continue
            finally:
                seen += rows
            self._take(block)
        return seen

    def _take(self, block: Block) -> None:
        found = self._found
        for column, data in zip(found.columns, block.columns, strict=True):
            _widen(column, data)
        for row in range(min(block.rows, self._looking.samples - len(found.samples))):
            leaves = [column.item(row) for column in block.columns]
            found.samples.append({name: show(leaf) for name, leaf in zip(self._names, leaves, strict=True)})


def _widen(column: Column, data: Any) -> None:
    if isinstance(data, BytesColumn):
        lengths = np.diff(data.offsets)
        if len(lengths):
            column.bytes = wider(column.bytes, (int(lengths.min()), int(lengths.max())))
        return
    values = (
        data.array
        if isinstance(data, DenseColumn)
        else data.values
        if isinstance(data, RaggedColumn)
        else None
    )
    if values is None or values.dtype.kind not in "iuf" or not values.size:
        return
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    if values.size:
        column.range = wider(column.range, (values.min().item(), values.max().item()))
