"""The call of `Dataset.save`, with its arguments checked."""

from __future__ import annotations

from typing import Any

from penstock.errors import ArgumentError
from penstock.graph import checks
from penstock.graph.fingerprint import digest_of
from penstock.graph.op import INFINITE
from penstock.graph.running import Pipeline
from penstock.io.formats.saved_folder import SHARD_BYTES
from penstock.io.formats.saved_manifest import SavedManifest, new_token
from penstock.io.stores.watched import watched
from penstock.memory.budget import Memory, resolve_budget
from penstock.ops.parts.saved_arguments import directory_of
from penstock.options import parse_bytes
from penstock.site import user_site
from penstock.writing.save import Saving
from penstock.writing.written import Written


def save(
    pipeline: Pipeline,
    directory: Any,
    *,
    shard_bytes: int | str | None,
    overwrite: bool,
    memory: Memory | None,
    seed: int | None,
) -> Written:
    """Save a dataset."""
    op, options = pipeline.op, pipeline._options
    folder = directory_of(directory, "save")
    checks.flag(overwrite, "save(overwrite=)")
    if op.cardinality == INFINITE:
        raise ArgumentError(
            f"save at {user_site()}: expected a dataset that ends, got an endless one. End it with take(n) "
            f"or repeat(n)."
        )
    if seed is None:
        seed = options.seed or 0
    return Saving(
        op=op,
        options=options,
        budget=resolve_budget(memory, options, call=f"save(memory=) at {user_site()}"),
        folder=folder,
        wanted=SavedManifest(digest_of(op), checks.count(seed, "save(seed=)"), new_token(), watched(op)),
        shard_bytes=parse_bytes(SHARD_BYTES if shard_bytes is None else shard_bytes, "save(shard_bytes=)"),
        overwrite=overwrite,
    ).run()
