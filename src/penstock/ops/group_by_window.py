"""`group_by_window`: elements of one key gathered, and each full group made a dataset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.groups import Grouping, RunningGroups
from penstock.ops.parts.kept_rows import Wrap


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupByWindow(Op):
    """Gathers elements by key; what `reduce_func` makes of each full group follows."""

    key_func: Callable[..., Any]
    reduce_func: Callable[..., Any]
    window_size: int | None = None
    window_size_func: Callable[..., Any] | None = None
    wrap: Wrap = field(repr=False)

    name = "group_by_window"

    def __post_init__(self) -> None:
        checks.function(self.key_func, "group_by_window(key_func=)", self.inputs[0])
        checks.function(self.reduce_func, "group_by_window(reduce_func=)")
        which = "the key and a dataset, as in `lambda key, ds: ...`"
        checks.takes(self.reduce_func, "group_by_window(reduce_func=)", 2, which)
        if (self.window_size is None) == (self.window_size_func is None):
            came = "neither" if self.window_size is None else "both"
            raise ArgumentError(self.fail(f"expected either window_size or window_size_func, got {came}."))
        if self.window_size is not None:
            checks.count(self.window_size, "group_by_window(window_size=)", least=1)
        else:
            checks.function(self.window_size_func, "group_by_window(window_size_func=)")

    def start(self, context: Context) -> Running:
        size = self.window_size
        grouping = Grouping(
            key=self.key_func,
            reduce=self.reduce_func,
            size=self.window_size_func or (lambda _: size),
            wrap=self.wrap,
            least=1 if size is None else size,
        )
        return RunningGroups(self, context, grouping)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        # Groups may be reduced to nothing; only of an endless input is it known what tf.data says.
        return INFINITE if self.inputs[0].cardinality == INFINITE else UNKNOWN
