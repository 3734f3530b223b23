"""What users say of files: names, columns, endings, and what stands for what is not there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph.running import Pipeline
from penstock.ops.parts.files import names_of
from penstock.site import user_site


def names_alone(filenames: Any, call: str) -> tuple[str, ...]:
    """The names of files that the user gave, where all must be known before the first one is read."""
    if isinstance(filenames, Pipeline):
        raise ArgumentTypeError(
            f"{call}(filenames=) at {user_site()}: expected a file name or a list of them, got a dataset. "
            f"Use names.flat_map(ps.{call})."
        )
    names: tuple[str, ...] = names_of(filenames, call)["filenames"]
    return names


def folder_of(folder: Any, call: str) -> str:
    """The folder that the user gave."""
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise ArgumentTypeError(
            f"{call}(folder=) at {user_site()}: expected a folder's name, got {folder!r}."
        )
    return os.fspath(folder)


def columns_of(columns: Any, call: str, argument: str = "columns") -> tuple[str, ...] | None:
    """The names of columns that the user gave, in their order; None for all."""
    if columns is None:
        return None
    if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
        raise ArgumentTypeError(
            f"{call}({argument}=) at {user_site()}: expected a list of names, got {columns!r}."
        )
    names = tuple(columns)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{call}({argument}=) at {user_site()}: expected names, got {name!r} in {list(names)!r}."
            )
    if not names or len(set(names)) < len(names):
        raise ArgumentError(
            f"{call}({argument}=) at {user_site()}: expected names, each once, got {list(names)!r}."
        )
    return names


def fills_of(fill_nulls: Any, call: str) -> tuple[tuple[str, Any], ...]:
    """What takes the place of nulls, by column."""
    if fill_nulls is None:
        return ()
    if not isinstance(fill_nulls, Mapping) or not all(isinstance(name, str) for name in fill_nulls):
        raise ArgumentTypeError(
            f"{call}(fill_nulls=) at {user_site()}: expected a dict of values by column, got {fill_nulls!r}."
        )
    return tuple(fill_nulls.items())


def parts_of(missing: Any, call: str) -> tuple[tuple[str, bytes], ...]:
    """The bytes that take the place of a part that is not there, by its extension."""
    if missing is None:
        return ()
    whole = isinstance(missing, Mapping) and all(
        isinstance(name, str) and isinstance(part, bytes) for name, part in missing.items()
    )
    if not whole:
        raise ArgumentTypeError(
            f"{call}(missing=) at {user_site()}: expected a dict of bytes by extension, got {missing!r}."
        )
    return tuple(missing.items())


def endings_of(extensions: Any, call: str) -> tuple[str, ...]:
    """What names of files may end in, in small letters, each with its dot."""
    names = columns_of(extensions, call, "extensions")
    if names is None or not all(name.startswith(".") for name in names):
        raise ArgumentError(
            f"{call}(extensions=) at {user_site()}: expected endings such as '.jpg', got {extensions!r}."
        )
    return tuple(name.lower() for name in names)
