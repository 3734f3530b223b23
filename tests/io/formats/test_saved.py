"""Penstock's own files: what is written comes back, and damage is found."""

from __future__ import annotations

import json
import random
import shutil
import struct
import tracemalloc
import zlib
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.saved_rows import every_kind
from penstock.blocks.block import Block
from penstock.blocks.build import block_of
from penstock.blocks.columns import DenseColumn, RaggedColumn
from penstock.blocks.structure import LEAF, Structure, structure_of
from penstock.errors import DataError, PenstockError, StoreError
from penstock.io.formats.saved import ALIGNED, BLOCK, TAIL, SavedError, block_header
from penstock.io.formats.saved_file import Checked, SavedFile
from penstock.io.formats.saved_structure import NotSaved, said_of_structure, structure_of_said
from penstock.io.formats.saved_writer import Blocks, ShardWriter


def written(folder: Path, *blocks: Block) -> Path:
    writer = ShardWriter(folder, "x.blocks")
    for block in blocks:
        writer.add(block)
    writer.finish()
    return folder / "x.blocks"


def opened(path: Path, structure: Structure = LEAF, *, verify: bool = True) -> SavedFile:
    return SavedFile(path, structure, Checked(), verify=verify)


def test_given_blocks_of_several_layouts_then_each_comes_back_as_views_of_the_file(tmp_path: Path) -> None:
    dense = Block(LEAF, [DenseColumn(np.arange(12.0).reshape(4, 3))], 4)
    other = Block(LEAF, [DenseColumn(np.arange(2))], 2)
    ragged = Block(LEAF, [RaggedColumn(np.arange(5), np.array([2, 5, 5]), np.array([[3], [0]]))], 2)
    file = opened(written(tmp_path, dense, other, ragged, dense))
    for number, block in enumerate([dense, other, ragged, dense]):
        came = file.view(number)
        assert same(list(came.elements()), list(block.elements()))
        assert all(not array.flags.writeable for array in came.buffers() if not array.flags.owndata)
    assert file.firsts.tolist() == [0, 4, 6, 8, 12]
    assert len(file.index.layouts) == 3
    file.close()


def test_given_any_file_then_every_buffer_begins_at_a_multiple_of_64_bytes(tmp_path: Path) -> None:
    elements = list(every_kind(30))
    file = opened(written(tmp_path, block_of(structure_of(elements[0]), elements)), structure_of(elements[0]))
    start = int(file.index.starts[0]) + BLOCK.size
    places = file.index.places(0)
    assert len(places) == 10 + 3 * 2 + 3 + 1  # dense, bytes and ragged columns, and the end
    assert all((start + place) % ALIGNED == 0 for place in places)
    views = file.view(0)
    assert all(
        column.array.ctypes.data % ALIGNED == 0
        for column in views.columns
        if isinstance(column, DenseColumn) and column.array.size
    )
    file.close()


def test_when_a_view_outlives_its_file_then_it_can_be_read_still(tmp_path: Path) -> None:
    path = written(tmp_path, Block(LEAF, [DenseColumn(np.arange(1000))], 1000))
    file = opened(path)
    view = file.view(0)
    file.close()
    path.unlink()
    assert view.element(999) == 999


def test_given_a_file_that_rests_then_it_is_opened_again_unless_it_was_changed(tmp_path: Path) -> None:
    block = Block(LEAF, [DenseColumn(np.arange(8))], 8)
    path = written(tmp_path, block)
    file = opened(path)
    file.rest()
    assert file.part(0, 5, 6, np.empty).element(0) == 5
    file.rest()
    written(tmp_path, block, block)
    with pytest.raises(SavedError, match="changed while it was read") as caught:
        file.part(0, 0, 8, np.empty)
    assert caught.value.path == str(path)
    file.close()


def test_given_a_part_of_a_block_then_only_these_rows_come(tmp_path: Path) -> None:
    elements = list(every_kind(50))
    structure = structure_of(elements[0])
    file = opened(written(tmp_path, block_of(structure, elements)), structure)
    for start, stop in [(0, 1), (7, 31), (49, 50), (0, 50)]:
        assert same(list(file.part(0, start, stop, np.empty).elements()), elements[start:stop])
    file.close()


def test_given_many_crumbs_then_they_become_few_blocks() -> None:
    got: list[Block] = []
    blocks = Blocks(got.append, np.empty, 8000)
    for i in range(3000):
        blocks.add(Block(LEAF, [DenseColumn(np.full(1, i))], 1))
    blocks.flush()
    assert [int(x) for block in got for x in block.elements()] == list(range(3000))
    assert len(got) <= 4


def test_given_rows_of_one_and_of_several_shapes_then_they_share_a_block() -> None:
    got: list[Block] = []
    blocks = Blocks(got.append, np.empty, 1 << 20)
    shapes = [3, 3, 1, 0, 2]
    for size in shapes:
        blocks.add(block_of(LEAF, [np.arange(size)]))
    blocks.flush()
    assert len(got) == 1
    assert same(list(got[0].elements()), [np.arange(size) for size in shapes])


Made = namedtuple("Made", "a b")


@pytest.mark.parametrize(
    "element",
    [1, (1, 2), {"a": 1, 2: {"b": (1,)}, None: 3, (1, "x"): 4}, Made(1, (2, {})), ()],
)
def test_given_a_structure_then_it_comes_back_from_plain_data(element: Any) -> None:
    structure = structure_of(element)
    assert structure_of_said(json.loads(json.dumps(said_of_structure(structure)))) == structure


def test_given_a_named_tuple_whose_class_is_not_there_then_one_like_it_is_made_once() -> None:
    said = ["namedtuple", ["nowhere", "f.<locals>.Pair", "a", "b"], ["leaf", "leaf"]]
    structure = structure_of_said(said)
    assert structure == structure_of_said(said)
    pair = structure.unflatten([1, 2])
    assert (pair.a, pair.b, type(pair).__name__) == (1, 2, "Pair")


def test_given_a_key_that_cannot_be_written_then_the_error_says_what_to_use() -> None:
    with pytest.raises(NotSaved, match=r"the key <object .*Use str or int keys"):
        said_of_structure(structure_of({object(): 1}))


# Damage


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    every_kind(300).save(folder, memory="1MiB", shard_bytes="1MiB")
    return folder


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    return list(every_kind(300))


def shard_of(folder: Path) -> Path:
    return next(folder.glob("*.blocks"))


def changed(saved: Path, folder: Path, change: Callable[[bytearray], bytes | bytearray]) -> Path:
    """A copy of a saved dataset with its first file changed."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(saved, folder)
    path = shard_of(folder)
    path.write_bytes(change(bytearray(path.read_bytes())))
    return path


def flip(data: bytearray, at: int) -> bytearray:
    data[at] ^= 0x10
    return data


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda data: data[:-1], "cut off"),
        (lambda data: data[:100], "cut off"),
        (lambda data: b"", "expected a file of saved blocks"),
        (lambda data: b"x" * 500, "expected a file of saved blocks, got one that begins with b'xxxx"),
        (lambda data: flip(data, 16), "expected version 1 of saved blocks, got 17"),
        (lambda data: flip(data, 64), "header of block 0"),
        (lambda data: flip(data, 128), r"block 0, with the rows 0 to \d+ of this file, does not match"),
        (lambda data: flip(data, len(data) - 20), "end of saved blocks, got a damaged one"),
        (lambda data: flip(data, len(data) - 100), "footer does not match its checksum"),
    ],
)
def test_given_a_damaged_file_then_the_error_names_it_and_the_byte(
    change: Callable[[bytearray], bytes], words: str, saved: Path, tmp_path: Path
) -> None:
    path = changed(saved, tmp_path / "bad", change)
    with pytest.raises(DataError, match=rf"{path.name} at byte \d+: .*{words}") as caught:
        list(ps.Dataset.load(tmp_path / "bad"))
    assert caught.value.file == str(path)
    assert 0 <= caught.value.offset <= path.stat().st_size
    with pytest.raises(StoreError, match=words) as again:
        list(ps.Dataset.load(tmp_path / "bad").shuffle())
    assert again.value.file == str(path)


def test_given_a_file_that_is_gone_then_the_error_names_it(saved: Path, tmp_path: Path) -> None:
    changed(saved, tmp_path / "bad", lambda data: data)
    path = shard_of(tmp_path / "bad")
    path.unlink()
    with pytest.raises(StoreError, match=f"{path.name}: No such file"):
        list(ps.Dataset.load(tmp_path / "bad"))


def read_all(folder: Path, *, verify: bool) -> list[Any]:
    """What a saved dataset gives in order and by number, each in order."""
    in_order = drain(ps.Dataset.load(folder, verify=verify), limit=1000, memory="2MiB")
    by_number = drain(ps.Dataset.load(folder, verify=verify).shuffle(), limit=1000, memory="200KiB")
    resident = drain(ps.Dataset.load(folder, verify=verify).shuffle(), limit=1000, memory="64MiB")
    return [in_order, *(sorted(came, key=lambda row: row["number"]) for came in (by_number, resident))]


def test_given_random_damage_then_there_is_right_data_or_an_error(
    saved: Path, expected: list[Any], tmp_path: Path
) -> None:
    dice = random.Random(5)
    found = 0
    tracemalloc.start()
    for _ in range(60):
        how = dice.randrange(4)

        def change(data: bytearray, how: int = how) -> bytearray:
            at = dice.randrange(len(data))
            if how == 0:
                return data[:at]
            if how == 1:
                return data[:at] + dice.randbytes(dice.randrange(1, 100)) + data[at:]
            if how == 2:
                data[at : at + 8] = dice.choice([b"\xff" * 8, bytes(8), dice.randbytes(8)])
                return data
            return flip(data, at)

        changed(saved, tmp_path / "bad", change)
        try:
            for came in read_all(tmp_path / "bad", verify=True):
                assert same(came, expected)
        except (DataError, StoreError):
            found += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found > 50
    assert peak < 64 << 20


def test_given_damage_that_no_checksum_tells_then_nothing_is_read_outside_the_file(
    saved: Path, tmp_path: Path
) -> None:
    """Whoever makes the checksums right can have wrong numbers read, but not what is not in the file."""
    dice = random.Random(6)
    refused = 0
    for turn in range(80):

        def change(data: bytearray, turn: int = turn) -> bytearray:
            magic, start, length, blocks, rows, _, _ = TAIL.unpack(data[-TAIL.size :])
            first = start if turn % 2 else 128
            at = dice.randrange(first, first + (length if turn % 2 else start - 200))
            at -= at % 8
            data[at : at + 8] = struct.pack("<q", dice.choice([-1, 1 << 62, 1 << 31, dice.randrange(4000)]))
            footer = bytes(data[start : start + length])
            tail = TAIL.pack(magic, start, length, blocks, rows, zlib.crc32(footer), 0)[:-4]
            data[-TAIL.size :] = tail + struct.pack("<I", zlib.crc32(tail))
            return data

        changed(saved, tmp_path / "bad", change)
        try:
            read_all(tmp_path / "bad", verify=False)
        except (PenstockError, UnicodeDecodeError):
            refused += 1
    assert refused > 20


def test_given_a_header_that_tells_another_block_then_it_is_refused(tmp_path: Path) -> None:
    block = Block(LEAF, [DenseColumn(np.arange(4))], 4)
    path = written(tmp_path, block, block)
    data = bytearray(path.read_bytes())
    data[64:128] = block_header(1, 4, 64, 0, 0)
    path.write_bytes(data)
    file = opened(path, verify=False)
    with pytest.raises(SavedError, match="header of block 0"):
        file.view(0)
    assert file.view(1).rows == 4
    file.close()


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda said: said.replace('"rows": 300', '"rows": 299'), "does not match its checksum"),
        (lambda said: said.replace("penstock-saved", "something"), "it is a 'something' of version 1"),
        (lambda said: said.replace('"version": 1', '"version": 9'), "of version 9"),
        (lambda said: said[: len(said) // 2], "expected the manifest"),
        (lambda said: "[]", "expected the manifest"),
        (lambda said: "[" * 100_000, "expected the manifest"),
    ],
)
def test_given_a_damaged_manifest_then_declaring_says_so(
    change: Callable[[str], str], words: str, saved: Path, tmp_path: Path
) -> None:
    shutil.copytree(saved, tmp_path / "bad")
    path = tmp_path / "bad" / "manifest.json"
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    with pytest.raises(StoreError, match=words) as caught:
        ps.Dataset.load(tmp_path / "bad")
    assert caught.value.file == str(path)
