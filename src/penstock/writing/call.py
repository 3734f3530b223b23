"""The call of `Dataset.write_tfrecord`, with its arguments checked."""

from __future__ import annotations

from typing import Any

from penstock.graph import checks
from penstock.graph.fingerprint import digest_of
from penstock.graph.running import Pipeline
from penstock.io.stores.watched import watched
from penstock.memory.budget import Memory, resolve_budget
from penstock.site import user_site
from penstock.writing.folder import folder_of
from penstock.writing.layout import layout_of
from penstock.writing.manifest import Manifest
from penstock.writing.packing import compression_of
from penstock.writing.tfrecord import Fill, Writing
from penstock.writing.written import Written


def write_tfrecord(
    pipeline: Pipeline,
    directory: Any,
    *,
    shards: int | None,
    compression: str | None,
    shard_bytes: int | str | None,
    overwrite: bool,
    memory: Memory | None,
    seed: int | None,
    fill: Fill | None = None,
) -> Written:
    """Write a dataset, once its arguments have been checked."""
    op, options, call = pipeline.op, pipeline._options, "write_tfrecord"
    folder = folder_of(directory)
    layout = layout_of(shards, shard_bytes, op.cardinality)
    packed = compression_of(compression)
    checks.flag(overwrite, f"{call}(overwrite=)")
    if seed is not None:
        checks.count(seed, f"{call}(seed=)")
    elif options.seed is not None:
        seed = options.seed
    budget = resolve_budget(memory, options, call=f"{call}(memory=) at {user_site()}")
    return Writing(
        op=op,
        options=options,
        budget=budget,
        folder=folder,
        wanted=Manifest(digest_of(op), seed or 0, packed, layout, watched(op)),
        overwrite=overwrite,
        fill=fill,
    ).run()
