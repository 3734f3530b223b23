"""Where a dataset is shared out: at its end, by element, or as far up as possible, by file or by element."""

from __future__ import annotations

from penstock.errors import ArgumentError
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.ops.shard import KEEP, REMAINDERS, Shard
from penstock.site import user_site

AUTO, ELEMENT, FILE = WAYS = ("auto", "element", "file")


def sharded(op: Op, num_shards: int, index: int, *, by: str, remainder: str) -> Op:
    """The part of a dataset that shard `index` of `num_shards` reads."""
    checks.one_of(by, WAYS, "shard(by=)")
    checks.one_of(remainder, REMAINDERS, "shard(remainder=)")
    shard = Shard(inputs=(op,), num_shards=num_shards, index=index, remainder=remainder).with_plain_numbers()
    if by == ELEMENT:
        return shard
    if by == FILE:
        return _by_file(op, shard)
    even = ("evenly",) if remainder != KEEP else ("evenly", "each")
    above, line = _line(op, even)
    if remainder == KEEP and _by_files_is_best(above, num_shards):
        return _over(above.with_files(shard.num_shards, shard.index), line)
    # A row of what is above may stand for many elements, as the name of a file does.
    few = 0 <= above.cardinality < num_shards
    return shard if few else _over(shard.over(above), line)


def _line(op: Op, kinds: tuple[str, ...]) -> tuple[Op, list[Op]]:
    """The first op, from this one up, that cannot work on a part, or is a source; and those below it."""
    line: list[Op] = []
    while op.parted in kinds and len(op.inputs) == 1:
        line.append(op)
        op = op.inputs[0]
    return op, line


def _over(made: Op, line: list[Op]) -> Op:
    """The ops of a line over another one."""
    for op in reversed(line):
        made = op.over(made)
    return made


def _by_files_is_best(source: Op, num_shards: int) -> bool:
    """Whether a source is to be read by file: there are enough, and rows cannot be had by number."""
    files = source.files()
    by_number = source.traits.random_access and not source.traits.costly_access
    return files is not None and not by_number and (files == UNKNOWN or files >= num_shards)


def _by_file(op: Op, shard: Shard) -> Op:
    """What comes of the files of one shard; raises where that is not possible."""
    where, shards = f"shard(by='file') at {user_site()}", shard.num_shards
    if shard.remainder != KEEP:
        raise ArgumentError(
            f"{where}: expected remainder='keep', got {shard.remainder!r}: nobody knows how many elements "
            f"the files of other shards have. Use by='element' or by='auto' for equal steps."
        )
    source, line = _line(op, ("evenly", "each"))
    if source.inputs:
        raise ArgumentError(
            f"{where}: {source.called} at {source.site} needs to see the elements of all files. Shard before "
            f"it, or use by='element'."
        )
    files = source.files()
    if files is None and not any(below.opens for below in line):
        raise ArgumentError(
            f"{where}: expected a source of files, got {source.called} at {source.site}. Use by='element'."
        )
    count = source.cardinality if files is None else files
    if 0 <= count < shards:
        raise ArgumentError(
            f"{where}: expected at least {shards} files, one for each shard, got {count}. Write the data to "
            f"more files, or use by='element'."
        )
    return _over(shard.over(source) if files is None else source.with_files(shards, shard.index), line)
