"""`ps.io.read_file`."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from contract.pictures import jpeg


def test_given_names_then_the_files_come_whole(tmp_path: Path) -> None:
    contents = {f"{i} ü.bin": bytes([i]) * (i * 100_000) for i in range(4)}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    names = ps.Dataset.list_files(str(tmp_path / "*.bin"), shuffle=False)
    assert list(names.map(ps.io.read_file, num_parallel_calls=ps.AUTOTUNE)) == list(contents.values())
    assert ps.io.read_file(tmp_path / "1 ü.bin") == ps.io.read_file(str(tmp_path / "1 ü.bin").encode())
    assert ps.io.read_file(f"file://{tmp_path}/2 ü.bin") == contents["2 ü.bin"]


def test_given_pictures_then_they_are_read_decoded_and_resized(tmp_path: Path) -> None:
    for i in range(5):
        (tmp_path / f"{i}.jpg").write_bytes(jpeg(20 + i, 30, i))

    def load(name: str) -> object:
        return ps.image.resize(ps.io.decode_jpeg(ps.io.read_file(name)), (8, 8))

    [batch] = ps.Dataset.list_files(str(tmp_path / "*.jpg")).map(load).batch(5)
    assert batch.shape == (5, 8, 8, 3)


def test_given_a_file_that_is_not_there_then_the_element_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    ds = ps.Dataset.from_tensor_slices([str(tmp_path / "a"), str(tmp_path / "b")]).map(ps.io.read_file)
    it = iter(ds)
    assert next(it) == b"a"
    with pytest.raises(ps.errors.FunctionError, match=r"element 1.*StoreError.*/b"):
        next(it)


def test_given_something_else_then_what_is_expected_is_said(tmp_path: Path) -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match="expected the name of a file, got a int"):
        ps.io.read_file(3)
    with pytest.raises(ps.errors.ArgumentTypeError, match=r"got a str\. .*ps\.io\.read_file\(name\)"):
        ps.io.decode_jpeg(str(tmp_path / "a.jpg"))
