"""What the manifest of a folder says of the saved blocks in it."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.blocks.spec import Spec
from penstock.blocks.structure import Structure
from penstock.errors import StoreError
from penstock.graph.fingerprint import first_difference
from penstock.io.formats.saved_structure import (
    leaves_of_said,
    said_of_leaves,
    said_of_structure,
    structure_of_said,
)
from penstock.io.formats.saved_writer import SavedShard
from penstock.io.stores.watched import Watched
from penstock.io.stores.writing import open_for_writing

NAME = "manifest.json"
FORMAT = "penstock-saved"
VERSION = 1
COMPLETE, WRITING = "complete", "writing"

Pipeline = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SavedManifest:
    """One saved dataset: what it was made of, what its elements are, and the files that are complete."""

    pipeline: Pipeline
    """For each op, how it reads, and a digest of all that it was declared with."""
    seed: int | None
    """Of everything random in the run that has no seed of its own."""
    token: str
    """What the names of its files begin with."""
    sources: Watched = field(default_factory=dict)
    """The files that the pipeline reads, as they were."""
    structure: Any = "leaf"
    """Of the elements, as plain data."""
    leaves: list[Any] | None = None
    """The specs of their leaves, as plain data; None where no element has come that tells."""
    state: str = WRITING
    shards: tuple[SavedShard, ...] = ()

    @property
    def rows(self) -> int:
        """How many elements are in files that are complete."""
        return sum(shard.rows for shard in self.shards)

    @property
    def bytes(self) -> int:
        """How large these files are."""
        return sum(shard.bytes for shard in self.shards)

    def name(self, number: int) -> str:
        """What the file of that number is called."""
        return f"{self.token}-{number:05}.blocks"

    def found_structure(self) -> Structure:
        """The structure of the elements."""
        return structure_of_said(self.structure)

    def element_spec(self) -> Spec | None:
        """The spec of the elements, if there is one."""
        structure = self.found_structure()
        return None if self.leaves is None else Spec(structure, leaves_of_said(self.leaves, structure))

    def with_elements(self, spec: Spec) -> SavedManifest:
        """With what is known of the elements; `NotSaved` where such elements cannot be saved."""
        return replace(self, structure=said_of_structure(spec.structure), leaves=said_of_leaves(spec))

    def save(self, folder: Path) -> None:
        """Publish it, all at once."""
        body = json.dumps(asdict(self), indent=1)
        said = {
            "format": FORMAT,
            "version": VERSION,
            "crc32": zlib.crc32(body.encode()),
            "saved": json.loads(body),
        }
        with open_for_writing(str(folder / NAME)) as file:
            file.write((json.dumps(said, indent=1) + "\n").encode())


def difference(mine: Pipeline, its: Pipeline) -> str:
    """What another pipeline has otherwise, in words; nothing if it is the same."""
    return first_difference(list(mine), list(its))


def new_token() -> str:
    """What no file's name begins with yet."""
    return f"saved-{os.urandom(4).hex()}"


def load_manifest(folder: Path) -> SavedManifest | None:
    """The manifest of a folder; None where there is none, `StoreError` where it is no such thing."""
    path = folder / NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError.of(error, str(path)) from error
    try:
        said = json.loads(data)
        if str(said["format"]).endswith("tfrecord"):
            raise StoreError(
                f"{folder}: expected a saved dataset, found the files of write_tfrecord. Read them with "
                f'ps.TFRecordDataset: ps.Dataset.list_files("{folder}/*.tfrecord*") gives their names. To '
                "save a dataset, name another folder.",
                file=str(path),
            )
        if said["format"] != FORMAT or said["version"] != VERSION:
            raise ValueError(f"it is a {said['format']!r} of version {said['version']!r}")
        if zlib.crc32(json.dumps(said["saved"], indent=1).encode()) != said["crc32"]:
            raise ValueError("it does not match its checksum")
        return _read(said["saved"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error) or "it is none"
        raise StoreError(
            f"{path}: expected the manifest of a saved dataset, {FORMAT} of version {VERSION}, but "
            f"{what}. Name another folder; or, if it is damaged, delete it and save again.",
            file=str(path),
        ) from error


def _read(said: dict[str, Any]) -> SavedManifest:
    manifest = SavedManifest(
        pipeline=tuple((str(op), str(rest)) for op, rest in said["pipeline"]),
        seed=said["seed"],
        token=str(said["token"]),
        sources=dict(said.get("sources", {})),
        structure=said["structure"],
        leaves=said["leaves"],
        state=str(said["state"]),
        shards=tuple(
            SavedShard(str(one["name"]), int(one["rows"]), int(one["bytes"])) for one in said["shards"]
        ),
    )
    manifest.element_spec()
    for number, shard in enumerate(manifest.shards):
        if shard.name != manifest.name(number) or shard.rows < 0 or "/" in shard.name:
            raise ValueError(f"it has a file {shard.name!r}")
    return manifest
