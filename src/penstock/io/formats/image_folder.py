"""Folders of pictures: one folder a class, found once and then known by number."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.errors import StoreError
from penstock.memory.account import Account

EXTENSIONS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")
"""What the names of pictures end in, in small or large letters."""
STEP = 256 << 10
"""Memory for names is asked for in steps of so many bytes."""
LISTED = 150
"""About what one name takes while a folder is being listed."""
REMEDY = "That is the list of files. Read the folder in parts, or put the pictures into archives."


def class_names(folder: str | os.PathLike[str]) -> list[str]:
    """The names of the classes of a folder of pictures: of the folders in it, sorted.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import penstock as ps
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("dog", "cat"):
    ...         (Path(folder) / name).mkdir()
    ...     ps.io.class_names(folder)
    ['cat', 'dog']
    """
    try:
        with os.scandir(folder) as entries:
            return sorted(one.name for one in entries if one.is_dir() and not one.name.startswith("."))
    except OSError as error:
        raise StoreError.of(error, os.fspath(folder)) from error


class Listing:
    """The pictures of a folder by number: a label and a name each, and no Python object."""

    def __init__(
        self, folder: str, classes: Sequence[str] | None, extensions: tuple[str, ...], account: Account
    ) -> None:
        self._folder = folder
        self._account = account
        self._reserved = 0
        self._classes = list(class_names(folder) if classes is None else classes)
        self._names = bytearray()
        self.others = 0
        """Files that are no pictures by their names, and are passed over."""
        self.other = ""
        """The first of them."""
        counts: list[int] = []
        sizes = array("q")
        for name in self._classes:
            before = len(sizes)
            for one in self._files(name, extensions):
                self._names += one
                sizes.append(len(one))
                self._reserve(len(self._names) + 16 * len(sizes))
            counts.append(len(sizes) - before)
        self._ends = np.cumsum(np.frombuffer(sizes, np.int64) if sizes else [], dtype=np.int64)
        self._starts_of_classes = np.cumsum(counts, dtype=np.int64)
        if not sizes:
            raise StoreError(
                f"{folder}: expected folders of classes with pictures in them, whose names end in "
                f"{', '.join(extensions)}, got none in {self._classes or 'no folder at all'}.",
                file=folder,
            )

    def __len__(self) -> int:
        return len(self._ends)

    def path(self, number: int) -> str:
        """Where a picture is."""
        start = int(self._ends[number - 1]) if number else 0
        name = os.fsdecode(bytes(self._names[start : int(self._ends[number])]))
        return str(Path(self._folder, self._classes[int(self.labels(np.array([number]))[0])], name))

    def labels(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the classes of these pictures."""
        return np.searchsorted(self._starts_of_classes, index, "right").astype(np.int64)

    def _files(self, name: str, extensions: tuple[str, ...]) -> Iterator[bytes]:
        """The pictures of a class, also in folders of its folder: each folder's own come first, sorted.

        What is hidden was put there by programs: copies in `.ipynb_checkpoints`, notes of macOS in `._1.jpg`.
        """
        top = Path(self._folder, name)
        waiting = [""]
        while waiting:
            within = waiting.pop()
            files, folders = self._entries(top / within)
            waiting += [os.path.join(within, one) for one in sorted(folders, reverse=True)]  # noqa: PTH118
            for one in sorted(files):
                if one.lower().endswith(extensions):
                    yield os.fsencode(os.path.join(within, one))  # noqa: PTH118
                else:
                    self.others += 1
                    self.other = self.other or str(top / within / one)

    def _entries(self, folder: Path) -> tuple[list[str], list[str]]:
        files: list[str] = []
        folders: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for one in entries:
                    if one.name.startswith("."):
                        continue
                    (folders if one.is_dir(follow_symlinks=False) else files).append(one.name)
                    if len(files) % 4096 == 0:
                        self._account.need(len(files) * LISTED, REMEDY)
        except OSError as error:
            raise StoreError.of(error, str(folder)) from error
        return files, folders

    def _reserve(self, size: int) -> None:
        while size > self._reserved:
            self._account.require(STEP, REMEDY)
            self._reserved += STEP

    def close(self) -> None:
        """Give back the memory of the list."""
        self._account.release(self._reserved)
        self._reserved = 0
        self._names = bytearray()
