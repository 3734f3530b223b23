"""What users say of the folders of saved datasets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.io.stores.remote import is_address
from penstock.site import user_site


def directory_of(directory: Any, call: str) -> Path:
    """The folder that the user named."""
    if not isinstance(directory, str | bytes | os.PathLike) or not os.fspath(directory):
        raise ArgumentTypeError(
            f"{call}(directory=) at {user_site()}: expected the path of a folder, got {directory!r}."
        )
    name = os.fsdecode(directory)
    if is_address(name):
        raise ArgumentError(
            f"{call}(directory=) at {user_site()}: expected a folder of this machine, as its files are "
            f"mapped, got {name!r}. Copy it here, or write it here and copy it there."
        )
    return Path(name)
