"""`bucket_by_sequence_length`: batches of elements of about one length."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.blocks.spec import Spec, TensorSpec
from penstock.errors import ArgumentError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Pipeline, Running
from penstock.ops.batch import Batch
from penstock.ops.padded_batch import PaddedBatch
from penstock.ops.parts import padding
from penstock.ops.parts.groups import Grouping, RunningGroups, TooLongError
from penstock.ops.parts.kept_rows import Wrap


@dataclass(frozen=True, eq=False, kw_only=True)
class BucketBySequenceLength(Op):
    """Groups elements by length, and batches each group once it is full."""

    element_length_func: Callable[..., Any]
    bucket_boundaries: Sequence[int]
    bucket_batch_sizes: Sequence[int]
    padded_shapes: Any = None
    padding_values: Any = None
    pad_to_bucket_boundary: bool = False
    no_padding: bool = False
    drop_remainder: bool = False
    wrap: Wrap = field(repr=False)

    name = "bucket_by_sequence_length"
    parted = "each"

    def __post_init__(self) -> None:
        call = self.name
        checks.function(self.element_length_func, f"{call}(element_length_func=)", self.inputs[0])
        boundaries = [checks.count(size, f"{call}(bucket_boundaries=)") for size in self.bucket_boundaries]
        sizes = [
            checks.count(size, f"{call}(bucket_batch_sizes=)", least=1) for size in self.bucket_batch_sizes
        ]
        if sorted(set(boundaries)) != boundaries:
            raise ArgumentError(self.fail(f"expected bucket_boundaries that rise, got {boundaries}."))
        if len(sizes) != len(boundaries) + 1:
            raise ArgumentError(
                self.fail(
                    f"expected one more of bucket_batch_sizes than of bucket_boundaries, got "
                    f"{len(sizes)} and {len(boundaries)}."
                )
            )
        for name in ("pad_to_bucket_boundary", "no_padding", "drop_remainder"):
            checks.flag(getattr(self, name), f"{call}({name}=)")
        object.__setattr__(self, "bucket_boundaries", tuple(boundaries))
        object.__setattr__(self, "bucket_batch_sizes", tuple(sizes))
        if not self.no_padding:
            self._check_padding()

    def _check_padding(self) -> None:
        self._batched(self.inputs[0], 0)
        if self.pad_to_bucket_boundary and self.padded_shapes is None and not self.inputs[0].spec:
            raise ArgumentError(
                self.fail(
                    "pad_to_bucket_boundary needs padded_shapes here, because the shapes of the "
                    "elements are not known before they are seen. Say which sizes vary, as in "
                    "padded_shapes=([None], [])."
                )
            )

    def _batched(self, rows: Op, bucket: int) -> Op:
        """One batch of the rows of a bucket."""
        size, drop = self.bucket_batch_sizes[bucket], self.drop_remainder
        if self.no_padding:
            return Batch(inputs=(rows,), size=size, drop_remainder=drop, site=self.site)
        return PaddedBatch(
            inputs=(rows,),
            given_name=self.called,
            size=size,
            padded_shapes=self._shapes(rows.spec, bucket),
            padding_values=self.padding_values,
            drop_remainder=drop,
            site=self.site,
        )

    def _shapes(self, spec: Spec | None, bucket: int) -> Any:
        if not self.pad_to_bucket_boundary or bucket == len(self.bucket_boundaries):
            return self.padded_shapes
        longest = self.bucket_boundaries[bucket] - 1
        if self.padded_shapes is not None or spec is None:
            return _filled(self.padded_shapes, longest)
        return spec.structure.unflatten([_filled(leaf.shape, longest) for leaf in spec.leaves])

    def start(self, context: Context) -> Running:
        boundaries = self.bucket_boundaries
        last = len(boundaries)

        def bucket_of(*parts: Any) -> int:
            length = self.element_length_func(*parts)
            bucket = bisect.bisect(boundaries, length)
            if self.pad_to_bucket_boundary and not self.no_padding and bucket == last:
                raise TooLongError(
                    f"expected elements shorter than {boundaries[-1]}, the last of bucket_boundaries, with "
                    f"pad_to_bucket_boundary=True, got one of length {length}. Filter longer ones out, or "
                    f"add a boundary."
                )
            return bucket

        def batch(bucket: int, rows: Pipeline) -> Pipeline:
            return self.wrap(self._batched(rows.op, int(bucket)), context.options)

        grouping = Grouping(
            key=bucket_of,
            reduce=batch,
            size=lambda bucket: self.bucket_batch_sizes[bucket],
            wrap=self.wrap,
            least=min(self.bucket_batch_sizes),
        )
        return RunningGroups(self, context, grouping)

    def find_spec(self) -> Spec | None:
        spec = self.inputs[0].spec
        if spec is None:
            return None
        shapes: list[padding.Shape | None] = [None] * len(spec.leaves)
        if not self.no_padding:
            shapes = padding.read_shapes(self.padded_shapes, spec.structure)
        leaves = [
            TensorSpec(leaf.shape if shape is None else shape, leaf.dtype).batched(None)
            for leaf, shape in zip(spec.leaves, shapes, strict=True)
        ]
        return Spec(spec.structure, leaves)

    def find_cardinality(self) -> int:
        return INFINITE if self.inputs[0].cardinality == INFINITE else UNKNOWN


def _filled(shapes: Any, longest: int) -> Any:
    """The same nest of shapes, with `longest` in the place of every size that varies."""
    if isinstance(shapes, dict):
        return {key: _filled(shape, longest) for key, shape in shapes.items()}
    if not isinstance(shapes, tuple | list):
        return shapes
    if any(isinstance(part, tuple | list | dict) for part in shapes):
        return tuple(_filled(part, longest) for part in shapes)
    return tuple(longest if size in (None, -1) else size for size in shapes)
