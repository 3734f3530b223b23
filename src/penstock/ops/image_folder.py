"""`ps.ImageFolderDataset`: pictures in folders, one folder a class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.columns import DenseColumn
from penstock.blocks.origin import Origin, Place
from penstock.blocks.spec import BYTES, Spec, TensorSpec
from penstock.blocks.structure import LEAF, Structure
from penstock.errors import ArgumentError, StoreError
from penstock.graph.op import UNKNOWN, Op, Traits
from penstock.graph.running import Context, Running
from penstock.io.formats.image_folder import EXTENSIONS, Listing, class_names
from penstock.io.stores.opening import open_stored
from penstock.ops.parts.placed import placed

STRUCTURE = Structure(dict, ("image", "label"), (LEAF, LEAF))


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageFolder(Op):
    """The pictures of all classes in order, each as its file's bytes, with the number of its class."""

    folder: str
    class_names: tuple[str, ...] | None = None
    extensions: tuple[str, ...] = EXTENSIONS

    name = "ImageFolderDataset"
    traits = Traits(random_access=True)

    def __post_init__(self) -> None:
        if "://" in self.folder:
            raise ArgumentError(
                self.fail(
                    f"expected a folder of this machine, got {self.folder!r}. For pictures in a store, "
                    f"put them into archives: ps.WebDataset."
                )
            )

    def start(self, context: Context) -> Running:
        return RunningImages(self, context)

    def find_spec(self) -> Spec | None:
        return Spec(STRUCTURE, [TensorSpec((), BYTES), TensorSpec((), np.int64)])

    def find_cardinality(self) -> int:
        return UNKNOWN

    def sources(self) -> Iterable[str]:
        try:
            classes = class_names(self.folder) if self.class_names is None else self.class_names
        except StoreError:
            return (self.folder,)  # the run says what is wrong with it
        return [str(Path(self.folder, name)) for name in classes]


@dataclass(frozen=True, slots=True)
class Pictures(Origin):
    """The files of these pictures."""

    listing: Listing
    index: NDArray[np.int64]

    def place(self, row: int) -> Place:
        return Place(self.listing.path(int(self.index[row])), 0)


class RunningImages(Running):
    """Lists the folder when it is first asked for a picture, and reads one file after another."""

    exact = True

    def __init__(self, op: ImageFolder, context: Context) -> None:
        self._op = op
        self._context = context
        self._listing: Listing | None = None
        self._at = 0

    @property
    def _list(self) -> Listing:
        if self._listing is None:
            op = self._op
            with placed(self._context, missing=""):
                self._listing = Listing(op.folder, op.class_names, op.extensions, self._context.account)
            if self._listing.others:
                many = self._listing.others
                files = "1 file whose name ends" if many == 1 else f"{many:,} files whose names end"
                self._context.note(
                    f"left out {files} in none of {', '.join(op.extensions)}: {self._listing.other!r}"
                    f"{'' if many == 1 else ' and others'}"
                )
        return self._listing

    @property
    def size(self) -> int:
        """How many pictures there are."""
        return len(self._list)

    def pull(self, rows: int) -> Block | None:
        first, last = self._at, min(self._at + rows, self.size)
        images: list[bytes] = []
        room = self._context.block_bytes
        while self._at < last and room > 0:
            images.append(self._read(self._at))
            room -= len(images[-1])
            self._at += 1
        return self._block(images, np.arange(first, self._at)) if images else None

    def gather(self, index: NDArray[np.int64]) -> Block:
        return self._block([self._read(number) for number in index.tolist()], index)

    def _read(self, number: int) -> bytes:
        path = self._list.path(number)
        with placed(self._context, missing=""), open_stored(path, self._context) as file:
            self._context.account.need(2 * file.size, "That is one file.")
            return file.read(0, file.size)

    def _block(self, images: list[bytes], index: NDArray[np.int64]) -> Block:
        columns = [column_of(images), DenseColumn(self._list.labels(index))]
        return Block(STRUCTURE, columns, len(images), origin=Pictures(self._list, index))

    def state(self) -> Any:
        return {"at": self._at}

    def restore(self, state: Any) -> None:
        self._at = state["at"]

    def close(self) -> None:
        if self._listing is not None:
            self._listing.close()
