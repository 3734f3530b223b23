"""Datasets over text and plain bytes against those of the real tf.data."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.streams import events
from interop.words import Words
from penstock.sources import CsvDataset, FixedLengthRecordDataset, TextLineDataset

LIMIT = 10_000
ENDLESS = 30
"""So many failures in a row are no more waited out."""
PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}


@pytest.fixture(scope="module")
def tf(theirs: Words) -> Any:
    """TensorFlow itself."""
    import tensorflow

    return tensorflow


def their_events(ds: Any) -> list[Any]:
    """Each element in plain Python, or `failed`; after one that fails for ever, no more."""
    out: list[Any] = []
    it = iter(ds)
    while len(out) < LIMIT and out[-ENDLESS:] != ["failed"] * ENDLESS:
        try:
            element = next(it)
        except StopIteration:
            break
        except Exception:
            out.append("failed")
            continue
        parts = element if isinstance(element, tuple) else (element,)
        plain = [part.numpy() for part in parts]
        plain = [part.item() if isinstance(part, np.generic) else part for part in plain]
        out.append(tuple(plain) if isinstance(element, tuple) else plain[0])
    return out


def our_events(ds: ps.Dataset) -> list[Any]:
    return events(ds, limit=LIMIT)


@pytest.mark.parametrize("compression", PACK)
def test_given_lines_then_both_give_the_same(tf: Any, tmp_path: Path, compression: str) -> None:
    draw = random.Random(4)
    for case in range(15):
        # A return that is not part of a line's end is kept here, and dropped there.
        data = b"".join(
            draw.choices([b"a", b"\n", b"\r\n", b"bc" * 40, b"\0", b"\xff"], k=draw.randrange(80))
        )
        path = tmp_path / f"{case}"
        path.write_bytes(PACK[compression](data))
        theirs = their_events(tf.data.TextLineDataset(str(path), compression, 100))
        assert our_events(TextLineDataset(str(path), compression, 100)) == theirs


@pytest.mark.parametrize("reads", [None, 1, 2, 3, 7])
def test_given_several_files_then_both_read_them_in_the_same_order(
    tf: Any, tmp_path: Path, reads: int | None
) -> None:
    draw = random.Random(6)
    names = []
    for i in range(9):
        path = tmp_path / f"{i}"
        path.write_text("".join(f"{i}.{j}\n" for j in range(draw.randrange(5))))
        names.append(str(path))
    theirs = their_events(tf.data.TextLineDataset(names, num_parallel_reads=reads))
    assert our_events(TextLineDataset(names, num_parallel_reads=reads)) == theirs
    listed = tf.data.Dataset.from_tensor_slices(names)
    assert their_events(tf.data.TextLineDataset(listed, num_parallel_reads=reads)) == theirs
    ours = ps.Dataset.from_tensor_slices(names)
    assert our_events(TextLineDataset(ours, num_parallel_reads=reads)) == theirs


@pytest.mark.parametrize("compression", PACK)
@pytest.mark.parametrize("extra", [0, 1])
def test_given_records_of_one_length_then_both_give_the_same(
    tf: Any, tmp_path: Path, compression: str, extra: int
) -> None:
    path = tmp_path / "records"
    path.write_bytes(PACK[compression](b"HH" + bytes(range(40)) + b"x" * extra + b"F"))
    theirs = their_events(tf.data.FixedLengthRecordDataset(str(path), 4, 2, 1, compression_type=compression))
    ours = our_events(FixedLengthRecordDataset(str(path), 4, 2, 1, compression_type=compression))
    # There, a file that does not fit fails for ever; here, once, and the next file is read.
    assert ours == (theirs[: theirs.index("failed") + 1] if "failed" in theirs else theirs)
    assert ("failed" in ours) == bool(extra)


def both(tf: Any, path: Path, data: bytes, kinds: str, **arguments: Any) -> tuple[list[Any], list[Any]]:
    """What comes of a CSV file here and there; a capital kind is one that has to be there."""
    path.write_bytes(data)
    fill = {
        "i": (np.int32(7), "int32"),
        "l": (np.int64(8), "int64"),
        "f": (np.float32(0.5), "float32"),
        "d": (np.float64(0.25), "float64"),
        "s": (b"none", "string"),
    }
    mine: list[Any] = []
    its: list[Any] = []
    for kind in kinds:
        value, name = fill[kind.lower()]
        dtype = bytes if name == "string" else np.dtype(name)
        mine.append(dtype if kind.isupper() else [value])
        its.append(tf.dtypes.as_dtype(name) if kind.isupper() else tf.constant([value]))
    theirs = tf.data.experimental.CsvDataset(str(path), its, **arguments)
    return our_events(CsvDataset(str(path), mine, **arguments)), their_events(theirs)


@pytest.mark.parametrize(
    "data, kinds, arguments",
    [
        (b"1,2.5,a\n2,3\n3,4,c\n1,2,3,4\n", "IFS", {}),
        (b"1,,a\n,2,\n", "ifs", {}),
        (b"NA,1\n2,NA\n,3\n", "iI", {"na_value": "NA"}),
        (b'"NA",x\n"",y\n', "sS", {"na_value": "NA"}),
        (b"a,b\n1,2\n", "II", {"header": True}),
        (b'"h\nx",y\n1,2\n', "II", {"header": True}),
        (b"", "S", {"header": True}),
        (b'"name,age\nA,1\nB,2\n', "SI", {"header": True}),
        (b'na"me,age\nA,1\nB,2\n', "SI", {"header": True}),
        (b'"na"me,age\nA,1\nB,2\n', "SI", {"header": True}),
        (b'"na"me",age\nA,1\nB,2\n', "SI", {"header": True}),
        (b'a,b,c,"d\nA,1\n', "SI", {"header": True}),
        (b'a,b,c,d"\nA,1\n', "SI", {"header": True}),
        (b'a,"b\nA,1\n', "SI", {"header": True, "use_quote_delim": False}),
        (b'a"b,"c\nA,1\n', "S", {"header": True, "select_cols": [0]}),
        (b"a,b,c,d\nA,1\n", "SI", {"header": True}),
        (b"a\nA,1\n", "SI", {"header": True}),
        (b"\nA,1\n", "SI", {"header": True}),
        (b"a,b", "SI", {"header": True}),
        (b'"a ""q"" b","c,d"\n"x\ny",z\n', "SS", {}),
        (b'"a"b"\nx\n', "S", {}),
        (b"a\rb\r\nc\n\n", "s", {}),
        (b" 1 , 2\n+3,-4\n 0x10,1e3\n1_0,2\n99999999999,1\n-,1\n1.0,1\n", "II", {}),
        (b" 1.5 , 2\n inf,1\n1e400,1e-400\n1.5f,.5\n5.,1_0\n,\n", "FD", {}),
        (b"9223372036854775807\n9223372036854775808\n-9223372036854775808\n007\n+ 1\n", "L", {}),
        (b"1,2,3,4\n5,6,7,8\n9,10,11\n", "II", {"select_cols": [1, 3]}),
        (b"1,2,3,4\n1,2\n1\n", "II", {"select_cols": [0, 1]}),
        (b"1,2,3,4\n5,6,7\n1,2,3,4,5\n", "II", {"exclude_cols": [0, 2]}),
        (b'"a";b\n', "SS", {"field_delim": ";", "use_quote_delim": False}),
    ],
)
def test_given_a_csv_file_then_both_give_the_same(
    tf: Any, tmp_path: Path, data: bytes, kinds: str, arguments: dict[str, Any]
) -> None:
    ours, theirs = both(tf, tmp_path / "csv", data, kinds, **arguments)
    assert ours == theirs


@pytest.mark.parametrize("quotes", [True, False])
def test_given_any_bytes_then_both_give_the_same_records(tf: Any, tmp_path: Path, quotes: bool) -> None:
    draw = random.Random(9)
    letters = [b"1", b"2", b"a", b",", b",", b'"', b"\n", b"\n", b"\r", b'""', b'"\n', b'","', b"\xff", b" "]
    for case in range(120):
        data = b"".join(draw.choices(letters, k=draw.randrange(25)))
        kinds = draw.choice(["s", "S", "ss", "iS", "Lf"])
        if kinds != "s":  # there, empty lines at the end are errors
            kept = data.rstrip(b"\r\n")
            data = kept + data[len(kept) : len(kept) + 1] if kept else b""
        how = {"use_quote_delim": quotes, "buffer_size": 8, "header": case % 4 == 3}
        ours, theirs = both(tf, tmp_path / f"{case}", data, kinds, **how)
        assert ours == theirs, (data, kinds, how)


@pytest.mark.parametrize(
    "data, here, there",
    [
        (b"1,a\n\n\n", [(1, b"a")], [(1, b"a"), "failed", "failed"]),
        (b"\xef\xbb\xbf1,a\n2,b\n", [(1, b"a"), (2, b"b")], ["failed", (2, b"b")]),
    ],
)
def test_given_what_editors_add_to_a_csv_file_then_here_it_is_no_record(
    tf: Any, tmp_path: Path, data: bytes, here: list[Any], there: list[Any]
) -> None:
    assert both(tf, tmp_path / "csv", data, "IS") == (here, there)


def test_given_floats_then_both_read_the_same_bits(tf: Any, tmp_path: Path) -> None:
    draw = random.Random(12)
    texts = [repr(draw.gauss(0, 10 ** draw.randrange(-30, 30))) for _ in range(500)]
    texts += [f"{draw.randrange(10 ** draw.randrange(1, 22))}e{draw.randrange(-50, 30)}" for _ in range(500)]
    ours, theirs = both(tf, tmp_path / "floats", "\n".join(texts).encode(), "D")
    assert len(ours) == 1000
    assert ours == theirs


def test_given_a_pattern_then_both_list_the_same_files(tf: Any, tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).touch()
    pattern = [f"{tmp_path}/*.txt", f"{tmp_path}/a*"]
    theirs = sorted(set(their_events(tf.data.Dataset.list_files(pattern, shuffle=False))))
    ours = our_events(ps.Dataset.list_files(pattern, shuffle=False))
    assert [name.encode() for name in ours] == theirs
    for one in (ps.Dataset, tf.data.Dataset):
        with pytest.raises(Exception, match="match"):
            list(one.list_files(f"{tmp_path}/none*"))
