"""The memory pipelines: what a budget bounds, seen from outside the process."""

from benchmarks.memory import large, mebibytes, pictures
from benchmarks.memory.pipeline import Pipeline

PIPELINES: tuple[Pipeline, ...] = (*mebibytes.PIPELINES, *large.PIPELINES, *pictures.PIPELINES)
