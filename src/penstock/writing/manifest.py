"""What `manifest.json` says of the files beside it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.errors import StoreError
from penstock.graph.fingerprint import first_difference
from penstock.io.examples.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from penstock.io.stores.watched import Watched
from penstock.io.stores.writing import open_for_writing
from penstock.writing.layout import Layout

NAME = "manifest.json"
FORMAT = "penstock-tfrecord"
VERSION = 1
COMPLETE, WRITING = "complete", "writing"


@dataclass(frozen=True)
class Shard:
    """A file that is complete."""

    name: str
    records: int
    bytes: int
    crc32c: str
    """Of the whole file, in hexadecimal digits."""


@dataclass(frozen=True)
class Feature:
    """What all elements have in common in one feature."""

    dtype: str
    """As it was in the pipeline."""
    shape: tuple[int | None, ...] | None
    """None for a size in which elements differ; None for the whole where they differ in rank."""
    stored: str
    """The dtype in the file: int64, float32 or bytes."""
    optional: bool = False
    """Whether some elements have no values."""

    def asked(self) -> FixedLenFeature | FixedLenSequenceFeature | VarLenFeature:
        """What `ps.io.parse_example` is asked for to have it back."""
        shape = self.shape
        if shape is None or self.optional:
            return VarLenFeature(self.stored)
        if None not in shape:
            return FixedLenFeature(shape, self.stored)
        if len(shape) > 1 and None not in shape[1:]:
            return FixedLenSequenceFeature(shape[1:], self.stored, allow_missing=True)
        return VarLenFeature(self.stored)


Pipeline = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Manifest:
    """One data set: what it was made of, how it is cut, and the files that are complete."""

    pipeline: Pipeline
    """For each op, how it reads, and a digest of all that it was declared with."""
    seed: int
    """Of everything random in the run that has no seed of its own."""
    compression: str | None
    layout: Layout
    sources: Watched = field(default_factory=dict)
    """The files that the pipeline reads, as they were."""
    features: dict[str, Feature] | None = None
    """By name; None where the records are bytes of the user's own."""
    state: str = WRITING
    shards: tuple[Shard, ...] = ()

    @property
    def elements(self) -> int:
        """How many elements are in files that are complete."""
        return sum(shard.records for shard in self.shards)

    @property
    def bytes(self) -> int:
        """How large these files are."""
        return sum(shard.bytes for shard in self.shards)

    def parsing(self) -> dict[str, FixedLenFeature | FixedLenSequenceFeature | VarLenFeature]:
        """The features to call `ps.io.parse_example` with."""
        return {name: feature.asked() for name, feature in (self.features or {}).items()}

    def difference(self, theirs: Manifest) -> str:
        """What the call for `theirs` had otherwise, in words; nothing if it was the same one."""
        differs = first_difference(list(self.pipeline), list(theirs.pipeline))
        if differs:
            return differs
        for what in ("seed", "compression", "layout"):
            mine, its = getattr(self, what), getattr(theirs, what)
            if mine != its:
                return f"it was written with the {what} {its}, and this call has {mine}"
        return ""

    def save(self, folder: Path) -> None:
        """Publish it, all at once."""
        layout = {key: value for key, value in asdict(self.layout).items() if value is not None}
        features = self.features
        said = {
            "format": FORMAT,
            "version": VERSION,
            "state": self.state,
            "elements": self.elements,
            "bytes": self.bytes,
            "compression": self.compression,
            "layout": layout,
            "seed": self.seed,
            "features": None if features is None else {name: asdict(one) for name, one in features.items()},
            "pipeline": self.pipeline,
            "sources": self.sources,
            "shards": [asdict(shard) for shard in self.shards],
        }
        with open_for_writing(str(folder / NAME)) as file:
            file.write((json.dumps(said, indent=1) + "\n").encode())

    def with_shard(self, number: int, shard: Shard) -> Manifest:
        """With one more file, or another one in the place of an earlier one."""
        return replace(self, shards=(*self.shards[:number], shard, *self.shards[number + 1 :]))


def load_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None where there is none, `StoreError` where it is no such thing."""
    path = folder / NAME
    try:
        said = json.loads(path.read_bytes())
        if said["format"] != FORMAT or said["version"] != VERSION:
            raise ValueError(f"it is a {said['format']!r} of version {said['version']!r}")
        return _read(said)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError.of(error, str(path)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error) or "it is none"
        raise StoreError(
            f"{path}: expected the manifest of a data set, {FORMAT} of version {VERSION}, but "
            f"{what}. Write elsewhere, or start anew with overwrite=True.",
            file=str(path),
        ) from error


def _read(said: dict[str, Any]) -> Manifest:
    features = said["features"]
    return Manifest(
        pipeline=tuple((str(op), str(rest)) for op, rest in said["pipeline"]),
        seed=said["seed"],
        compression=said["compression"],
        layout=Layout(**said["layout"]),
        sources=dict(said.get("sources", {})),
        features=features and {name: _feature(**one) for name, one in features.items()},
        state=said["state"],
        shards=tuple(Shard(**one) for one in said["shards"]),
    )


def _feature(shape: list[int | None] | None, **rest: Any) -> Feature:
    return Feature(shape=None if shape is None else tuple(shape), **rest)
