"""What the child does with one memory pipeline: run it under its budget, then let go of it."""

import gc
import time
from typing import Any

import numpy as np

from benchmarks.conversation import Conversation
from benchmarks.memory.pipeline import Pipeline
from benchmarks.memory.words import iterating, words


def run(pipeline: Pipeline, library: str, parent: Conversation) -> None:
    """Load, report idle, run the pipeline whole, close it, and report what was seen."""
    written = words(library)
    parent.ask("idle")
    started = time.perf_counter()
    try:
        rows, marks = _consume(pipeline, library, written)
    except Exception as error:
        if type(error).__name__ != "BudgetError":
            raise
        parent.say("refused", reason=str(error))
    else:
        wanted = (pipeline.rows * pipeline.epochs, pipeline.marks())
        if (rows, marks) != wanted:
            raise ValueError(f"Expected (rows, marks) to be {wanted}, got {(rows, marks)}.")
        parent.say("pass", seconds=time.perf_counter() - started, first=True)
    gc.collect()
    parent.ask("closed")


def _consume(pipeline: Pipeline, library: str, written: Any) -> tuple[int, int]:
    dataset = pipeline.build(written)
    rows = marks = 0
    with iterating(library, dataset, pipeline.budget) as running:
        for item in running:
            first = np.atleast_2d(np.asarray(item))
            first = first.reshape(len(first), -1)[:, 0]
            rows += len(first)
            marks += int(first.sum(dtype=np.int64))
            if pipeline.step and rows > pipeline.quick:
                time.sleep(pipeline.step)  # the consumer's own work
    return rows, marks
