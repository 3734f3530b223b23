"""`ps.WebDataset`."""

from __future__ import annotations

import atexit
import bz2
import gzip
import io
import lzma
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events
from penstock.sources import WebDataset

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-web-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def archive(members: Iterable[tuple[str, bytes]], form: int = tarfile.USTAR_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def file(name: str, data: bytes) -> str:
    path = FOLDER / name
    path.write_bytes(data)
    return str(path)


def sample(i: int) -> dict[str, Any]:
    return {"__key__": f"train/{i:04}", "jpg": bytes([i]) * (i * 97), "cls": b"%d" % i, "seg.png": b""}


def members(*numbers: int) -> list[tuple[str, bytes]]:
    found = []
    for i in numbers:
        one = sample(i)
        key = one.pop("__key__")
        found += [(f"{key}.{extension}", data) for extension, data in one.items()]
    return found


def a() -> str:
    return file("a.tar", archive(members(*range(30))))


def b() -> str:
    return file("b.tar.gz", gzip.compress(archive(members(*range(30, 50)), tarfile.PAX_FORMAT)))


class TestWeb(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        extensions = ["cls", "jpg"]
        gaps = archive([("0.a", b"1"), ("0.b", b"2"), ("1.b", b"3"), ("2.a", b"4")])
        return {
            "one file": lambda: WebDataset(a()),
            "packed": lambda: WebDataset(b()),
            "several files": lambda: WebDataset([a(), b(), a()]),
            "extensions": lambda: WebDataset([b(), a()], extensions=extensions),
            "in turn": lambda: WebDataset([b(), a()], extensions=extensions, num_parallel_reads=2),
            "gaps": lambda: WebDataset(file("gaps.tar", gaps), missing={"a": b"", "b": b"none"}),
            "empty": lambda: WebDataset(file("empty.tar", archive([]))),
        }

    def test_given_archives_then_members_of_a_key_make_an_element(self) -> None:
        assert events(WebDataset([a(), b()])) == [sample(i) for i in range(50)]

    def test_given_extensions_then_only_those_come_in_that_order(self) -> None:
        got = next(iter(WebDataset(a(), extensions=["cls", "jpg"])))
        assert list(got.items()) == [("__key__", "train/0000"), ("cls", b"0"), ("jpg", b"")]

    @pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_given_any_form_of_archive_then_long_names_and_large_members_are_whole(self, form: int) -> None:
        folder = "/".join(["f" * 40] * 3) + "/"
        large = bytes(range(256)) * 4000  # far more than is read at a time
        given = [(f"{folder}{i}.bin", large[i:]) for i in range(5)] + [("last.BIN", b"x")]
        ds = WebDataset(file("long.tar", archive(given, form)))
        expected = [{"__key__": f"{folder}{i}", "bin": large[i:]} for i in range(5)]
        assert events(ds) == [*expected, {"__key__": "last", "bin": b"x"}]

    @pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_given_names_beyond_what_a_header_holds_then_they_are_whole(self, form: int) -> None:
        name = "n" * 300 + "ä"
        ds = WebDataset(file("longer.tar", archive([(f"{name}.txt", b"x")], form)))
        assert events(ds) == [{"__key__": name, "txt": b"x"}]

    def test_given_folders_links_and_files_without_extension_then_they_are_passed_over(self) -> None:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, kind in [("d", tarfile.DIRTYPE), ("d/0.txt", tarfile.SYMTYPE)]:
                info = tarfile.TarInfo(name)
                info.type = kind
                tar.addfile(info)
            for name in ("README", "d/.hidden", "d/1.txt", "__index__"):
                info = tarfile.TarInfo(name)
                info.size = 1
                tar.addfile(info, io.BytesIO(b"x"))
        ds = WebDataset(file("others.tar", out.getvalue()))
        with ds.iterate() as it:
            assert list(it) == [{"__key__": "d/1", "txt": b"x"}]
            assert "such as 'README'" in str(it.report())

    def test_given_members_in_another_order_then_elements_are_alike(self) -> None:
        given = [("0.a", b"1"), ("0.b", b"2"), ("1.b", b"3"), ("1.a", b"4")]
        got = list(WebDataset(file("order.tar", archive(given))))
        assert [list(one.items()) for one in got] == [
            [("__key__", "0"), ("a", b"1"), ("b", b"2")],
            [("__key__", "1"), ("a", b"4"), ("b", b"3")],
        ]

    @pytest.mark.parametrize("rows", [1, 2, 64])
    def test_given_elements_with_other_members_then_only_they_fail(self, rows: int) -> None:
        given = [("0.a", b"1"), ("0.b", b"2"), ("1.b", b"3"), ("2.a", b"4"), ("2.b", b"5"), ("2.c", b"6")]
        given += [("3.a", b"7"), ("3.a", b"8"), ("4.a", b"9"), ("4.b", b"0")]
        path = file("uneven.tar", archive(given))
        first, last = {"__key__": "0", "a": b"1", "b": b"2"}, {"__key__": "4", "a": b"9", "b": b"0"}
        assert events(WebDataset(path), block_rows=rows) == [first, FAILED, FAILED, FAILED, last]
        with pytest.raises(
            ps.errors.DataError, match=r"uneven\.tar at byte 2048, '1'.*missing={'a'"
        ) as caught:
            list(WebDataset(path))
        assert (caught.value.file, caught.value.offset) == (path, 2048)
        with pytest.raises(ps.errors.DataError, match=r"'2': .*got \['c'\] too.*extensions=\[\.\.\.\]"):
            list(WebDataset(path, missing={"a": b""}))
        with pytest.raises(ps.errors.DataError, match=r"'3': expected each extension once, got 'a' twice"):
            list(WebDataset(path, extensions=["a"], missing={"a": b""}))

    def test_given_other_extensions_in_the_next_file_then_its_elements_fail(self) -> None:
        other = file("other.tar", archive([("x.txt", b"1")]))
        assert events(WebDataset([a(), other]))[-2:] == [sample(29), FAILED]

    @pytest.mark.parametrize("rows", [1, 7, 64])
    def test_given_a_damaged_header_then_what_is_before_comes_and_then_the_next_file(self, rows: int) -> None:
        data = bytearray(archive(members(1, 2, 3)))
        with tarfile.open(fileobj=io.BytesIO(bytes(data))) as tar:
            third = tar.getmembers()[6].offset
        data[third + 3] ^= 1
        bad = file("bad.tar", bytes(data))
        ds = WebDataset([bad, a()])
        assert events(ds, block_rows=rows)[:4] == [sample(1), sample(2), FAILED, sample(0)]
        with pytest.raises(ps.errors.DataError, match=rf"bad\.tar at byte {third}: .*checksum") as caught:
            list(ds)
        assert (caught.value.file, caught.value.offset) == (bad, third)

    @pytest.mark.parametrize("left", [512 + 10, 1024 + 50, 3 * 512, 4 * 512])
    def test_given_an_archive_that_is_cut_off_then_it_is_said(self, left: int) -> None:
        data = archive([("0.a", b"x" * 600), ("0.b", b"y")])
        with pytest.raises(ps.errors.DataError, match=r"cut\.tar at byte \d+: .*cut off"):
            list(WebDataset(file("cut.tar", data[:left])))

    def test_given_a_packed_archive_that_is_cut_off_then_it_is_said(self) -> None:
        data = gzip.compress(archive(members(*range(30))))
        ds = WebDataset(file("cut.tar.gz", data[: len(data) // 2]))
        got = events(ds)
        assert 0 < len(got) < 30 and got[-1] == FAILED
        assert got[:-1] == [sample(i) for i in range(len(got) - 1)]

    def test_given_a_file_that_is_no_archive_then_it_is_said(self) -> None:
        with pytest.raises(
            ps.errors.DataError, match=r"text\.tar at byte 0: expected the header of a member"
        ):
            list(WebDataset(file("text.tar", b"just a text " * 100)))

    @pytest.mark.parametrize("packing, word", [(bz2, "bzip2"), (lzma, "xz")])
    def test_given_an_archive_of_another_packing_then_the_error_names_it(
        self, packing: Any, word: str
    ) -> None:
        path = file("other.tar", packing.compress(archive(members(1))))
        with pytest.raises(ps.errors.DataError, match=rf"got one packed with {word}\. Use gzip or zstd"):
            list(WebDataset(path))

    def test_given_more_after_the_mark_of_the_end_then_it_is_not_lost_without_a_word(self) -> None:
        first, second = archive(members(1)), archive(members(2))
        joined = file("joined.tar", first + second)
        assert events(WebDataset([joined, a()]))[:3] == [sample(1), FAILED, sample(0)]
        with pytest.raises(ps.errors.DataError, match=r"goes on after the mark of its end") as caught:
            list(WebDataset(joined))
        assert caught.value.offset == len(first)

        data = bytearray(archive(members(1, 2, 3)))
        with tarfile.open(fileobj=io.BytesIO(bytes(data))) as tar:
            third = tar.getmembers()[6].offset
        data[third : third + 512] = bytes(512)
        assert events(WebDataset(file("zeros.tar", bytes(data)))) == [sample(1), sample(2), FAILED]

    @pytest.mark.parametrize("size", ["many", "-5", "", "1" * 5000, "1" * 18])
    def test_given_a_size_that_is_none_then_it_is_damage(self, size: str) -> None:
        data = archive([("0.a", b"x")], tarfile.PAX_FORMAT)
        line = f"size={size}\n"
        length = next(n for n in range(len(line), len(line) + 9) if n == len(f"{n} {line}"))
        said = f"{length} {line}".encode()
        info = tarfile.TarInfo("said")
        info.type, info.size = tarfile.XHDTYPE, len(said)
        path = file("size.tar", info.tobuf(tarfile.PAX_FORMAT) + said + bytes(-len(said) % 512) + data)
        with pytest.raises(ps.errors.DataError, match=r"size\.tar at byte \d+.*(size of a member|cut off)"):
            list(WebDataset(path))

    def test_given_a_member_beyond_the_budget_then_the_error_names_the_budget(self) -> None:
        path = file("large.tar", archive([("0.bin", bytes(3 << 20))]))
        with WebDataset(path).iterate(memory="2MiB") as it, pytest.raises(ps.errors.BudgetError):
            next(it)

    def test_given_wrong_arguments_then_declaring_fails_and_names_the_line(self) -> None:
        here = r"at .*test_web\.py:\d+"
        with pytest.raises(TypeError, match=rf"WebDataset\(extensions=\) {here}.*got 'jpg'"):
            WebDataset(a(), extensions="jpg")
        with pytest.raises(TypeError, match=rf"missing=\) {here}.*dict of bytes by extension"):
            WebDataset(a(), missing={"jpg": 3})  # type: ignore[dict-item]
        with pytest.raises(ValueError, match=rf"WebDataset {here}.*Give extensions"):
            WebDataset(a(), num_parallel_reads=2)
        with pytest.raises(ValueError, match=rf"WebDataset {here}.*without the dot.*'\.jpg': 'jpg'"):
            WebDataset(a(), extensions=["cls", ".jpg"])
        with pytest.raises(ValueError, match=rf"WebDataset {here}.*without the dot.*'\.cls': 'cls'"):
            WebDataset(a(), missing={".cls": b""})
