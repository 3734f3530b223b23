"""Archives, pictures, folders and stores: what belongs together, and what cannot be read."""

from __future__ import annotations

import io
import json
import tarfile
import zlib
from pathlib import Path

import fsspec
import numpy as np
import pytest
import simplejpeg

import penstock as ps
from cli.inspected import by_name, cut, flip, look, look_one
from contract.frames import framed

JPEG = simplejpeg.encode_jpeg(np.zeros((20, 30, 3), np.uint8))


def png(height: int, width: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)

    head = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 0, 0, 0, 0])
    pixels = zlib.compress(bytes(height * (width + 1)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def write_tar(path: Path, mode: str = "w") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for i in range(6):
            parts = {"jpg": JPEG, "json": json.dumps({"i": i}).encode()}
            for extension, data in parts.items() if i != 3 else [("jpg", JPEG)]:
                member = tarfile.TarInfo(f"d/{i:03}.{extension}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def test_given_pictures_of_two_kinds_among_other_files_then_all_are_counted(tmp_path: Path) -> None:
    for name, data in {"a.jpg": JPEG, "b.jpg": JPEG, "c.png": png(3, 4), "d.csv": b"x,y\n1,2\n"}.items():
        (tmp_path / name).write_bytes(data)
    [found] = [one for one in look(tmp_path) if one.format == "picture"]
    assert (found.records, found.details["kinds"]) == (3, {"JPEG": 2, "PNG": 1})


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_given_an_archive_then_its_elements_are_described(tmp_path: Path, mode: str) -> None:
    write_tar(tmp_path / "no-name", mode)
    found = look_one(tmp_path / "no-name", samples=1)
    columns = by_name(found)
    assert (found.format, found.records, found.details["members"], found.status) == ("tar", 6, 11, 0)
    assert (columns["jpg"].present, columns["json"].present) == (6, 5)
    assert (columns["jpg"].looks_like, columns["jpg"].bytes) == ("JPEG", (len(JPEG), len(JPEG)))
    assert found.samples[0]["__key__"] == "'d/000'"


def test_given_a_damaged_header_in_an_archive_then_its_place_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_tar(path)
    flip(path, 512 + 1024 + 5)  # in the header of the second member
    found = look_one(path)
    assert (found.status, found.damage[0].offset, found.details["members"]) == (1, 1536, 1)


def test_given_an_archive_that_is_cut_off_then_it_says_where(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_tar(path)
    cut(path, 1536 + 512 + 3)
    found = look_one(path)
    assert (found.damage[0].offset, "cut off within 'd/000.json'" in found.damage[0].what) == (2051, True)


def test_given_two_archives_in_one_file_then_the_second_is_told_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write_tar(path)
    one = path.read_bytes()
    path.write_bytes(one + one)
    found = look_one(path)
    assert (found.status, found.damage[0].offset, found.details["members"]) == (1, len(one), 11)


def test_given_a_folder_of_pictures_then_classes_and_sizes_are_told(tmp_path: Path) -> None:
    for name, data in {"cat/1.jpg": JPEG, "cat/2.png": png(5, 7), "dog/1.jpg": JPEG[:300]}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = look_one(tmp_path)
    assert (found.format, found.records) == ("folder of pictures", 3)
    assert (found.details["classes"], found.details["kinds"]) == ({"cat": 2, "dog": 1}, {"JPEG": 2, "PNG": 1})
    assert (by_name(found)["height"].range, by_name(found)["width"].range) == ((5, 20), (7, 30))
    assert [damage.file for damage in found.damage] == [str(tmp_path / "dog/1.jpg")]


def test_given_a_picture_with_a_wrong_checksum_then_the_byte_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png(3, 4))
    flip(path, 45)
    found = look_one(path)
    assert (found.format, found.damage[0].offset) == ("picture", 33)


def test_given_a_picture_without_its_end_then_it_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG[:-2])
    found = look_one(tmp_path / "a.jpg")
    assert (found.status, found.damage[0].offset) == (1, len(JPEG) - 2)


def test_given_a_folder_with_several_kinds_then_each_is_told_of_once(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.tfrecord", "sub/b.tfrecord"):
        (tmp_path / name).write_bytes(framed(b"x"))
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "model.bin").write_bytes(bytes(range(200)))
    (tmp_path / ".hidden").write_bytes(b"\0")
    found = {one.format: one for one in look(tmp_path)}
    assert {name: len(one.files) for name, one in found.items()} == {"TFRecord": 2, "text": 1, "unknown": 1}
    assert max(one.status for one in found.values()) == 0


@pytest.mark.parametrize("name", ["missing", "empty", "noise", "void"])
def test_given_a_path_that_cannot_be_read_then_it_says_why(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "noise").write_bytes(bytes(range(1, 200)))
    (tmp_path / "void").mkdir()
    found = look_one(tmp_path / name)
    why = {"missing": "no such file", "empty": "is empty", "noise": "no format", "void": "no files"}
    assert (found.status, why[name] in found.error) == (2, True)


def test_given_an_unreadable_file_among_others_then_the_others_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    found = look(tmp_path / "a.txt", tmp_path / "b.txt")
    assert [one.status for one in found] == [0, 2]


def test_given_an_address_then_the_file_in_the_store_is_looked_at() -> None:
    with fsspec.open("memory://inspected/a.tfrecord", "wb") as file:
        file.write(framed(ps.io.serialize_example({"x": [1]})))
    found = look_one("memory://inspected/a.tfrecord")
    assert (found.records, found.status, found.columns[0].name) == (1, 0, "x")
    assert look_one("memory://inspected/*.tfrecord").records == 1
    assert look_one("memory://inspected/missing").status == 2


def dataset() -> ps.Dataset:
    numbers = np.arange(50)
    return ps.Dataset.from_tensor_slices(
        {"x": numbers, "grid": np.ones((50, 2, 3), np.float32), "s": [b"ab"] * 50}
    )


def test_given_a_folder_written_as_tfrecord_then_it_is_held_to_its_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    dataset().write_tfrecord(str(folder), shards=2)
    found = look_one(folder)
    assert (found.format, found.records, found.status, found.details["state"]) == (
        "TFRecord",
        50,
        0,
        "complete",
    )
    assert "'grid': ps.io.FixedLenFeature([2, 3], \"float32\")" in found.code
    manifest = folder / "manifest.json"
    said = manifest.read_text()
    manifest.write_text(said.replace('"records": 25', '"records": 26', 1))
    (damage,) = look_one(folder).damage
    assert "expected 26 records, as the manifest says, got 25" in damage.what
    manifest.write_text(said)
    files = sorted(folder.glob("*.tfrecord"))
    files[0].write_bytes(files[1].read_bytes())
    files[1].unlink()
    broken = look_one(folder)
    assert [damage.file for damage in broken.damage] == [str(one) for one in files]
    assert "manifest" in broken.damage[0].what and "cannot be read" in broken.damage[1].what


def test_given_a_saved_dataset_then_its_elements_and_its_damage_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    dataset().save(str(folder))
    found = look_one(folder)
    columns = by_name(found)
    assert (found.format, found.records, found.status) == ("saved dataset", 50, 0)
    assert (columns["['x']"].range, columns["['grid']"].shape, columns["['s']"].bytes) == (
        (0, 49),
        (2, 3),
        (2, 2),
    )
    (file,) = folder.glob("*.blocks")
    assert look_one(file).records == 50
    flip(file, 200)
    broken = look_one(folder)
    assert (broken.status, broken.damage[0].file, broken.damage[0].offset) == (1, str(file), 64)
    cut(file, 500)
    assert look_one(folder).damage[0].offset == 500


def test_given_a_damaged_manifest_then_the_folder_cannot_be_read(tmp_path: Path) -> None:
    dataset().save(str(tmp_path / "s"))
    cut(tmp_path / "s" / "manifest.json", 60)
    found = look_one(tmp_path / "s")
    assert (found.status, "manifest" in found.error) == (2, True)


def test_given_records_with_indexes_beside_them_then_the_indexes_are_not_looked_at(tmp_path: Path) -> None:
    names = [tmp_path / "train-0", tmp_path / "train-1"]
    for name in names:
        name.write_bytes(framed(b"one", b"two"))
    list(ps.TFRecordDataset(names).shuffle())
    (tmp_path / "train-0.penstock-index").write_bytes(b"of another name")
    for path in (tmp_path, tmp_path / "train-*", tmp_path / "*"):
        found = look_one(path)
        assert (found.format, found.status) == ("TFRecord", 0)
        assert [file.path for file in found.files] == [str(name) for name in names]
