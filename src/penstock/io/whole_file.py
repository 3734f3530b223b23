"""`read_file`: all bytes of a file."""

from __future__ import annotations

import os
from typing import Any

from penstock.errors import ArgumentTypeError
from penstock.io.stores.opening import open_stored


def read_file(filename: Any) -> bytes:
    """Read all of a file of this machine or of a store, as `tf.io.read_file` does.

    In a `map` over names, files are read side by side with `num_parallel_calls=ps.AUTOTUNE`.

    >>> import penstock as ps
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "name.txt").write_bytes(b"Ada")
    ...     list(ps.Dataset.list_files(f"{folder}/*.txt").map(ps.io.read_file))
    [b'Ada']
    """
    if not isinstance(filename, str | bytes | os.PathLike):
        raise ArgumentTypeError(
            f"ps.io.read_file: expected the name of a file, got a {type(filename).__name__}."
        )
    with open_stored(os.fsdecode(filename)) as stored:
        return stored.read(0, stored.size)
