"""The speed works, one file each."""

from benchmarks.declare import Work
from benchmarks.speed import (
    examples,
    hand_over,
    heavy_python,
    images_flip,
    images_float,
    one_by_one,
    opencv,
    padded,
    parquet,
    photos,
    pictures,
    python_map,
    range_map_batch,
    strings,
    writing,
)

WORKS: tuple[Work, ...] = (
    range_map_batch.WORK,
    images_float.WORK,
    images_flip.WORK,
    one_by_one.WORK,
    python_map.WORK,
    heavy_python.HEAVY,
    *heavy_python.FIRSTS,
    *opencv.WORKS,
    strings.WORK,
    padded.WORK,
    examples.SMALL,
    examples.LARGE,
    pictures.WORK,
    photos.WORK,
    writing.WORK,
    parquet.WORK,
    hand_over.WORK,
)
