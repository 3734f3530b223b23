"""Pipelines: the steps of every `tf.data` and Penstock dataset of a file, in their order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.doctor.lint.module import DEPTH, FUNCTIONS, NOTHING, Frame, Module, constant, word

METHODS = frozenset(
    [
        "apply",
        "batch",
        "bucket_by_sequence_length",
        "cache",
        "choose_from_datasets",
        "concatenate",
        "enumerate",
        "filter",
        "flat_map",
        "group_by_window",
        "ignore_errors",
        "interleave",
        "map",
        "on_error",
        "padded_batch",
        "parse_example",
        "prefetch",
        "ragged_batch",
        "rebatch",
        "rejection_resample",
        "repeat",
        "scan",
        "shard",
        "shuffle",
        "skip",
        "snapshot",
        "take",
        "take_while",
        "unbatch",
        "unique",
        "window",
        "with_options",
        "zip",
    ]
)
BATCHES = frozenset(["batch", "padded_batch", "ragged_batch"])
SOURCES = ("tf.data.", "penstock.Dataset.", "penstock.TFRecordDataset", "penstock.TextLineDataset")
PENSTOCK_SOURCES = [
    "ArrayRecord",
    "Arrow",
    "Csv",
    "FixedLengthRecord",
    "ImageFolder",
    "JsonLines",
    "Npy",
    "Parquet",
    "TextLine",
    "TFRecord",
    "Web",
]
BATCHED = frozenset(
    f"keras.{room}.{kind}_dataset_from_directory"
    for room in ("utils", "preprocessing", "preprocessing.image", "preprocessing.text")
    for kind in ("image", "text", "audio")
)
"""Functions of Keras that give batches."""
TELLING = frozenset(
    ["num_parallel_calls", "drop_remainder", "reshuffle_each_iteration", "cycle_length", "padded_shapes"]
)
"""Argument names that only datasets of this kind have."""
AUTOTUNE = frozenset(
    ["tf.data.AUTOTUNE", "tf.data.experimental.AUTOTUNE", "tf.contrib.data.AUTOTUNE", "penstock.AUTOTUNE"]
)
MOST = 12
"""So many ways through the branches of a pipeline are looked at."""


@dataclass(frozen=True)
class Step:
    """One method of a pipeline: its name, the call, and what the parameters around it stand for."""

    name: str
    call: ast.Call
    frame: Frame

    def argument(self, name: str, place: int | None = None) -> ast.expr | None:
        """The argument with this name, or at this place."""
        return word(self.call, name, place)


@dataclass(frozen=True)
class Chain:
    """A pipeline: the library, the call it starts with if that is known, and the steps."""

    library: str
    source: ast.Call | None = None
    start: str = ""
    steps: tuple[Step, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the steps, in order."""
        return [step.name for step in self.steps]

    def before(self, place: int) -> tuple[Step, ...]:
        """The steps before one."""
        return self.steps[:place]

    def after(self, place: int) -> tuple[Step, ...]:
        """The steps after one."""
        return self.steps[place + 1 :]

    def find(self, *names: str) -> Iterator[tuple[int, Step]]:
        """The steps with one of these names, with their places."""
        return ((place, step) for place, step in enumerate(self.steps) if step.name in names)


class Pipelines:
    """All pipelines of a file.

    >>> module = Module("import penstock as ps\\nds = ps.Dataset.range(9)\\nds = ds.map(f).batch(3)")
    >>> [chain.names for chain in Pipelines(module).whole()]
    [['map', 'batch']]
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._chains: dict[ast.expr, list[Chain]] = {}

    def chains(self, node: ast.expr, frame: Frame = NOTHING, depth: int = DEPTH) -> list[Chain]:
        """The pipelines that an expression may stand for; none where it is no dataset."""
        if frame or depth < DEPTH:
            return self._follow(node, frame, depth, frozenset())
        if node not in self._chains:
            self._chains[node] = [
                chain for chain in self._follow(node, frame, depth, frozenset()) if chain.library
            ]
        return self._chains[node]

    def _follow(self, node: ast.expr, frame: Frame, depth: int, seen: frozenset[ast.AST]) -> list[Chain]:
        if depth <= 0 or node in seen:
            return []
        seen = seen | {node}
        found: list[Chain] = []
        for one, inner in self.module.origins(node, frame):
            if isinstance(one, ast.Call):
                found += self._call(one, inner, depth - 1, seen)
            elif isinstance(one, ast.Name):
                found.append(self._loaded(one) or Chain(self._annotated(one)))
            elif isinstance(one, ast.Attribute):
                found.append(Chain(""))
        return [chain for chain in _distinct(found) if self.possible(chain)][:MOST]

    def _call(self, call: ast.Call, frame: Frame, depth: int, seen: frozenset[ast.AST]) -> list[Chain]:
        name = self.module.called(call)
        if library := source_library(name):
            return [Chain(library, call, name)]
        if name or not isinstance(call.func, ast.Attribute) or call.func.attr not in METHODS:
            return []
        step = Step(call.func.attr, call, frame)
        found = self._follow(call.func.value, frame, depth, seen)
        return [
            replace(chain, library=chain.library or self._told(step), steps=(*chain.steps, step))
            for chain in found
        ]

    def _told(self, step: Step) -> str:
        """The library that the arguments of a step tell of, where its beginning is not known."""
        values = [*step.call.args, *(one.value for one in step.call.keywords)]
        names = {self.module.name(value) for value in values} & AUTOTUNE
        if names:
            return "penstock" if names == {"penstock.AUTOTUNE"} else "tf"
        if any(one.arg in TELLING for one in step.call.keywords):
            if "tensorflow" in self.module.imported:
                return "tf"
            if "penstock" in self.module.imported:
                return "penstock"
        return ""

    def _loaded(self, node: ast.Name) -> Chain | None:
        """The dataset of `(train, test), info = tfds.load(...)`."""
        made = [one.value for one in self.module.definitions(node) if one.kind in {"unpack", "other"}]
        calls = [one for one in made if isinstance(one, ast.Call)]
        if len(calls) == 1 and self.module.called(calls[0]) == "tensorflow_datasets.load":
            return Chain("tf", calls[0], "tensorflow_datasets.load")
        return None

    def _annotated(self, node: ast.Name) -> str:
        for made in self.module.definitions(node):
            note = made.node.annotation if isinstance(made.node, ast.arg) else None
            if note is not None:
                name = self.module.name(note)
                if name in {"tf.data.Dataset", "penstock.Dataset"}:
                    return "tf" if name.startswith("tf") else "penstock"
        return ""

    def possible(self, chain: Chain) -> bool:
        """Whether one run can take all the steps: not those under `if a` and those under `if not a`."""
        taken: dict[str, bool] = {}
        for step in chain.steps:
            for test, way in self._conditions(step.call):
                if taken.setdefault(test, way) is not way:
                    return False
        return True

    def _conditions(self, node: ast.AST) -> Iterator[tuple[str, bool]]:
        below = node
        for above in self.module.ancestors(node):
            if isinstance(above, FUNCTIONS):
                return
            if isinstance(above, (ast.If, ast.IfExp)) and below is not above.test:
                body = above.body if isinstance(above.body, list) else [above.body]
                yield from _known(above.test, below in body)
            below = above

    def whole(self) -> list[Chain]:
        """Every pipeline of the file as far as it goes: none is the beginning of another one."""
        found: list[Chain] = []
        for call in self.module.calls:
            local = (
                self.module.function(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
            )
            is_step = isinstance(call.func, ast.Attribute) and call.func.attr in METHODS
            if is_step or local is not None or source_library(self.module.called(call)):
                found += self.chains(call)
        found = _distinct(found)
        beginnings = {
            tuple(map(_key, chain.steps[:end])) for chain in found for end in range(len(chain.steps))
        }
        return [chain for chain in found if tuple(map(_key, chain.steps)) not in beginnings]


def source_library(name: str) -> str:
    """The library whose dataset a function of this full name makes; "" if it makes none.

    >>> source_library("tf.data.Dataset.from_tensor_slices"), source_library("tf.reshape")
    ('tf', '')
    """
    if name.startswith("tf.data.Dataset.") or name in BATCHED or name == "tensorflow_datasets.load":
        return "tf"
    if name.startswith("tf.data.") and name.endswith("Dataset"):
        return "tf"
    if name.startswith("penstock.Dataset."):
        return "penstock"
    if name in {f"penstock.{kind}Dataset" for kind in PENSTOCK_SOURCES} | {"penstock.WebDataset"}:
        return "penstock"
    return ""


def of_one(module: Module, step: Step) -> bool:
    """Whether a step makes batches of one element each, which is next to nothing to do."""
    size = step.argument("batch_size", 0) if step.name in BATCHES else None
    return size is not None and all(constant(one) == 1 for one, _ in module.origins(size, step.frame))


def _known(test: ast.expr, way: bool) -> Iterator[tuple[str, bool]]:
    """What is known of the parts of a test, where it was true or where it was not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _known(test.operand, not way)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is way:
        for one in test.values:
            yield from _known(one, way)
    else:
        yield ast.dump(test), way


def _key(step: Step) -> ast.Call:
    return step.call


def _distinct(chains: list[Chain]) -> list[Chain]:
    kept: dict[tuple[object, ...], Chain] = {}
    for chain in chains:
        kept.setdefault((chain.library, chain.source, *(step.call for step in chain.steps)), chain)
    return list(kept.values())
