"""Pictures that are not decoded before it is known what is to be done with them.

`ps.image.resize(ps.io.decode_jpeg(contents), (224, 224))` wants the pixels of one picture at a time: none are
kept, and each is resized while it is near. Whatever else is done with them decodes them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import Column
from penstock.blocks.rows import Rows
from penstock.blocks.trace import Opaque, Trace
from penstock.image.codecs.picture import Picture
from penstock.image.codecs.rows import decoded_rows


class _Pictures:
    """The pictures of a block, and their pixels once somebody has asked for them."""

    def __init__(self, pictures: Sequence[Picture], trace: Trace) -> None:
        self.pictures = pictures
        self._sound = False  # whether all of them could be decoded, or another is going to find out
        self._trace = trace
        self._made: Rows | Opaque | None = None
        trace.owed.append(self._prove)

    @property
    def untouched(self) -> bool:
        """Whether nobody has seen the pixels: nobody can have changed them."""
        return self._made is None

    def decoded(self) -> Any:
        """Their pixels; decoded once."""
        if self._made is None:
            self._made = decoded_rows(self.pictures, self._trace)
            self._sound = True
        return self._made

    def leave(self) -> Sequence[Picture]:
        """Leave them to another, who is going to decode them all."""
        self._sound = True
        return self.pictures

    def _prove(self) -> None:
        """Decode them if nobody has: a damaged one is to be found, though none of its pixels are used."""
        if not self._sound:
            self.decoded()


class PutOff(Rows):
    """The stand-in of pictures of one shape."""

    __slots__ = ("pictures",)

    def __init__(self, pictures: _Pictures, trace: Trace) -> None:
        self._trace = trace
        self.pictures = pictures

    @property
    def _held(self) -> NDArray[Any]:  # type: ignore[override]
        array: NDArray[Any] = self.pictures.decoded()._array
        return array

    @property
    def _pending(self) -> None:  # type: ignore[override]
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self.pictures.pictures[0].shape

    @property
    def ndim(self) -> int:
        """The rank of a row."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a row."""
        return self.pictures.pictures[0].dtype


class PutOffRagged(Opaque):
    """The stand-in of pictures of several shapes."""

    __slots__ = ("pictures",)

    def __init__(self, pictures: _Pictures, trace: Trace) -> None:
        self._trace = trace
        self._spec = None
        self.pictures = pictures

    @property
    def _column(self) -> Column:  # type: ignore[override]
        column: Column = self.pictures.decoded()._column
        return column


def put_off(pictures: Sequence[Picture], trace: Trace) -> PutOff | PutOffRagged:
    """The stand-in for pictures that are yet to be decoded, one a row."""
    first = pictures[0]
    if any(picture.dtype != first.dtype or len(picture.shape) != len(first.shape) for picture in pictures):
        trace.refuse("decodes images of several kinds")
    alike = all(picture.shape == first.shape for picture in pictures)
    return (PutOff if alike else PutOffRagged)(_Pictures(pictures, trace), trace)


def pictures_of(value: Any) -> _Pictures | None:
    """The pictures that a stand-in has, if nobody has seen their pixels."""
    found = value.pictures if isinstance(value, PutOff | PutOffRagged) else None
    return found if found is not None and found.untouched else None
