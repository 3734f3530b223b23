"""`Dataset`: the fluent face over ops, one forwarding method an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.blocks.build import as_leaf
from penstock.blocks.structure import structure_of
from penstock.engine.iterator import Iterator
from penstock.engine.run import Run
from penstock.graph import checks
from penstock.graph.op import Op
from penstock.graph.passes import plan_of
from penstock.graph.running import Pipeline
from penstock.memory.budget import resolve_budget
from penstock.ops.batch import Batch
from penstock.ops.from_tensor_slices import FromTensorSlices
from penstock.ops.map import Map
from penstock.ops.prefetch import Prefetch
from penstock.ops.range import Range
from penstock.options import Options
from penstock.report.explain import Explanation, explain


class Dataset(Pipeline):
    """A pipeline, declared once and iterated many times. Immutable, cheap, and opens nothing."""

    op: Op

    def __init__(self, op: Op, options: Options | None = None) -> None:
        self.op = op
        self._options = options or Options()
        self._epochs = 0

    # Sources

    @staticmethod
    def range(*args: int, output_type: Any = np.int64) -> Dataset:
        """Whole numbers: `range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
        numbers = [checks.count(arg, "range()") for arg in args]
        bounds = range(*numbers)
        return Dataset(
            Range(start_at=bounds.start, stop=bounds.stop, step=bounds.step, dtype=np.dtype(output_type))
        )

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """The rows of arrays along their first axis."""
        structure = structure_of(tensors, top=False)
        arrays = tuple(np.asarray(as_leaf(leaf)) for leaf in structure.flatten(tensors))
        return Dataset(FromTensorSlices(structure=structure, tensors=arrays))

    # Ops

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Stack consecutive elements."""
        return self._then(Batch(inputs=(self.op,), size=batch_size, drop_remainder=drop_remainder))

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
    ) -> Dataset:
        """Apply a function to every element."""
        return self._then(
            Map(
                inputs=(self.op,),
                function=map_func,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
            )
        )

    def prefetch(self, buffer_size: int | str) -> Dataset:
        """Make elements ready ahead of their use."""
        return self._then(Prefetch(inputs=(self.op,), buffer_size=buffer_size))

    # Running

    def explain(self, memory: int | str | None = None) -> Explanation:
        """What will run: the pipeline as declared, as the optimizer leaves it, and why.

        >>> import numpy as np
        >>> ds = Dataset.from_tensor_slices(np.zeros((100, 8))).batch(10)
        >>> print(ds.explain(memory="64MiB"))  # doctest: +ELLIPSIS
        budget 64 MiB, blocks of about 1 MiB
        ...
        """
        budget = resolve_budget(memory, self._options)
        return explain(plan_of(self.op, self._options, budget), budget)

    def iterate(
        self, memory: int | str | None = None, seed: int | None = None, epoch: int | None = None
    ) -> Iterator:
        """Start a run."""
        budget = resolve_budget(memory, self._options)
        plan = plan_of(self.op, self._options, budget)
        if epoch is None:
            epoch, self._epochs = self._epochs, self._epochs + 1
        seed = self._options.seed if seed is None else seed
        return Iterator(Run(plan, budget, seed=seed, epoch=epoch))

    def __iter__(self) -> Iterator:
        return self.iterate()

    def with_options(self, options: Options) -> Dataset:
        """The same dataset with these options; what they leave unsaid stays as it was."""
        return Dataset(self.op, self._options.merged(options))

    def options(self) -> Options:
        """The options of this dataset."""
        return self._options

    def _then(self, op: Op) -> Dataset:
        return Dataset(op, self._options)
