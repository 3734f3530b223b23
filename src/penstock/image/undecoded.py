"""Windows of JPEGs that are not decoded before it is known what is to be done with them.

`ps.image.random_flip_left_right(ps.image.random_resized_crop(jpeg, (224, 224))) / 127.5 - 1` takes three more
passes over the pixels; here they are noted, and done while a row of pixels is near. The bits are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.later import FLOAT, Step, arrays_of, step
from penstock.blocks.rows import Rows
from penstock.blocks.trace import Opaque, Trace, marking
from penstock.blocks.warned import reports_errors
from penstock.graph.plan import BLOCK_BYTES
from penstock.image.codecs.picture import Picture
from penstock.image.codecs.rows import decoded_rows
from penstock.image.resampled import Afterwards, Resampled
from penstock.image.resampled_rows import fill_resampled
from penstock.kernels import pixels

_NO_ROW = np.zeros(0, bool)
_WIDTH = -2
"""The axis of an image that is mirrored on the way."""
_NOTHING = Afterwards()


class _Pictures:
    """The pictures of a block, and their pixels once somebody has asked for them as they are."""

    def __init__(self, pictures: Sequence[Resampled], trace: Trace) -> None:
        self.pictures = pictures
        self.shape = (len(pictures), *pictures[0].shape)
        self.plain: NDArray[Any] | None = None
        self._trace = trace
        self._sound = False  # whether all of them could be decoded
        trace.owed.append(self._prove)

    def decoded(self) -> NDArray[Any]:
        """The pixels as they are; decoded once."""
        if self.plain is None:
            self.plain = self._fill(self.pictures)
        return self.plain

    def finished(self, coin: NDArray[np.bool_], steps: Sequence[Step]) -> NDArray[Any]:
        """The pixels with something more done to them, while they are decoded if nobody has done that yet."""
        codes, numbers = arrays_of(steps)
        if self.plain is None:
            turned = coin.tolist() or [False] * len(self.pictures)
            afterwards = [Afterwards(one, codes, numbers) for one in turned]
            pictures = [one.then(more) for one, more in zip(self.pictures, afterwards, strict=True)]
            return self._fill(pictures, afterwards[0])
        out = self._empty()
        rows = len(out)
        axes = (self.shape[1], self.shape[2], math.prod(self.shape[3:]))
        pixels.run_numpy(self.plain.reshape(rows, -1), coin, axes, codes, numbers, out.reshape(rows, -1))
        return out

    def _prove(self) -> None:
        """Decode them if nobody has: a damaged one is to be found, though none of its pixels are used."""
        if not self._sound:
            self.decoded()

    def _fill(self, pictures: Sequence[Resampled], steps: Afterwards = _NOTHING) -> NDArray[Any]:
        out = self._empty()
        fill_resampled(pictures, out, steps, self._trace.empty)
        self._sound = True
        return out

    def _empty(self) -> NDArray[Any]:
        out = self._trace.empty(self.shape, FLOAT)
        self._trace.largest = max(self._trace.largest, out.nbytes)
        return out


class Undecoded(Rows):
    """The stand-in of windows of JPEGs, and of what is noted to be done with them."""

    __slots__ = ("_coin", "_followed", "_is_copy", "_made", "_pictures", "_steps")

    def __init__(
        self,
        pictures: _Pictures,
        trace: Trace,
        coin: NDArray[np.bool_] = _NO_ROW,
        steps: tuple[Step, ...] = (),
        is_copy: bool = False,
    ) -> None:
        self._trace = trace
        self._pictures = pictures
        self._coin, self._steps, self._is_copy = coin, steps, is_copy
        self._followed = False  # whether something else was noted to be made of it
        self._made: NDArray[Any] | None = None

    @property
    def _held(self) -> NDArray[Any]:  # type: ignore[override]
        if self._made is None:
            if self._followed:
                self._pictures.decoded()  # two want the pixels: they are decoded for both
            if self._is_copy:
                self._made = self._pictures.finished(self._coin, self._steps)
            else:
                self._made = self._pictures.decoded()
            if self._followed:
                self._trace.protected.append(self._made)
        return self._made

    @property
    def _pending(self) -> None:  # type: ignore[override]
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self._pictures.shape[1:]

    @property
    def ndim(self) -> int:
        """The rank of a row."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a row."""
        return FLOAT

    def _settle(self) -> bool:
        """Whether no more is to be noted: it is made, and is made now where a second thing is made of it."""
        return self._made is not None or (self._followed and self._held is not None)

    def _but(self, coin: NDArray[np.bool_] | None = None, steps: tuple[Step, ...] | None = None) -> Undecoded:
        """This, with something more noted."""
        self._followed = True
        coin, steps = self._coin if coin is None else coin, self._steps if steps is None else steps
        return Undecoded(self._pictures, self._trace, coin, steps, is_copy=True)

    @marking
    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The row as another dtype."""
        if args or kwargs or np.dtype(dtype) != FLOAT or reports_errors() or self._settle():
            return super().astype(dtype, *args, **kwargs)
        return self._but()

    def _computed(
        self, ufunc: np.ufunc, values: list[Any], dtypes: tuple[np.dtype[Any], ...]
    ) -> Undecoded | None:
        noted = step(self, len(self._steps), ufunc, values, dtypes)
        return None if noted is None or self._settle() else self._but(steps=(*self._steps, noted))

    def _turned(self, coin: NDArray[np.bool_], axis: int) -> Undecoded | None:
        if len(self._coin) or not len(coin) or axis != _WIDTH or self.ndim != 3 or self._settle():
            return None
        return self._but(coin=np.ascontiguousarray(coin, bool))


def resampled_rows(pictures: Sequence[Picture], trace: Trace) -> Rows | Opaque:
    """The stand-in for pictures at one size, one a row."""
    first = pictures[0].shape
    windows = [one for one in pictures if isinstance(one, Resampled) and one.computes and one.shape == first]
    room = max(trace.room, BLOCK_BYTES)
    if len(windows) == len(pictures) and len(pictures) * math.prod(first) * FLOAT.itemsize <= room:
        return Undecoded(_Pictures(windows, trace), trace)
    return decoded_rows(pictures, trace)
