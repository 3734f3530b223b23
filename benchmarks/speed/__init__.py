"""The speed works, one file each."""

from benchmarks.declare import Work
from benchmarks.speed import (
    images_flip,
    images_float,
    one_by_one,
    padded,
    python_map,
    range_map_batch,
    strings,
)

WORKS: tuple[Work, ...] = (
    range_map_batch.WORK,
    images_float.WORK,
    images_flip.WORK,
    one_by_one.WORK,
    python_map.WORK,
    strings.WORK,
    padded.WORK,
)
