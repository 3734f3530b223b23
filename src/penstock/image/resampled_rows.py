"""Windows of many JPEGs at one size, in one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.trace import RowFailed
from penstock.errors import DataError
from penstock.image.codecs.jpeg_window import Tables, memory_of, sizes_of
from penstock.image.codecs.picture import Kept
from penstock.image.resampled import Afterwards, Resampled
from penstock.kernels.spans import Empty


def fill_resampled(
    pictures: Sequence[Resampled], out: NDArray[Any], afterwards: Afterwards, empty: Empty
) -> None:
    """Make each picture, a row of `out`. All have the same steps afterwards."""
    done = np.zeros(len(pictures), np.uint8)
    found = [picture.window() for picture in pictures]
    tables = next((one[0] for one in found if one is not None), None)
    if tables is not None:
        _together(found, tables, out, afterwards, empty, done)
    kept = Kept()
    for row in np.flatnonzero(done == 0).tolist():
        try:
            pictures[row].into(out[row], kept)
        except DataError:
            raise RowFailed(row) from None


def _together(
    found: Sequence[tuple[Tables, list[int]] | None],
    tables: Tables,
    out: NDArray[Any],
    afterwards: Afterwards,
    empty: Empty,
    done: NDArray[np.uint8],
) -> None:
    """Make all that have these tables; `done` says which have been made."""
    from penstock.kernels.compiled.jpeg_rows import resampled

    rows = [row for row, one in enumerate(found) if one is not None and one[0] is tables]
    images = np.array([one[1] for one in found if one is not None and one[0] is tables], np.int64)
    groups, sizes = sizes_of(images, tables.halved)
    memory = memory_of(groups, sizes, empty(2 * groups + sum(sizes), np.uint8))
    lines = out.reshape(*out.shape[:2], -1)
    alike = len(rows) == len(out)
    target = lines if alike else np.empty((len(rows), *lines.shape[1:]), np.float32)
    made = np.zeros(len(rows), np.uint8)
    resampled(images, tuple(tables), tuple(memory), target, afterwards.codes, afterwards.numbers, made)
    if not alike:
        lines[rows] = target
    done[rows] = made
