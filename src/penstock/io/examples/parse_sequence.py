"""`parse_sequence_example` and `parse_single_sequence_example`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from penstock.blocks.columns import BytesColumn
from penstock.blocks.trace import block_function
from penstock.io.examples.parse import Parser, check_features, parse_block, parse_plain, records_of
from penstock.io.examples.readings import Frame, Size
from penstock.io.examples.sequence import Lists


class SequenceParser:
    """What is asked for of every record: its context, and its lists."""

    def __init__(self, context: Any, lists: Any, call: str) -> None:
        self._context = Parser(context, call)
        self._lists = Lists(lists, call)
        self.scratch = self._context.scratch + 64 * len(lists)

    def columns(self, serialized: BytesColumn, frame: Frame) -> Any:
        """The columns of the context and of the lists, and for a batch of how long these are."""
        context = self._context.columns(serialized, frame)
        lists, lengths = self._lists.columns(serialized, frame)
        return (context, lists) if frame.batch is None else (context, lists, lengths)

    def spec(self, outer: tuple[Size, ...]) -> Any:
        """The specs of these."""
        lists, lengths = self._lists.specs(outer)
        context = self._context.spec(outer)
        return (context, lists, lengths) if outer else (context, lists)


@lru_cache(64)
def _parser(context: Any, lists: Any, call: str) -> SequenceParser:
    return SequenceParser(dict(context), dict(lists), call)


def _parser_of(context: Any, lists: Any, call: str) -> SequenceParser:
    context = check_features({} if context is None else context, f"{call}(context_features=)")
    lists = check_features({} if lists is None else lists, f"{call}(sequence_features=)")
    return _parser(tuple(context.items()), tuple(lists.items()), call)


def _batch_over_block(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,  # noqa: ARG001
    name: Any = None,  # noqa: ARG001
) -> Any:
    parser = _parser_of(context_features, sequence_features, "ps.io.parse_sequence_example")
    return parse_block(serialized, parser, batched=True)


@block_function(_batch_over_block)
def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,  # noqa: ARG001
    name: Any = None,  # noqa: ARG001
) -> Any:
    """Parse a batch of serialized `tf.train.SequenceExample`s, as `tf.io.parse_sequence_example` does.

    Gives three dicts: the context, the lists, and for each `FixedLenSequenceFeature`, whose lists are
    padded to the longest, how long they were. A `VarLenFeature` gives a `ps.Ragged` of rows of rows.

    >>> import penstock as ps
    >>> examples = [ps.io.serialize_sequence_example({}, {"x": list(range(n))}) for n in (1, 3)]
    >>> lists = {"x": ps.io.FixedLenSequenceFeature([], "int64")}
    >>> ps.io.parse_sequence_example(examples, sequence_features=lists)[1:]
    ({'x': array([[0, 0, 0],
           [0, 1, 2]])}, {'x': array([1, 3])})
    """
    call = "ps.io.parse_sequence_example"
    parser = _parser_of(context_features, sequence_features, call)
    return parse_plain(parser, records_of(serialized, call, batched=True))


def _single_over_block(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,  # noqa: ARG001
    name: Any = None,  # noqa: ARG001
) -> Any:
    parser = _parser_of(context_features, sequence_features, "ps.io.parse_single_sequence_example")
    return parse_block(serialized, parser, batched=False)


@block_function(_single_over_block)
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,  # noqa: ARG001
    name: Any = None,  # noqa: ARG001
) -> Any:
    """Parse one serialized `tf.train.SequenceExample`, as `tf.io.parse_single_sequence_example` does.

    Gives two dicts: the context and the lists.

    >>> import penstock as ps
    >>> example = ps.io.serialize_sequence_example({"id": 7}, {"x": [[1, 2], [3]]})
    >>> context = {"id": ps.io.FixedLenFeature([], "int64")}
    >>> ps.io.parse_single_sequence_example(example, context, {"x": ps.io.VarLenFeature("int64")})
    ({'id': np.int64(7)}, {'x': Ragged([[1, 2], [3]])})
    """
    call = "ps.io.parse_single_sequence_example"
    parser = _parser_of(context_features, sequence_features, call)
    return parse_plain(parser, records_of(serialized, call, batched=False))
